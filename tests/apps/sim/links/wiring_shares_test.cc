/// Who gets how much of the work when a link or a computer is slow: the real actors, bytes that take
/// time, virtual time (docs/wiring.md).
#include <boost/test/unit_test.hpp>
#include <map>

#include "tests/support/sim_swarm.h"

using namespace std::chrono_literals;
using namespace swarm;

namespace {

/// Three stages; the one in the middle has two peers, of which "stage1a" may be slow.
struct Shares : testing::SimSwarm {
  using Pair = std::pair<std::string, std::string>;
  std::map<Pair, int> forwards;  // by names of sender and receiver
  double from_s = 0;

  Shares() {
    sim::NetworkModel model;
    model.min_delay = 500us;
    model.max_delay = 1ms;
    net.set_model(model, 1);
    net.count_traffic();
    net.set_filter([this](const NodeId& from, const ActorId& to, const actors::Mail& mail) {
      if (mail.kind == proto::KIND_FORWARD) ++forwards[{name_of(from), name_of(to.node)}];
      return sim::Fate::kDeliver;
    });
    training.microbatch = 256;
    training.batch = 64 * 256;
    training.validation_samples = 256;
    training.steps = 1'000'000;
    checkpoint.every_steps = 0;
    stage_options.max_resident = 16;
    trainer_options.max_in_flight = 6;  // what a sender does with what there is
  }

  void begin(std::chrono::milliseconds slow_compute = 10ms, bool with_slow = true) {
    for (int stage = 0; stage < 3; ++stage)
      for (const char* replica : {"a", "b"}) {
        const std::string name = "stage" + std::to_string(stage) + replica;
        const bool slow = name == "stage1a";
        if (slow && !with_slow) continue;
        // The middle stage is the narrowest.
        const auto compute = stage == 1 ? 10ms : 5ms;
        Swarm::add_peer(name, stage, {slow ? slow_compute : compute, 0ms});
        start(name);
      }
    for (const char* name : {"trainer-a", "trainer-b", "trainer-c"}) add_trainer(name);
  }
  /// Counts from now on.
  void count() {
    forwards.clear();
    net.count_traffic();
    from_s = now_s();
  }
  double now_s() { return std::chrono::duration<double>(system.now().time_since_epoch()).count(); }
  /// Microbatches that a peer has carried to the end.
  double carried(const std::string& name) const {
    const auto node = nodes.find(name);
    if (node == nodes.end()) return 0;
    const auto sent = net.traffic().find(node->second.id);
    if (sent == net.traffic().end()) return 0;
    const auto replies = sent->second.find(proto::KIND_FORWARD_REPLY);
    return replies == sent->second.end() ? 0 : static_cast<double>(replies->second.sent);
  }
  /// Microbatches per second of the stage in the middle.
  double throughput() { return (carried("stage1a") + carried("stage1b")) / (now_s() - from_s); }
  double share() const { return carried("stage1a") / (carried("stage1a") + carried("stage1b")); }
  /// What one microbatch makes a peer send.
  double bytes_up(const std::string& name) const {
    const auto& sent = net.traffic().at(nodes.at(name).id);
    const auto &forward = sent.at(proto::KIND_FORWARD), &reply = sent.at(proto::KIND_FORWARD_REPLY);
    return static_cast<double>(forward.sent_bytes) / forward.sent +
           static_cast<double>(reply.sent_bytes) / reply.sent;
  }
  std::string name_of(const NodeId& id) const {
    for (const auto& [name, node] : nodes)
      if (node.id == id) return name;
    return "?";
  }
};

struct AsyncShares : Shares {
  AsyncShares() {
    training.mode = actors::TrainingMode::kAsync;
    training.background_averaging = true;
  }
};

constexpr double kFastPerS = 1 / 0.02;  // two passes of 10 ms

template <class Swarm>
double throughput_without_the_slow_peer() {
  Swarm swarm;
  swarm.begin(10ms, /*with_slow=*/false);
  swarm.system.advance(20s);
  swarm.count();
  swarm.system.advance(40s);
  return swarm.throughput();
}

/// The uplink of one of two peers carries a tenth of what its computer could do.
template <class Swarm>
void check_slow_uplink(Swarm& swarm) {
  swarm.begin();
  swarm.set_rates("stage1a", {80e3, 0});
  swarm.system.advance(40s);
  swarm.count();
  swarm.system.advance(60s);
  const double capacity = 80e3 / swarm.bytes_up("stage1a");
  const double fair = capacity / (capacity + kFastPerS);
  BOOST_TEST_MESSAGE("share " << swarm.share() << " fair " << fair << " throughput "
                              << swarm.throughput());
  BOOST_TEST_MESSAGE(swarm.describe(swarm.nodes["stage0a"].stage_server));
  BOOST_TEST(swarm.share() == fair, boost::test_tools::tolerance(0.3));
  const double without = throughput_without_the_slow_peer<Swarm>();
  BOOST_TEST(swarm.throughput() >= 0.95 * without, swarm.throughput()
                                                       << " with, " << without << " without it");
}

}  // namespace

