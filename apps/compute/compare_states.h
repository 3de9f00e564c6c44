/// How far a swarm's snapshots are from the state of a training in one process. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "common/result.h"
#include "storage/run_snapshots.h"
#include "tensor/reference/one_process.h"

namespace swarm::apps {

/// One tensor's L2 norms: of (swarm - reference), and of what that is measured against.
struct Difference {
  double away = 0, scale = 0;
  /// 0 if there is no difference; infinite if the scale is zero but not the difference.
  double relative() const;
};

/// The worst snapshot of each tensor, by "parameters.NAME" and "MOMENT.NAME" (global names; moments
/// as the optimizer's table calls them). Parameters are measured by their way from `origin`,
/// moments by their own size. Elements that no output depends on are left out
/// (ParameterInfo::noise_begin): rounding alone decides their values. Errors: kCorruptCheckpoint,
/// kShapeMismatch (another model or optimizer).
Result<std::map<std::string, Difference>> compare_states(
    const tensor::ModelOptions& model, int32_t num_stages,
    const std::vector<storage::StageSnapshot>& snapshots, const tensor::ReferenceState& reference,
    const tensor::NamedValues& origin);

/// What a comparison ends with.
struct Verdict {
  const char* word;
  int exit_code;
};
/// `beyond`: a tensor is farther away than the tolerance. `wrong`: replicas differ, or a snapshot is
/// not what the audit says. `judged`: the tolerance holds for what was compared.
Verdict verdict_of(bool beyond, bool wrong, bool judged);
/// What people are told with a verdict that is none, because of `rounding` (actors::what_rounds()).
enum class Doubt {
  kFromStart,  ///< All steps were replayed in one go.
  kOtherBits,  ///< Sums end in other bits here than in the run.
  kGuessed,    ///< What a peer did is not known.
};
std::string why_not_judged(const std::string& rounding, Doubt doubt);

/// The parameters of an untrained model, and of the boundaries that its layers_per_stage names.
tensor::NamedValues initial_parameters(const tensor::ModelOptions& model);

}  // namespace swarm::apps
