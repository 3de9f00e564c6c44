#include "routing/wiring/interleaved_round_robin.h"

#include <algorithm>
#include <cmath>

#include "common/check.h"

namespace swarm::routing {

void InterleavedRoundRobin::upsert(const PeerId& peer, double samples_per_s) {
  SWARM_CHECK(samples_per_s > 0 && std::isfinite(samples_per_s));
  const auto first = std::min_element(entries_.begin(), entries_.end(), [](auto& a, auto& b) {
    return a.second.clock_s < b.second.clock_s;
  });
  const double first_s = first == entries_.end() ? 0 : first->second.clock_s;
  auto [it, is_new] = entries_.try_emplace(peer, Entry{first_s, samples_per_s});
  if (is_new) return;
  // What it is ahead by are picks: they cost what a pick costs now, not what it was thought to.
  Entry& entry = it->second;
  entry.clock_s = first_s + (entry.clock_s - first_s) * entry.samples_per_s / samples_per_s;
  entry.samples_per_s = samples_per_s;
}

void InterleavedRoundRobin::remove(const PeerId& peer) { entries_.erase(peer); }

Result<PeerId> InterleavedRoundRobin::pick(int64_t num_samples,
                                           const std::function<bool(const PeerId&)>& excluded) {
  auto best = entries_.end();
  std::vector<Entry*> passed_over;
  uint64_t equals = 0;
  for (auto it = entries_.begin(); it != entries_.end(); ++it) {
    if (excluded && excluded(it->first)) {
      passed_over.push_back(&it->second);
      continue;
    }
    const bool first = best == entries_.end() || it->second.clock_s < best->second.clock_s;
    if (!first && it->second.clock_s > best->second.clock_s) continue;
    equals = first ? 1 : equals + 1;
    if (equals == 1 || random_.next() % equals == 0) best = it;
  }
  if (best == entries_.end())
    return Error{ErrorCode::kNoLivePeer, entries_.empty()
                                             ? "no peer of the stage is known"
                                             : "every known peer of the stage is excluded"};
  for (Entry* entry : passed_over) entry->clock_s = std::max(entry->clock_s, best->second.clock_s);
  best->second.clock_s +=
      static_cast<double>(std::max<int64_t>(num_samples, 0)) / best->second.samples_per_s;
  return best->first;
}

bool InterleavedRoundRobin::contains(const PeerId& peer) const { return entries_.count(peer) != 0; }

size_t InterleavedRoundRobin::size() const { return entries_.size(); }

std::vector<PeerId> InterleavedRoundRobin::peers() const {
  std::vector<PeerId> ids;
  for (const auto& [id, entry] : entries_) ids.push_back(id);
  return ids;
}

}  // namespace swarm::routing
