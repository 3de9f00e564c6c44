#include "actors/coordinator/office_mail.h"

#include <fmt/format.h>

#include <chrono>
#include <map>
#include <utility>

#include "actors/net/links/links.h"
#include "common/names.h"
#include "common/shorten_list.h"
#include "swarm/dht.pb.h"

namespace swarm::actors {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kAskBudget{5'000};
constexpr milliseconds kStoreBudget{10'000};
constexpr size_t kMaxPhase = 200;  // bytes

routing::Office make_office(const CoordinatorDeps& deps, routing::Time now) {
  routing::OfficeOptions options;
  options.self = deps.id.node;
  options.announce_every = deps.dht_options.announce_every;
  options.forget_after = deps.dht_options.silent_after();
  const auto version = std::chrono::duration_cast<milliseconds>(now).count();
  return {options, now, static_cast<uint64_t>(version)};
}

/// How far training is, for every node's terminal.
void add_progress(const proto::SwarmStatusReply& status, proto::CoordinatorRecord& out) {
  out.set_step(status.step());
  out.set_max_steps(status.max_steps());
  out.set_open(status.open());
  out.set_phase(shorten_list(status.phase(), kMaxPhase));
  if (status.has_last_loss()) out.set_last_loss(status.last_loss());
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
  message.set_yields(office_.yields());
  message.set_vain(office_.vain());
  message.set_finished(office_.active() && hooks_.over());
  if (office_.active()) add_progress(hooks_.status(), message);
  DhtRecordLocal record;
  record.subkey = subkey_of(deps_.id.node);
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
  if (*deps_.hard_to_reach) office_.hard_to_reach();
  if (!office_.ask(now())) return;
  if (office_.publication_due(now())) publish();
  self_->request(deps_.dht, kAskBudget, dht_get_atom::value, std::string(kCoordinatorKey))
      .then([this](const std::vector<DhtRecordLocal>& found) { heard(found); },
            [this](const caf::error&) { office_.in_vain(); });
}

bool OfficeMail::hands_over(std::optional<Stage> missing, bool minority) {
  if (!tenure_.gives_way({missing, minority, office_.rivals(), office_.vain()}, now()))
    return false;
  tenure_.reset();
  hooks_.step_down(
      missing ? fmt::format("no peer of stage {} reaches this node; another trainer is to try",
                            *missing)
              : "fewer than half of the swarm reach this node; another trainer is to try");
  office_.resign();
  publish();
  return true;
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
  watch(office_.heard(candidates, now()), endpoints);
  const auto decision = office_.decide(candidates, now());
  if (decision.ruling != Ruling::kNothing) tenure_.reset();
  if (decision.ruling == Ruling::kTakeOver) hooks_.take_over();
  if (decision.ruling == Ruling::kStepDown) hooks_.step_down(decision.reason);
}

void OfficeMail::watch(const std::vector<NodeId>& nodes,
                       const std::map<NodeId, Endpoint>& endpoints) {
  watched_ = {nodes.begin(), nodes.end()};
  for (auto it = held_.begin(); it != held_.end();)
    it = watched_.count(it->first) == 0 ? held_.erase(it) : std::next(it);
  for (const NodeId& node : nodes)
    if (held_.count(node) == 0 && dialled_.insert(node).second) link_to(node, endpoints.at(node));
}

void OfficeMail::link_to(const NodeId& node, const Endpoint& endpoint) {
  self_->request(deps_.links, kAskBudget, connect_atom::value, endpoint)
      .then(
          [this, node](const NodeInfo& info) {
            if (info.id == node) return hold(node);
            dialled_.erase(node);  // another lives there by now
            office_.unreachable(node, now());
          },
          [this, node](const caf::error& error) {
            dialled_.erase(node);
            if (!nobody_reached(error)) return;
            office_.unreachable(node, now());
            self_->send(deps_.links, unreached_atom::value, node);
          });
}

void OfficeMail::hold(const NodeId& node) {
  self_
      ->request(deps_.links, kAskBudget, resolve_atom::value, ActorId{node, deps_.id.actor},
                Endpoint{})
      .then(
          [this, node](const caf::actor& proxy) {
            dialled_.erase(node);
            if (watched_.count(node) != 0) held_[node] = proxy;
          },
          [this, node](const caf::error&) { dialled_.erase(node); });
}

void OfficeMail::link_down(const NodeId& node) {
  held_.erase(node);
  if (office_.link_down(node, now())) hold_election();
}

}  // namespace swarm::actors
