#include "actors/coordinator/office_mail.h"

#include <chrono>
#include <map>
#include <utility>

#include "actors/net/links/links.h"
#include "common/names.h"
#include "swarm/dht.pb.h"

namespace swarm::actors {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kAskBudget{5'000};
constexpr milliseconds kStoreBudget{10'000};

routing::Office make_office(const CoordinatorDeps& deps, routing::Time now) {
  routing::OfficeOptions options;
  options.self = deps.id.node;
  options.announce_every = deps.dht_options.announce_every;
  options.forget_after = deps.dht_options.silent_after();
  const auto version = std::chrono::duration_cast<milliseconds>(now).count();
  return {options, now, static_cast<uint64_t>(version)};
}

}  // namespace

OfficeMail::OfficeMail(caf::event_based_actor* self, const CoordinatorDeps& deps, Hooks hooks)
    : self_(self), deps_(deps), hooks_(std::move(hooks)), office_(make_office(deps, now())) {}

void OfficeMail::publish() {
  proto::CoordinatorRecord message;
  message.set_node_id(deps_.id.node.raw());
  message.set_actor(deps_.id.actor);
  message.set_endpoint(deps_.endpoint.text());
  message.set_node_name(deps_.node_name);
  message.set_term(office_.term().value());
  message.set_active(office_.active());
  message.set_finished(office_.active() && hooks_.over());
  DhtRecordLocal record;
  record.subkey = deps_.id.node.hex();
  record.value = message.SerializeAsString();
  record.version = office_.publish(now());
  record.ttl = deps_.dht_options.announce_ttl;
  // Stored anew with the next announcement, whatever this one comes to.
  self_
      ->request(deps_.dht, kStoreBudget, dht_store_atom::value, std::string(kCoordinatorKey),
                record)
      .then([] {}, [](const caf::error&) {});
}

void OfficeMail::hold_election() {
  if (!office_.ask(now())) return;
  if (office_.publication_due(now())) publish();
  self_->request(deps_.dht, kAskBudget, dht_get_atom::value, std::string(kCoordinatorKey))
      .then([this](const std::vector<DhtRecordLocal>& found) { heard(found); },
            [this](const caf::error&) { office_.in_vain(); });
}

void OfficeMail::heard(const std::vector<DhtRecordLocal>& found) {
  using Ruling = routing::Office::Ruling;
  std::vector<routing::Candidate> candidates;
  std::map<NodeId, Endpoint> endpoints;
  for (const auto& record : found) {
    auto one = read_record(record);
    if (!one) continue;
    candidates.push_back(one->candidate);
    endpoints.emplace(one->candidate.node, one->endpoint);
  }
  for (const NodeId& node : office_.heard(candidates, now())) link_to(node, endpoints.at(node));
  for (auto it = held_.begin(); it != held_.end();)
    it = endpoints.count(it->first) == 0 ? held_.erase(it) : std::next(it);
  const auto decision = office_.decide(candidates, now());
  if (decision.ruling == Ruling::kTakeOver) hooks_.take_over();
  if (decision.ruling == Ruling::kStepDown) hooks_.step_down(decision.reason);
}

void OfficeMail::link_to(const NodeId& node, const Endpoint& endpoint) {
  self_->request(deps_.links, kAskBudget, connect_atom::value, endpoint)
      .then([this](const NodeInfo& info) { hold(info.id); },
            [this, node](const caf::error&) { office_.unreachable(node, now()); });
}

void OfficeMail::hold(const NodeId& node) {
  self_
      ->request(deps_.links, kAskBudget, resolve_atom::value, ActorId{node, deps_.id.actor},
                Endpoint{})
      .then([this, node](const caf::actor& proxy) { held_[node] = proxy; },
            [](const caf::error&) {});
}

void OfficeMail::link_down(const NodeId& node) {
  held_.erase(node);
  if (office_.link_down(node, now())) hold_election();
}

}  // namespace swarm::actors
