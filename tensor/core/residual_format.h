/// What stands beside a snapshot about error feedback: proto::PeerResiduals. Pure.
#pragma once

#include <cstdint>

#include "common/buffer.h"
#include "common/result.h"
#include "tensor/core/error_feedback.h"

namespace swarm::tensor {

constexpr uint32_t kResidualFormatVersion = 1;

/// The state that residuals go with.
struct StateMark {
  uint64_t step = 0;
  uint64_t history = 0;
  uint64_t digest = 0;  ///< digest() of its bytes; asynchronously states of one step differ.
};

/// Of the peer whose state that is.
Buffer serialize_residuals(const Residuals& residuals, const StateMark& state);

/// What serialize_residuals() gave of that state, of a stage with `num_parameters`. Errors: kNotFound (they go
/// with another state), kCorruptCheckpoint (anything else is wrong, numbers that are not finite
/// included). Takes no memory before the sizes are right.
Result<Residuals> parse_residuals(const Buffer& bytes, const StateMark& state,
                                  uint64_t num_parameters);

}  // namespace swarm::tensor
