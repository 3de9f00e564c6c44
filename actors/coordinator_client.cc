#include "actors/coordinator_client.h"

#include "actors/dht_node.h"
#include "actors/log.h"
#include "actors/requests.h"
#include "swarm/dht.pb.h"

namespace swarm::actors {

using std::chrono::milliseconds;

CoordinatorClient::CoordinatorClient(CoordinatorClientDeps deps) : deps_(std::move(deps)) {}

void CoordinatorClient::refresh() {
  if (asking_) return;
  asking_ = true;
  std::weak_ptr<bool> alive = alive_;
  auto again_if_unknown = [this, alive] {
    if (alive.expired()) return;
    asking_ = false;
    if (known()) return;
    deps_.self->delayed_send(deps_.self, deps_.retry_every, run_later_atom::value,
                             LocalTask([this, alive] {
                               if (!alive.expired() && !known()) refresh();
                             }));
  };
  deps_.self
      ->request(deps_.dht, milliseconds(5'000), dht_get_atom::value, std::string("coordinator"))
      .then(
          [this, alive, again_if_unknown](const std::vector<DhtRecordLocal>& found) {
            if (alive.expired()) return;
            std::optional<proto::CoordinatorRecord> best;
            for (const auto& record : found) {
              proto::CoordinatorRecord one;
              if (!one.ParseFromString(record.value) || !one.active()) continue;
              auto node = NodeId::from_bytes(one.node_id());
              if (!node || dead_.count({one.term(), *node}) != 0) continue;
              auto rank = [](const proto::CoordinatorRecord& r) {
                return std::make_pair(r.term(), r.node_id());
              };
              if (!best || rank(*best) < rank(one)) best = std::move(one);
            }
            if (best) {
              auto endpoint = Endpoint::parse(best->endpoint());
              if (endpoint)
                follow({*NodeId::from_bytes(best->node_id()), best->actor()}, *endpoint,
                       best->term());
            }
            again_if_unknown();
          },
          [again_if_unknown](const caf::error&) { again_if_unknown(); });
}

void CoordinatorClient::follow(const ActorId& id, const Endpoint& endpoint, uint64_t term) {
  if (known() && id == id_ && term == term_) return;
  if (std::make_pair(term, id.node.raw()) < std::make_pair(term_, id_.node.raw())) return;
  std::weak_ptr<bool> alive = alive_;
  deps_.self->request(deps_.links, milliseconds(5'000), resolve_atom::value, id, endpoint)
      .then(
          [this, alive, id, term](const caf::actor& proxy) {
            if (alive.expired() || dead_.count({term, id.node}) != 0) return;
            proxy_ = proxy;
            id_ = id;
            term_ = term;
            log_info("event=coordinator_followed coordinator=" + id.brief() +
                     " term=" + std::to_string(term));
            deps_.on_change();
          },
          [](const caf::error&) {});
}

void CoordinatorClient::node_down(const NodeId& node) {
  if (!known() || id_.node != node) return;
  dead_.insert({term_, node});
  proxy_ = nullptr;
  refresh();
}

bool CoordinatorClient::accept(uint64_t term) {
  if (term < term_) return false;
  if (term > term_) refresh();  // its record will say where it is
  return true;
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
                 if (gone) node_down(asked.node);
                 done(std::move(reply));
               });
}

}  // namespace swarm::actors
