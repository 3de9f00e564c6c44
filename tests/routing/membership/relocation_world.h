/// Two peers of stage 0 and four of stage 1 whose Relocation is tested, without actors.
#pragma once

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <string>
#include <variant>
#include <vector>

#include "routing/membership/relocation.h"
#include "routing/steps/sync_schedule.h"
#include "tests/routing/steps/schedule_world.h"

namespace swarm::testing {

/// Two peers of stage 0, which have all the work that they can do, and four of stage 1.
struct RelocationWorld : ScheduleWorld<routing::SyncSchedule> {
  static constexpr Term kTerm{3};

  explicit RelocationWorld(const routing::PlacementOptions& options = {})
      : relocation(2, false, options, roster) {
    for (uint32_t n : {5u, 6u}) add(n);
    relocation.begin(kTerm, now);
    open(0);
    relocation.look(true, now);
  }

  routing::Relocation::Told tell(uint32_t n, uint64_t moves_by = 0, Term term = kTerm) {
    const bool busy = facts(n).stage == Stage(0);
    return relocation.registered(
        peer(n), {busy ? 1.0 : 0.5, busy ? 3.0 : 0, busy ? 1.0 : 0.5, may_move, moves_by, term},
        now);
  }
  void period() {
    now += std::chrono::seconds(60);
    for (uint32_t n = 1; n <= 6; ++n)
      if (roster.find(peer(n)) != nullptr) tell(n);
    relocation.look(true, now);
  }
  routing::LeaveAnswer ask(uint32_t n, uint64_t number = 1, Term term = kTerm) {
    return relocation.may_leave(peer(n), number, term, schedule, now);
  }
  /// As the coordinator does after a yes.
  void leave(uint32_t n) {
    BOOST_REQUIRE((ask(n).kind == routing::LeaveAnswer::Kind::kYes));
    lose(n);
  }
  template <class Note>
  std::vector<Note> noted() {
    std::vector<Note> found;
    for (const auto& one : relocation.take_notes())
      if (const auto* note = std::get_if<Note>(&one)) found.push_back(*note);
    return found;
  }
  /// Its next life registers with a stage.
  routing::PeerFacts& comes(uint32_t n, uint32_t stage, bool serving = false) {
    const PeerId id = peer(n, "stage.0.1");
    roster.report(id, Stage(stage), "n" + std::to_string(n), {});
    roster.find(id)->serving = serving;
    relocation.registered(id, {}, now);
    return *roster.find(id);
  }

  bool may_move = true;
  routing::Relocation relocation;
};

}  // namespace swarm::testing
