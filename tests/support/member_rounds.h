/// Sides of an all-reduce wired to each other in one thread, without actors: mail is handed over by hand, in an
/// order that a seed draws.
#pragma once

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "actors/averaging/all_reduce.h"
#include "tests/support/ids.h"

namespace swarm::testing {

inline Buffer buffer_of(const std::vector<float>& values) {
  return Buffer::from_string(
      {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)});
}
inline std::vector<float> floats_of(const Buffer& buffer) {
  std::vector<float> values(buffer.size() / sizeof(float));
  if (!values.empty()) std::memcpy(values.data(), buffer.data(), buffer.size());
  return values;
}

/// Random sums, one for each member that has samples.
struct StageMembers {
  uint64_t n = 0;
  std::vector<uint64_t> samples;
  std::vector<uint32_t> weights;             ///< Of parts; empty: all 1.
  std::vector<actors::TrainedOn> trained{};  ///< Empty: samples are what was summed over.
  uint64_t most_samples = 0;
  std::vector<tensor::Residuals> residuals{};  ///< Empty: what codecs take is lost.
  Round round{1};
  std::vector<std::vector<float>> sums{};

  void draw(uint64_t seed) {
    std::mt19937_64 random(seed);
    std::normal_distribution<float> normal;
    sums.clear();
    for (const uint64_t count : samples) {
      sums.emplace_back(count > 0 ? n : 0);
      for (float& x : sums.back()) x = normal(random) * static_cast<float>(count);
    }
  }
  actors::AverageRound of(uint32_t self) const {
    actors::AverageRound spec;
    spec.round = round;
    spec.self = self;
    spec.n = n;
    for (uint32_t i = 0; i < samples.size(); ++i) {
      spec.members.push_back({peer(i + 1, "averager.0"), {}, samples[i]});
      if (!weights.empty()) spec.members.back().part_weight = weights[i];
      spec.total_samples += samples[i];
    }
    if (!trained.empty()) spec.trained_on = trained[self];
    spec.most_samples = most_samples;
    if (!residuals.empty()) spec.residuals = residuals[self];
    if (samples[self] > 0) spec.gradient = buffer_of(sums[self]);
    return spec;
  }
  /// The largest difference from the float64 sum of the members' vectors, each times `factors` of it.
  double worst_error(const Buffer& mean, const std::vector<double>& factors) const {
    const auto got = floats_of(mean);
    double worst = 0;
    for (uint64_t e = 0; e < n; ++e) {
      double right = 0;
      for (size_t i = 0; i < sums.size(); ++i)
        if (!sums[i].empty()) right += factors[i] * static_cast<double>(sums[i][e]);
      worst = std::max(worst, std::abs(right - static_cast<double>(got[e])));
    }
    return worst;
  }
  /// All count by what they were summed over.
  double worst_error(const Buffer& mean) const {
    double total = 0;
    for (const uint64_t count : samples) total += static_cast<double>(count);
    return worst_error(mean, std::vector<double>(samples.size(), 1 / total));
  }
};

/// At most `window` requests from one to another are under way. Members without a side are dead: they ask and
/// answer nothing.
class Exchange {
 public:
  Exchange(std::vector<std::unique_ptr<actors::AllReduce>> sides, uint64_t seed, size_t window)
      : sides_(std::move(sides)), random_(seed), window_(window) {
    next_.assign(sides_.size(), std::vector<size_t>(sides_.size(), 0));
    open_.assign(sides_.size(), std::vector<size_t>(sides_.size(), 0));
  }

  /// Until nothing more happens, or so often: each asks every other once, then all is answered that can be.
  void run(int times = std::numeric_limits<int>::max()) {
    for (bool more = true; more && times > 0; --times) {
      more = false;
      auto pairs = all_pairs();
      std::shuffle(pairs.begin(), pairs.end(), random_);
      for (const auto& [by, of] : pairs) more |= ask(by, of);
      more |= answer();
    }
  }
  actors::AllReduce& side(size_t member) { return *sides_[member]; }
  size_t size() const { return sides_.size(); }
  uint64_t messages() const { return messages_; }
  /// Those that have the whole mean.
  size_t complete() const {
    size_t done = 0;
    for (const auto& side : sides_) done += side && side->complete();
    return done;
  }
  void kill(size_t member) { sides_[member].reset(); }

 private:
  struct Asked {
    uint32_t by, of;
    size_t number, answer;
  };
  std::vector<std::pair<uint32_t, uint32_t>> all_pairs() const {
    std::vector<std::pair<uint32_t, uint32_t>> pairs;
    for (uint32_t by = 0; by < sides_.size(); ++by)
      for (uint32_t of = 0; of < sides_.size(); ++of)
        if (sides_[by] && sides_[of]) pairs.emplace_back(by, of);
    return pairs;
  }
  bool ask(uint32_t by, uint32_t of) {
    size_t& next = next_[by][of];
    const bool may = next < sides_[by]->requests_to(of) && open_[by][of] < window_;
    if (!may || !sides_[by]->ready(of, next)) return false;
    const auto out = sides_[by]->request(of, next);
    auto number = sides_[of]->contribute(out.head, out.body);
    BOOST_REQUIRE_MESSAGE(number.ok(), (number.ok() ? "" : to_string(number.error())));
    if (random_() % 8 == 0) {  // sent again
      auto again = sides_[of]->contribute(out.head, out.body);
      BOOST_REQUIRE(again.ok());
      BOOST_REQUIRE(*again == *number);
    }
    asked_.push_back({by, of, next++, *number});
    ++open_[by][of];
    ++messages_;
    return true;
  }
  bool answer() {
    bool any = false;
    std::vector<Asked> left;
    for (const Asked& one : std::exchange(asked_, {})) {
      if (!sides_[one.by] || !sides_[one.of]) continue;
      if (!sides_[one.of]->answerable(one.answer)) {
        left.push_back(one);
        continue;
      }
      const auto mean = sides_[one.of]->answer(one.answer);
      const auto taken = sides_[one.by]->take_answer(one.of, one.number, mean);
      BOOST_REQUIRE_MESSAGE(taken.ok(), (taken.ok() ? "" : to_string(taken.error())));
      --open_[one.by][one.of];
      any = true;
    }
    asked_.insert(asked_.end(), left.begin(), left.end());
    return any;
  }

  std::vector<std::unique_ptr<actors::AllReduce>> sides_;
  std::mt19937_64 random_;
  size_t window_;
  std::vector<std::vector<size_t>> next_, open_;  // by asker, by asked
  std::vector<Asked> asked_;
  uint64_t messages_ = 0;
};

inline Exchange exchange_of(const StageMembers& stage, const actors::AllReduceSetup& setup,
                            uint64_t seed = 1, size_t window = 2) {
  std::vector<std::unique_ptr<actors::AllReduce>> sides;
  for (uint32_t i = 0; i < stage.samples.size(); ++i) {
    BOOST_REQUIRE(validate(stage.of(i)).ok());
    sides.push_back(make_all_reduce(setup, stage.of(i)));
  }
  return {std::move(sides), seed, window};
}

}  // namespace swarm::testing
