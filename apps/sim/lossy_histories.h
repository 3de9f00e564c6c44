/// Histories of a swarm that averages through a lossy codec. What it takes depends on who summed which
/// microbatches, so only bounds are known: in each step the parameters of a stage change by the mean of
/// the samples' gradients, up to what the codec can have taken, and given back from the step before.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "apps/sim/histories.h"
#include "tensor/core/options.h"

namespace swarm::sim {

/// The most that the codec changes a value, as a part of the largest of its block.
double worst_loss(tensor::Codec codec);

class LossyHistories : public Histories {
 public:
  LossyHistories(const HistoryShape& shape, tensor::Codec codec);

  void closed(const records::ClosedStep& step) override;
  /// What is within its bounds is from then on what later parameters may follow from.
  bool has(Stage stage, uint64_t step, const std::vector<float>& parameters) override;
  float first(Stage stage, uint64_t step) override;

 private:
  struct Closing {
    uint64_t computed_on = 0;
    std::set<uint32_t> skipped;
    bool operator<(const Closing& other) const {
      return computed_on != other.computed_on ? computed_on < other.computed_on
                                              : skipped < other.skipped;
    }
  };
  using Parameters = std::vector<float>;
  using Values = std::set<int64_t>;

  std::set<Parameters>& seen(Stage stage, uint64_t step) { return seen_[{stage, step}]; }
  /// weight_of() the stage, in the histories.
  Values weights_of(Stage stage, uint64_t step);
  /// Of all stages together, modulo 8.
  Values all_weights(uint64_t step);
  bool follows(Stage stage, uint64_t step, const Closing& closing, const Parameters& now);
  bool changes_by(Stage stage, const Parameters& from, const Parameters& to, double gradient,
                  double counted) const;

  HistoryShape shape_;
  double loss_;
  std::map<uint64_t, std::set<Closing>> closings_;  ///< By step.
  std::map<std::pair<Stage, uint64_t>, std::set<Parameters>> seen_;
  std::map<Stage, double> largest_;  ///< Mean gradient of a sample, so far.
};

}  // namespace swarm::sim
