/// What tests know of codecs: all rows of the table, and how close to the mean of normal values an
/// average comes.
#pragma once

#include <vector>

#include "tensor/core/codec.h"

namespace swarm::testing {

inline std::vector<tensor::Codec> all_codecs() {
  std::vector<tensor::Codec> all;
  for (size_t row = 0; row < tensor::codec_names().size(); ++row)
    all.push_back(static_cast<tensor::Codec>(row));
  return all;
}

/// For sums of normal values over at most 9 samples a member.
inline double mean_tolerance(tensor::Codec codec) {
  if (codec == tensor::Codec::kNone) return 1e-5;
  if (codec == tensor::Codec::kFp16) return 1e-2;
  return codec == tensor::Codec::kInt4 ? 1.0 : 1e-1;
}

}  // namespace swarm::testing
