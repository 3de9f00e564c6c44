/// What goes wrong in a simulated run: drawn from a seed, then everything heals.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "apps/sim/random.h"
#include "apps/sim/swarm.h"

namespace swarm::sim {

enum class FaultProfile {
  kNone,
  kKills,       ///< kill -9 of one, two or all trainers; some never come back.
  kPauses,      ///< SIGSTOP, from moments to longer than the silence limit.
  kPartitions,  ///< Cuts: of one node, of halves, of pairs, in one or both directions.
  kNetwork,     ///< Mail is slow, overtaken, doubled and lost.
  kRestarts,    ///< Many or all are killed at once, again and again.
  kAll,         ///< Each of the above at once.
};

const char* to_string(FaultProfile profile);
/// Errors: kInvalidArgument, listing the names.
Result<FaultProfile> parse_profile(const std::string& name);
std::vector<FaultProfile> all_profiles();

constexpr uint64_t kFewestFaults = 2, kMostFaults = 7;

class FaultInjector {
 public:
  using TimePoint = caf::actor_clock::time_point;
  struct Hooks {
    std::function<void(const std::string& node, const std::string& what)> log;
    std::function<void(const std::string& node)> before_start;
  };

  /// `swarm` outlives this. `calm` is how the network behaves when nothing is wrong.
  FaultInjector(Swarm& swarm, FaultProfile profile, const NetworkModel& calm, uint64_t seed,
                Hooks hooks);

  /// Draws what happens between now + `from` and now + `until`.
  /// At most kMostFaults; with `max_faults` only the first of the same.
  void plan(std::chrono::nanoseconds from, std::chrono::nanoseconds until,
            uint64_t max_faults = kMostFaults);
  /// When the next fault is due, if any.
  std::optional<TimePoint> next() const;
  /// Carries out what is due. Not from within an actor.
  void act();
  /// Ends all faults: resumes, reconnects, restarts all but those gone for good.
  void heal();
  /// Faults carried out so far.
  uint64_t count() const { return count_; }

  void kill(const std::string& name, bool silently);
  void start(const std::string& name);

 private:
  using Names = std::vector<std::string>;
  void at(TimePoint when, std::function<void()> what) { actions_.emplace(when, std::move(what)); }
  void later(std::chrono::nanoseconds delay, std::function<void()> what);
  void draw_fault();
  void draw_kill();
  void draw_pause();
  void draw_cut();
  void draw_storm();
  void draw_weather();
  void set_cut(const std::vector<std::pair<std::string, std::string>>& pairs, bool on);
  Names living(bool trainers_only = false) const;
  Names draw_some(Names from, size_t count);
  bool may_leave(const std::string& name) const;

  Swarm& swarm_;
  FaultProfile profile_;
  NetworkModel calm_;
  Random random_;
  Hooks hooks_;
  std::multimap<TimePoint, std::function<void()>> actions_;
  std::map<std::pair<std::string, std::string>, int> cuts_;
  std::set<std::string> gone_, spared_;
  uint64_t count_ = 0;
};

}  // namespace swarm::sim
