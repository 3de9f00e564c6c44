/// A swarm of many peers through a trace of churn, by arithmetic: what of its capacity it uses. Pure.
///
/// What is assumed, for all arms alike:
/// - Peers are equal, and so are the stages' shares of the model. A swarm is as fast as the stage with the
///   fewest serving peers: wiring shares the work of a stage evenly.
/// - Who comes or moves serves nobody while it downloads its stage's state and warms up. Where nobody has
///   that state it comes from a copy of a snapshot, just as fast.
/// - The optimum are the peers alive, whether they download or not, spread evenly: alive / stages, rounded
///   down, since peers are whole.
/// - Who dies takes its work along; that this is done again costs nothing here, nor does what a mover has to
///   finish before it goes.
/// - Where the coordinator decides, it looks every 10 s and hears from each peer every 30 s, with figures that
///   are wrong by up to 10 % (churn_coordinator.h). A death it sees at its next look.
#pragma once

#include <cstdint>
#include <vector>

#include "apps/bench/figures/churn_trace.h"

namespace swarm::apps {

/// What a state weighs and how fast it travels: a model of 10^9 parameters, its weights and two moments
/// in float32, over 200 Mb/s.
struct ChurnCosts {
  double model_bytes = 12e9;  ///< Of all stages together.
  double link_bytes_per_s = 25e6;
  double warm_up_s = 10;
};

struct ReplayOptions {
  ChurnCosts costs;
  bool places = false;    ///< Newcomers go where they are needed most, else to any stage.
  bool moves = false;     ///< Peers are moved.
  double period_s = 300;  ///< Of looking for moves.
  uint32_t floor = 2;     ///< Peers that a stage keeps.
  uint64_t seed = 1;      ///< Of what the swarm draws by lot; the trace has its own.
};

/// Work done and possible, in peers x seconds of one stage.
struct WorkDone {
  double done = 0;
  double possible = 0;   ///< alive / stages, rounded down.
  double divisible = 0;  ///< alive / stages.

  double share() const { return possible > 0 ? done / possible : 0; }
  double share_of_divisible() const { return divisible > 0 ? done / divisible : 0; }
};

struct ReplayResult {
  WorkDone all, first_hour, last_hour;
  double hours = 0;
  /// In which at least one stage had nobody who serves it, while there were as many peers as stages; and in
  /// which there were not.
  double empty_s = 0, too_few_s = 0;
  uint64_t moves = 0;      ///< Begun, of peers that served another stage before.
  double moved_bytes = 0;  ///< Downloaded for moves, also of those that did not come to an end.
  double mean_alive = 0;
};

ReplayResult replay_churn(const ChurnProfile& profile, const ChurnTrace& trace,
                          const ReplayOptions& options);

}  // namespace swarm::apps
