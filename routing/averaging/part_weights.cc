#include "routing/averaging/part_weights.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "common/check.h"

namespace swarm::routing {
namespace {

constexpr double kLeastRate = 1, kMostRate = 1e12;
/// Of an equal part.
constexpr double kLeastPart = 1.0 / 16;
/// The told weights' time that new ones must beat.
constexpr double kWorthChanging = 0.9;
constexpr int kHalvings = 80;
/// Of what the others let a member move [bytes/s]: who moves as much may well be faster.
constexpr double kExplained = 0.75;

/// The lower one: of two, who tells of great links does not speak for those of whom nothing is known.
double median_of(std::vector<double> known) {
  if (known.empty()) return 0;
  const auto middle = known.begin() + static_cast<std::ptrdiff_t>((known.size() - 1) / 2);
  std::nth_element(known.begin(), middle, known.end());
  return *middle;
}

/// What is not known becomes the median of what is, and no limit where nothing is.
std::vector<MemberLink> completed(std::vector<MemberLink> links) {
  for (double MemberLink::*direction : {&MemberLink::up, &MemberLink::down}) {
    std::vector<double> known;
    for (MemberLink& link : links) {
      link.*direction = checked_rate(link.*direction);
      if (link.*direction > 0) known.push_back(link.*direction);
    }
    const double usual = known.empty() ? kMostRate : median_of(known);
    for (MemberLink& link : links)
      if (link.*direction == 0) link.*direction = usual;
  }
  return links;
}

/// Vectors that a member moves: `least` without a part, and `each` more with all of it as its part.
struct Moves {
  double least = 0, each = 0;
  double with(double part) const { return least + each * part; }
};

struct Round {
  explicit Round(const std::vector<MemberLink>& of) : links(completed(of)) {
    for (const MemberLink& link : links) contributors += link.contributes ? 1 : 0;
  }
  double members() const { return static_cast<double>(links.size()); }
  Moves up(const MemberLink& link) const {
    const double own = link.contributes ? 1 : 0;
    return {own, members() - 1 - own};
  }
  Moves down(const MemberLink& link) const {
    const double others = contributors - (link.contributes ? 1 : 0);
    return {1, others - 1};
  }
  double seconds(const MemberLink& link, double part) const {
    return std::max(up(link).with(part) / link.up, down(link).with(part) / link.down);
  }
  /// The largest part, `most` at most, that a member has done with in so many seconds.
  double part_within(double seconds, const MemberLink& link, double most) const {
    double part = most;
    for (const auto& [moves, rate] :
         {std::pair{up(link), link.up}, std::pair{down(link), link.down}})
      if (moves.each > 0) part = std::min(part, (seconds * rate - moves.least) / moves.each);
    return std::max(0.0, part);
  }
  std::vector<double> parts_within(double seconds, double most) const {
    std::vector<double> parts;
    for (const MemberLink& link : links) parts.push_back(part_within(seconds, link, most));
    return parts;
  }

