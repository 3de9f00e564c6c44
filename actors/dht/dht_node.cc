#include "actors/dht/dht_node.h"

#include <fmt/format.h>

#include <algorithm>
#include <caf/event_based_actor.hpp>
#include <caf/stateful_actor.hpp>
#include <map>
#include <memory>
#include <utility>

#include "actors/dht/dht_joining.h"
#include "actors/dht/dht_lookups.h"
#include "actors/dht/dht_reads.h"
#include "actors/net/errors.h"
#include "actors/net/links/links.h"
#include "actors/net/log.h"
#include "actors/net/requests.h"
#include "common/names.h"
#include "routing/dht/record_store.h"
#include "routing/dht/replica_map.h"
#include "routing/dht/routing_table.h"

namespace swarm::actors {
namespace {

using routing::Contact;
using routing::DhtKey;
using routing::StoredRecord;

using refresh_tick_atom = caf::atom_constant<caf::atom("dhtrefresh")>;

class DhtNode {
 public:
  static constexpr const char* name = "dht";
  using Self = caf::stateful_actor<DhtNode>;

  caf::behavior start(Self* self, DhtDeps deps);

 private:
  using Seconds = std::chrono::duration<double>;
  double now_s() const { return Seconds(self_->clock().now().time_since_epoch()).count(); }
  DhtKey key_of(const std::string& name) const {
    return routing::dht_key(deps_.run_id + "/" + name);
  }

  // Serving.
  caf::result<Mail> serve(const Mail& mail);
  Result<proto::DhtFindReply> find(const Mail& mail);
  void add_nearest(proto::DhtFindReply& reply, const DhtKey& key, const NodeId& sender) const;
  Result<proto::DhtStoreReply> store(const Mail& mail);

  // Contacts.
  void heard_from(const Contact& contact);
  void lost(const NodeId& id);
  void hand_over(const Contact& newcomer);
  void refresh_tick();

  Mail store_mail(const DhtKey& key, const std::vector<StoredRecord>& records) const;
  void meet_neighbours() {
    lookups_->lookup(deps_.self, {}, [](Running&) {});
  }

  // Local interface.
  caf::response_promise put(const std::string& name, const DhtRecordLocal& record);
  void put_at(const DhtKey& key, const routing::KeyReplicas& replicas, const StoredRecord& record,
              caf::response_promise promise);
  caf::result<DhtRecords> get(const std::string& name);
  caf::result<DhtRecords> sample(const std::string& name, uint32_t most);
  DhtReads::Done deliver_to(caf::typed_response_promise<DhtRecords> promise) const;
  caf::result<std::string> lookup_text(const std::string& name);
  DhtStatus status() const;
  void quit(const caf::error& reason);

