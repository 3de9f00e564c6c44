#include "apps/compute/bench_averaging_peer.h"

#include <sys/socket.h>

#include <algorithm>
#include <caf/actor_system.hpp>
#include <caf/scoped_actor.hpp>
#include <chrono>
#include <cmath>
#include <cstring>
#include <memory>
#include <vector>

#include "actors/averaging/averager.h"
#include "actors/net/errors.h"
#include "actors/net/links/links.h"
#include "actors/net/system_config.h"
#include "apps/bench/figures/bench_figures.h"
#include "apps/compute/bench_gloo.h"
#include "common/names.h"
#include "common/strong_id.h"

namespace swarm::apps {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kPatience{300};

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

class Peer {
 public:
  Peer(uint32_t index, uint32_t peers, uint64_t elements)
      : index_(index), peers_(peers), elements_(elements), system_(config_), self_(system_) {}

  Status open(PeerAddress& own);
  Status meet(const std::vector<PeerAddress>& all, const std::string& folder);
  Status obey(const PeerCommand& command, PeerAnswer& answer);

 private:
  Status ours(Round round, PeerAnswer& answer);
  Status check(bool with_gloo) const;
  void refill() { std::memcpy(sums_.data(), input_.data(), input_.size()); }

  uint32_t index_, peers_;
  uint64_t elements_;
  actors::SystemConfig config_;
  caf::actor_system system_;
  caf::scoped_actor self_;
  caf::actor links_, averager_;
  NodeId id_ = NodeId::random();
  std::vector<actors::AverageMember> members_;
  Buffer input_, mean_;
  std::vector<float> sums_;  // Gloo's, in place
  std::unique_ptr<GlooPeer> gloo_;
};

Status Peer::open(PeerAddress& own) {
  actors::LinksOptions options;
  options.node_id = id_;
  options.node_name = "peer" + std::to_string(index_);
  options.run_id = "bench-averaging";
  auto listening = actors::spawn_tcp_links(system_, options);
  if (!listening) return listening.error();
  links_ = listening->links;
  actors::AveragerDeps deps;
  deps.id = {id_, RoleName{Role::kAverager}.text()};
  deps.links = links_;
  averager_ = actors::spawn_averager(system_, deps);
  auto memory = MutableBuffer::allocate(elements_ * sizeof(float));
  auto* values = reinterpret_cast<float*>(memory.data());
  for (uint64_t i = 0; i < elements_; ++i) values[i] = averaging_input(i, index_);
  input_ = memory.freeze();
  std::memcpy(own.node, id_.bytes.data(), sizeof own.node);
  own.port = listening->endpoint.port;
  return {};
}

Status Peer::meet(const std::vector<PeerAddress>& all, const std::string& folder) {
  for (const auto& one : all) {
    actors::AverageMember member;
    std::memcpy(member.averager.node.bytes.data(), one.node, sizeof one.node);
    member.averager.actor = RoleName{Role::kAverager}.text();
    member.endpoint = {"127.0.0.1", one.port};
    member.samples = 1;
    members_.push_back(member);
  }
  if (folder.empty()) return {};
  auto gloo = GlooPeer::connect(folder, static_cast<int>(index_), static_cast<int>(peers_));
  if (!gloo) return gloo.error();
  gloo_ = std::move(*gloo);
  sums_.resize(elements_);
  return {};
}

Status Peer::obey(const PeerCommand& command, PeerAnswer& answer) {
  switch (command.kind) {
    case PeerCommand::kPrepare:
      return gloo_->prepare(command.argument, sums_.data(), elements_);
    case PeerCommand::kRefill:
      refill();
      return {};
    case PeerCommand::kOurs:
      return ours(Round(command.argument), answer);
    case PeerCommand::kGloo: {
      const auto start = Clock::now();
      auto done = gloo_->run();
      answer.seconds = seconds_since(start);
      return done;
    }
    case PeerCommand::kCheck:
      return check(command.argument != 0);
    default:
      return Error{ErrorCode::kInternal, "an unknown command"};
  }
}

Status Peer::ours(Round round, PeerAnswer& answer) {
  mean_ = {};
  actors::AverageRound spec;
  spec.round = round;
  spec.members = members_;
  spec.self = index_;
  spec.gradient = input_;
  spec.n = elements_;
  spec.total_samples = peers_;
  Status done;
  const auto start = Clock::now();
  self_->request(averager_, kPatience, actors::average_atom::value, spec)
      .receive(
          [&](actors::AverageResult& result) {
            mean_ = result.mean;
            answer.digest = result.digest;
          },
          [&](caf::error& error) { done = actors::from_caf(error); });
  answer.seconds = seconds_since(start);
  return done;
}

Status Peer::check(bool with_gloo) const {
  const auto* means = reinterpret_cast<const float*>(mean_.data());
  for (uint64_t i = 0; i < elements_; ++i) {
    float sum = 0;
    for (uint32_t peer = 0; peer < peers_; ++peer) sum += averaging_input(i, peer);
    const float mean = sum / static_cast<float>(peers_);
    // One rounding of 1 / peers and one of the product: 2 ulp.
    if (!(std::abs(means[i] - mean) <= 2.5e-7f * std::abs(mean)))
      return Error{ErrorCode::kInternal, "our mean of element " + std::to_string(i) + " is " +
                                             std::to_string(means[i]) + ", not " +
                                             std::to_string(mean)};
    if (with_gloo && sums_[i] != sum)
      return Error{ErrorCode::kInternal, "Gloo's sum of element " + std::to_string(i) + " is " +
                                             std::to_string(sums_[i]) + ", not " +
                                             std::to_string(sum)};
  }
  return {};
}

void send_answer(int control, PeerAnswer& answer, const Status& status) {
  answer.good = status.ok();
  if (!status.ok()) {
    const std::string text = to_string(status.error());
    std::strncpy(answer.error, text.c_str(), sizeof answer.error - 1);
  }
  (void)!::send(control, &answer, sizeof answer, MSG_NOSIGNAL);
}

}  // namespace

int run_averaging_peer(int control, uint32_t index, uint32_t peers, uint64_t elements,
                       const std::string& folder) {
  // Never destroyed: CAF's destructor would wait for timers of rounds that are over.
  Peer& peer = *new Peer(index, peers, elements);
  PeerAnswer first;
  send_answer(control, first, peer.open(first.address));
  std::vector<char> packet(sizeof(PeerCommand) + peers * sizeof(PeerAddress));
  for (;;) {
    const ssize_t size = ::recv(control, packet.data(), packet.size(), 0);
    if (size < static_cast<ssize_t>(sizeof(PeerCommand))) return 0;  // the parent is done or gone
    PeerCommand command;
    std::memcpy(&command, packet.data(), sizeof command);
    PeerAnswer answer;
    if (command.kind == PeerCommand::kMembers) {
      std::vector<PeerAddress> all(peers);
      std::memcpy(all.data(), packet.data() + sizeof command, peers * sizeof(PeerAddress));
      send_answer(control, answer, peer.meet(all, folder));
    } else {
      send_answer(control, answer, peer.obey(command, answer));
    }
  }
}

}  // namespace swarm::apps
