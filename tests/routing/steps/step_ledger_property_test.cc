// Random histories of one step against a model of what peers' gradient sums really contain.
#include <rapidcheck.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "routing/steps/step_ledger.h"
#include "tests/support/ids.h"

using namespace swarm;
using namespace swarm::routing;

namespace {

constexpr uint32_t kStages = 3;
constexpr uint32_t kPeersPerStage = 3;

/// A swarm in miniature: peers add slots to sums, die, or drop their sums; trainers hold attempts.
class World {
 public:
  World(uint32_t slots, uint32_t validation, uint32_t term = 1)
      : slots_(slots), ledger({Step(1), kStages, slots, validation, Attempt(term << 16)}) {}

  struct Flight {
    SlotLease lease;
    uint32_t trainer;
    std::vector<LedgerHop> route;
    bool carried = false;
  };

  static ActorId trainer(uint32_t i) { return testing::peer(1000 + i, "trainer"); }
  static PeerId peer_at(Stage stage, uint32_t i) { return testing::peer(stage.value() * 100 + i); }

  void lease(uint32_t who, uint32_t count) {
    for (const SlotLease& lease : ledger.lease(trainer(who), count, now_ + 5)) {
      RC_ASSERT(ledger_needs(lease.slot) == lease.needs);
      RC_ASSERT(lease.validation || lease.needs != 0);
      flights.push_back({lease, who, {}, false});
    }
  }

  /// The attempt travels: on every stage one living peer adds it if it is asked to.
  void carry(Flight& flight, uint32_t choice, uint32_t cut) {
    if (flight.carried) return;
    flight.carried = true;
    for (Stage stage; stage.value() < kStages; ++stage) {
      PeerId peer = peer_at(stage, (choice + stage.value()) % kPeersPerStage);
      if (dead.count(peer) != 0) continue;
      bool adds = ((flight.lease.needs >> stage.value()) & 1) != 0 && stage.value() != cut;
      // A sum takes a slot once: a peer that holds it of an earlier attempt says so.
      auto mine = sums.find(peer);
      Attempt by = flight.lease.attempt;
      if (adds && mine != sums.end())
        for (const auto& entry : mine->second)
          if (entry.first == flight.lease.slot) by = entry.second;
      if (adds) sums[peer].insert({flight.lease.slot, by});
      flight.route.push_back({stage, peer, adds, by});
    }
  }

  void not_finite(const Flight& flight, uint32_t where) {
    const Stage at(where % kStages);
    auto verdict = ledger.non_finite(flight.lease.slot, flight.lease.attempt,
                                     {at, peer_at(at, where % 2), false, Attempt()},
                                     /*other_node=*/true);
    if (verdict != NonFiniteVerdict::kSkipped || flight.lease.validation) return;
    skipped.insert(flight.lease.slot);
    // Who holds a skipped slot drops its whole sum, as at the close of the step.
    for (Stage stage; stage.value() < kStages; ++stage)
      for (uint32_t i = 0; i < kPeersPerStage; ++i) {
        const auto& sum = sums[peer_at(stage, i)];
        if (std::any_of(sum.begin(), sum.end(),
                        [&](const auto& entry) { return entry.first == flight.lease.slot; }))
          drop_sum(peer_at(stage, i));
      }
  }

  void report(const Flight& flight) {
    Status status = ledger.done(flight.lease.slot, flight.lease.attempt, flight.route, 2.0, 1);
    RC_ASSERT(status.ok());
  }

  void kill(const PeerId& peer) {
    dead.insert(peer);
    sums.erase(peer);
    ledger.peer_lost(peer, false);
  }

  void drop_sum(const PeerId& peer) {
    if (dead.count(peer) != 0) return;
    sums.erase(peer);
    ledger.peer_lost(peer, true);
  }

  void tick() {
    ++now_;
    (void)ledger.expire(now_);
  }

  StageMask ledger_needs(Slot slot) const {
    StageMask needs = 0;
    for (Stage stage; slot.value() < slots_ && stage.value() < kStages; ++stage)
      if (skipped.count(slot) == 0 && !ledger.holder(slot, stage).has_value())
        needs |= StageMask{1} << stage.value();
    return needs;
  }

  /// What must be true after every event.
  void check() const {
    for (Stage stage; stage.value() < kStages; ++stage) {
      std::vector<int> times(slots_, 0);
      for (const auto& [peer, counted] : ledger.counted(stage)) {
        RC_ASSERT(dead.count(peer) == 0u);
        RC_ASSERT(std::is_sorted(counted.begin(), counted.end()));
        for (Slot slot : counted) {
          ++times.at(slot.value());
          RC_ASSERT(ledger.holder(slot, stage).value().peer == peer);
          // The heart of it: what is counted is really in the peer's sum.
          auto sum = sums.find(peer);
          RC_ASSERT(sum != sums.end());
          RC_ASSERT(
              std::any_of(sum->second.begin(), sum->second.end(), [&, s = slot](const auto& entry) {
                return entry.first == s && entry.second == ledger.holder(s, stage)->attempt;
              }));
          RC_ASSERT(skipped.count(slot) == 0u);
        }
      }
      for (Slot slot : skipped) times.at(slot.value()) += 1;
      bool all = std::all_of(times.begin(), times.end(), [](int t) { return t == 1; });
      RC_ASSERT(std::all_of(times.begin(), times.end(), [](int t) { return t <= 1; }));
      RC_ASSERT(ledger.stage_full(stage) == all);
      if (ledger.full()) RC_ASSERT(all);
    }
  }

