#include "actors/dht/dht_lookups.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "actors/net/errors.h"
#include "actors/net/links/links.h"
#include "actors/net/log.h"
#include "common/names.h"

namespace swarm::actors {

using routing::Contact;
using routing::DhtKey;
using routing::StoredRecord;

void merge(FoundRecords& into, StoredRecord record) {
  auto [it, fresh] = into.try_emplace(record.subkey, record);
  if (!fresh && stands_before(record, it->second)) it->second = std::move(record);
}

std::string lookup_lines(const std::string& name, const Running& found, double now_s) {
  std::string text = "name " + name + "  key " + found.key.hex() + "\n";
  for (const auto& contact : found.lookup.result())
    text += "  node " + contact.id.brief() + " at " + contact.endpoint.text() + "\n";
  for (const auto& [subkey, record] : found.records)
    text +=
        fmt::format("  record {}  {} bytes, version {}, {} ms left\n", subkey, record.value.size(),
                    record.version, static_cast<int64_t>((record.expires_s - now_s) * 1e3));
  return text;
}

DhtLookups::DhtLookups(caf::event_based_actor* self, const DhtDeps& deps, Contacts contacts)
    : self_(self), deps_(deps), contacts_(std::move(contacts)) {}

double DhtLookups::now_s() const {
  return std::chrono::duration<double>(self_->clock().now().time_since_epoch()).count();
}

Mail DhtLookups::find_mail(const DhtKey& key, bool contacts_only, uint32_t max_records) const {
  proto::DhtFind find;
  *find.mutable_sender() = to_proto(Contact{deps_.self, deps_.endpoint});
  find.set_key(key.raw());
  find.set_contacts_only(contacts_only);
  find.set_max_records(max_records);
  return make_mail(std::move(find), {}, deps_.options.request_timeout);
}

Mail DhtLookups::read_mail(const DhtKey& key, uint32_t max_records) const {
  proto::DhtFind find;
  *find.mutable_sender() = to_proto(Contact{deps_.self, deps_.endpoint});
  find.set_key(key.raw());
  find.set_records_only(true);
  find.set_max_records(max_records);
  return make_mail(std::move(find), {}, deps_.options.request_timeout);
}

void DhtLookups::ask(const Contact& contact, const Mail& mail, std::function<void(const Mail&)> ok,
                     std::function<void()> failed) {
  auto known = proxies_.find(contact.id);
  if (known != proxies_.end())
    if (auto proxy = caf::actor_cast<caf::actor>(known->second))
      return send_to(proxy, contact, mail, ok, failed);
  self_
      ->request(deps_.links, deps_.options.request_timeout, resolve_atom::value,
                ActorId{contact.id, kDhtName}, contact.endpoint)
      .then(
          [=](const caf::actor& proxy) {
            if (proxies_.size() % kSweepEvery == 0) sweep();
            proxies_[contact.id] = caf::actor_cast<caf::actor_addr>(proxy);
            send_to(proxy, contact, mail, ok, failed);
          },
          [=](const caf::error&) { failed(); });
}

void DhtLookups::sweep() {
  for (auto it = proxies_.begin(); it != proxies_.end();)
    it = caf::actor_cast<caf::actor>(it->second) ? std::next(it) : proxies_.erase(it);
}

void DhtLookups::send_to(const caf::actor& proxy, const Contact& contact, const Mail& mail,
                         const std::function<void(const Mail&)>& ok,
                         const std::function<void()>& failed) {
  self_->request(proxy, deps_.options.request_timeout, mail)
      .then(
          [=](const Mail& reply) {
            contacts_.heard_from(contact);
            ok(reply);
          },
          [=](const caf::error& error) {
            log_debug(fmt::format("dht contact={} failed={} error=\"{}\"", contact.id.brief(),
                                  kind_name(mail.kind), to_string(from_caf(error))));
            if (from_caf(error).code == ErrorCode::kOverloaded)
              contacts_.heard_from(
                  contact);  // it is there, and has had enough of this node for now
            else
              contacts_.lost(contact.id);
            failed();
          });
}

void DhtLookups::tell(const Contact& contact, const Mail& mail) {
  ask(
      contact, mail, [](const Mail&) {}, [] {});
}

void DhtLookups::lookup(const DhtKey& key, const LookupWish& wish, Done done) {
  auto running =
      std::make_shared<Running>(routing::Lookup(key, deps_.self, deps_.options.k,
                                                deps_.options.alpha, contacts_.nearest(key)),
                                key);
  running->wish = wish;
  if (wish.width > 0) running->lookup.set_width(std::min<size_t>(wish.width, deps_.options.k));
  const uint64_t id = next_id_++;
  running->done = [this, id, done = std::move(done)](Running& finished) {
    running_.erase(id);
    done(finished);
  };
  running_[id] = running;
  self_->delayed_send(self_, deps_.options.request_timeout * 10, lookup_limit_atom::value, id);
  pump(running);
}

void DhtLookups::pump(const RunningPtr& running) {
  if (running->over) return;
  for (auto& contact : running->lookup.next())
    ask(
        contact, find_mail(running->key, running->wish.contacts_only, running->wish.max_records),
        [this, running, contact](const Mail& reply) {
          if (reply.kind == proto::KIND_DHT_FIND_REPLY)
            learn(running, contact, reply.as<proto::DhtFindReply>());
          else
            running->lookup.failed(contact.id);
          pump(running);
        },
        [this, running, contact] {
          running->lookup.failed(contact.id);
          pump(running);
        });
  if (!running->lookup.finished() || running->over) return;
  if (running->records.empty() && running->lookup.width() < deps_.options.k) {
    running->lookup.set_width(deps_.options.k);
    return pump(running);
  }
  running->over = true;
  auto done = running->done;
  done(*running);
}

void DhtLookups::learn(const RunningPtr& running, const Contact& from,
                       const proto::DhtFindReply& reply) {
  std::vector<Contact> closer;
  for (auto& message : reply.contacts()) {
    if (closer.size() == deps_.options.k) break;
    auto contact = parse_contact(message);
    if (contact.ok() && contact->endpoint.port != 0) closer.push_back(*contact);
  }
  running->lookup.answered(from.id, closer);
  if (running->wish.contacts_only) return;
  const double now = now_s();
  for (auto& record : reply.records())
    if (record.ttl_ms() > 0) merge(running->records, answer_from_proto(record, now));
}

void DhtLookups::limit(uint64_t id) {
  auto it = running_.find(id);
  if (it == running_.end()) return;
  auto running = it->second;
  running->over = true;
  running_.erase(it);
  running->done(*running);
}

void DhtLookups::abort_all() {
  auto running = std::move(running_);
  running_.clear();
  for (auto& [id, one] : running) {
    one->over = one->aborted = true;
    one->done(*one);
  }
}

}  // namespace swarm::actors
