/// What the snapshots of a run are compared with: its recorded steps, done again in this process.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "actors/node/options.h"
#include "apps/audit/audit.h"
#include "common/result.h"
#include "storage/run_snapshots.h"
#include "tensor/data/text_data.h"
#include "tensor/reference/one_process.h"

namespace swarm::apps {

class Rerun {
 public:
  virtual ~Rerun() = default;
  /// Goes on from `snapshots`, of one step, all right, at least one of each stage, whose values `state` has. Errors:
  /// kCorruptCheckpoint, kShapeMismatch, kInternal.
  virtual Status begin(const std::vector<storage::StageSnapshot>& snapshots,
                       const tensor::ReferenceState& state) = 0;
  /// Up to the start of `step`. Errors: kNotFound (what a step needs is not kept any more; begin() goes on
  /// behind it), others as of its parts.
  virtual Status train_until(uint64_t step) = 0;
  virtual Result<tensor::ReferenceState> state() const = 0;
  /// Why it may have gone another way than the run since begin(), though that was right; "": it has not.
  virtual std::string doubt() const { return {}; }
  /// Sums of float32 end here in the last bit that they had in the run, or nothing depends on it: where it
  /// rounds, such a bit soon becomes a step of a codec.
  virtual bool has_the_runs_bits() const { return true; }
  /// A line for people about what was done; "": nothing to say.
  virtual std::string words() const { return {}; }
};

/// The whole model in plain LibTorch, in float32: rounds nothing. `audit` and `data` outlive it. Errors: as
/// tensor::ReferenceTrainer::make().
Result<std::unique_ptr<Rerun>> plain_rerun(const actors::NodeOptions& options,
                                           const launch::AuditReport& audit,
                                           const tensor::TextData& data);

/// The run's own stages, codecs, sums and rounds (apps/replay/): rounds what the run did. The three outlive it.
/// Errors: as tensor::make_stage().
Result<std::unique_ptr<Rerun>> rounding_rerun(const actors::NodeOptions& options,
                                              const launch::AuditReport& audit,
                                              const tensor::TextData& data,
                                              const storage::RunSnapshots& snapshots);

}  // namespace swarm::apps
