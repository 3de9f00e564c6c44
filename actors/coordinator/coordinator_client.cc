#include "actors/coordinator/coordinator_client.h"

#include <fmt/format.h>

#include <algorithm>

#include "actors/net/links/socket.h"
#include "actors/net/log.h"
#include "actors/net/requests.h"
#include "common/backoff.h"
#include "common/names.h"
#include "routing/membership/term.h"
#include "swarm/dht.pb.h"

namespace swarm::actors {

using std::chrono::milliseconds;

namespace {
constexpr size_t kMaxFollowed = 256;
}

CoordinatorClient::CoordinatorClient(CoordinatorClientDeps deps)
    : deps_(std::move(deps)), dead_(std::chrono::duration<double>(deps_.record_ttl).count()) {}

routing::Time CoordinatorClient::now() const {
  return deps_.self->clock().now().time_since_epoch();
}

void CoordinatorClient::tick() {
  const bool recent = deps_.self->clock().now() - asked_at_ < deps_.ask_every;
  if (!known() || doubted_ || !recent) refresh();
}

void CoordinatorClient::refresh() {
  if (asking_) return;
  asking_ = true;
  asked_at_ = deps_.self->clock().now();
  std::weak_ptr<bool> alive = alive_;
  auto again_if_unknown = [this, alive] {
    if (alive.expired()) return;
    asking_ = false;
    if (known()) {
      retries_ = 0;
      return;
    }
    const auto pause = backoff(++retries_, deps_.retry_every, kLongestRetry);
    deps_.self->delayed_send(deps_.self, pause, run_later_atom::value, LocalTask([this, alive] {
                               if (!alive.expired() && !known()) refresh();
                             }));
  };
  deps_.self
      ->request(deps_.dht, milliseconds(5'000), dht_get_atom::value, std::string(kCoordinatorKey))
      .then(
          [this, alive, again_if_unknown](const std::vector<DhtRecordLocal>& records) {
            if (alive.expired()) return;
            found(records);
            again_if_unknown();
          },
          [again_if_unknown](const caf::error&) { again_if_unknown(); });
}

/// Follows the active one of the highest (term, node id). Who says that it leads no more is followed no
/// more, however high its term was: another may have been elected that has not heard of that.
void CoordinatorClient::found(const std::vector<DhtRecordLocal>& records) {
  dead_.expire(now_s());
  std::optional<proto::CoordinatorRecord> best;
  uint64_t version = 0;
  bool stands_by = false;  // the one that is followed
  for (const auto& record : records) {
    proto::CoordinatorRecord one;
    if (!one.ParseFromString(record.value)) continue;
    auto node = NodeId::from_bytes(one.node_id());
    if (!node || !writes(*node, record.subkey) || !is_name(one.actor())) continue;
    if (!one.active()) {
      stands_by |= id_.node == *node && record.version > version_;
      continue;
    }
    const Term term(one.term());
    if (!routing::is_term(term) || !routing::is_of(term, *node)) continue;
    if (!lead_.reaches(term, known_term(), now())) continue;
    if (dead_.is_dead(term, *node, record.version)) continue;
    if (!links::told_endpoint(one.endpoint())) continue;  // else it would hide who can be reached
    auto rank = [](const proto::CoordinatorRecord& r) {
      return std::make_pair(r.term(), r.node_id());
    };
    if (best && !(rank(*best) < rank(one))) continue;
    best = std::move(one);
    version = record.version;
  }
  if (stands_by) proxy_ = nullptr;
  if (!best) return;
  if (auto endpoint = links::told_endpoint(best->endpoint()))
    follow({{*NodeId::from_bytes(best->node_id()), best->actor()},
            *endpoint,
            Term(best->term()),
            version});
}

/// The one that is followed is left only for one that can be reached.
void CoordinatorClient::follow(const Known& one) {
  if (known() && one.id == id_ && one.term == term_) {
    version_ = std::max(version_, one.version);
    return;
  }
  // With nobody known any active one will do: it hears of higher terms by foreign_term().
  const bool lower =
      std::make_pair(one.term, one.id.node.raw()) < std::make_pair(term_, id_.node.raw());
  if ((known() && lower) || reaching_) return;
  reaching_ = true;
  std::weak_ptr<bool> alive = alive_;
  auto unreached = [this, alive, one](const caf::error& error) {
    if (alive.expired()) return;
    reaching_ = false;
    if (!nobody_reached(error))
      return;  // it has no room for a link: refresh() comes again by itself
    dead_.died(one.term, one.id.node, one.version, now_s());
    deps_.self->send(deps_.links, unreached_atom::value, one.id.node);
    if (!known()) refresh();  // there may be another
  };
  auto linked = [this, alive, one, unreached](const NodeInfo& info) {
    if (alive.expired()) return;
    if (info.id != one.id.node) return unreached({});
    deps_.self->request(deps_.links, milliseconds(5'000), resolve_atom::value, one.id, one.endpoint)
        .then(
            [this, alive, one](const caf::actor& proxy) {
              if (!alive.expired()) reached(one, proxy);
            },
            unreached);
  };
  deps_.self->request(deps_.links, milliseconds(5'000), connect_atom::value, one.endpoint)
      .then(linked, unreached);
}

void CoordinatorClient::reached(const Known& one, const caf::actor& proxy) {
  reaching_ = false;
  if (dead_.is_dead(one.term, one.id.node, one.version)) return;
  lead_.follow(one.term, known_term(), now());
  proxy_ = proxy;
  id_ = one.id;
  term_ = one.term;
  version_ = one.version;
  retries_ = 0;
  log_info("event=coordinator_followed coordinator=" + id_.brief() +
           " term=" + std::to_string(routing::term_number(term_)));
  deps_.on_change();
}

void CoordinatorClient::has_answered(const ActorId& id, Term term) {
  highest_ = std::max(highest_, term);
  if (followed_.count(id) == 0 && followed_.size() >= kMaxFollowed)
    followed_.erase(followed_.begin());
  followed_[id] = std::max(followed_[id], term);
}

void CoordinatorClient::node_down(const NodeId& node) {
  if (!known() || id_.node != node) return;
  dead_.died(term_, node, version_, now_s());
  proxy_ = nullptr;
  refresh();
}

Status CoordinatorClient::accept(Term term, const std::optional<NodeId>& from) {
  if (!routing::is_term(term) || (from && !routing::is_of(term, *from)))
    return Error{ErrorCode::kRefused,
                 fmt::format("term {} is none of node {}", term, from ? from->brief() : "?")};
  if (term < highest_)
    return Error{ErrorCode::kStaleTerm, fmt::format("term {} rules", known_term())};
  if (term > term_) refresh();  // its record will say where it is
  if (!lead_.allows(term, known_term(), now()))
    return Error{ErrorCode::kRefused,
                 fmt::format("term {} is too far above {}: no record says so", term, highest_)};
  lead_.led(known_term(), term, now());
  highest_ = term;
  return {};
}

Term CoordinatorClient::foreign_term() const {
  // Of one that died before its record was read; the one followed may have raised its own since.
  const bool own = known() && routing::is_of(highest_, id_.node);
  Term term = highest_ > term_ && !own ? highest_ : Term();
  for (const auto& [id, followed] : followed_)
    if (id != id_) term = std::max(term, followed);
  return term;
}

void CoordinatorClient::request(const Mail& mail, Done done) {
  if (!known()) return done(Error{ErrorCode::kNotReady, "no coordinator is known", 100});
  std::weak_ptr<bool> alive = alive_;
  request_mail(
      deps_.self, proxy_, mail,
      [this, alive, done = std::move(done), asked = id_, term = term_](Result<Mail> reply) {
        if (alive.expired()) return;
        if (reply) has_answered(asked, term);
        bool gone = !reply &&
                    (reply.code() == ErrorCode::kLinkLost || reply.code() == ErrorCode::kNotFound ||
                     reply.code() == ErrorCode::kShuttingDown);
        doubted_ = !reply && reply.code() != ErrorCode::kOverloaded;
        if (gone) node_down(asked.node);
        done(std::move(reply));
      });
}

}  // namespace swarm::actors
