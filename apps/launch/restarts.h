/// Whether a node whose process ended unasked is started again, and when. Pure; one for each node.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

namespace swarm::launch {

class Restarts {
 public:
  /// A process that lived so long [s] did not end for the reason of the one before.
  static constexpr double kGoodService = 600;
  static constexpr double kFirstPause = 1, kLongestPause = 30;

  /// `most`: in a row.
  explicit Restarts(uint32_t most) : most_(most) {}

  /// A process ended after `lived_s`. How long to wait before the next [s], twice as long each time;
  /// nothing: it has been started often enough.
  std::optional<double> next(double lived_s) {
    if (lived_s >= kGoodService) in_a_row_ = 0;
    if (in_a_row_ >= most_) return std::nullopt;
    const double pause = kFirstPause * static_cast<double>(uint64_t{1} << std::min(in_a_row_, 16u));
    ++in_a_row_;
    return std::min(pause, kLongestPause);
  }
  uint32_t in_a_row() const { return in_a_row_; }

 private:
  uint32_t most_;
  uint32_t in_a_row_ = 0;
};

}  // namespace swarm::launch
