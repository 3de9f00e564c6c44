/// Histories whose parameters are known to the last bit: one loop over the steps as they were closed.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "apps/sim/histories.h"

namespace swarm::sim {

/// A step may have been closed more than once, with other skips: then there are several histories.
class ExactHistories : public Histories {
 public:
  explicit ExactHistories(const HistoryShape& shape);

  void closed(const records::ClosedStep& step) override;
  bool has(Stage stage, uint64_t step, const std::vector<float>& parameters) override;
  float first(Stage stage, uint64_t step) override;

 private:
  using Parameters = std::vector<std::vector<float>>;  ///< By stage.
  struct State {
    Parameters now, before;  ///< Before: of the step before.
    bool operator<(const State& other) const {
      return now != other.now ? now < other.now : before < other.before;
    }
  };
  void reach(uint64_t step);
  void go_on(uint64_t step, uint64_t computed_on, const std::set<uint32_t>& skipped);
  Parameters next(const Parameters& now, const Parameters& computed_on, uint64_t step,
                  const std::set<uint32_t>& skipped) const;

  HistoryShape shape_;
  std::vector<std::set<State>> states_;  ///< By step.
};

}  // namespace swarm::sim
