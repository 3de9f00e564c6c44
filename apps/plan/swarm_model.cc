#include "apps/plan/swarm_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace swarm::plan {
namespace {

/// Microbatches that meet others wait: the flow is the capacity and in flight / latency, joined
/// in this power (docs/planner.md).
constexpr double kKnee = 3;
/// What trainers keep under way, in parts of what an orderly pipeline needs: seven tenths of the time
/// are waiting (docs/wiring.md).
constexpr double kAutoInFlight = 10.0 / 3;
/// A step ends by five mails one after another.
constexpr double kClosingRoundTrips = 2.5;

double join(double a, double b) {
  const double most = std::max(a, b), least = std::min(a, b);
  return most <= 0 ? 0 : most * std::pow(1 + std::pow(least / most, kKnee), 1 / kKnee);
}

bool in_steps(Mode mode) { return mode == Mode::kSync || mode == Mode::kDelayed; }
bool hidden(Mode mode) { return mode == Mode::kDelayed || mode == Mode::kBackground; }

uint32_t size(const StagePeers& stage) {
  uint32_t n = 0;
  for (const Peers& peers : stage.peers) n += peers.count;
  return n;
}

struct Occupancy {
  double s = 0;
  Bound bound = Bound::kCompute;
};

/// What a microbatch takes of a peer, with its part of the averages where they travel beside it.
Occupancy occupancy(const SwarmModel& swarm, const StagePeers& stage, const Peers& p) {
  if (!swarm.overlap) {
    const double links_s = p.up_s + p.down_s;
    const double most = std::max({p.compute_s, links_s, p.rtt_s});
    const Bound bound = most == p.compute_s  ? Bound::kCompute
                        : most == p.rtt_s    ? Bound::kLatency
                        : p.up_s >= p.down_s ? Bound::kUplink
                                             : Bound::kDownlink;
    return {p.compute_s + links_s + p.rtt_s, bound};
  }
  double averages = 0;
  if (hidden(swarm.mode))
    averages = 2.0 * (size(stage) - 1) * stage.averaged_bytes / swarm.microbatches;
  const double up_s = p.up_s + averages / p.up_bytes_per_s;
  const double down_s = p.down_s + averages / p.down_bytes_per_s;
  const double most = std::max({p.compute_s, up_s, down_s});
  if (most == p.compute_s) return {most, Bound::kCompute};
  if (most > std::max({p.compute_s, p.up_s, p.down_s}) && averages > 0 &&
      p.compute_s >= std::max(p.up_s, p.down_s))
    return {most, Bound::kAveraging};
  return {most, most == up_s ? Bound::kUplink : Bound::kDownlink};
}

/// A stage, with the part of its time that each of its peers is there.
struct Stage {
  const StagePeers* peers = nullptr;
  std::vector<Occupancy> occupancy;
  std::vector<double> there;
  double capacity = 0;  // microbatches/s
  /// Means over the microbatches that it carries.
  double compute_s = 0, up_s = 0, down_s = 0, rtt_s = 0;

  double rate(size_t i) const { return there[i] / occupancy[i].s; }
  /// Of its work, by one of peers[i].
  double share(size_t i) const { return rate(i) / capacity; }

