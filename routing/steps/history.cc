#include "routing/steps/history.h"

#include <algorithm>

#include "common/mix.h"

namespace swarm::routing {
namespace {

/// Order counts.
class Chain {
 public:
  explicit Chain(History before) : state_(before.value()) {}
  void add(uint64_t number) { state_ = mix(state_ ^ mix(number)); }
  /// 0 stays free for "none".
  uint64_t hash() const { return std::max<uint64_t>(state_ >> (64 - kHashBits), 1); }

 private:
  uint64_t state_;
};

}  // namespace

History history_after(History before, const CommitFacts& commit) {
  Chain chain(before);
  chain.add(commit.step.value());
  chain.add(commit.digests.size());
  for (const uint64_t digest : commit.digests) chain.add(digest);
  chain.add(commit.computed_on.value());
  chain.add(commit.skips.size());
  for (const Slot slot : commit.skips) chain.add(slot.value());
  chain.add(commit.configuration);
  return History(commit.configuration << kHashBits | chain.hash());
}

}  // namespace swarm::routing
