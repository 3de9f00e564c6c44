/// What goes wrong in a simulated run: drawn from a seed, then everything heals but what lasts.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "apps/sim/agenda.h"
#include "apps/sim/cuts.h"
#include "apps/sim/machine_faults.h"
#include "apps/sim/random.h"
#include "apps/sim/swarm.h"

namespace swarm::sim {

/// What may go wrong; FaultInjector::kinds() has a row for each. A new fault is a value here, a
/// function that draws it, and its row.
enum class FaultProfile {
  kNone,
  kKills,
  kPauses,
  kPartitions,
  kNetwork,
  kRestarts,
  kLinks,
  kLasting,
  kRoles,
  kDisks,
  kDrains,
  kMoves,
  kOrders,
  kNotFinite,
  kBits,
  kPlacement,
  kElastic,
  kForced,
  kAll
};

/// Peers move between stages.
constexpr bool moves_peers(FaultProfile profile) {
  return profile == FaultProfile::kPlacement || profile == FaultProfile::kElastic;
}

const char* to_string(FaultProfile profile);
/// Errors: kInvalidArgument, listing the names.
Result<FaultProfile> parse_profile(const std::string& name);
std::vector<FaultProfile> all_profiles();
/// "none: nothing; kills: ...", for --help.
std::string profiles_help();

/// "1.500000 s"
std::string in_seconds(std::chrono::nanoseconds time);

constexpr uint64_t kFewestFaults = 2, kMostFaults = 7;

class FaultInjector {
 public:
  using TimePoint = Agenda::TimePoint;
  struct Hooks {
    std::function<void(const std::string& node, const std::string& what)> log;
    std::function<void(const std::string&node)> before_start, disk_lost;
    std::function<void(const std::string& node)> bit_turned{};  ///< Of its parameters or moments.
  };

  /// One row of the table of faults.
  struct Kind {
    FaultProfile profile;
    const char* name;
    const char* help;               ///< One line that makes sense alone.
    void (FaultInjector::*draw)();  ///< Draws one fault and lets it happen; null: nothing.
    /// Profile "all" deals this fault to runs whose seed is at least this. A recorded seed keeps
    /// its story when a fault is added with a number above all that were ever recorded.
    uint64_t dealt_from_seed;
  };
  static const std::vector<Kind>& kinds();
  /// Those that a profile of several kinds deals to run `run_seed`; "all": in the order of the table.
  static std::vector<const Kind*> dealt_to(uint64_t run_seed,
                                           FaultProfile profile = FaultProfile::kAll);

  struct Plan {
    FaultProfile profile = FaultProfile::kNone;
    uint64_t run_seed = 0;  ///< As the user gave it.
    uint64_t draws = 0;     ///< Seeds what is drawn here.
    NetworkModel calm;      ///< How the network behaves when nothing is wrong.
  };
  /// `swarm` outlives this.
  FaultInjector(Swarm& swarm, const Plan& plan, Hooks hooks);

  /// Draws what happens between now + `from` and now + `until`.
  /// At most kMostFaults; with `max_faults` only the first of the same.
  void plan(std::chrono::nanoseconds from, std::chrono::nanoseconds until,
            uint64_t max_faults = kMostFaults);
  /// Of the faults; its owner carries out what is due.
  Agenda& agenda() { return agenda_; }
  /// Ends all faults: resumes, reconnects, restarts all but those gone and those parted for good.
  void heal();
  /// Peers that have no way to a trainer or to another peer of their stage: they may be left behind.
  const std::set<std::string>& parted() const { return parted_; }
  /// Nodes that never come back.
  const std::set<std::string>& gone() const { return gone_; }
  /// Faults carried out so far.
  uint64_t count() const { return count_; }

  void kill(const std::string& name, bool silently);
  void start(const std::string& name);

 private:
  using Names = std::vector<std::string>;
  void draw_fault();
  void draw_any();
  void draw_kill();
  void draw_pause();
  void draw_cut();
  void draw_storm();
  void draw_weather();
  void draw_links();
  void draw_rate();
  void draw_flapping();
  void draw_lasting();
  void draw_forced();
  template <void (MachineFaults::*draw)()>
  void draw_machine() {
    (machines_.*draw)();
  }
  void part_for_good(const Cuts::Pairs& pairs);
  bool may_part(const std::string& a, const std::string& b) const;
  Names living(bool trainers_only = false) const;
  Names draw_some(Names from, size_t count);
  bool may_leave(const std::string& name) const;

  Swarm& swarm_;
  const FaultProfile profile_;
  const std::vector<const Kind*> dealt_;  // by draw_any()
  NetworkModel calm_;
  Random random_;
  Hooks hooks_;
  Agenda agenda_;
  MachineFaults machines_;
  Cuts cuts_;
  std::set<std::string> gone_, spared_, parted_;
  std::set<uint64_t> lasting_kinds_;  ///< Drawn.
  bool divided_ = false;              ///< By draw_forced().
  uint64_t count_ = 0;
};

}  // namespace swarm::sim
