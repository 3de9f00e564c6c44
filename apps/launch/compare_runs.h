/// Is a disturbed run's loss curve the same as that of undisturbed ones, and how much slower was
/// it? Pure but for read_curve().
///
/// In synchronous mode equal experiments compute the same curve up to rounding: which peer sums
/// which microbatches differs from run to run (node ids are drawn anew, speeds vary), and float
/// addition is not associative. Undisturbed runs of the *same* seed therefore show how far rounding
/// alone takes a curve; other seeds would be other experiments.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "apps/launch/fault_costs.h"
#include "common/result.h"

namespace swarm::launch {

/// From metrics.jsonl and events.jsonl.
struct RunCurve {
  std::map<uint64_t, double> losses;  ///< Training loss by step [nats per token].
  double tokens_per_s = 0;            ///< See records::RunRate; 0: not measured.
  std::vector<FaultCost> costs;       ///< Of what [chaos] did to it.
};

/// Errors: kNotFound, kInvalidArgument (less than two steps).
Result<RunCurve> read_curve(const std::string& folder);

struct CurveComparison {
  uint64_t steps = 0;         ///< Steps that all runs have: those compared.
  uint64_t missing = 0;       ///< Steps of an undisturbed run that the disturbed one lacks.
  double spread = 0;          ///< Largest width of the undisturbed runs' band at any step [nats].
  double margin = 0;          ///< By which the band is widened on both sides: `spread`, at least
                              ///< kLeastMargin, because the band of few runs is narrow by chance.
  uint64_t outside_band = 0;  ///< Steps outside the band itself.
  uint64_t outside_widened = 0;         ///< Steps outside the widened band.
  double worst = 0;                     ///< Largest distance from the band [nats] ...
  uint64_t worst_step = 0;              ///< ... and where.
  double undisturbed_tokens_per_s = 0;  ///< Median.
  double ratio = 0;                     ///< Disturbed tokens/s divided by that.

  bool same_curve() const { return steps > 0 && missing == 0 && outside_widened == 0; }
};
constexpr double kLeastMargin = 1e-4;

/// Requires at least one undisturbed run.
CurveComparison compare_curves(const RunCurve& disturbed, const std::vector<RunCurve>& undisturbed);

}  // namespace swarm::launch
