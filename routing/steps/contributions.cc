#include "routing/steps/contributions.h"

#include <algorithm>

namespace swarm::routing {

bool Contributions::enter(const MicrobatchKey& key) {
  return held_.try_emplace({key.step, key.slot}, Held{key.slot, key.attempt, 0, 0, 0}).second;
}

void Contributions::added(const MicrobatchKey& key, uint64_t epoch) {
  const auto held = held_.find({key.step, key.slot});
  if (epoch == epoch_ && held != held_.end() && held->second.attempt == key.attempt)
    held->second.place = ++added_;
}

void Contributions::failed(const MicrobatchKey& key, uint64_t epoch) {
  if (epoch == epoch_ && attempt(key) == key.attempt) held_.erase({key.step, key.slot});
}

bool Contributions::holds(const MicrobatchKey& key, uint64_t epoch) const {
  return epoch == epoch_ && held_.count({key.step, key.slot}) > 0;
}

std::optional<Attempt> Contributions::attempt(const MicrobatchKey& key) const {
  auto held = held_.find({key.step, key.slot});
  if (held == held_.end()) return std::nullopt;
  return held->second.attempt;
}

void Contributions::note_loss(const MicrobatchKey& key, double loss_sum, uint32_t samples) {
  auto held = held_.find({key.step, key.slot});
  if (held == held_.end()) return;
  held->second.loss_sum = loss_sum;
  held->second.samples = samples;
}

std::vector<Contributions::Held> Contributions::of_step(Step step) const {
  std::vector<Held> found;
  for (auto it = held_.lower_bound({step, Slot()}); it != held_.end() && it->first.first == step;
       ++it)
    found.push_back(it->second);
  return found;
}

bool Contributions::settled(Step step) const {
  const auto held = of_step(step);
  return std::all_of(held.begin(), held.end(), [](const Held& one) { return one.added(); });
}

void Contributions::clear() {
  held_.clear();
  ++epoch_;
}

void Contributions::trim(Step oldest_step, size_t kept) {
  while (held_.size() > kept && held_.begin()->first.first < oldest_step)
    held_.erase(held_.begin());
}

}  // namespace swarm::routing
