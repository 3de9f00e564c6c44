#include "routing/averaging/reach.h"

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>

#include "routing/averaging/two_level_plan.h"

namespace swarm::routing {
namespace {

/// The pairs among `size` members that cannot reach each other.
class Gaps {
 public:
  explicit Gaps(size_t size) : open_(size, std::vector<bool>(size, false)) {}
  void add(size_t a, size_t b) { open_[a][b] = open_[b][a] = true; }
  bool between(size_t a, size_t b) const { return open_[a][b]; }

  /// Of the `present` ones that reach both, the one that is least `used`.
  std::optional<size_t> via(size_t a, size_t b, const std::set<size_t>& present,
                            const std::map<size_t, int>& used = {}) const {
    std::optional<size_t> best;
    auto uses = [&used](size_t one) {
      auto found = used.find(one);
      return found == used.end() ? 0 : found->second;
    };
    for (size_t one : present) {
      if (one == a || one == b || open_[a][one] || open_[b][one]) continue;
      if (!best || uses(one) < uses(*best)) best = one;
    }
    return best;
  }

  /// How many of the present ones `a` reaches neither directly nor through one of them.
  size_t unreachable(size_t a, const std::set<size_t>& present) const {
    return static_cast<size_t>(std::count_if(present.begin(), present.end(), [&](size_t b) {
      return b != a && open_[a][b] && !via(a, b, present);
    }));
  }

 private:
  std::vector<std::vector<bool>> open_;
};

}  // namespace

Reach::Pair Reach::pair_of(const PeerId& a, const PeerId& b) {
  return a < b ? Pair{a, b} : Pair{b, a};
}

bool Reach::Record::rests(Time now) const {
  if (times == 0) return false;
  const int pause = std::min((1 << std::min(times - 1, 10)) - 1, kMostRounds);
  return now < retry_at || rounds < pause;
}

void Reach::unreached(const PeerId& a, const PeerId& b, Time now) {
  if (a == b) return;
  auto [found, fresh] = pairs_.try_emplace(pair_of(a, b));
  Record& record = found->second;
  if (fresh) record.first = now;
  record.met = 0;
  if (record.rests(now)) return;
  if (record.times == 0 && now - record.first < kCertain) return;
  const Time pause = kRetry * (1 << std::min(record.times, 10));
  record.retry_at = now + std::min(pause, Time(kLongestRetry));
  record.rounds = 0;
  ++record.times;
}

void Reach::keep(const std::function<bool(const PeerId&)>& is_here) {
  for (auto it = pairs_.begin(); it != pairs_.end();) {
    const auto& [a, b] = it->first;
    it = is_here(a) && is_here(b) ? std::next(it) : pairs_.erase(it);
  }
}

void Reach::reached(const std::vector<PeerId>& members, const std::vector<Relay>& relays) {
  std::set<Pair> relayed;
  for (const Relay& one : relays) relayed.insert(pair_of(members[one.a], members[one.b]));
  const std::set<PeerId> present(members.begin(), members.end());
  const int enough = members.size() > kMostDirect ? kRoundsToMeet : 1;
  for (auto it = pairs_.begin(); it != pairs_.end();) {
    const auto& [a, b] = it->first;
    const bool one = present.count(a) != 0, other = present.count(b) != 0;
    const bool done = one && other && relayed.count(it->first) == 0;
    if ((one || other) && !done) ++it->second.rounds;
    if (done) it->second.times = 0;
    it = done && ++it->second.met >= enough ? pairs_.erase(it) : std::next(it);
  }
}

bool Reach::parted(const PeerId& a, const PeerId& b, Time now) const {
  auto found = pairs_.find(pair_of(a, b));
  return found != pairs_.end() && found->second.rests(now);
}

bool Reach::retry_due(const std::vector<PeerId>& members, Time now) const {
  const std::set<PeerId> present(members.begin(), members.end());
  return std::any_of(pairs_.begin(), pairs_.end(), [&](const auto& one) {
    const auto& [pair, record] = one;
    return record.times > 0 && !record.rests(now) && present.count(pair.first) != 0 &&
           present.count(pair.second) != 0;
  });
}

Reach::Plan Reach::plan(const std::vector<Member>& members, Time now, bool retry) const {
  Plan plan;
  if (pairs_.empty()) return plan;
  Gaps gaps(members.size());
  std::set<size_t> present;
  for (size_t a = 0; a < members.size(); ++a) {
    present.insert(a);
    for (size_t b = a + 1; b < members.size(); ++b) {
      const auto pair = pairs_.find(pair_of(members[a].peer, members[b].peer));
      if (pair == pairs_.end() || pair->second.times == 0) continue;
      if (!retry || pair->second.rests(now)) gaps.add(a, b);
    }
  }
  for (;;) {  // who misses the most goes first: of two sides that is the smaller one
    std::optional<size_t> worst;
    auto rank = [&](size_t one) {
      return std::make_tuple(gaps.unreachable(one, present), ~members[one].slots,
                             members[one].peer);
    };
    for (size_t one : present)
      if (gaps.unreachable(one, present) > 0 && (!worst || rank(*worst) < rank(one))) worst = one;
    if (!worst) break;
    present.erase(*worst);
    const auto from = std::find_if(present.begin(), present.end(),
                                   [&](size_t one) { return gaps.between(*worst, one); });
    const Pair pair = pair_of(members[*worst].peer, members[*from].peer);
    plan.aside.push_back({members[*worst].peer, members[*from].peer,
                          std::max(pairs_.at(pair).retry_at - now, Time(0))});
  }
  if (!plan.aside.empty()) return plan;
  std::map<size_t, int> used;
  for (size_t a = 0; a < members.size(); ++a)
    for (size_t b = a + 1; b < members.size(); ++b) {
      if (!gaps.between(a, b)) continue;
      const size_t via = *gaps.via(a, b, present, used);
      ++used[via];
      plan.relays.push_back(
          {static_cast<uint32_t>(a), static_cast<uint32_t>(b), static_cast<uint32_t>(via)});
    }
  return plan;
}

}  // namespace swarm::routing
