/// What the DHT's messages mean: contacts and records to and from protobuf, within the limits of a
/// message. Pure: time is an argument.
#pragma once

#include <caf/result.hpp>
#include <cstdint>
#include <optional>
#include <vector>

#include "actors/dht/dht_node.h"
#include "actors/net/errors.h"
#include "actors/net/mail.h"
#include "common/result.h"
#include "routing/dht/asker_budget.h"
#include "routing/dht/dht_key.h"
#include "routing/dht/record_store.h"
#include "swarm/dht.pb.h"

namespace swarm::actors {

constexpr size_t kMaxRecordsPerStore = 1'024;

proto::DhtContact to_proto(const routing::Contact& contact);

/// A contact that can be dialled, or why not: what others say makes no node look a name up. Errors:
/// kInvalidArgument.
Result<routing::Contact> parse_contact(const proto::DhtContact& message);

/// What is sent of a record is the time left to live [ms], because clocks differ.
proto::DhtRecord to_proto(const routing::StoredRecord& record, double now_s);
/// `from`: the link that it came on; none: nobody's word for it that it is first-hand.
routing::StoredRecord from_proto(const proto::DhtRecord& record, double now_s,
                                 const std::optional<NodeId>& from = std::nullopt);
/// Of the answer to a question: first-hand if who answers says so.
routing::StoredRecord answer_from_proto(const proto::DhtRecord& record, double now_s);

/// As speaks_for() of mail.h for a sender that may say nothing of itself.
Status speaks_for(const Mail& mail, const Result<routing::Contact>& sender);

/// Of a request that came over a link and brings, or reads, so many bytes of records. Errors: kOverloaded.
Status charge(routing::AskerBudget& askers, const Mail& mail, uint64_t bytes, double now_s);

/// Whether its sizes and its time to live are within a node's limits.
bool storable(const DhtRecordLocal& record);

template <class Reply>
caf::result<Mail> answer_of(Result<Reply> reply) {
  if (!reply.ok()) return to_caf(reply.error());
  return make_mail(std::move(*reply));
}

/// As many of `records` as fit one message, in order.
std::vector<proto::DhtRecord> fitting(const std::vector<routing::StoredRecord>& records,
                                      double now_s);

}  // namespace swarm::actors
