/// The compute actor as its stage server uses it, with a watch over jobs that never end.
#pragma once

#include <caf/event_based_actor.hpp>
#include <chrono>
#include <utility>

#include "actors/stage/compute.h"
#include "routing/membership/job_times.h"

namespace swarm::actors {

/// Part of the state of one actor; used only from its handlers. A job that was begun is never given
/// up by itself: it may still change the stage. Whoever finds one overdue ends the actor.
class Device {
 public:
  Device(caf::event_based_actor* self, caf::actor compute)
      : self_(self), compute_(std::move(compute)) {}

  /// As compute(): `work(stage)` there, then `done(Result<R>, seconds)` here.
  template <class R, class Work, class Done>
  void run(Work work, Done done, int passes = 0) {
    const uint64_t job = next_job_++;
    times_.begun(job, now());
    compute<R>(
        self_, compute_, std::move(work),
        [this, job, done = std::move(done)](Result<R> result, double seconds) mutable {
          times_.done(job, now());
          done(std::move(result), seconds);
        },
        passes);
  }

  /// How long the oldest job has been under way, waiting for its turn included; 0 without one.
  routing::Time longest_wait() const { return times_.longest_wait(now()); }
  routing::DeviceReport report() const { return times_.report(now()); }

 private:
  routing::Time now() const { return self_->clock().now().time_since_epoch(); }

  caf::event_based_actor* self_;
  caf::actor compute_;
  uint64_t next_job_ = 1;
  routing::JobTimes times_;
};

}  // namespace swarm::actors
