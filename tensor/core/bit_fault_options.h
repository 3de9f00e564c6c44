/// A bit of a peer's memory that turns on purpose, to show that it is found: FaultOptions::flip_bit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace swarm::tensor {

/// What a stage holds between passes.
enum class StatePart : uint8_t {
  kParameters,
  kMoments,
  kGradientSum,
  kContribution,  ///< A value of the gradient sum becomes not a number, as if the last add had left it so.
};

struct BitFault {
  std::string node;  ///< By name.
  StatePart part = StatePart::kParameters;
  uint64_t step = 0;  ///< As soon as the peer has added a gradient of this step or a later one.
};

/// Reads "NODE:PART:STEP", PART being parameters, moments, gradient_sum or contribution. Nothing for anything else:
/// no defect.
std::optional<BitFault> parse_bit_fault(const std::string& text);

}  // namespace swarm::tensor
