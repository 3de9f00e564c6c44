#include "routing/wiring/peer_choice.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/erase_if.h"

namespace swarm::routing {
namespace {

/// The way is the least that was seen; it grows slowly.
constexpr double kAwaySmoothing = 0.02;
/// A peer this many times busier than the least busy one is no worse a choice in the long run.
constexpr double kLeastBusy = 2;
/// Where slow peers only hold places (no steps), they may take so many times what the cheapest does.
constexpr double kSlowest = 5;
/// Of a step: later than in this part of it nobody is tried again. What comes back late holds it up.
constexpr double kTryUntil = 0.25;
/// An estimate so many times above what the peer tells now and told before is no mean of answers.
constexpr double kRaised = 2;

}  // namespace

PeerChoice::PeerChoice(const PeerEstimatesOptions& estimates, WiringCost cost, uint64_t seed,
                       double patience)
    : cost_(cost),
      patience_(patience),
      router_(seed),
      random_(seed),
      round_trips_(estimates),
      costs_(estimates) {}

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

void PeerChoice::Work::saw_way(double seen_s) {
  if (!(seen_s > away_s) || away_s < 0)
    away_s = std::max(0.0, seen_s);
  else if (std::isfinite(seen_s))
    away_s += kAwaySmoothing * (seen_s - away_s);
}

bool PeerChoice::Work::unready(double now_s) const {
  return long_unready() &&
         now_s - unready_at_s < std::min(unready_at_s - unready_since_s, kAskAgain_s);
}

bool PeerChoice::unready(const PeerId& peer, double now_s) const {
  const auto found = work_.find(peer);
  return found != work_.end() && found->second.unready(now_s);
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
  const Work& work = found->second;
  // Silence is no cost: where there was nothing else, only the wait for it counts.
  const double estimate_s = costs_.seconds_per_sample(peer) * static_cast<double>(samples);
  const double this_s = std::min(estimate_s, work.last.seconds());
  const double wait_s = work.silent ? deadline_s(peer, samples) : 0;
  const double wait_again = steps_wait() ? kWaitAgainOfSteps : kWaitAgain;
  return now_s - work.picked_at_s <
         std::max({kTryAgain_s, kTryAgain * this_s, wait_again * wait_s});
}

Tries::Condition PeerChoice::busy(const Tries& tries, int64_t samples, double now_s) {
  auto peers = router_.peers();
  if ((cost_ == WiringCost::kRandom || cost_ == WiringCost::kFixed) && !peers.empty()) {
    const uint64_t place = cost_ == WiringCost::kRandom ? random_.next() : tries.number();
    return [only = peers[place % peers.size()]](const PeerId& peer) { return peer != only; };
  }
  const auto is_unready = [this, now_s](const PeerId& peer) { return unready(peer, now_s); };
  const bool any_unready = erase_if(peers, is_unready) > 0;
  if (cost_ != WiringCost::kOccupancy || !measured_)
    return any_unready ? Tries::Condition(is_unready) : Tries::Condition();
  if (const auto only = meant(tries, peers, samples, now_s))
    return [only = *only](const PeerId& peer) { return peer != only; };
  constexpr double kNever = std::numeric_limits<double>::infinity();
  double least_s = kNever, response_s = kNever, cheapest_s = kNever;
  for (const PeerId& peer : peers) {
    least_s = std::min(least_s, busy_s(peer, samples));
    response_s = std::min(response_s, round_trips_.seconds_per_sample(peer));
    cheapest_s = std::min(cheapest_s, costs_.seconds_per_sample(peer));
  }
  const auto n = static_cast<double>(samples);
  double bound_s = std::max(patience_ * response_s * n, kLeastBusy * least_s);
  if (!steps_wait()) bound_s = std::max(bound_s, kSlowest * cheapest_s * n);
  return [=](const PeerId& peer) {
    return is_unready(peer) || passed_over(peer, samples, bound_s, now_s);
  };
}

std::optional<PeerId> PeerChoice::meant(const Tries& tries, const std::vector<PeerId>& peers,
                                        int64_t samples, double now_s) {
  if (!steps_wait() || step_slots_ == 0 || peers.empty() || dealt_before(tries))
    return std::nullopt;
  std::vector<double> costs_s;
  for (const PeerId& peer : peers)
    costs_s.push_back(costs_.seconds_per_sample(peer) * static_cast<double>(samples));
  step_shares_.deal(costs_s, step_slots_, stage_, tries.step());
  const double takes_s = step_shares_.takes_s();
  auto may = [&](const PeerId& peer) {
    return tries.may_ask(peer) && !passed_over(peer, samples, takes_s, now_s);
  };
  const bool early = tries.number() % step_slots_ < kTryUntil * step_slots_;
  for (size_t place = 0; early && place < peers.size(); ++place)
    if (costs_s[place] > takes_s && may(peers[place])) return peers[place];  // too slow for any
  const PeerId& meant = peers[step_shares_.place(tries.number())];
  return may(meant) ? std::optional<PeerId>(meant) : std::nullopt;
}

/// Whether the slot was dealt out in an attempt before. What the others carry over the peer that it was
/// meant for may be lost each time: another way is to be found.
bool PeerChoice::dealt_before(const Tries& tries) {
  if (dealt_.size() >= StepShares::kMostSlots) dealt_.erase(dealt_.begin());  // of the oldest step
  const auto slot = std::make_pair(tries.step(), tries.number());
  return dealt_.try_emplace(slot, tries.attempt()).first->second != tries.attempt();
}

std::optional<PeerId> PeerChoice::pick(Tries& tries, int64_t samples, double now_s) {
  auto picked = tries.next(router_, samples, busy(tries, samples, now_s));
  if (!picked) return picked;
  Work& work = work_[*picked];
  if (work.samples == 0) work.pace.begins();
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
                          const Occupancy& occupancy, std::optional<double> away_s) {
  if (away_s) round_trips_.observe(peer, waited_s, samples);
  measured_ = true;
  auto found = work_.find(peer);
  if (found != work_.end()) {
    found->second.silent = false;
    is_ready(found->second);
    if (away_s) found->second.saw_way(*away_s);
  }
  const double cost_s = cost_ == WiringCost::kOccupancy  ? occupancy.seconds()
                        : cost_ == WiringCost::kResponse ? waited_s
                                                         : occupancy.compute_s;
  if (cost_s <= 0) return;  // it said nothing of use
  // Silence is a long wait, no cost: what it raised the estimate to counts until there is an answer.
  if (cost_ != WiringCost::kResponse && found != work_.end()) {
    const double told_s = std::max(cost_s, found->second.last.seconds());
    if (costs_.seconds_per_sample(peer) * static_cast<double>(samples) > kRaised * told_s)
      costs_.forget(peer);
  }
  if (found != work_.end()) found->second.last = occupancy;
  costs_.observe(peer, cost_s, samples);
  share_anew(peer);
}

void PeerChoice::timed_out(const PeerId& peer, int64_t samples, double waited_s) {
  round_trips_.observe_timeout(peer, waited_s, samples);
  costs_.observe_timeout(peer, waited_s, samples);
  if (auto found = work_.find(peer); found != work_.end()) {
    found->second.silent = true;
    found->second.pace.begins();  // else one that was lost would make the next deadline longer
  }
  share_anew(peer);
}

void PeerChoice::not_ready(const PeerId& peer, double now_s) {
  Work& work = work_[peer];
  if (work.unready_since_s < 0) work.unready_since_s = now_s;
  work.unready_at_s = now_s;
}

void PeerChoice::is_ready(Work& work) {
  const bool after_long = work.long_unready();
  work.unready_since_s = work.unready_at_s = -1;
  if (!after_long) return;
  for (auto& [id, other] : work_) other.unready_since_s = other.unready_at_s = -1;
}

void PeerChoice::came(const PeerId& peer, int64_t samples, double waited_s, double now_s) {
  if (auto found = work_.find(peer); found != work_.end())
    found->second.pace.answered(samples, waited_s, now_s);
}

bool PeerChoice::pace_seen(const PeerId& peer) const {
  const auto own = work_.find(peer);
  return own != work_.end() && own->second.pace.seen();
}

std::optional<double> PeerChoice::paced_s(const PeerId& peer, int64_t samples) const {
  const auto own = work_.find(peer);
  auto each_s = own == work_.end() ? std::nullopt : own->second.pace.seconds_per_sample();
  if (!each_s)
    for (const auto& [id, work] : work_)
      if (const auto other_s = work.pace.seconds_per_sample())
        each_s = std::max(each_s.value_or(0), *other_s);
  if (each_s) *each_s *= static_cast<double>(samples);
  return each_s;
}

void PeerChoice::share_anew(const PeerId& peer) {
  if (router_.contains(peer)) router_.upsert(peer, costs_.samples_per_s(peer));
}

/// A step is not to wait long to find out that who was silent still is.
double PeerChoice::deadline_s(const PeerId& peer, int64_t samples) const {
  const double own_s = round_trips_.deadline_s(peer, samples);
  const auto found = work_.find(peer);
  const bool silent = found != work_.end() && found->second.silent;
  const double usual_s = round_trips_.usual_deadline_s(samples);
  return silent && steps_wait() && usual_s > 0 ? std::min(own_s, usual_s) : own_s;
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
