#include "routing/wiring/peer_choice.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace swarm::routing {
namespace {

/// The way is the least that was seen; it grows slowly.
constexpr double kAwaySmoothing = 0.02;
/// A peer this many times busier than the least busy one is no worse a choice in the long run.
constexpr double kLeastBusy = 2;

}  // namespace

PeerChoice::PeerChoice(const PeerEstimatesOptions& estimates, WiringCost cost, uint64_t seed,
                       double patience)
    : cost_(cost), patience_(patience), router_(seed), round_trips_(estimates), costs_(estimates) {}

void PeerChoice::add(const PeerId& peer) { router_.upsert(peer, costs_.samples_per_s(peer)); }

void PeerChoice::forget(const PeerId& peer) {
  router_.remove(peer);
  round_trips_.forget(peer);
  costs_.forget(peer);
  work_.erase(peer);
}

void PeerChoice::ban(const PeerId& peer, uint64_t announcement) {
  round_trips_.ban(peer, announcement);
  router_.remove(peer);
}

bool PeerChoice::announced(const PeerId& peer, uint64_t announcement) {
  return round_trips_.announced(peer, announcement);
}

double PeerChoice::busy_s(const PeerId& peer, int64_t samples) const {
  const double each_s = costs_.seconds_per_sample(peer);
  const double this_s = each_s * static_cast<double>(samples);
  auto found = work_.find(peer);
  if (found == work_.end()) return this_s;
  const double given_s = each_s * static_cast<double>(found->second.samples);
  return std::max(0.0, given_s - std::max(0.0, found->second.away_s)) + this_s;
}

bool PeerChoice::passed_over(const PeerId& peer, int64_t samples, double bound_s,
                             double now_s) const {
  if (busy_s(peer, samples) <= bound_s) return false;
  auto found = work_.find(peer);
  if (found == work_.end()) return false;  // to be measured
  const double this_s = costs_.seconds_per_sample(peer) * static_cast<double>(samples);
  return now_s - found->second.picked_at_s < std::max(kTryAgain_s, kTryAgain * this_s);
}

std::optional<PeerId> PeerChoice::pick(Tries& tries, int64_t samples, double now_s) {
  Tries::Condition busy;
  if (cost_ == WiringCost::kOccupancy && measured_) {
    double least_s = std::numeric_limits<double>::infinity(), response_s = least_s;
    for (const PeerId& peer : router_.peers()) {
      least_s = std::min(least_s, busy_s(peer, samples));
      response_s = std::min(response_s, round_trips_.seconds_per_sample(peer));
    }
    response_s *= static_cast<double>(samples);
    busy = [=, bound_s = std::max(patience_ * response_s, kLeastBusy * least_s)](
               const PeerId& peer) { return passed_over(peer, samples, bound_s, now_s); };
  }
  auto picked = tries.next(router_, samples, busy);
  if (!picked) return picked;
  Work& work = work_[*picked];
  work.samples += samples;
  work.picked_at_s = now_s;
  return picked;
}

void PeerChoice::ended(const PeerId& peer, int64_t samples) {
  auto found = work_.find(peer);
  if (found != work_.end())
    found->second.samples = std::max<int64_t>(0, found->second.samples - samples);
}

void PeerChoice::answered(const PeerId& peer, int64_t samples, double waited_s,
                          const Occupancy& occupancy, double away_s) {
  round_trips_.observe(peer, waited_s, samples);
  measured_ = true;
  auto found = work_.find(peer);
  if (found != work_.end()) {
    found->second.last = occupancy;
    double& least_s = found->second.away_s;
    if (!(away_s > least_s) || least_s < 0)
      least_s = std::max(0.0, away_s);
    else if (std::isfinite(away_s))
      least_s += kAwaySmoothing * (away_s - least_s);
  }
  const double cost_s = cost_ == WiringCost::kOccupancy  ? occupancy.seconds()
                        : cost_ == WiringCost::kResponse ? waited_s
                                                         : occupancy.compute_s;
  if (cost_s <= 0) return;  // it said nothing of use
  costs_.observe(peer, cost_s, samples);
  share_anew(peer);
}

void PeerChoice::timed_out(const PeerId& peer, int64_t samples, double waited_s) {
  round_trips_.observe_timeout(peer, waited_s, samples);
  costs_.observe_timeout(peer, waited_s, samples);
  share_anew(peer);
}

void PeerChoice::share_anew(const PeerId& peer) {
  if (router_.contains(peer)) router_.upsert(peer, costs_.samples_per_s(peer));
}

double PeerChoice::deadline_s(const PeerId& peer, int64_t samples) const {
  return round_trips_.deadline_s(peer, samples);
}

Occupancy PeerChoice::last_occupancy(const PeerId& peer) const {
  auto found = work_.find(peer);
  return found == work_.end() ? Occupancy{} : found->second.last;
}

int64_t PeerChoice::unfinished_samples(const PeerId& peer) const {
  auto found = work_.find(peer);
  return found == work_.end() ? 0 : found->second.samples;
}

}  // namespace swarm::routing
