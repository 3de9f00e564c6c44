#include "apps/launch/lineage.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace swarm::launch {
namespace {

using StageStep = std::pair<uint32_t, uint64_t>;

class Tracer {
 public:
  Tracer(const std::vector<AppliedUpdate>& updates, uint32_t num_stages,
         const std::vector<uint64_t>& steps)
      : num_stages_(num_stages), steps_(steps) {
    for (const AppliedUpdate& update : updates) {
      if (update.stage >= num_stages || update.closing >= steps.size()) continue;
      by_step_[{update.stage, update.step}].push_back(&update);
      applied_[update.step].push_back(update.closing);
    }
    for (auto& [step, closings] : applied_) std::sort(closings.begin(), closings.end());
  }

  History trace(std::optional<uint64_t> last_step) {
    History history;
    const auto end = tip(last_step);
    if (!end) return history;
    std::vector<std::optional<uint64_t>> wanted(num_stages_);  // checksums after the step
    size_t bound = *end;
    const auto from = std::make_reverse_iterator(applied_.upper_bound(steps_[*end]));
    for (auto it = from; it != applied_.rend(); ++it) {
      const uint64_t step = it->first;
      if (it != from && std::prev(it)->first != step + 1) wanted.assign(num_stages_, std::nullopt);
      auto& chosen = history[step];
      for (uint32_t stage = 0; stage < num_stages_; ++stage) {
        const AppliedUpdate* update = producer(stage, step, wanted[stage], bound);
        chosen.push_back(update != nullptr ? update->closing : last_applied(step, bound));
        wanted[stage] = update != nullptr ? update->before : std::nullopt;
      }
      bound = *std::max_element(chosen.begin(), chosen.end());
    }
    return history;
  }

 private:
  std::optional<size_t> tip(std::optional<uint64_t> last_step) const {
    if (last_step && !applied_.empty() && applied_.rbegin()->first >= *last_step)
      return applied_.rbegin()->second.back();
    std::optional<size_t> newest;
    for (const auto& [step, closings] : applied_)
      if (!newest || closings.back() > *newest) newest = closings.back();
    return newest;
  }

  /// The last closing of the step that anybody applied, not after `bound` if there is one.
  size_t last_applied(uint64_t step, size_t bound) const {
    const auto& closings = applied_.at(step);
    const auto after = std::upper_bound(closings.begin(), closings.end(), bound);
    return after == closings.begin() ? closings.front() : *std::prev(after);
  }

  /// The update of the stage that led to the checksum: of several peers' the one that most of them
  /// made from the same state; of equally many the one from the later state. Without a checksum, or
  /// when nobody led there, the last one.
  const AppliedUpdate* producer(uint32_t stage, uint64_t step, std::optional<uint64_t> after,
                                size_t bound) const {
    const auto found = by_step_.find({stage, step});
    if (found == by_step_.end()) return nullptr;
    const AppliedUpdate* best = nullptr;
    std::tuple<bool, bool, size_t, size_t, size_t> best_score;
    for (const AppliedUpdate* update : found->second) {
      const bool leads = after && update->after == *after;
      const bool early = update->closing <= bound;
      const auto like_it = static_cast<size_t>(
          std::count_if(found->second.begin(), found->second.end(), [&](const auto* other) {
            return other->closing == update->closing && other->before == update->before;
          }));
      const std::tuple score(leads, early, update->closing, like_it, made_by(stage, step, *update));
      if (best != nullptr && score <= best_score) continue;
      best = update;
      best_score = score;
    }
    return best;
  }

  /// 1 + the last closing that led to the state before the update; 0: none.
  size_t made_by(uint32_t stage, uint64_t step, const AppliedUpdate& update) const {
    if (step == 0 || !update.before) return 0;
    const auto found = by_step_.find({stage, step - 1});
    if (found == by_step_.end()) return 0;
    size_t last = 0;
    for (const AppliedUpdate* one : found->second)
      if (one->after == *update.before) last = std::max(last, one->closing + 1);
    return last;
  }

  uint32_t num_stages_;
  const std::vector<uint64_t>& steps_;
  std::map<StageStep, std::vector<const AppliedUpdate*>> by_step_;
  std::map<uint64_t, std::vector<size_t>> applied_;  ///< Step -> closings, ascending.
};

}  // namespace

History trace_history(const std::vector<AppliedUpdate>& updates, uint32_t num_stages,
                      const std::vector<uint64_t>& steps, std::optional<uint64_t> last_step) {
  return Tracer(updates, num_stages, steps).trace(last_step);
}

}  // namespace swarm::launch
