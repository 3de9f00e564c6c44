#include "apps/bench/figures/churn_replay.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <queue>
#include <tuple>

#include "apps/bench/figures/churn_coordinator.h"
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
    if (options.places || options.moves) coordinator_.emplace(profile.stages, options);
  }

  ReplayResult run(const ChurnTrace& trace) {
    for (const ChurnEvent& event : trace.events) {
      go_on_until(event.at_s);
      event.joins ? join(event.node) : leave(event.node);
    }
    go_on_until(end_s_);
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
    if (alive_ < stages)
      result_.too_few_s += to_s - now_s_;
    else if (slowest == 0)
      result_.empty_s += to_s - now_s_;
    now_s_ = to_s;
  }

  void go_on_until(double until_s) {
    while (coordinator_ && next_look_s_ <= until_s) {
      arrive_until(next_look_s_);
      advance(next_look_s_);
      look();
      next_look_s_ += ChurnCoordinator::kLook_s;
    }
    arrive_until(until_s);
    advance(until_s);
  }

  void look() {
    for (const auto& move : coordinator_->look(serving_, now_s_)) {
      ReplayPeer& peer = peers_[move.node];
      if (!move.is_new) {
        if (!coordinator_->may_leave(move.node, now_s_)) continue;
        --serving_[peer.stage];
        peer.serving = false;
        ++result_.moves;
        result_.moved_bytes += state_bytes();
      }
      download(move.node, move.to);
    }
  }

  void arrive_until(double until_s) {
    while (!arrivals_.empty() && arrivals_.top().at_s <= until_s) {
      const Arrival arrival = arrivals_.top();
      arrivals_.pop();
      ReplayPeer& peer = peers_[arrival.node];
      if (!peer.alive || peer.arrivals != arrival.number) continue;
      advance(arrival.at_s);
      serve(arrival.node);
    }
  }

  void serve(uint32_t node) {
    ReplayPeer& peer = peers_[node];
    peer.serving = true;
    ++serving_[peer.stage];
    if (coordinator_) coordinator_->serves(node, now_s_);
  }
  double state_bytes() const {
    return options_.costs.model_bytes / static_cast<double>(serving_.size());
  }
  void download(uint32_t node, uint32_t stage) {
    ReplayPeer& peer = peers_[node];
    peer.stage = stage;
    if (coordinator_) coordinator_->learns(node, stage);
    const ChurnCosts& costs = options_.costs;
    const double takes_s = state_bytes() / costs.link_bytes_per_s + costs.warm_up_s;
    arrivals_.push({now_s_ + takes_s, node, ++peer.arrivals});
  }

  void join(uint32_t node) {
    ++alive_;
    peers_[node].alive = true;
    const auto stages = static_cast<uint32_t>(serving_.size());
    if (now_s_ > 0) {
      const auto lot = static_cast<uint32_t>(random_.next() % stages);
      return options_.places ? coordinator_->waits(node) : download(node, lot);
    }
    peers_[node].stage = node % stages;
    if (coordinator_) coordinator_->learns(node, node % stages);
    serve(node);
  }

  void leave(uint32_t node) {
    --alive_;
    ReplayPeer& peer = peers_[node];
    peer.alive = false;
    if (peer.serving) --serving_[peer.stage];
    if (coordinator_) coordinator_->gone(node);
  }

  const double end_s_;
  const ReplayOptions options_;
  SplitMix64 random_;
  std::optional<ChurnCoordinator> coordinator_;
  double now_s_ = 0, next_look_s_ = ChurnCoordinator::kLook_s;
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
