#include "routing/membership/stage_loads.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace swarm::routing {
namespace {

using Standing = PlacedPeer::Standing;

/// A peer that tells wonders moves its stage by no more than so many peers.
constexpr double kMostSpeed = 8;

bool is_amount(double value) { return std::isfinite(value) && value >= 0; }

/// Microbatches per second of work; 0: not known.
double carried(const LoadReport& report) {
  if (!(report.running > 0) || !(report.done_per_s > 0)) return 0;
  return report.done_per_s / report.running;
}

double clamped(double speed) { return std::clamp(speed, 1 / kMostSpeed, kMostSpeed); }

}  // namespace

StageLoads::StageLoads(size_t stages, const std::vector<const PlacedPeer*>& peers, Time now,
                       Time max_age)
    : now_(now), max_age_(max_age), stages_(stages) {
  measure(peers);
  for (const PlacedPeer* peer : peers) {
    if (peer->standing == Standing::kLeaves) continue;
    StageLoad& stage = stages_[peer->stage.value()];
    ++stage.peers;
    stage.sure += is_sure(*peer);
    stage.carries += speed(*peer) * stage.per_peer;
  }
}

const LoadReport* StageLoads::fresh(const PlacedPeer& peer) const {
  if (!peer.report || peer.report->stage != peer.stage) return nullptr;
  const LoadReport& report = *peer.report;
  if (now_ - report.at > max_age_) return nullptr;
  return is_amount(report.running) && is_amount(report.queued) && is_amount(report.done_per_s)
             ? &report
             : nullptr;
}

bool StageLoads::is_sure(const PlacedPeer& peer) const {
  return (peer.standing == Standing::kMovable || peer.standing == Standing::kStays) &&
         fresh(peer) != nullptr;
}

/// The middle peer stands for those of its stage that said nothing, and the mean stage for one of which
/// nobody did.
void StageLoads::measure(const std::vector<const PlacedPeer*>& peers) {
  std::vector<std::vector<double>> carry(stages_.size());
  std::vector<double> flows(stages_.size(), 0), told(stages_.size(), 0), here(stages_.size(), 0);
  for (const PlacedPeer* peer : peers) {
    const size_t at = peer->stage.value();
    if (peer->standing != Standing::kLearns) ++here[at];
    const LoadReport* report = fresh(*peer);
    if (report == nullptr) continue;
    ++told[at];
    flows[at] += report->done_per_s;
    stages_[at].queued += report->queued;
    if (carried(*report) > 0) carry[at].push_back(carried(*report));
  }
  double sum = 0, known = 0, flow = 0, heard = 0;
  for (size_t at = 0; at < stages_.size(); ++at) {
    if (told[at] > 0) {
      stages_[at].queued /= told[at];
      flow += flows[at] * here[at] / told[at];
      ++heard;
    }
    if (carry[at].empty()) continue;
    const auto middle = carry[at].begin() + static_cast<std::ptrdiff_t>(carry[at].size() / 2);
    std::nth_element(carry[at].begin(), middle, carry[at].end());
    stages_[at].per_peer = *middle;
    sum += *middle;
    ++known;
  }
  flow_ = heard > 0 && known > 0 ? flow / heard : 0;
  for (StageLoad& stage : stages_)
    if (stage.per_peer == 0) stage.per_peer = known > 0 ? sum / known : 1;
}

uint32_t StageLoads::peers() const {
  uint32_t all = 0;
  for (const StageLoad& stage : stages_) all += stage.peers;
  return all;
}

double StageLoads::load(Stage stage, double more) const {
  const StageLoad& one = (*this)[stage];
  const double carries = one.carries + more * one.per_peer;
  if (carries <= 1e-9 * one.per_peer) return std::numeric_limits<double>::infinity();
  return (flow_ > 0 ? flow_ : 1) / carries;
}

double StageLoads::busy(Stage stage) const { return load(stage) + (*this)[stage].queued; }

double StageLoads::speed(const PlacedPeer& peer) const {
  const LoadReport* report = fresh(peer);
  const double own = report != nullptr ? carried(*report) : 0;
  return own > 0 ? clamped(own / (*this)[peer.stage].per_peer) : 1;
}

void StageLoads::leave(const PlacedPeer& peer) {
  if (peer.standing == Standing::kLeaves) return;
  StageLoad& stage = stages_[peer.stage.value()];
  --stage.peers;
  stage.sure -= is_sure(peer);
  stage.carries -= speed(peer) * stage.per_peer;
}

void StageLoads::expect(Stage stage, double speed) {
  StageLoad& one = stages_[stage.value()];
  ++one.peers;
  one.carries += speed * one.per_peer;
}

}  // namespace swarm::routing
