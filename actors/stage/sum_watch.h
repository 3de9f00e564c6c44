/// On the compute actor's thread: whether the gradient sum is still what the last add left, each time that
/// it is used (docs/training_protocol.md, "The end of a step").
#pragma once

#include <cstdint>
#include <optional>

#include "actors/node/options.h"
#include "common/strong_id.h"
#include "tensor/core/bit_fault_options.h"
#include "tensor/core/stage.h"

namespace swarm::actors {

/// Owned by a StageServer, used only inside its compute jobs, one at a time. A sum is named by the epoch
/// of its Contributions, one of local updates by LocalUpdater::sum(). Each add to a sum costs two reads of it, its average one.
class SumWatch {
 public:
  /// Unless it `checks` every sum is intact. `fault`: that it is to carry out itself.
  explicit SumWatch(bool checks, std::optional<tensor::BitFault> fault = {})
      : checks_(checks), fault_(std::move(fault)) {}
  /// As the options of this node say.
  static SumWatch of(const std::string& node, const TrainingOptions& training,
                     const StageServerOptions& options, const FaultOptions& faults);

  /// Before the sum is added to or taken. False: it has changed by itself, and is to be dropped. One to
  /// which nothing was added is made zero again, whatever it is.
  bool intact(tensor::Stage& stage, uint64_t epoch);
  /// A gradient of `step` was added.
  void added(tensor::Stage& stage, uint64_t epoch, Step step);
  /// The sum was taken and cleared, whatever epoch it is.
  void cleared() { last_.reset(); }

 private:
  struct Last {
    uint64_t epoch = 0, checksum = 0;
  };
  bool checks_;
  std::optional<tensor::BitFault> fault_;
  std::optional<Last> last_;  ///< After the last add.
};

}  // namespace swarm::actors