BOOST_AUTO_TEST_SUITE(WiringOfSlowLinks)

// By compute alone it got half of the work, and the swarm waited for it.
BOOST_FIXTURE_TEST_CASE(a_slow_uplink_is_no_worse_than_leaving_the_machine_out, AsyncShares) {
  check_slow_uplink(*this);
}

BOOST_FIXTURE_TEST_CASE(nor_is_it_in_the_synchronous_mode, Shares) { check_slow_uplink(*this); }

// What the default was: the test above would see it.
BOOST_FIXTURE_TEST_CASE(by_compute_alone_the_swarm_waits_for_the_slow_link, AsyncShares) {
  stage_options.wiring.cost = routing::WiringCost::kCompute;
  begin();
  set_rates("stage1a", {80e3, 0});
  system.advance(40s);
  count();
  system.advance(60s);
  BOOST_TEST_MESSAGE("compute alone: share " << share() << " throughput " << throughput());
  BOOST_TEST(throughput() < 0.8 * kFastPerS);
}

BOOST_FIXTURE_TEST_CASE(the_papers_response_time_can_be_chosen, AsyncShares) {
  stage_options.wiring.cost = routing::WiringCost::kResponse;
  begin();
  set_rates("stage1a", {80e3, 0});
  system.advance(40s);
  count();
  system.advance(60s);
  BOOST_TEST_MESSAGE("response: share " << share() << " throughput " << throughput());
  BOOST_TEST(share() < 0.5);
}

BOOST_FIXTURE_TEST_CASE(a_slow_downlink_gets_its_capacity_at_most, AsyncShares) {
  begin();
  set_rates("stage1a", {0, 80e3});
  system.advance(40s);
  count();
  system.advance(60s);
  BOOST_TEST_MESSAGE("share " << share() << " throughput " << throughput());
  BOOST_TEST(share() < 0.2);
  BOOST_TEST(throughput() >= 0.95 * kFastPerS);
}

BOOST_FIXTURE_TEST_CASE(a_slow_pair_is_avoided_by_its_sender_only, AsyncShares) {
  begin();
  set_pair_rate("stage0a", "stage1a", 40e3);
  system.advance(40s);
  count();
  system.advance(60s);
  const double slow = forwards[{"stage0a", "stage1a"}], beside = forwards[{"stage0a", "stage1b"}];
  const double other = forwards[{"stage0b", "stage1a"}];
  BOOST_TEST_MESSAGE("slow pair " << slow << " beside " << beside << " other sender " << other
                                  << " throughput " << throughput());
  BOOST_TEST(slow < 0.2 * beside);
  BOOST_TEST(other > 3 * slow);
  // Of both peers; more than the one beside it alone. The other sender does not see that it has to make way
  // there (docs/wiring.md, Limits).
  BOOST_TEST(throughput() >= 0.7 * 2 * kFastPerS);
}

BOOST_FIXTURE_TEST_CASE(a_computer_four_times_slower_gets_a_fifth, AsyncShares) {
  begin(40ms);
  system.advance(40s);
  count();
  system.advance(60s);
  BOOST_TEST_MESSAGE("share " << share() << " throughput " << throughput());
  BOOST_TEST(share() == 0.2, boost::test_tools::tolerance(0.3));
  BOOST_TEST(throughput() >= 0.9 * 1.25 * kFastPerS);
}

BOOST_AUTO_TEST_SUITE_END()
