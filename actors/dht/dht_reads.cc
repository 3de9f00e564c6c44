#include "actors/dht/dht_reads.h"

#include <chrono>
#include <utility>

#include "routing/dht/record_sample.h"

namespace swarm::actors {
namespace {

using routing::Contact;
using routing::DhtKey;

constexpr size_t kWidth = 3;  // answers that make a read; all k where these know nothing

}  // namespace

DhtRecords local_records(const FoundRecords& found, double now_s) {
  DhtRecords records;
  for (const auto& [subkey, record] : found) {
    const auto ttl_ms = static_cast<int64_t>((record.expires_s - now_s) * 1e3);
    if (ttl_ms > 0)
      records.push_back({subkey, record.value, record.version, std::chrono::milliseconds(ttl_ms),
                         record.first_hand});
  }
  return records;
}

DhtReads::DhtReads(caf::event_based_actor* self, const DhtDeps& deps, DhtLookups& lookups,
                   const routing::RecordStore& own)
    : self_(self), deps_(deps), lookups_(lookups), own_(own), sources_(kWidth) {}

double DhtReads::now_s() const {
  return std::chrono::duration<double>(self_->clock().now().time_since_epoch()).count();
}

const routing::KeyReplicas* DhtReads::sources(const DhtKey& key) const {
  const std::chrono::duration<double> max_age = deps_.options.refresh_every;
  return sources_.find(key, now_s(), max_age.count());
}

std::vector<routing::StoredRecord> DhtReads::chosen(const NodeId& reader,
                                                    std::vector<routing::StoredRecord> records,
                                                    size_t most) const {
  const std::chrono::duration<double> silent = deps_.options.silent_after();
  return routing::sample_for(reader, std::move(records), most, now_s() - silent.count());
}

void DhtReads::add_own(FoundRecords& into, const DhtKey& key, uint32_t most) const {
  for (auto& record : chosen(deps_.self, own_.find(key, now_s()), most))
    merge(into, std::move(record));
}

void DhtReads::learn(FoundRecords& into, const Mail& reply) const {
  if (reply.kind != proto::KIND_DHT_FIND_REPLY) return;
  for (const auto& record : reply.as<proto::DhtFindReply>().records())
    if (record.ttl_ms() > 0) merge(into, answer_from_proto(record, now_s()));
}

void DhtReads::look_up(const DhtKey& key, uint32_t most, FoundRecords before, Done done) {
  auto finished = [this, most, before = std::move(before),
                   done = std::move(done)](Running& found) mutable {
    for (auto& [subkey, record] : before) merge(found.records, std::move(record));
    add_own(found.records, found.key, most);
    if (!found.aborted && !found.records.empty())
      sources_.set(found.key,
                   routing::choose_replicas(found.key, deps_.self, kWidth, found.lookup.result()),
                   now_s());
    done(found.records, found.aborted);
  };
  lookups_.lookup(key, {/*contacts_only=*/false, kWidth, most}, std::move(finished));
}

void DhtReads::all(const DhtKey& key, Done done) {
  const KeyReplicas* known = sources(key);
  if (known == nullptr) return look_up(key, 0, {}, std::move(done));
  ask(key, 0, known->others, std::move(done));
}

void DhtReads::some(const DhtKey& key, uint32_t most, Done done) {
  const KeyReplicas* known = sources(key);
  if (known == nullptr) return look_up(key, most, {}, std::move(done));
  FoundRecords own;
  if (known->mine) add_own(own, key, most);
  if (!own.empty()) return done(own, false);
  ask(key, most, {known->others[turn_++ % known->others.size()]}, std::move(done));
}

/// `contacts` by value: asking may change what is known.
void DhtReads::ask(const DhtKey& key, uint32_t most, std::vector<Contact> contacts, Done done) {
  const uint64_t id = ++next_id_;
  Reading& reading = under_way_[id];
  reading.key = key;
  reading.most = most;
  reading.waiting = contacts.size();
  reading.done = std::move(done);
  for (const Contact& contact : contacts)
    lookups_.ask(
        contact, lookups_.read_mail(key, most),
        [this, id](const Mail& reply) { answered(id, &reply); },
        [this, id] { answered(id, nullptr); });
}

/// `reply` null: that source failed.
void DhtReads::answered(uint64_t id, const Mail* reply) {
  auto it = under_way_.find(id);
  if (it == under_way_.end()) return;
  Reading& reading = it->second;
  if (reply != nullptr)
    learn(reading.records, *reply);
  else
    reading.failed = true;
  if (--reading.waiting > 0) return;
  Reading whole = std::move(reading);
  under_way_.erase(it);
  if (whole.failed || whole.records.empty())
    return look_up(whole.key, whole.most, std::move(whole.records), std::move(whole.done));
  if (whole.most == 0) add_own(whole.records, whole.key, 0);
  whole.done(whole.records, false);
}

void DhtReads::abort_all() {
  const auto all = std::move(under_way_);
  under_way_.clear();
  for (const auto& [id, reading] : all) reading.done({}, true);
}

}  // namespace swarm::actors
