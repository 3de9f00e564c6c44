#include "actors/dht/dht_messages.h"

#include <algorithm>

#include "actors/net/links/socket.h"
#include "common/names.h"

namespace swarm::actors {
namespace {

constexpr size_t kMaxBytes = 512u << 10;  // below the links' head limit

}  // namespace

proto::DhtContact to_proto(const routing::Contact& contact) {
  proto::DhtContact message;
  message.set_node_id(contact.id.raw());
  message.set_endpoint(contact.endpoint.text());
  return message;
}

Result<routing::Contact> parse_contact(const proto::DhtContact& message) {
  auto id = NodeId::from_bytes(message.node_id());
  if (!id.ok()) return id.error();
  auto endpoint = links::told_endpoint(message.endpoint());
  if (!endpoint.ok()) return endpoint.error();
  return routing::Contact{*id, *endpoint};
}

proto::DhtRecord to_proto(const routing::StoredRecord& record, double now_s) {
  proto::DhtRecord out;
  out.set_subkey(record.subkey);
  out.set_value(record.value);
  out.set_version(record.version);
  out.set_first_hand(record.first_hand);
  out.set_ttl_ms(static_cast<uint32_t>(std::max(1.0, (record.expires_s - now_s) * 1e3)));
  return out;
}

routing::StoredRecord from_proto(const proto::DhtRecord& record, double now_s,
                                 const std::optional<NodeId>& from) {
  return {record.subkey(),
          record.value(),
          record.version(),
          now_s + record.ttl_ms() / 1e3,
          from && writes(*from, record.subkey()),
          from.value_or(NodeId())};
}

routing::StoredRecord answer_from_proto(const proto::DhtRecord& record, double now_s) {
  routing::StoredRecord found = from_proto(record, now_s);
  found.first_hand = record.first_hand();
  return found;
}

Status speaks_for(const Mail& mail, const Result<routing::Contact>& sender) {
  return sender.ok() ? speaks_for(mail, sender->id) : Status();
}

Status charge(routing::AskerBudget& askers, const Mail& mail, uint64_t bytes, double now_s) {
  if (!mail.from || askers.may(*mail.from, routing::AskerBudget::kRequestBytes + bytes, now_s))
    return {};
  return Error{ErrorCode::kOverloaded, "the dht has done much for this node just now", 1'000};
}

bool storable(const DhtRecordLocal& record) {
  const routing::RecordStore::Options limits;
  return !record.subkey.empty() && record.subkey.size() <= limits.max_subkey_bytes &&
         record.value.size() <= limits.max_value_bytes && record.ttl.count() >= 1 &&
         static_cast<double>(record.ttl.count()) <= limits.max_ttl_s * 1e3;
}

std::vector<proto::DhtRecord> fitting(const std::vector<routing::StoredRecord>& records,
                                      double now_s) {
  std::vector<proto::DhtRecord> out;
  size_t bytes = 0;
  for (const auto& record : records) {
    bytes += record.subkey.size() + record.value.size() + 32;
    if (bytes > kMaxBytes) break;
    out.push_back(to_proto(record, now_s));
  }
  return out;
}

}  // namespace swarm::actors