 private:
  uint32_t slots_;
  double now_ = 0;

 public:
  StepLedger ledger;
  std::vector<Flight> flights;
  std::set<PeerId> dead;
  std::set<Slot> skipped;
  std::map<PeerId, std::set<std::pair<Slot, Attempt>>> sums;
};

void random_event(World& world) {
  uint32_t kind = *rc::gen::inRange<uint32_t>(0, 13);
  uint32_t a = *rc::gen::inRange<uint32_t>(0, 1000);
  uint32_t b = *rc::gen::inRange<uint32_t>(0, 1000);
  PeerId peer = World::peer_at(Stage(a % kStages), b % kPeersPerStage);
  if (kind <= 2) {
    world.lease(a % 2, b % 4);
  } else if (kind <= 8) {
    if (world.flights.empty()) return;
    World::Flight& flight = world.flights[a % world.flights.size()];
    if (kind <= 4) world.carry(flight, b, b % (2 * kStages));
    if (kind >= 4 && kind <= 7 && flight.carried)
      world.report(flight);  // maybe not for the first time
    if (kind == 8) world.ledger.failed(flight.lease.slot, flight.lease.attempt);
  } else if (kind == 9) {
    if (b / kPeersPerStage % 2 == 0)
      world.drop_sum(peer);
    else if (peer != World::peer_at(Stage(a % kStages), 0))  // one of each stage lives on
      world.kill(peer);
  } else if (kind == 10) {
    (void)world.ledger.trainer_lost(World::trainer(a % 2));
  } else if (kind == 11) {
    if (!world.flights.empty()) world.not_finite(world.flights[a % world.flights.size()], b);
  } else {
    world.tick();
  }
}

/// From any state the step can be brought to its end by carrying attempts through living peers.
void finish(World& world) {
  for (int i = 0; i < 8; ++i) world.tick();  // all leases end
  world.flights.clear();
  world.lease(0, 1000);
  for (World::Flight& flight : world.flights) {
    for (Stage stage; stage.value() < kStages; ++stage) {
      PeerId peer = World::peer_at(stage, 0);
      bool adds = ((flight.lease.needs >> stage.value()) & 1) != 0;
      Attempt by = flight.lease.attempt;
      for (const auto& entry : world.sums[peer])
        if (entry.first == flight.lease.slot) by = entry.second;
      if (adds) world.sums[peer].insert({flight.lease.slot, by});
      flight.route.push_back({stage, peer, adds, by});
    }
    world.report(flight);
  }
  world.check();
  RC_ASSERT(world.ledger.full());
}

}  // namespace

BOOST_AUTO_TEST_SUITE(StepLedgerProperties)

BOOST_AUTO_TEST_CASE(whatever_happens_every_counted_slot_is_in_exactly_one_living_sum) {
  bool holds = rc::check("random histories", [] {
    uint32_t slots = *rc::gen::inRange<uint32_t>(1, 7);
    World world(slots, *rc::gen::inRange<uint32_t>(0, 3));
    int events = *rc::gen::inRange(0, 120);
    for (int i = 0; i < events; ++i) {
      random_event(world);
      world.check();
    }
    finish(world);
  });
  BOOST_TEST(holds);
}

BOOST_AUTO_TEST_CASE(a_rebuilt_ledger_counts_only_what_living_peers_hold_and_can_finish) {
  bool holds = rc::check("change of coordinator", [] {
    uint32_t slots = *rc::gen::inRange<uint32_t>(1, 7);
    World before(slots, 0);
    int events = *rc::gen::inRange(0, 80);
    for (int i = 0; i < events; ++i) random_event(before);
    World after(slots, 0, /*term=*/2);
    // Of the skipped slots the successor knows nothing; those who hold them have dropped them.
    after.sums = before.sums;
    after.dead = before.dead;
    for (const PeerId& peer : before.dead) after.ledger.peer_lost(peer, false);
    for (Stage stage; stage.value() < kStages; ++stage)
      for (uint32_t i = 0; i < kPeersPerStage; ++i) {
        const auto& sum = before.sums[World::peer_at(stage, i)];
        after.ledger.rebuild(World::peer_at(stage, i), stage, {sum.begin(), sum.end()});
      }
    after.check();
    for (Slot slot; slot.value() < slots; ++slot)
      for (Stage stage; stage.value() < kStages; ++stage)
        if (before.skipped.count(slot) == 0 && before.ledger.holder(slot, stage).has_value())
          RC_ASSERT(after.ledger.holder(slot, stage).has_value());
    finish(after);
  });
  BOOST_TEST(holds);
}

BOOST_AUTO_TEST_SUITE_END()
