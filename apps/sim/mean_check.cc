#include "apps/sim/mean_check.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace swarm::sim {
namespace {

constexpr size_t kFew = 6;

bool is_mean_of_few(double average, const Sum& sum, const Candidates& of, size_t from) {
  if (sum.weights > 0 && about_equal(average, sum.values / sum.weights)) return true;
  for (size_t i = from; i < of.size(); ++i)
    for (const auto& [value, weight] : of[i])
      if (is_mean_of_few(average, sum.with(value, weight), of, i + 1)) return true;
  return false;
}

/// Whole numbers from `least` to `most` that can be reached: a bit each.
class Reached {
 public:
  Reached(int64_t least, int64_t most)
      : least_(least), most_(most), bits_(static_cast<size_t>((most - least) / kBits + 1), 0) {}

  void add(int64_t number) {
    const int64_t place = number - least_;
    if (place < 0 || place >= static_cast<int64_t>(bits_.size()) * kBits) return;
    bits_[static_cast<size_t>(place / kBits)] |= uint64_t{1} << (place % kBits);
  }
  /// All numbers that these reach by one of `steps`.
  Reached after(const std::vector<int64_t>& steps) const {
    Reached next(least_, most_);
    for (const int64_t step : steps) next.add_moved(*this, step);
    return next;
  }
  bool any(int64_t first, int64_t last) const {
    for (int64_t number = std::max(first, least_); number <= last; ++number) {
      const auto place = static_cast<uint64_t>(number - least_);
      if (place / kBits >= bits_.size()) return false;
      if ((bits_[place / kBits] >> (place % kBits) & 1) != 0) return true;
    }
    return false;
  }

 private:
  static constexpr int64_t kBits = 64;

  /// What leaves the range is forgotten.
  void add_moved(const Reached& from, int64_t step) {
    const auto size = static_cast<int64_t>(bits_.size());
    const int64_t words = step >= 0 ? step / kBits : -((-step + kBits - 1) / kBits);
    const int64_t rest = step - words * kBits;  // 0 to 63
    const int64_t end = std::min(size, size + words + 1);
    for (int64_t to = std::max<int64_t>(0, words); to < end; ++to) {
      const int64_t at = to - words;
      const uint64_t here = at < size ? from.bits_[static_cast<size_t>(at)] : 0;
      const uint64_t before = at > 0 ? from.bits_[static_cast<size_t>(at - 1)] : 0;
      bits_[static_cast<size_t>(to)] |= rest == 0 ? here : here << rest | before >> (kBits - rest);
    }
  }

  int64_t least_, most_;
  std::vector<uint64_t> bits_;
};

}  // namespace

bool about_equal(double a, double b) {
  return std::abs(a - b) <= 1e-4 * std::max({1.0, std::abs(a), std::abs(b)});
}

/// By the sums that can be reached, in units of a quarter of what about_equal() allows (of more
/// where values are far apart): their number is bounded where that of the choices is not.
bool is_mean_of_many(double average, const Sum& sum, const Candidates& of) {
  constexpr double kMostUnits = 1 << 26;
  double least = sum.weights > 0 ? sum.weights : 1, range = 0;
  for (const auto& one : of)
    for (const auto& [value, weight] : one) {
      if (weight > 0) least = std::min(least, weight);
      range += std::abs(weight * (value - average));
    }
  const double fine = 0.25e-4 * std::max(1.0, std::abs(average)) * least;
  const double unit = std::max(fine, range / kMostUnits);
  const auto slack = static_cast<int64_t>(4 + of.size());  // each is rounded
  int64_t down = -slack, up = slack;                       // what those that follow can make good
  std::vector<std::vector<int64_t>> choices;
  for (const auto& one : of) {
    auto& adds = choices.emplace_back(1, 0);  // it has no part
    for (const auto& [value, weight] : one)
      adds.push_back(std::llround(weight * (value - average) / unit));
    std::sort(adds.begin(), adds.end());
    adds.erase(std::unique(adds.begin(), adds.end()), adds.end());
    down -= adds.back();
    up -= adds.front();
  }
  Reached sums(down, up);
  sums.add(std::llround((sum.values - average * sum.weights) / unit));
  for (const auto& adds : choices) sums = sums.after(adds);
  return sums.any(-slack, slack);
}

bool is_mean(double average, const Sum& sum, const Candidates& of) {
  return of.size() <= kFew ? is_mean_of_few(average, sum, of, 0)
                           : is_mean_of_many(average, sum, of);
}

}  // namespace swarm::sim
