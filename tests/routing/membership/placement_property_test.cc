#include <rapidcheck.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <vector>

#include "routing/membership/placement.h"
#include "tests/support/ids.h"

using namespace swarm;
using namespace swarm::routing;
using std::chrono::seconds;
using swarm::testing::peer;
using Standing = PlacedPeer::Standing;

namespace {

int one_of(int from, int to) { return *rc::gen::inRange(from, to); }

/// A swarm in which anything happens, and a coordinator that hears of it late, twice or never.
class Swarm {
 public:
  Swarm() : stages_(static_cast<uint32_t>(one_of(1, 5))) {
    options_.floor = static_cast<uint32_t>(one_of(1, 4));
    placement_.emplace(stages_, options_, now_);
    for (int i = one_of(0, 20); i > 0; --i) {
      Peer& one = peers_[++last_];
      one.stage = static_cast<uint32_t>(one_of(0, static_cast<int>(stages_)));
      one.serving = true;
      tell(last_);
    }
  }

  void anything() {
    now_ += seconds(one_of(0, 40));
    switch (one_of(0, 10)) {
      case 0:
        return die();
      case 1:
        return notice();
      case 2:
        peers_[++last_].waits = true;
        return;
      case 3:
        return repeat();
      case 4:
      case 5:
        return finish();
      case 6:
        return everybody_tells();
      default:
        return decide();
    }
  }

 private:
  struct Peer {
    uint32_t stage = 0;
    bool serving = false, waits = false, dead = false;
    std::optional<uint32_t> told;  ///< To go there; serves meanwhile.
    std::vector<LoadReport> reports;
    size_t heard = 0;  ///< Of the reports, the one the coordinator has last.
  };

  uint32_t anyone(const std::function<bool(const Peer&)>& fits) const {
    std::vector<uint32_t> found;
    for (const auto& [number, one] : peers_)
      if (fits(one)) found.push_back(number);
    return found.empty() ? 0
                         : found[static_cast<size_t>(one_of(0, static_cast<int>(found.size())))];
  }

  void die() {
    if (const uint32_t who = anyone([](const Peer& one) { return !one.dead; }))
      peers_[who].dead = true;
  }
  void notice() {
    const uint32_t who = anyone([](const Peer& one) { return one.dead; });
    if (who == 0) return;
    peers_.erase(who);
    if (one_of(0, 2) > 0) placement_->lost(peer(who).node);  // else it finds out by itself
  }
  void tell(uint32_t who) {
    Peer& one = peers_[who];
    const double running = one_of(0, 11) / 10.0, carried = one_of(5, 15) / 10.0;
    one.reports.push_back(
        {Stage(one.stage), now_, running, double(one_of(0, 5)), running * carried});
    one.heard = one.reports.size();
  }
  void everybody_tells() {
    for (auto& [number, one] : peers_)
      if (one.serving && !one.dead && one_of(0, 10) > 0) tell(number);
  }
  /// What was said long ago comes once more, in place of what is known.
  void repeat() {
    const uint32_t who = anyone([](const Peer& one) { return !one.reports.empty(); });
    if (who == 0) return;
    Peer& one = peers_[who];
    one.heard = static_cast<size_t>(one_of(1, static_cast<int>(one.reports.size()) + 1));
  }

  PlacementView view() const {
    PlacementView view;
    view.state_bytes.assign(stages_, 1e8);
    for (const auto& [number, one] : peers_) {
      if (one.waits) {
        view.newcomers.push_back({peer(number), 0});
        continue;
      }
      PlacedPeer placed{peer(number), Stage(one.stage), Standing::kLearns, {}, 1e7};
      if (one.serving) placed.standing = Standing::kMovable;
      if (one.heard > 0) placed.report = one.reports[one.heard - 1];
      view.peers.push_back(placed);
      if (one.reports.empty() || one_of(0, 10) > 0) continue;
      placed.report = one.reports.front();  // said twice
      view.peers.push_back(placed);
    }
    return view;
  }

  uint32_t known(uint32_t stage) const {
    return static_cast<uint32_t>(std::count_if(peers_.begin(), peers_.end(), [&](const auto& one) {
      return one.second.serving && !one.second.waits && one.second.stage == stage;
    }));
  }
  /// Those that wait have no stage yet, so they do not count.
  uint32_t affordable() const {
    const auto placed = std::count_if(peers_.begin(), peers_.end(),
                                      [](const auto& one) { return !one.second.waits; });
    return std::clamp<uint32_t>(static_cast<uint32_t>(placed) / stages_, 1, options_.floor);
  }

