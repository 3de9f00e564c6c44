/// Several senders, the peers of one stage, serial links and computers: whatever limits a peer, its
/// share of the work is its share of the stage's capacity. Rates are measured, not told.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <memory>
#include <queue>
#include <vector>

#include "common/link_meter.h"
#include "common/mix.h"
#include "routing/wiring/peer_choice.h"
#include "tests/support/ids.h"
#include "tests/support/sanitized.h"

using namespace swarm;
using namespace swarm::routing;
using swarm::testing::peer;

namespace {

constexpr uint64_t kBytes = 1'000'000;  // of a microbatch, each way

/// What serves one microbatch after the other.
struct Server {
  double each_s = 0;  // 0: takes no time
  double free_s = 0;
  int waiting = 0;
};

struct ModelPeer {
  double compute_s = 0.02;
  double up_s = 0.005, down_s = 0.005;  // of kBytes
  double away_s = 0;

  double capacity() const { return 1 / std::max(compute_s, std::max(up_s, down_s)); }
};

class Model {
 public:
  Model(std::vector<ModelPeer> peers, size_t senders, int in_flight, uint64_t seed,
        double patience = PeerChoice::kPatience)
      : peers_(std::move(peers)), served(peers_.size()) {
    LinkMeterOptions exact;
    exact.hidden_bytes = 0;
    for (size_t p = 0; p < peers_.size(); ++p) {
      servers_.push_back(
          {{peers_[p].down_s, 0, 0}, {peers_[p].compute_s, 0, 0}, {peers_[p].up_s, 0, 0}});
      down_.emplace_back(exact);
      up_.emplace_back(exact);
    }
    for (size_t s = 0; s < senders; ++s) {
      choices_.push_back(std::make_unique<PeerChoice>(PeerEstimatesOptions(),
                                                      WiringCost::kOccupancy, seed + s, patience));
      for (uint32_t p = 0; p < peers_.size(); ++p) choices_.back()->add(peer(p));
      for (int i = 0; i < in_flight; ++i) send(s, 0.0001 * static_cast<double>(s + i * senders));
    }
  }

  void run(double until_s) {
    while (!events_.empty() && events_.top().at_s < until_s) {
      const Event event = events_.top();
      events_.pop();
      now_s_ = event.at_s;
      event.leaves ? left(event) : arrived(event);
    }
  }
  void count() { std::fill(served.begin(), served.end(), 0); }

 private:
  enum Hop { kDown, kCompute, kUp, kBack };
  struct Event {
    double at_s = 0;
    size_t sender = 0, peer = 0;
    int hop = kDown;
    bool leaves = false;
    double sent_s = 0;
    uint64_t number = 0;
    bool operator<(const Event& other) const {
      return at_s != other.at_s ? at_s > other.at_s : number > other.number;
    }
  };

  LinkMeter::TimePoint now() const {
    return LinkMeter::TimePoint(std::chrono::nanoseconds(static_cast<int64_t>(now_s_ * 1e9) + 1));
  }
  void push(Event event, double at_s) {
    event.at_s = at_s;
    event.number = ++number_;
    events_.push(event);
  }
  void send(size_t sender, double now_s) {
    Tries tries;
    const PeerId picked = choices_[sender]->pick(tries, 1, now_s).value();
    size_t p = 0;
    while (peer(static_cast<uint32_t>(p)) != picked) ++p;
    push({0, sender, p, kDown, false, now_s, 0}, now_s + peers_[p].away_s);
  }
  LinkMeter* meter(const Event& event) {
    if (event.hop == kDown) return &down_[event.peer];
    return event.hop == kUp ? &up_[event.peer] : nullptr;
  }
  void arrived(const Event& event) {
    if (event.hop == kBack) return back(event);
    Server& server = servers_[event.peer][static_cast<size_t>(event.hop)];
    if (LinkMeter* used = meter(event)) used->set_busy(0, true, now());
    ++server.waiting;
    server.free_s = std::max(server.free_s, now_s_) + server.each_s;
    Event leaves = event;
    leaves.leaves = true;
    push(leaves, server.free_s);
  }
  void left(Event event) {
    Server& server = servers_[event.peer][static_cast<size_t>(event.hop)];
    --server.waiting;
    if (LinkMeter* used = meter(event)) {
      used->moved(0, kBytes, now());
      used->set_busy(0, server.waiting > 0, now());
    }
    event.leaves = false;
    ++event.hop;
    push(event, now_s_ + (event.hop == kBack ? peers_[event.peer].away_s : 0));
  }
  void back(const Event& event) {
    ++served[event.peer];
    const Occupancy told{peers_[event.peer].compute_s, seconds_at(kBytes, up_[event.peer].rate()),
                         seconds_at(kBytes, down_[event.peer].rate()), 0};
    auto& choice = *choices_[event.sender];
    const PeerId id = peer(static_cast<uint32_t>(event.peer));
    choice.ended(id, 1);
    choice.answered(id, 1, now_s_ - event.sent_s, checked(told), 2 * peers_[event.peer].away_s);
    send(event.sender, now_s_);
  }

