/// The memory of a TrainedParameters. LibTorch; included by .cc files of tensor/ only.
#pragma once

#include "tensor/core/stage_memory.h"
#include "tensor/torch/trained_parameters.h"

namespace swarm::tensor {

/// The parameters outlive it. The sum's checksum is the sum of its words; on a GPU it is computed there.
class HeldMemory final : public StageMemory {
 public:
  explicit HeldMemory(TrainedParameters& of) : of_(of) {}

  uint64_t sum_checksum() const override;
  void flip_bit(StatePart part) override;

 private:
  TrainedParameters& of_;
};

}  // namespace swarm::tensor
