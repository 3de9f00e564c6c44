/// How long the jobs of a device take, and since when it works on the present one: by that others know
/// a device that hangs, though the actors around it answer. Pure: time is an argument.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>

#include "routing/time.h"

namespace swarm::routing {

/// As a peer says when it registers.
struct DeviceReport {
  Time job{};    ///< Of the one that it works on, so far; 0: it has none.
  Time usual{};  ///< That its jobs take; 0: none is done yet.
  /// Since the last one was done; nothing: none was.
  std::optional<Time> since_job;

  /// No job takes so long.
  static constexpr Time kLeast = std::chrono::seconds(60);
  static constexpr int kUsual = 20;
  bool hangs() const { return job > std::max(kLeast, kUsual * usual); }
};

/// One owner: who gives the device its jobs, which it does one after the other.
class JobTimes {
 public:
  void begun(uint64_t job, Time now) { begun_[job] = now; }
  void done(uint64_t job, Time now) {
    const auto found = begun_.find(job);
    if (found == begun_.end()) return;
    const Time took = now - on_device_since(found->second);
    // Most jobs are short passes: an update must not look as if it hung.
    usual_ = std::max(took, usual_ - usual_ / 100);
    ++done_;
    last_done_ = now;
    begun_.erase(found);
  }
  /// The oldest job's, waiting for its turn included; 0 without one.
  Time longest_wait(Time now) const {
    return begun_.empty() ? Time() : now - begun_.begin()->second;
  }
  DeviceReport report(Time now) const {
    DeviceReport report;
    if (!begun_.empty()) report.job = now - on_device_since(begun_.begin()->second);
    report.usual = done_ < kFewest ? std::max(usual_, kFirst) : usual_;
    if (last_done_) report.since_job = now - *last_done_;
    return report;
  }

 private:
  /// Before so many are done, each is taken to be as long as a first pass on a slow machine may be.
  static constexpr int kFewest = 8;
  static constexpr Time kFirst = std::chrono::seconds(30);

  Time on_device_since(Time begun) const { return std::max(begun, last_done_.value_or(begun)); }

  std::map<uint64_t, Time> begun_;
  Time usual_{};
  int done_ = 0;
  std::optional<Time> last_done_;
};

}  // namespace swarm::routing
