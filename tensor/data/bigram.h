/// The baseline a language model has to beat: next-byte probabilities from counts of byte pairs.
#pragma once

#include <cstdint>

#include "tensor/data/text_data.h"

namespace swarm::tensor {

/// Counts all byte pairs of the training split, adds `alpha` to every count, and measures the mean
/// cross-entropy [nats per byte] on the first `validation_samples` validation samples: the very
/// targets that the model is measured on (each target is predicted from the byte before it).
/// Requires alpha > 0, validation_samples >= 1. Pure apart from reading the mapped text.
double bigram_loss(const TextData& data, uint64_t validation_samples, double alpha = 0.1);

}  // namespace swarm::tensor
