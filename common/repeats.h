/// Holds back lines that say the same again and again. Pure: time is an argument. One owner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

namespace swarm {

class Repeats {
 public:
  static constexpr double kWindowS = 10;
  static constexpr uint64_t kMostEqual = 20;   ///< Of one window.
  static constexpr size_t kMostKinds = 4'096;  ///< Of one window; what comes beyond passes.

  /// Whether a line that says `what` is written. `label`: what it is called if many are held back.
  bool take(const std::string& what, const std::string& label, double now_s) {
    if (seen_.empty()) began_s_ = now_s;
    const auto found = seen_.find(what);
    if (found == seen_.end()) {
      if (seen_.size() < kMostKinds) seen_.emplace(what, Kind{label, 1});
      return true;
    }
    return ++found->second.times <= kMostEqual;
  }

  struct Held {
    std::string label;
    uint64_t times = 0;  ///< So many lines were not written.
  };
  /// What was held back in a window that is over, each label once. Call before take(), and with `all` at the end.
  std::vector<Held> told(double now_s, bool all = false) {
    std::vector<Held> out;
    const bool over = now_s >= began_s_ + kWindowS || now_s < began_s_;  // clocks are set back, too
    if (seen_.empty() || !(over || all)) return out;
    std::map<std::string, uint64_t> sums;
    for (const auto& [what, kind] : seen_)
      if (kind.times > kMostEqual) sums[kind.label] += kind.times - kMostEqual;
    for (const auto& [label, times] : sums) out.push_back({label, times});
    seen_.clear();
    return out;
  }

 private:
  struct Kind {
    std::string label;
    uint64_t times = 0;
  };
  std::unordered_map<std::string, Kind> seen_;  // of this window
  double began_s_ = 0;
};

}  // namespace swarm