  void decide() {
    std::set<PeerId> ordered;
    for (const auto& order : placement_->decide(view(), now_).orders) {
      RC_ASSERT(ordered.insert(order.peer).second);
      const uint32_t who = number_of(order.peer);
      Peer& one = peers_.at(who);
      RC_ASSERT(order.from.has_value() == !one.waits);
      if (one_of(0, 10) == 0) continue;  // the order is lost
      if (one.waits) {
        one.waits = false;
        one.stage = order.to.value();
      } else {
        RC_ASSERT(order.from == Stage(one.stage) && order.to != Stage(one.stage));
        one.told = order.to.value();
      }
    }
  }

  /// A mover leaves, or one that learns has learned.
  void finish() {
    const uint32_t who = anyone(
        [](const Peer& one) { return !one.dead && !one.waits && (one.told || !one.serving); });
    if (who == 0) return;
    Peer& one = peers_[who];
    if (!one.told) {
      one.serving = true;
      tell(who);
    } else if (placement_->may_leave(peer(who), view(), now_)) {
      leave(one);
    } else {
      placement_->cancel(peer(who), now_);
      one.told.reset();
    }
  }
  void leave(Peer& one) {
    const uint32_t left = known(one.stage) - 1;
    RC_ASSERT(left > 0 &&
              left >= affordable());  // only deaths that nobody has noticed make it fewer
    one.stage = *one.told;
    one.told.reset();
    one.serving = false;
  }
  uint32_t number_of(const PeerId& id) const {
    for (const auto& [number, one] : peers_)
      if (peer(number) == id) return number;
    RC_FAIL("an order for nobody");
  }

  uint32_t stages_, last_ = 0;
  Time now_{};
  PlacementOptions options_;
  std::optional<Placement> placement_;
  std::map<uint32_t, Peer> peers_;
};

/// Peers that are as busy as the slowest stage lets them, some of which say so late, with figures wrong by
/// `noise`.
PlacementView at_work(const std::vector<uint32_t>& sizes, Time now, double noise) {
  PlacementView view;
  view.state_bytes.assign(sizes.size(), 1e8);
  const double pace = *std::min_element(sizes.begin(), sizes.end());
  uint32_t number = 0;
  for (uint32_t stage = 0; stage < sizes.size(); ++stage)
    for (uint32_t i = 0; i < sizes[stage]; ++i) {
      const double done = pace / sizes[stage];
      const double wrong = 1 + noise * one_of(-100, 101) / 100;
      const LoadReport report{Stage(stage), now - seconds(one_of(0, 80)), done * wrong,
                              double(one_of(0, 4)), done};
      view.peers.push_back({peer(++number), Stage(stage), Standing::kMovable, report, 1e7});
    }
  return view;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(PlacementProperties)

BOOST_AUTO_TEST_CASE(no_decision_takes_a_stage_below_its_floor) {
  BOOST_TEST(rc::check([] {
    Swarm swarm;
    for (int i = one_of(1, 120); i > 0; --i) swarm.anything();
  }));
}

BOOST_AUTO_TEST_CASE(a_balanced_swarm_moves_nobody) {
  BOOST_TEST(rc::check([] {
    const auto each = static_cast<uint32_t>(one_of(2, 9));
    std::vector<uint32_t> sizes;
    for (int i = one_of(1, 7); i > 0; --i) sizes.push_back(each + (one_of(0, 2) > 0 ? 1 : 0));
    Placement placement(static_cast<uint32_t>(sizes.size()), {}, Time(0));
    for (int period = 2; period < 12; ++period) {
      const Time now = period * seconds(60);
      RC_ASSERT(placement.decide(at_work(sizes, now, 0.03), now).orders.empty());
    }
  }));
}

BOOST_AUTO_TEST_CASE(any_swarm_becomes_even_and_then_rests) {
  BOOST_TEST(rc::check([] {
    std::vector<uint32_t> sizes;
    for (int i = one_of(2, 6); i > 0; --i) sizes.push_back(static_cast<uint32_t>(one_of(1, 10)));
    const uint32_t all = std::accumulate(sizes.begin(), sizes.end(), 0u);
    Placement placement(static_cast<uint32_t>(sizes.size()), {}, Time(0));
    uint32_t moves = 0;
    for (int period = 1; period < 30; ++period) {
      const Time now = period * seconds(200);
      for (const auto& order : placement.decide(at_work(sizes, now, 0), now).orders) {
        --sizes[order.from->value()];
        ++sizes[order.to.value()];
        RC_ASSERT(++moves <= all);
        RC_ASSERT(period < 20);
      }
      placement = Placement(static_cast<uint32_t>(sizes.size()), {}, now);  // another coordinator
    }
    const auto [least, most] = std::minmax_element(sizes.begin(), sizes.end());
    RC_ASSERT(*most - *least <= 1);
  }));
}

BOOST_AUTO_TEST_SUITE_END()
