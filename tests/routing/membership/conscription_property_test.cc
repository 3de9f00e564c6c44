#include <rapidcheck.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <map>
#include <optional>
#include <vector>

#include "routing/membership/conscription.h"
#include "tests/support/ids.h"

using namespace swarm;
using namespace swarm::routing;
using std::chrono::seconds;
using swarm::testing::peer;

namespace {

int one_of(int from, int to) { return *rc::gen::inRange(from, to); }

constexpr seconds kGoneAfter{10};

/// A swarm that gathers and in which anything happens; a coordinator that hears of it late, twice or never.
class Swarm {
 public:
  Swarm()
      : stages_(static_cast<uint32_t>(one_of(1, 5))),
        needed_(static_cast<uint32_t>(one_of(1, 3))),
        conscription_(stages_, {kGoneAfter, needed_, one_of(0, 2) == 0}),
        gone_since_(stages_) {
    for (uint32_t stage = 0; stage < stages_; ++stage)
      for (int i = one_of(1, 6); i > 0; --i) come(stage);
  }

  void anything() {
    now_ += seconds(one_of(0, 8));
    switch (one_of(0, 12)) {
      case 0:
        if (!peers_.empty()) peers_.erase(any());
        break;
      case 1:
        die(Stage(static_cast<uint32_t>(one_of(0, static_cast<int>(stages_)))));
        break;
      case 2:
        come(static_cast<uint32_t>(one_of(0, static_cast<int>(stages_))));
        break;
      case 3:
        agreed_ = one_of(0, 4) > 0;
        break;
      case 4:
        leave();
        break;
      case 5:
        lapse();
        break;
      default:
        decide();
    }
  }

 private:
  struct Peer {
    Stage stage;
    PeerSupply supply;
    std::optional<Stage> told;  ///< To go there.
    bool conscript = false, registers = true;
  };
  using Peers = std::map<uint32_t, Peer>;

  Peers::iterator any() {
    return std::next(peers_.begin(), one_of(0, static_cast<int>(peers_.size())));
  }
  /// All of it at once.
  void die(Stage stage) {
    for (auto it = peers_.begin(); it != peers_.end();)
      it = it->second.stage == stage ? peers_.erase(it) : std::next(it);
  }
  void come(uint32_t stage) {
    const uint32_t number = ++last_;
    Peer& one = peers_[number];
    one.stage = Stage(stage);
    PeerSupply& supply = one.supply;
    supply.peer = peer(number);
    supply.stage = one.stage;
    supply.has_state = one_of(0, 3) > 0;
    supply.step = Step(static_cast<uint64_t>(one_of(4, 6)));
    for (uint64_t step = 1; step < 5; ++step)
      if (one_of(0, 8) > 0) supply.snapshots.emplace_back(step);
    for (uint32_t other = 0; other < stages_; ++other)
      if (other != stage && one_of(0, 2) == 0)
        supply.copies.push_back({Stage(other), Step(static_cast<uint64_t>(one_of(1, 5))), {}});
    one.registers = one_of(0, 8) > 0;
  }
  uint32_t own(Stage stage) const {
    return static_cast<uint32_t>(std::count_if(peers_.begin(), peers_.end(), [&](const auto& one) {
      return one.second.stage == stage && !one.second.conscript;
    }));
  }
  bool begun() const {
    return std::any_of(peers_.begin(), peers_.end(), [](const auto& one) {
      const PeerSupply& supply = one.second.supply;
      return one.second.registers &&
             (supply.has_state || !supply.snapshots.empty() || !supply.copies.empty());
    });
  }
  /// For how long nobody of it has been known, when the coordinator looked.
  void watch() {
    for (uint32_t i = 0; i < stages_; ++i) {
      if (own(Stage(i)) > 0)
        gone_since_[i].reset();
      else if (!gone_since_[i] && begun())
        gone_since_[i] = now_;
    }
  }

  Muster muster(std::optional<uint32_t> leaver = {}) const {
    Muster seen;
    seen.own.resize(stages_);
    seen.sent.resize(stages_);
    seen.agreed = agreed_;
    seen.complete = true;
    for (const auto& [number, one] : peers_) {
      if (!one.conscript) ++seen.own[one.stage.value()];
      if (one.told) ++seen.sent[one.told->value()];
      if (one.conscript) ++seen.sent[one.stage.value()];
      if (!one.registers || (one.told && leaver != number)) continue;
      MusteredPeer told{one.supply, "n" + std::to_string(number),
                        one_of(0, 8) > 0 && !one.conscript, false, one_of(0, 2) == 0};
      if (leaver == number) told.may_move = true;
      seen.peers.push_back(told);
      if (one_of(0, 8) == 0) seen.peers.push_back(told);  // said twice
    }
    return seen;
  }
  uint32_t registered(Stage stage) const {
    return static_cast<uint32_t>(std::count_if(peers_.begin(), peers_.end(), [&](const auto& one) {
      return one.second.registers && one.second.stage == stage && !one.second.told;
    }));
  }

  void decide() {
    watch();
    const Muster seen = muster();
    const auto decision = conscription_.decide(seen, now_);
    for (const ConscriptionOrder& order : decision.orders) {
      RC_ASSERT(agreed_);
      RC_ASSERT(own(order.to) == 0u);
      RC_ASSERT(gone_since_[order.to.value()].has_value());
      RC_ASSERT(now_ - *gone_since_[order.to.value()] >= kGoneAfter);
      const auto found = std::find_if(peers_.begin(), peers_.end(), [&](const auto& one) {
        return one.second.supply.peer == order.peer;
      });
      RC_ASSERT(found != peers_.end());
      RC_ASSERT(found->second.stage == order.from && order.from != order.to);
      RC_ASSERT(!found->second.told && !found->second.conscript);
      RC_ASSERT(registered(order.from) > 1u);
      found->second.told = order.to;
    }
  }
  /// One that was told, lately or long ago, asks whether it may go.
  void leave() {
    for (auto& [number, one] : peers_) {
      if (!one.told || one_of(0, 3) == 0) continue;
      const uint32_t others = registered(one.stage);
      if (!conscription_.may_leave(one.supply.peer, *one.told, muster(number))) {
        one.told.reset();
        continue;
      }
      RC_ASSERT(agreed_);
      RC_ASSERT(own(*one.told) == 0u);
      RC_ASSERT(others > 0u);
      one.stage = one.supply.stage = *one.told;
      one.told.reset();
      one.conscript = true;
      one.supply.has_state = false;
      one.supply.snapshots.clear();
      one.supply.copies.clear();
    }
  }
  /// Orders of one are lost, or it is late.
  void lapse() {
    if (peers_.empty()) return;
    any()->second.told.reset();
  }

  uint32_t stages_, needed_;
  Conscription conscription_;
  Time now_ = seconds(1'000);
  bool agreed_ = true;
  Peers peers_;
  uint32_t last_ = 0;
  std::vector<std::optional<Time>> gone_since_;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(ConscriptionProperty)

BOOST_AUTO_TEST_CASE(only_a_stage_that_is_lost_is_taken_over_and_no_stage_loses_its_last_peer) {
  BOOST_TEST(rc::check([] {
    Swarm swarm;
    for (int i = 0; i < 300; ++i) swarm.anything();
  }));
}

BOOST_AUTO_TEST_SUITE_END()