  void weigh() {
    capacity = compute_s = up_s = down_s = rtt_s = 0;
    for (size_t i = 0; i < there.size(); ++i) capacity += peers->peers[i].count * rate(i);
    for (size_t i = 0; i < there.size(); ++i) {
      const Peers& p = peers->peers[i];
      const double part = p.count * share(i);
      compute_s += part * p.compute_s;
      up_s += part * p.up_s;
      down_s += part * p.down_s;
      rtt_s += part * p.rtt_s;
    }
  }
};

std::vector<Stage> weighed(const SwarmModel& swarm) {
  std::vector<Stage> stages;
  for (const StagePeers& peers : swarm.stages) {
    Stage stage;
    stage.peers = &peers;
    for (const Peers& p : peers.peers) {
      stage.occupancy.push_back(occupancy(swarm, peers, p));
      stage.occupancy.back().s = std::max(stage.occupancy.back().s, 1e-12);
      stage.there.push_back(1);
    }
    stage.weigh();
    stages.push_back(std::move(stage));
  }
  return stages;
}

double least_capacity(const std::vector<Stage>& stages) {
  double least = std::numeric_limits<double>::infinity();
  for (const Stage& stage : stages) least = std::min(least, stage.capacity);
  return least;
}

double latency(const std::vector<Stage>& stages) {
  double visits = 0, up = 0, down = 0;
  for (const Stage& stage : stages) {
    visits += stage.compute_s + stage.rtt_s;
    up += stage.up_s;
    down += stage.down_s;
  }
  return visits + std::max(up, down);  // what one sends another receives meanwhile
}

/// Takes from each peer the time that preemptions cost it, and gives the mean part lost.
double preempt(const SwarmModel& swarm, std::vector<Stage>& stages) {
  const double again_s =
      in_steps(swarm.mode) ? swarm.microbatches / least_capacity(stages) / 2 : latency(stages);
  double lost = 0, all = 0;
  for (Stage& stage : stages) {
    for (size_t i = 0; i < stage.there.size(); ++i) {
      const Peers& p = stage.peers->peers[i];
      stage.there[i] = 1 / (1 + p.preemptions_per_s * (again_s + p.away_s));
      lost += p.count * (1 - stage.there[i]);
      all += p.count;
    }
    stage.weigh();
  }
  return lost / all;
}

/// The shortest time in which a stage has done so many whole microbatches.
double whole_s(const Stage& stage, double microbatches) {
  const auto done = [&](double s) {
    double sum = 0;
    for (size_t i = 0; i < stage.there.size(); ++i)
      sum += stage.peers->peers[i].count * std::floor(s * stage.rate(i) * (1 + 1e-9) + 1e-9);
    return sum >= microbatches;
  };
  double low = 0, high = microbatches / stage.capacity;
  for (size_t i = 0; i < stage.there.size(); ++i)
    high = std::max(high, microbatches / stage.capacity + 1 / stage.rate(i));
  for (int i = 0; i < 50; ++i) {
    const double middle = (low + high) / 2;
    (done(middle) ? high : low) = middle;
  }
  return high;
}

/// A butterfly whose parts are sized by bandwidth: all bytes over all links, and nobody before its own
/// vector has passed.
double round_s(const StagePeers& stage) {
  const double n = size(stage);
  if (n < 2) return 0;
  double up = 0, down = 0, slowest = std::numeric_limits<double>::infinity(), rtt = 0;
  for (const Peers& p : stage.peers) {
    up += p.count * p.up_bytes_per_s;
    down += p.count * p.down_bytes_per_s;
    slowest = std::min({slowest, p.up_bytes_per_s, p.down_bytes_per_s});
    rtt = std::max(rtt, p.rtt_s);
  }
  const double all = 2 * (n - 1) * stage.averaged_bytes;
  return std::max(all / std::min(up, down), stage.averaged_bytes / slowest) + 2 * rtt;
}

double memory_limit(const std::vector<Stage>& stages) {
  double most = std::numeric_limits<double>::infinity();
  for (const Stage& stage : stages)
    for (size_t i = 0; i < stage.there.size(); ++i)
      most = std::min(most, stage.peers->peers[i].most_resident / stage.share(i));
  return most;
}

struct Work {
  double s = 0;           // until all microbatches have flowed
  double capacity_s = 0;  // of it: what the narrowest stage needs for them
  double in_flight = 0;
};

Work work(const SwarmModel& swarm, const std::vector<Stage>& stages, double latency_s) {
  const double m = swarm.microbatches, capacity = least_capacity(stages);
  Work work;
  work.capacity_s = m / capacity;
  if (in_steps(swarm.mode))
    for (const Stage& stage : stages)
      work.capacity_s = std::max(work.capacity_s, whole_s(stage, m));
  work.s = work.capacity_s;
  work.in_flight = swarm.in_flight;
  const double room = memory_limit(stages), wanted = kAutoInFlight * latency_s * capacity;
  if (swarm.in_flight == 0) {
    work.in_flight = std::max(1.0, std::min(room, wanted));
    work.s = join(work.capacity_s, work.capacity_s / kAutoInFlight);
  }
  if (in_steps(swarm.mode) && work.in_flight >= m) work.in_flight = m;
  const bool limited = swarm.in_flight > 0 || room < wanted;
  if (limited && (!in_steps(swarm.mode) || work.in_flight < m))
    work.s = std::max(work.s, join(work.capacity_s, latency_s * m / work.in_flight));
  if (!swarm.overlap) work.s = work.capacity_s;  // its occupancy has the way there and back in it
  return work;
}

Bound narrowest(const std::vector<Stage>& stages) {
  const Stage& stage =
      *std::min_element(stages.begin(), stages.end(),
                        [](const Stage& a, const Stage& b) { return a.capacity < b.capacity; });
  size_t most = 0;
  const auto part = [&](size_t i) { return stage.peers->peers[i].count * stage.rate(i); };
  for (size_t i = 1; i < stage.there.size(); ++i)
    if (part(i) > part(most)) most = i;
  return stage.occupancy[most].bound;
}

Bound bound_of(const Flow& flow, const Work& work, const SwarmModel& swarm,
               const std::vector<Stage>& stages) {
  const bool waits = !hidden(swarm.mode) || flow.averaging_s > flow.work_s + flow.fill_s;
  const std::array<std::pair<double, Bound>, 4> parts{{
      {work.capacity_s, narrowest(stages)},
      {work.s - work.capacity_s, Bound::kLatency},
      {flow.fill_s, Bound::kFill},
      {waits ? flow.averaging_s : 0, Bound::kAveraging},
  }};
  return std::max_element(parts.begin(), parts.end(),
                          [](auto& a, auto& b) { return a.first < b.first; })
      ->second;
}

}  // namespace

