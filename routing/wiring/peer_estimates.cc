#include "routing/wiring/peer_estimates.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace swarm::routing {
namespace {

constexpr double kMinSecondsPerSample = 1e-9;  // keeps 1 / x finite

/// Seconds per sample, or a negative number when the observation makes no sense.
double per_sample(double seconds, int64_t samples) {
  if (!std::isfinite(seconds) || seconds < 0 || samples <= 0) return -1;
  return std::max(seconds / static_cast<double>(samples), kMinSecondsPerSample);
}

}  // namespace

PeerEstimates::PeerEstimates(const PeerEstimatesOptions& options) : options_(options) {}

void PeerEstimates::observe(const PeerId& peer, double seconds, int64_t samples) {
  double x = per_sample(seconds, samples);
  if (x < 0) return;
  Estimate& estimate = use(peer);
  if (estimate.count++ == 0) {
    estimate.mean_s = x;
    estimate.deviation_s = x / 2;  // nothing is known of the spread yet: be generous
    return;
  }
  double a = options_.smoothing;
  estimate.deviation_s += a * (std::abs(x - estimate.mean_s) - estimate.deviation_s);
  estimate.mean_s += a * (x - estimate.mean_s);
}

void PeerEstimates::observe_timeout(const PeerId& peer, double seconds, int64_t samples) {
  double x = per_sample(seconds, samples);
  if (x < 0) return;
  Estimate& estimate = use(peer);
  if (x <= estimate.mean_s) return;  // says only "longer than x": nothing new
  if (estimate.count == 0) {
    estimate.mean_s = x;
    return;
  }
  double a = options_.smoothing;
  double deviation = x - estimate.mean_s;
  if (deviation > estimate.deviation_s)
    estimate.deviation_s += a * (deviation - estimate.deviation_s);
  estimate.mean_s += a * deviation;
}

void PeerEstimates::ban(const PeerId& peer, uint64_t announcement) {
  Estimate& estimate = use(peer);
  estimate.banned = true;
  estimate.announcement = std::max(estimate.announcement, announcement);
}

bool PeerEstimates::announced(const PeerId& peer, uint64_t announcement) {
  Estimate& estimate = use(peer);
  if (announcement > estimate.announcement) {
    estimate.announcement = announcement;
    estimate.banned = false;
  }
  return !estimate.banned;
}

bool PeerEstimates::banned(const PeerId& peer) const {
  auto it = peers_.find(peer);
  return it != peers_.end() && it->second.banned;
}

PeerEstimates::Estimate& PeerEstimates::use(const PeerId& peer) {
  const auto [it, is_new] = peers_.try_emplace(peer);
  it->second.used = ++uses_;
  if (!is_new || peers_.size() <= kMostPeers) return it->second;
  std::vector<uint64_t> uses;
  for (const auto& [id, estimate] : peers_) uses.push_back(estimate.used);
  const auto middle = uses.begin() + static_cast<std::ptrdiff_t>(uses.size() / 2);
  std::nth_element(uses.begin(), middle, uses.end());
  for (auto old = peers_.begin(); old != peers_.end();)
    old = old->second.used < *middle ? peers_.erase(old) : std::next(old);
  return it->second;
}

void PeerEstimates::forget(const PeerId& peer) { peers_.erase(peer); }

double PeerEstimates::typical_seconds_per_sample() const {
  std::vector<double> means;
  for (const auto& [id, estimate] : peers_)
    if (estimate.count > 0) means.push_back(estimate.mean_s);
  if (means.empty()) return 0;
  auto middle = means.begin() + static_cast<std::ptrdiff_t>(means.size() / 2);
  std::nth_element(means.begin(), middle, means.end());
  if (means.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(means.begin(), middle)) / 2;
}

double PeerEstimates::seconds_per_sample(const PeerId& peer) const {
  auto it = peers_.find(peer);
  if (it != peers_.end() && it->second.count > 0) return it->second.mean_s;
  double typical = typical_seconds_per_sample();
  double guess = typical > 0 ? typical : options_.initial_seconds_per_sample;
  return it == peers_.end() ? guess : std::max(guess, it->second.mean_s);
}

double PeerEstimates::samples_per_s(const PeerId& peer) const {
  return 1 / seconds_per_sample(peer);
}

double PeerEstimates::deadline_s(const PeerId& peer, int64_t samples) const {
  auto it = peers_.find(peer);
  bool measured = it != peers_.end() && it->second.count > 0;
  bool silent = it != peers_.end() && it->second.mean_s > 0;
  double n = static_cast<double>(std::max<int64_t>(samples, 1));
  double mean = seconds_per_sample(peer);
  double deadline = n * mean * options_.deadline_factor;
  if (measured)
    deadline = std::max(deadline, n * (mean + options_.deadline_spread * it->second.deviation_s));
  else if (typical_seconds_per_sample() == 0)
    deadline = silent ? std::max(options_.first_deadline_s, deadline) : options_.first_deadline_s;
  return std::min(std::max(deadline, options_.min_deadline_s), options_.max_deadline_s);
}

double PeerEstimates::usual_deadline_s(int64_t samples) const {
  const double usual_s = typical_seconds_per_sample() * options_.deadline_factor *
                         static_cast<double>(std::max<int64_t>(samples, 1));
  return usual_s > 0 ? std::clamp(usual_s, options_.min_deadline_s, options_.max_deadline_s) : 0;
}

}  // namespace swarm::routing