  std::vector<ModelPeer> peers_;
  std::vector<std::vector<Server>> servers_;
  std::vector<LinkMeter> up_, down_;
  std::vector<std::unique_ptr<PeerChoice>> choices_;
  std::priority_queue<Event> events_;
  double now_s_ = 0;
  uint64_t number_ = 0;

 public:
  std::vector<int> served;
};

void check_shares(const std::vector<ModelPeer>& peers, size_t senders, double tolerance,
                  uint64_t seed, double patience = PeerChoice::kPatience) {
  Model model(peers, senders, /*in_flight=*/8, seed, patience);
  model.run(60);
  model.count();
  model.run(260);
  double capacity = 0, served = 0;
  for (size_t p = 0; p < peers.size(); ++p) {
    capacity += peers[p].capacity();
    served += model.served[p];
  }
  for (size_t p = 0; p < peers.size(); ++p) {
    const double share = model.served[p] / served, fair = peers[p].capacity() / capacity;
    BOOST_TEST(std::abs(share - fair) <= tolerance * fair,
               "peer " << p << " of " << peers.size() << ", " << senders << " senders, seed "
                       << seed << ": " << share << " of the work, " << fair << " of the capacity");
  }
  BOOST_TEST(served / 200 >= 0.85 * capacity, served / 200 << " of " << capacity << "/s");
}

}  // namespace

BOOST_AUTO_TEST_SUITE(WiringShares)

BOOST_AUTO_TEST_CASE(a_slow_uplink_gets_its_capacity) {
  for (const size_t peers : {2, 4}) {
    std::vector<ModelPeer> stage(peers);
    stage[0].up_s = 0.16;
    check_shares(stage, 2, 0.3, 1);
  }
}

BOOST_AUTO_TEST_CASE(a_slow_downlink_gets_its_capacity) {
  for (const size_t peers : {2, 4}) {
    std::vector<ModelPeer> stage(peers);
    stage[0].down_s = 0.16;
    check_shares(stage, 2, 0.3, 1);
  }
}

BOOST_AUTO_TEST_CASE(a_slow_computer_gets_its_capacity) {
  for (const size_t peers : {2, 4}) {
    std::vector<ModelPeer> stage(peers);
    stage[0].compute_s = 0.08;
    for (const double patience : {PeerChoice::kPatience, PeerChoice::kPatienceOfSteps})
      check_shares(stage, 2, 0.3, 1, patience);
  }
}

BOOST_AUTO_TEST_CASE(a_slow_link_beside_a_slow_computer) {
  for (const size_t peers : {2, 4}) {
    std::vector<ModelPeer> stage(peers);
    stage[0].up_s = 0.1;
    stage[1].compute_s = 0.08;
    check_shares(stage, 3, 0.3, 1);
  }
}

BOOST_AUTO_TEST_CASE(a_peer_further_away_gets_as_much) {
  for (const size_t peers : {2, 4}) {
    std::vector<ModelPeer> stage(peers);
    stage[0].away_s = 0.05;  // 100 ms there and back
    for (const double patience : {PeerChoice::kPatience, PeerChoice::kPatienceOfSteps})
      check_shares(stage, 2, 0.1, 1, patience);
  }
}

BOOST_AUTO_TEST_CASE(whatever_limits_a_peer) {
  for (uint64_t seed = 1; seed <= (testing::kSanitized ? 12 : 60); ++seed) {
    SplitMix64 random(seed);
    std::vector<ModelPeer> stage(random.next() % 2 == 0 ? 2 : 4);
    for (ModelPeer& one : stage) {
      double* parts[] = {&one.compute_s, &one.up_s, &one.down_s};
      *parts[random.next() % 3] = 0.02 * std::exp(random.uniform() * 1.6);  // to 5 times
    }
    check_shares(stage, 2 + random.next() % 3, 0.3, seed);
  }
}

// By compute alone, half of the work went to the slow link.
BOOST_AUTO_TEST_CASE(one_slow_peer_is_no_worse_than_leaving_it_out) {
  for (const double up_s : {0.1, 0.5, 2.0, 10.0}) {
    std::vector<ModelPeer> stage(4);
    stage[0].up_s = up_s;
    Model model(stage, 3, /*in_flight=*/4, 1);
    model.run(60);
    model.count();
    model.run(260);
    int served = 0;
    for (int by_peer : model.served) served += by_peer;
    BOOST_TEST(served / 200.0 >= 0.95 * 3 / 0.02, "uplink " << up_s << " s: " << served / 200.0);
  }
}

BOOST_AUTO_TEST_SUITE_END()
