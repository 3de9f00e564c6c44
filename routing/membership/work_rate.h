/// How much a peer works, as it tells the coordinator (docs/elastic.md): means over the last ten seconds or
/// so, as one microbatch may take longer than two registrations are apart.
///
/// Pure: time [s] is an argument, and never falls. One owner.
#pragma once

#include <cmath>
#include <optional>

namespace swarm::routing {

class WorkRate {
 public:
  struct Means {
    double running = 0;     ///< Seconds of work per second.
    double queued = 0;      ///< Seconds that microbatches waited for the device, per second.
    double done_per_s = 0;  ///< Microbatches.
  };

  /// Forward, backward or both (`passes` 1 or 2), which took so long.
  void computed(double seconds, int passes, double now_s) {
    pass_time(now_s);
    sums_.running += seconds;
    sums_.done_per_s += passes / 2.0;
  }
  void waited(double seconds, double now_s) {
    pass_time(now_s);
    sums_.queued += seconds;
  }
  Means means(double now_s) {
    pass_time(now_s);
    if (!(time_s_ > 0)) return {};
    return {sums_.running / time_s_, sums_.queued / time_s_, sums_.done_per_s / time_s_};
  }

 private:
  static constexpr double kMemory_s = 10;

  void pass_time(double now_s) {
    const double left = std::exp((at_s_.value_or(now_s) - now_s) / kMemory_s);
    at_s_ = now_s;
    time_s_ = kMemory_s + (time_s_ - kMemory_s) * left;
    sums_ = {sums_.running * left, sums_.queued * left, sums_.done_per_s * left};
  }

  std::optional<double> at_s_;
  double time_s_ = 0;  ///< That the sums are of.
  Means sums_;
};

}  // namespace swarm::routing
