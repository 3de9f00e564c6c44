/// Beside a lossy codec of averages: what the recorded steps give when they are done again (apps/replay/) is
/// what the peers had. This takes the audit's holders, orders, parts and whether anything was given back; a residual that is
/// another one than a peer says that it has, or is given twice, shows in the numbers. Parameters that stand for
/// rounding differ from peer to peer and are left out.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "apps/audit/audit.h"
#include "apps/replay/replay.h"
#include "apps/sim/swarm.h"

namespace swarm::sim {

/// The whole model in stages of arithmetic, at step 0. `options` need not say the optimizer, the sequence and the
/// tokens.
struct ArithmeticReplay {
  ArithmeticReplay(replay::ReplayOptions options, uint32_t num_stages, int rounding_bits);
  std::vector<const ArithmeticStage*> arithmetic;  ///< Owned by `replay`.
  std::unique_ptr<replay::Replay> replay;
};

class ReplayCheck {
 public:
  /// `swarm` outlives this.
  explicit ReplayCheck(const Swarm& swarm) : swarm_(swarm) {}

  /// A replica has these.
  void seen(const ArithmeticStage& stage, uint32_t number);
  /// What differs, or why the steps cannot be done again; "": nothing.
  std::string differs(const launch::AuditReport& audit);
  /// States that were, so far.
  uint64_t compared() const { return compared_; }

 private:
  std::string compare(const launch::AuditReport& audit, uint64_t step, const ArithmeticStage& stage,
                      uint32_t number);

  const Swarm& swarm_;
  /// By stage, step and checksum of the state.
  std::map<std::tuple<uint32_t, uint64_t, uint64_t>, std::vector<float>> seen_;
  uint64_t compared_ = 0;
};

}  // namespace swarm::sim