const std::vector<std::string>& mode_names() {
  static const std::vector<std::string> names = {"sync", "delayed", "async", "background"};
  return names;
}

const char* to_string(Bound bound) {
  switch (bound) {
    case Bound::kCompute:
      return "compute";
    case Bound::kUplink:
      return "uplink";
    case Bound::kDownlink:
      return "downlink";
    case Bound::kLatency:
      return "latency";
    case Bound::kAveraging:
      return "averaging";
    case Bound::kFill:
      return "fill";
  }
  return "";
}

Flow flow(const SwarmModel& swarm) {
  std::vector<Stage> stages = weighed(swarm);
  Flow flow;
  flow.lost = preempt(swarm, stages);
  flow.latency_s = latency(stages);
  const Work done = work(swarm, stages, flow.latency_s);
  flow.work_s = done.s;
  flow.in_flight = done.in_flight;
  double visit_s = std::numeric_limits<double>::infinity(), rtt = 0, computed_s = 0;
  double peers = 0;
  for (const Stage& stage : stages) {
    flow.averaging_s = std::max(flow.averaging_s, round_s(*stage.peers));
    visit_s = std::min(visit_s, stage.compute_s);
    rtt = std::max(rtt, stage.rtt_s);
    computed_s += swarm.microbatches * stage.compute_s;
    peers += size(*stage.peers);
  }
  if (in_steps(swarm.mode) && swarm.overlap)
    flow.fill_s = flow.latency_s - visit_s + kClosingRoundTrips * rtt;
  const double flowing_s = flow.work_s + flow.fill_s;
  flow.step_s =
      hidden(swarm.mode) ? std::max(flowing_s, flow.averaging_s) : flowing_s + flow.averaging_s;
  flow.utilisation = computed_s / (flow.step_s * peers);
  flow.bound = bound_of(flow, done, swarm, stages);
  return flow;
}

double most_in_flight(const SwarmModel& swarm) {
  auto stages = weighed(swarm);
  preempt(swarm, stages);
  return memory_limit(stages);
}

}  // namespace swarm::plan