  Self* self_ = nullptr;
  DhtDeps deps_;
  std::unique_ptr<routing::RoutingTable> table_;
  routing::RecordStore records_;
  routing::AskerBudget askers_, handed_over_;  // handed_over_: of all newcomers together
  DhtKey sent_again_;                          // the last key that was
  std::unique_ptr<routing::ReplicaMap> replicas_;
  std::unique_ptr<DhtLookups> lookups_;
  std::unique_ptr<DhtReads> reads_;
  std::unique_ptr<DhtJoining> joining_;
};

caf::behavior DhtNode::start(Self* self, DhtDeps deps) {
  self_ = self;
  deps_ = std::move(deps);
  table_ = std::make_unique<routing::RoutingTable>(deps_.self, deps_.options.k,
                                                   Seconds(deps_.options.refresh_every).count());
  replicas_ = std::make_unique<routing::ReplicaMap>(deps_.options.k);
  lookups_ = std::make_unique<DhtLookups>(
      self, deps_,
      DhtLookups::Contacts{
          [this](const DhtKey& key) { return table_->nearest(key, deps_.options.k); },
          [this](const Contact& contact) { heard_from(contact); },
          [this](const NodeId& id) { lost(id); }});
  reads_ = std::make_unique<DhtReads>(self, deps_, *lookups_, records_);
  const auto me = caf::actor_cast<caf::actor>(self);
  self->send(deps_.links, register_atom::value, std::string(kDhtName), me);
  self->send(deps_.links, subscribe_atom::value, me);
  self->set_exit_handler([this](caf::exit_msg& exit) { quit(exit.reason); });
  install_default_handlers(self);
  joining_ = std::make_unique<DhtJoining>(
      self, deps_, [this](const Contact& contact) { heard_from(contact); },
      [this] { return table_->size(); });
  joining_->begin();
  self->delayed_send(self, deps_.options.refresh_every, refresh_tick_atom::value);
  return {
      [this](const Mail& mail) { return serve(mail); },
      [this](dht_store_atom, const std::string& name, const DhtRecordLocal& record) {
        return put(name, record);
      },
      [this](dht_get_atom, const std::string& name) { return get(name); },
      [this](dht_sample_atom, const std::string& name, uint32_t most) {
        return sample(name, most);
      },
      [this](dht_lookup_text_atom, const std::string& name) { return lookup_text(name); },
      [this](dht_status_atom) { return status(); },
      [this](node_up_atom, const NodeInfo& node) {
        if (!node.is_tool) heard_from({node.id, node.endpoint});
      },
      [this](node_down_atom, const NodeInfo& node, const std::string&) { lost(node.id); },
      [this](join_tick_atom) { joining_->tick(); },
      [this](refresh_tick_atom) { refresh_tick(); },
      [this](lookup_limit_atom, uint64_t id) { lookups_->limit(id); },
  };
}

void DhtNode::quit(const caf::error& reason) {
  reads_->abort_all();
  lookups_->abort_all();
  self_->quit(reason);
}

// ---- serving ------------------------------------------------------------------------------

caf::result<Mail> DhtNode::serve(const Mail& mail) {
  if (mail.kind == proto::KIND_DHT_FIND) return answer_of(find(mail));
  if (mail.kind == proto::KIND_DHT_STORE) return answer_of(store(mail));
  return to_caf(ErrorCode::kInvalidArgument,
                std::string("the dht takes no ") + kind_name(mail.kind));
}

Result<proto::DhtFindReply> DhtNode::find(const Mail& mail) {
  const auto& request = mail.as<proto::DhtFind>();
  auto key = NodeId::from_bytes(request.key());
  if (!key.ok()) return Error{ErrorCode::kInvalidArgument, "dht_find: key: " + key.error().detail};
  auto sender = parse_contact(request.sender());
  if (auto own = speaks_for(mail, sender); !own) return own.error();
  if (auto may = charge(askers_, mail, 0, now_s()); !may) return may.error();
  proto::DhtFindReply reply;
  if (!request.records_only()) add_nearest(reply, *key, sender.ok() ? sender->id : NodeId());
  if (sender.ok()) heard_from(*sender);
  if (request.contacts_only()) return reply;
  const double now = now_s();
  const NodeId reader = sender.ok() ? sender->id : NodeId();
  const auto records = reads_->chosen(reader, records_.find(*key, now), request.max_records());
  for (auto& record : fitting(records, now)) *reply.add_records() = std::move(record);
  (void)charge(askers_, mail, reply.ByteSizeLong(), now);  // not what others filled the key with
  return reply;
}

void DhtNode::add_nearest(proto::DhtFindReply& reply, const DhtKey& key,
                          const NodeId& sender) const {
  for (auto& contact : table_->nearest(key, deps_.options.k + 1))
    if (contact.id != sender && reply.contacts_size() < static_cast<int>(deps_.options.k))
      *reply.add_contacts() = to_proto(contact);
}

Result<proto::DhtStoreReply> DhtNode::store(const Mail& mail) {
  const auto& request = mail.as<proto::DhtStore>();
  auto key = NodeId::from_bytes(request.key());
  if (!key.ok()) return Error{ErrorCode::kInvalidArgument, "dht_store: key: " + key.error().detail};
  if (static_cast<size_t>(request.records_size()) > kMaxRecordsPerStore)
    return Error{ErrorCode::kInvalidArgument, "dht_store: more than 1024 records"};
  auto sender = parse_contact(request.sender());
  if (auto own = speaks_for(mail, sender); !own) return own.error();
  const double now = now_s();
  if (auto may = charge(askers_, mail, request.ByteSizeLong(), now); !may) return may.error();
  if (sender.ok()) heard_from(*sender);
  for (auto& record : request.records())
    if (!mail.from || !writes(deps_.self, record.subkey()))  // of itself this node knows better
      records_.store(*key, from_proto(record, now, mail.from), now);
  return proto::DhtStoreReply();
}

// ---- contacts -----------------------------------------------------------------------------

void DhtNode::heard_from(const Contact& contact) {
  if (contact.id == deps_.self || contact.id.is_zero() || contact.endpoint.port == 0) return;
  const size_t before = table_->size();
  joining_->heard_from(contact);
  replicas_->heard_from(contact);
  reads_->heard_from(contact);
  auto to_ping = table_->seen(contact, now_s());
  if (to_ping) lookups_->tell(*to_ping, lookups_->find_mail(deps_.self, true));
  if (table_->size() == before) return;
  log_debug(fmt::format("dht contact={} endpoint={} contacts={}", contact.id.brief(),
                        contact.endpoint.text(), table_->size()));
  hand_over(contact);
  if (before == 0) meet_neighbours();  // joined
}

void DhtNode::lost(const NodeId& id) {
  lookups_->forget(id);
  const auto contact = table_->failed(id);
  replicas_->lost(id);
  reads_->lost(id);
  if (contact) joining_->lost(*contact);
}

/// Lookups that stop at a newcomer would miss what it does not have. Near keys first, if too many.
void DhtNode::hand_over(const Contact& newcomer) {
  if (!handed_over_.may({}, 0, now_s())) return;
  const auto among = [&](const DhtKey& key) {
    const auto nearest = table_->nearest(key, deps_.options.k);
    return std::any_of(nearest.begin(), nearest.end(),
                       [&](const Contact& c) { return c.id == newcomer.id; });
  };
  const auto page = records_.page(newcomer.id, {now_s(), among});
  handed_over_.may({}, page.bytes + 1'024 * page.keys.size(), now_s());
  for (const auto& [key, records] : page.keys) lookups_->tell(newcomer, store_mail(key, records));
}

void DhtNode::refresh_tick() {
  self_->delayed_send(self_, deps_.options.refresh_every, refresh_tick_atom::value);
  const double now = now_s();
  records_.expire(now);
  joining_->refresh(table_->all());
  meet_neighbours();
  const double age_s = Seconds(deps_.options.refresh_every).count();
  if (auto key = table_->refresh_target(now, age_s)) lookups_->lookup(*key, {}, [](Running&) {});
  // Who repeats a record more often than this needs no help. Where there are many, the next ones.
  const auto page = records_.page(sent_again_, {now + age_s});
  sent_again_ = page.last;
  for (const auto& [key, records] : page.keys)
    for (auto& contact : table_->nearest(key, deps_.options.k))
      lookups_->tell(contact, store_mail(key, records));
}

Mail DhtNode::store_mail(const DhtKey& key, const std::vector<StoredRecord>& records) const {
  proto::DhtStore store;
  *store.mutable_sender() = to_proto(Contact{deps_.self, deps_.endpoint});
  store.set_key(key.raw());
  for (auto& record : fitting(reads_->chosen(deps_.self, records, kMaxRecordsPerStore), now_s()))
    *store.add_records() = std::move(record);
  return make_mail(std::move(store), {}, deps_.options.request_timeout);
}

// ---- local interface ----------------------------------------------------------------------

caf::response_promise DhtNode::put(const std::string& name, const DhtRecordLocal& record) {
  auto promise = self_->make_response_promise();
  if (!storable(record)) {
    promise.deliver(to_caf(ErrorCode::kInvalidArgument,
                           "dht store of " + name + ": subkey, value or ttl out of range"));
    return promise;
  }
  StoredRecord stored{record.subkey, record.value, record.version,
                      now_s() + Seconds(record.ttl).count(), writes(deps_.self, record.subkey)};
  const auto key = key_of(name);
  const double max_age_s = Seconds(deps_.options.refresh_every).count();
  if (const auto* known = replicas_->find(key, now_s(), max_age_s)) {
    put_at(key, routing::KeyReplicas(*known), stored, promise);
    return promise;
  }
  lookups_->lookup(key, {}, [this, stored, promise](Running& found) mutable {
    if (found.aborted) {
      promise.deliver(to_caf(ErrorCode::kShuttingDown, "the dht stops"));
      return;
    }
    auto replicas =
        routing::choose_replicas(found.key, deps_.self, deps_.options.k, found.lookup.result());
    put_at(found.key, replicas, stored, promise);
    replicas_->set(found.key, std::move(replicas), now_s());
  });
  return promise;
}

/// Acknowledged by the first success.
void DhtNode::put_at(const DhtKey& key, const routing::KeyReplicas& replicas,
                     const StoredRecord& record, caf::response_promise promise) {
  struct Progress {
    size_t waiting = 0;
    bool answered = false;
  };
  auto progress = std::make_shared<Progress>();
  progress->waiting = replicas.others.size() + 1;
  auto report = [progress, promise](bool stored) mutable {
    --progress->waiting;
    if (progress->answered) return;
    if (stored) promise.deliver(caf::message{});
    if (!stored && progress->waiting == 0)
      promise.deliver(to_caf(ErrorCode::kNoLivePeer, "no dht node took the record"));
    progress->answered = stored || progress->waiting == 0;
  };
  for (auto& contact : replicas.others)
    lookups_->ask(
        contact, store_mail(key, {record}), [report](const Mail&) mutable { report(true); },
        [report]() mutable { report(false); });
  if (replicas.mine) records_.store(key, record, now_s());
  report(replicas.mine);
}

DhtReads::Done DhtNode::deliver_to(caf::typed_response_promise<DhtRecords> promise) const {
  return [this, promise](const FoundRecords& found, bool aborted) mutable {
    if (aborted) {
      promise.deliver(to_caf(ErrorCode::kShuttingDown, "the dht stops"));
      return;
    }
    promise.deliver(local_records(found, now_s()));
  };
}

caf::result<DhtRecords> DhtNode::get(const std::string& name) {
  auto promise = self_->make_response_promise<DhtRecords>();
  reads_->all(key_of(name), deliver_to(promise));
  return promise;
}

caf::result<DhtRecords> DhtNode::sample(const std::string& name, uint32_t most) {
  auto promise = self_->make_response_promise<DhtRecords>();
  reads_->some(key_of(name), most, deliver_to(promise));
  return promise;
}

caf::result<std::string> DhtNode::lookup_text(const std::string& name) {
  auto promise = self_->make_response_promise<std::string>();
  lookups_->lookup(key_of(name), {false}, [this, name, promise](Running& found) mutable {
    if (found.aborted) {
      promise.deliver(to_caf(ErrorCode::kShuttingDown, "the dht stops"));
      return;
    }
    for (auto& record : records_.find(found.key, now_s())) merge(found.records, record);
    promise.deliver(lookup_lines(name, found, now_s()));
  });
  return promise;
}

DhtStatus DhtNode::status() const {
  return {table_->all(), records_.size(), table_->size() > 0, joining_->failures()};
}

caf::behavior dht_node(DhtNode::Self* self, DhtDeps deps) {
  return self->state.start(self, std::move(deps));
}

}  // namespace

caf::actor spawn_dht_node(caf::actor_system& system, DhtDeps deps) {
  return system.spawn(dht_node, std::move(deps));
}

}  // namespace swarm::actors
