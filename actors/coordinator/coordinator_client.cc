#include "actors/coordinator/coordinator_client.h"

#include <algorithm>

#include "actors/net/log.h"
#include "actors/net/requests.h"
#include "common/backoff.h"
#include "common/names.h"
#include "swarm/dht.pb.h"

namespace swarm::actors {

using std::chrono::milliseconds;

namespace {
constexpr size_t kMaxFollowed = 256;
}

CoordinatorClient::CoordinatorClient(CoordinatorClientDeps deps)
    : deps_(std::move(deps)), dead_(std::chrono::duration<double>(deps_.record_ttl).count()) {}

double CoordinatorClient::now_s() const {
  return std::chrono::duration<double>(deps_.self->clock().now().time_since_epoch()).count();
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

/// Follows the active one of the highest (term, node id).
void CoordinatorClient::found(const std::vector<DhtRecordLocal>& records) {
  dead_.expire(now_s());
  std::optional<proto::CoordinatorRecord> best;
  uint64_t version = 0;
  for (const auto& record : records) {
    proto::CoordinatorRecord one;
    if (!one.ParseFromString(record.value) || !one.active()) continue;
    auto node = NodeId::from_bytes(one.node_id());
    if (!node || dead_.is_dead(Term(one.term()), *node, record.version)) continue;
    auto rank = [](const proto::CoordinatorRecord& r) {
      return std::make_pair(r.term(), r.node_id());
    };
    if (best && !(rank(*best) < rank(one))) continue;
    best = std::move(one);
    version = record.version;
  }
  if (!best) return;
  if (auto endpoint = Endpoint::parse(best->endpoint()))
    follow({*NodeId::from_bytes(best->node_id()), best->actor()}, *endpoint, Term(best->term()),
           version);
}

void CoordinatorClient::follow(const ActorId& id, const Endpoint& endpoint, Term term,
                               uint64_t version) {
  if (known() && id == id_ && term == term_) {
    version_ = std::max(version_, version);
    return;
  }
  // With nobody known any active one will do: it hears of higher terms by foreign_term().
  bool lower = std::make_pair(term, id.node.raw()) < std::make_pair(term_, id_.node.raw());
  if (known() && lower) return;
  std::weak_ptr<bool> alive = alive_;
  deps_.self->request(deps_.links, milliseconds(5'000), resolve_atom::value, id, endpoint)
      .then(
          [this, alive, id, term, version](const caf::actor& proxy) {
            if (alive.expired()) return;
            if (dead_.is_dead(term, id.node, version)) return;
            proxy_ = proxy;
            id_ = id;
            term_ = term;
            highest_ = std::max(highest_, term);
            if (followed_.size() >= kMaxFollowed) followed_.erase(followed_.begin());
            followed_[id] = std::max(followed_[id], term);
            version_ = version;
            retries_ = 0;
            log_info("event=coordinator_followed coordinator=" + id.brief() +
                     " term=" + std::to_string(term.value()));
            deps_.on_change();
          },
          [](const caf::error&) {});
}

void CoordinatorClient::node_down(const NodeId& node) {
  if (!known() || id_.node != node) return;
  dead_.died(term_, node, version_, now_s());
  proxy_ = nullptr;
  refresh();
}

bool CoordinatorClient::accept(Term term) {
  if (term < highest_) return false;
  highest_ = term;
  if (term > term_) refresh();  // its record will say where it is
  return true;
}

Term CoordinatorClient::foreign_term() const {
  Term term;
  for (const auto& [id, followed] : followed_)
    if (id != id_) term = std::max(term, followed);
  return term;
}

void CoordinatorClient::request(const Mail& mail, Done done) {
  if (!known()) return done(Error{ErrorCode::kNotReady, "no coordinator is known", 100});
  std::weak_ptr<bool> alive = alive_;
  request_mail(deps_.self, proxy_, mail,
               [this, alive, done = std::move(done), asked = id_](Result<Mail> reply) {
                 if (alive.expired()) return;
                 bool gone = !reply && (reply.code() == ErrorCode::kLinkLost ||
                                        reply.code() == ErrorCode::kNotFound ||
                                        reply.code() == ErrorCode::kShuttingDown);
                 doubted_ = !reply && reply.code() != ErrorCode::kOverloaded;
                 if (gone) node_down(asked.node);
                 done(std::move(reply));
               });
}

}  // namespace swarm::actors
