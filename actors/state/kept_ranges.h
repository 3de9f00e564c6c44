/// Ranges of a state on a learner's disk: what a block of them is, byte for byte. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/buffer.h"
#include "common/result.h"
#include "common/strong_id.h"
#include "routing/state/state_label.h"
#include "tensor/core/optimizer.h"

namespace swarm::actors {

/// Whose state it is and how it is cut: ranges of anything else are of no use.
struct RangeLayout {
  std::string run_id, config_fingerprint;
  Stage stage;
  uint64_t elements = 0;        ///< Parameters of the stage.
  uint32_t vectors = 1;         ///< The parameters and the optimizer's moments.
  uint64_t range_elements = 1;  ///< Of every range but the last.

  uint64_t ranges() const { return (elements + range_elements - 1) / range_elements; }
  /// Requires range < ranges().
  uint64_t bytes(uint64_t range) const;
};

/// How the streams of all stages' blocks begin.
constexpr const char* kLearnedStreams = "learned/";
/// "learned/2": the stream of a stage's blocks in a checkpoint store.
std::string learned_key(Stage stage);

struct KeptRange {
  size_t range = 0;
  routing::StateLabel label;
  tensor::OptimizerCounters counters;
  Buffer bytes;  ///< As Stage::save_range().
};

/// A serialized proto::KeptRanges. Requires ranges of this layout.
Buffer encode_kept(const RangeLayout& layout, const std::vector<KeptRange>& ranges);

/// The ranges share the block's memory. Errors: kCorruptCheckpoint (not what encode_kept() made),
/// kInvalidArgument (of another run, configuration, stage or layout: says which).
Result<std::vector<KeptRange>> decode_kept(const RangeLayout& layout, const Buffer& block);

}  // namespace swarm::actors
