/// What the DHT's messages mean: contacts and records to and from protobuf, within the limits of a
/// message. Pure: time is an argument.
#pragma once

#include <cstdint>
#include <vector>

#include "common/result.h"
#include "routing/dht/dht_key.h"
#include "routing/dht/record_store.h"
#include "swarm/dht.pb.h"

namespace swarm::actors {

constexpr size_t kMaxRecordsPerStore = 1'024;

proto::DhtContact to_proto(const routing::Contact& contact);

/// A contact that can be dialled, or why not. Errors: kInvalidArgument.
Result<routing::Contact> parse_contact(const proto::DhtContact& message);

/// What is sent of a record is the time left to live [ms], because clocks differ.
proto::DhtRecord to_proto(const routing::StoredRecord& record, double now_s);
routing::StoredRecord from_proto(const proto::DhtRecord& record, double now_s);

/// As many of `records` as fit one message, `max_records` at most, in order.
std::vector<proto::DhtRecord> fitting(const std::vector<routing::StoredRecord>& records,
                                      double now_s, size_t max_records = SIZE_MAX);

}  // namespace swarm::actors
