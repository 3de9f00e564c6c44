#include "apps/bench/figures/churn_replay.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <queue>
#include <tuple>

#include "common/mix.h"

namespace swarm::apps {
namespace {

constexpr double kHour_s = 3600;

struct ReplayPeer {
  uint32_t stage = 0;
  uint32_t arrivals = 0;  ///< Counts downloads, so that one that was given up is told apart.
  bool alive = false, serving = false;
};

/// A download that ends.
struct Arrival {
  double at_s = 0;
  uint32_t node = 0, number = 0;
  friend bool operator>(const Arrival& a, const Arrival& b) {
    return std::tie(a.at_s, a.node) > std::tie(b.at_s, b.node);
  }
};

class Replay {
 public:
  Replay(const ChurnProfile& profile, const ChurnTrace& trace, const ReplayOptions& options)
      : end_s_(profile.hours() * kHour_s),
        options_(options),
        random_(options.seed),
        serving_(profile.stages, 0),
        peers_(trace.nodes) {
    result_.hours = profile.hours();
  }

  ReplayResult run(const ChurnTrace& trace) {
    for (const ChurnEvent& event : trace.events) {
      arrive_until(event.at_s);
      advance(event.at_s);
      event.joins ? join(event.node) : leave(event.node);
    }
    arrive_until(end_s_);
    advance(end_s_);
    result_.mean_alive = result_.all.divisible * static_cast<double>(serving_.size()) / end_s_;
    return result_;
  }

 private:
  /// Time goes on and nothing changes until `to_s`.
  void advance(double to_s) {
    const double slowest = *std::min_element(serving_.begin(), serving_.end());
    const double stages = static_cast<double>(serving_.size());
    const auto add = [&](WorkDone& work, double from_s, double until_s) {
      const double took_s = std::min(until_s, to_s) - std::max(from_s, now_s_);
      if (took_s <= 0) return;
      work.done += slowest * took_s;
      work.possible += std::floor(alive_ / stages) * took_s;
      work.divisible += alive_ / stages * took_s;
    };
    add(result_.all, 0, end_s_);
    add(result_.first_hour, 0, kHour_s);
    add(result_.last_hour, end_s_ - kHour_s, end_s_);
    if (slowest == 0) result_.empty_s += to_s - now_s_;
    now_s_ = to_s;
  }

  void arrive_until(double until_s) {
    while (!arrivals_.empty() && arrivals_.top().at_s <= until_s) {
      const Arrival arrival = arrivals_.top();
      arrivals_.pop();
      ReplayPeer& peer = peers_[arrival.node];
      if (!peer.alive || peer.arrivals != arrival.number) continue;
      advance(arrival.at_s);
      serve(peer);
    }
  }

  void serve(ReplayPeer& peer) {
    peer.serving = true;
    ++serving_[peer.stage];
  }
  void download(uint32_t node, uint32_t stage) {
    ReplayPeer& peer = peers_[node];
    peer.stage = stage;
    const ChurnCosts& costs = options_.costs;
    const double bytes = costs.model_bytes / static_cast<double>(serving_.size());
    arrivals_.push(
        {now_s_ + bytes / costs.link_bytes_per_s + costs.warm_up_s, node, ++peer.arrivals});
  }

  void join(uint32_t node) {
    ++alive_;
    ReplayPeer& peer = peers_[node];
    peer.alive = true;
    const auto stages = static_cast<uint32_t>(serving_.size());
    if (now_s_ > 0) return download(node, static_cast<uint32_t>(random_.next() % stages));
    peer.stage = node % stages;
    serve(peer);
  }

  void leave(uint32_t node) {
    --alive_;
    ReplayPeer& peer = peers_[node];
    peer.alive = false;
    if (peer.serving) --serving_[peer.stage];
  }

  const double end_s_;
  const ReplayOptions options_;
  SplitMix64 random_;
  double now_s_ = 0;
  double alive_ = 0;
  std::vector<uint32_t> serving_;
  std::vector<ReplayPeer> peers_;
  std::priority_queue<Arrival, std::vector<Arrival>, std::greater<>> arrivals_;
  ReplayResult result_;
};

}  // namespace

ReplayResult replay_churn(const ChurnProfile& profile, const ChurnTrace& trace,
                          const ReplayOptions& options) {
  return Replay(profile, trace, options).run(trace);
}

}  // namespace swarm::apps