  std::vector<MemberLink> links;
  double contributors = 0;
};

double sum(const std::vector<double>& parts) {
  return std::accumulate(parts.begin(), parts.end(), 0.0);
}

double sum(const std::vector<uint32_t>& weights) {
  return std::accumulate(weights.begin(), weights.end(), 0.0);
}

/// Links that may be faster than they were seen in a round with these weights are as the fastest.
std::vector<MemberLink> at_best(const std::vector<MemberLink>& links,
                                const std::vector<uint32_t>& weights) {
  const Round round(links);
  const double all = sum(weights);
  MemberLink fastest = round.links.front();
  for (const MemberLink& link : round.links) {
    fastest.up = std::max(fastest.up, link.up);
    fastest.down = std::max(fastest.down, link.down);
  }
  auto best = round.links;
  for (size_t i = 0; i < best.size(); ++i) {
    double others_s = 0;
    for (size_t j = 0; j < best.size(); ++j)
      if (j != i) others_s = std::max(others_s, round.seconds(round.links[j], weights[j] / all));
    const MemberLink& link = round.links[i];
    const double part = weights[i] / all;
    if (link.up * others_s >= kExplained * round.up(link).with(part)) best[i].up = fastest.up;
    if (link.down * others_s >= kExplained * round.down(link).with(part))
      best[i].down = fastest.down;
  }
  return best;
}

}  // namespace

double checked_rate(double bytes_per_s) {
  const bool possible = std::isfinite(bytes_per_s) && bytes_per_s >= kLeastRate;
  return possible && bytes_per_s <= kMostRate ? bytes_per_s : 0;
}

std::vector<uint32_t> best_weights(const std::vector<MemberLink>& links) {
  const Round round(links);
  const double equal = 1 / round.members();
  std::vector<uint32_t> weights(links.size(), 1);
  const auto& first = round.links.empty() ? MemberLink() : round.links.front();
  const bool alike = std::all_of(round.links.begin(), round.links.end(), [&](const auto& link) {
    return link.up == first.up && link.down == first.down && link.contributes == first.contributes;
  });
  if (alike || links.size() < 3) return weights;  // two move the same whoever reduces
  const double most = std::min(1.0, kMostOfEqual * equal);
  double low = 0, high = 0;
  for (const MemberLink& link : round.links) high = std::max(high, round.seconds(link, 1));
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2;
    (sum(round.parts_within(middle, most)) < 1 ? low : high) = middle;
  }
  auto parts = round.parts_within(high, most);
  for (double& part : parts) part = part < kLeastPart * equal ? 0 : part;
  const double all = sum(parts);
  for (size_t i = 0; i < parts.size(); ++i)
    weights[i] = static_cast<uint32_t>(std::lround(parts[i] / all * kAllParts));
  return weights;
}

double round_seconds(const std::vector<MemberLink>& links, const std::vector<uint32_t>& weights,
                     double bytes) {
  SWARM_CHECK(links.size() == weights.size());
  const Round round(links);
  const double all = sum(weights);
  SWARM_CHECK(all > 0);
  if (links.size() < 2) return 0;
  double slowest = 0;
  for (size_t i = 0; i < links.size(); ++i)
    slowest = std::max(slowest, round.seconds(round.links[i], weights[i] / all));
  return slowest * bytes;
}

const std::vector<uint32_t>& PartWeights::next(const std::vector<PeerId>& members,
                                               const std::vector<MemberLink>& links) {
  SWARM_CHECK(members.size() == links.size());
  const auto saves = [](const std::vector<MemberLink>& of, const auto& weights, const auto& told) {
    return round_seconds(of, weights, 1) <= kWorthChanging * round_seconds(of, told, 1);
  };
  if (members != members_ || members.empty()) {
    auto known = links;
    const std::set<PeerId> before(members_.begin(), members_.end());
    for (size_t i = 0; i < known.size(); ++i)
      if (!before.empty() && before.count(members[i]) == 0) known[i].up = known[i].down = 0;
    members_ = members;
    before_trial_.clear();
    rounds_ = 0;
    trial_after_ = kFirstTrial;
    return weights_ = best_weights(known);
  }
  auto best = best_weights(links);
  if (!before_trial_.empty()) {  // the trial has shown what it could
    if (!saves(links, weights_, before_trial_)) weights_ = before_trial_;
    before_trial_.clear();
  }
  if (saves(links, best, weights_)) return weights_ = std::move(best);
  if (++rounds_ < trial_after_) return weights_;
  rounds_ = 0;
  trial_after_ = std::min(kLastTrial, 2 * trial_after_);
  const auto possible = at_best(links, weights_);
  auto trial = best_weights(possible);
  if (!saves(possible, trial, weights_)) return weights_;
  before_trial_ = weights_;
  return weights_ = std::move(trial);
}

}  // namespace swarm::routing
