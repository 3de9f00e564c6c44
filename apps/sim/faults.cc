#include "apps/sim/faults.h"

#include <algorithm>

namespace swarm::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr uint64_t kNever = UINT64_MAX;
/// Those of MachineFaults.
constexpr uint64_t kMachinesFrom = 6'500'000;
constexpr uint64_t kBitsFrom = 7'600'000;
/// Of parameters and moments. Not among other faults (docs/simulation.md).
constexpr uint64_t kStateBitsFrom = 7'900'000;
/// All nodes of a stage go for good: profile elastic.
constexpr uint64_t kDeadStagesFrom = 8'000'000;

bool turns_state(const FaultInjector::Plan& plan) {
  return plan.profile == FaultProfile::kBits && plan.run_seed >= kStateBitsFrom;
}

}  // namespace

std::string in_seconds(nanoseconds time) {
  return std::to_string(static_cast<double>(time.count()) * 1e-9) + " s";
}

// rows: one fault each
const std::vector<FaultInjector::Kind>& FaultInjector::kinds() {
  using P = FaultProfile;
  using I = FaultInjector;
  using M = MachineFaults;
  static const std::vector<Kind> rows{
      {P::kNone, "none", "nothing goes wrong", nullptr, kNever},
      {P::kKills, "kills", "kill -9 of one, two or all trainers; some never come back",
       &I::draw_kill, 0},
      {P::kPauses, "pauses", "SIGSTOP, from moments to longer than the silence limit",
       &I::draw_pause, 0},
      {P::kPartitions, "partitions",
       "cuts of a node, of halves, of pairs, in one or both directions", &I::draw_cut, 0},
      {P::kNetwork, "network", "mail is slow, overtaken, doubled and lost", &I::draw_weather, 0},
      {P::kRestarts, "restarts", "many or all are killed at once, again and again", &I::draw_storm,
       0},
      {P::kLinks, "links", "slow uplinks, downlinks and pairs whose rates change; cuts come and go",
       &I::draw_links, 1'000'000},
      {P::kLasting, "lasting",
       "a pair, a direction, a trainer and a stage are parted, or a node cannot be dialled, for "
       "good",
       &I::draw_lasting, 3'000'000},
      {P::kRoles, "roles", "the actors of a role fail and are started anew in their process",
       &I::draw_machine<&M::draw_roles>, kMachinesFrom},
      {P::kDisks, "disks",
       "disks fail, are full or slow, are wiped, or are as they were some seconds ago",
       &I::draw_machine<&M::draw_disk>, kMachinesFrom},
      {P::kDrains, "drains", "SIGTERM: a node leaves in order and comes back",
       &I::draw_machine<&M::draw_drain>, kMachinesFrom},
      {P::kMoves, "moves", "kill -9 of a node that comes back under another address",
       &I::draw_machine<&M::draw_move>, kMachinesFrom},
      {P::kOrders, "orders", "somebody asks for checkpoints again and again",
       &I::draw_machine<&M::draw_orders>, kMachinesFrom},
      {P::kNotFinite, "not_finite",
       "gradients of one peer, or of a slot at all peers, are not finite",
       &I::draw_machine<&M::draw_not_finite>, kMachinesFrom},
      {P::kBits, "bits",
       "a bit of a peer's gradient sum turns, of its parameters or moments, or of its newest "
       "snapshot",
       &I::draw_machine<&M::draw_bits>, kBitsFrom},
      {P::kPlacement, "placement",
       "peers begin unevenly and move; kills, and an operator who moves peers", &I::draw_any,
       kNever},
      {P::kElastic, "elastic",
       "the same with copies of snapshots, SIGTERM, lost disks and lost stages", &I::draw_any,
       kNever},
      {P::kForced, "forced",
       "long cuts into two parts, of which one, both or none is told to go on without the rest, "
       "and kills",
       &I::draw_forced, kNever},
      {P::kAll, "all", "each of the others at once", &I::draw_any, kNever},
  };
  return rows;
}

std::vector<const FaultInjector::Kind*> FaultInjector::dealt_to(uint64_t run_seed,
                                                                FaultProfile profile) {
  using P = FaultProfile;
  using M = MachineFaults;
  using I = FaultInjector;
  static const Kind by_hand{P::kPlacement, "", "", &I::draw_machine<&M::draw_operator>, 0};
  static const Kind lost_stage{P::kElastic, "", "", &I::draw_machine<&M::draw_lost_stage>, 0};
  const auto row = [](P of) { return &kinds()[static_cast<size_t>(of)]; };
  const Kind* const kills = row(P::kKills);
  if (profile == P::kPlacement)
    return {kills, kills, kills, kills, row(P::kRoles), &by_hand, &by_hand};
  static const Kind dead_stage{P::kElastic, "", "", &I::draw_machine<&M::draw_dead_stage>, 0};
  std::vector<const Kind*> dealt;
  if (profile == P::kElastic) {
    dealt = {kills,           &by_hand,       row(P::kRoles), row(P::kDrains), row(P::kDrains),
             row(P::kDrains), row(P::kDisks), row(P::kDisks), &lost_stage};
    if (run_seed >= kDeadStagesFrom) dealt.insert(dealt.end(), 2, &dead_stage);
    return dealt;
  }
  for (const Kind& kind : kinds())
    if (kind.dealt_from_seed != kNever && kind.dealt_from_seed <= run_seed) dealt.push_back(&kind);
  return dealt;
}

const char* to_string(FaultProfile profile) {
  for (const auto& kind : FaultInjector::kinds())
    if (kind.profile == profile) return kind.name;
  return "?";
}

Result<FaultProfile> parse_profile(const std::string& name) {
  std::string known;
  for (const auto& kind : FaultInjector::kinds()) {
    if (name == kind.name) return kind.profile;
    known += std::string(known.empty() ? "" : ", ") + kind.name;
  }
  return Error{ErrorCode::kInvalidArgument,
               "no fault profile \"" + name + "\"; there are " + known};
}

std::vector<FaultProfile> all_profiles() {
  std::vector<FaultProfile> all;
  for (const auto& kind : FaultInjector::kinds()) all.push_back(kind.profile);
  return all;
}

std::string profiles_help() {
  std::string help;
  for (const auto& kind : FaultInjector::kinds())
    help += std::string(help.empty() ? "" : "; ") + kind.name + ": " + kind.help;
  return help;
}

FaultInjector::FaultInjector(Swarm& swarm, const Plan& plan, Hooks hooks)
    : swarm_(swarm),
      profile_(plan.profile),
      dealt_(dealt_to(plan.run_seed, plan.profile)),
      calm_(plan.calm),
      random_(plan.draws),
      hooks_(std::move(hooks)),
      agenda_(swarm.system),
      machines_(swarm, random_, agenda_,
                {hooks_.log, [this](const std::string& name) { kill(name, /*silently=*/false); },
                 [this](const std::string& name) { start(name); }, hooks_.disk_lost,
                 [this](const std::string& name) { return spared_.count(name) != 0; },
                 turns_state(plan) ? hooks_.bit_turned : nullptr, &gone_}),
      cuts_(swarm) {}

void FaultInjector::plan(nanoseconds from, nanoseconds until, uint64_t max_faults) {
  if (profile_ == FaultProfile::kNone) return;
  const auto start = swarm_.system.now() + from;
  const uint64_t faults = kFewestFaults + random_.below(kMostFaults - kFewestFaults + 1);
  std::vector<TimePoint> times;
  for (uint64_t i = 0; i < faults; ++i) times.push_back(start + random_.between({}, until - from));
  std::sort(times.begin(), times.end());
  for (uint64_t i = 0; i < std::min(faults, max_faults); ++i)
    agenda_.at(times[i], [this] { draw_fault(); });
  agenda_.at(start + (until - from), [this] { heal(); });
}

void FaultInjector::draw_fault() {
  ++count_;
  for (const Kind& kind : kinds())
    if (kind.profile == profile_ && kind.draw != nullptr) (this->*kind.draw)();
}

void FaultInjector::draw_any() {
  const Kind& kind = *dealt_[random_.below(dealt_.size())];
  (this->*kind.draw)();
}

FaultInjector::Names FaultInjector::living(bool trainers_only) const {
  Names names;
  for (const auto& [name, node] : swarm_.nodes)
    if (node.alive && (!trainers_only || node.trains())) names.push_back(name);
  return names;
}

FaultInjector::Names FaultInjector::draw_some(Names from, size_t count) {
  Names some;
  while (!from.empty() && some.size() < count) {
    const size_t i = random_.below(from.size());
    some.push_back(from[i]);
    from.erase(from.begin() + static_cast<ptrdiff_t>(i));
  }
  return some;
}

/// A replica (another trainer) that lives now and is never killed remains.
bool FaultInjector::may_leave(const std::string& name) const {
  // A stage may be left to a part whose line is given up at the meeting (docs/one_history.md, "Open").
  if (profile_ == FaultProfile::kForced) return false;
  const int stage = swarm_.nodes.at(name).stage;
  const auto peers =
      std::count_if(swarm_.nodes.begin(), swarm_.nodes.end(), [this](const auto& entry) {
        return !entry.second.trains() && gone_.count(entry.first) == 0;
      });
  // Those who stay must be enough to begin.
  if (!swarm_.nodes.at(name).trains() && peers <= static_cast<ptrdiff_t>(swarm_.training.min_peers))
    return false;
  return std::any_of(swarm_.nodes.begin(), swarm_.nodes.end(), [&](const auto& entry) {
    const auto& [other, node] = entry;
    return other != name && node.stage == stage && node.alive && gone_.count(other) == 0;
  });
}

void FaultInjector::kill(const std::string& name, bool silently) {
  const std::string disk = swarm_.kill(name, silently);
  hooks_.log(name, std::string("FAULT killed") + (silently ? " with its machine" : "") +
                       (disk.empty() ? "" : "; disk: " + disk));
}

void FaultInjector::start(const std::string& name) {
  if (swarm_.nodes.at(name).alive || gone_.count(name) != 0) return;
  hooks_.before_start(name);
  swarm_.start(name);
  hooks_.log(name, "FAULT started id=" + swarm_.nodes.at(name).id.brief());
  cuts_.started(name);
}

void FaultInjector::draw_kill() {
  const double which = random_.uniform();
  Names names = which < 0.1   ? living(true)
                : which < 0.3 ? draw_some(living(), 2)
                              : draw_some(living(), 1);
  const bool silently = random_.chance(0.2);
  for (const auto& name : names) {
    if (spared_.count(name) != 0) continue;
    if (names.size() == 1 && random_.chance(0.15) && may_leave(name)) {
      gone_.insert(name);
      for (const auto& [other, node] : swarm_.nodes)
        if (node.stage == swarm_.nodes.at(name).stage) spared_.insert(other);
      hooks_.log(name, "FAULT leaves for good");
    }
    kill(name, silently);
    agenda_.later(random_.spread(milliseconds(20), seconds(6)), [this, name] { start(name); });
  }
}

void FaultInjector::draw_pause() {
  for (const auto& name : draw_some(living(), random_.chance(0.2) ? 2 : 1)) {
    if (swarm_.nodes.at(name).paused) continue;
    const auto time = random_.spread(milliseconds(50), seconds(15));
    hooks_.log(name, "FAULT paused for " + in_seconds(time));
    swarm_.pause(name);
    agenda_.later(time, [this, name, owner = swarm_.nodes.at(name).owner] {
      if (!swarm_.nodes.at(name).paused || swarm_.nodes.at(name).owner != owner) return;
      hooks_.log(name, "FAULT resumed");
      swarm_.resume(name);
    });
  }
}

void FaultInjector::draw_cut() {
  Names all;
  for (const auto& [name, node] : swarm_.nodes) all.push_back(name);
  const size_t side = random_.chance(0.5) ? 1 : 1 + random_.below(all.size() / 2);
  Names left = draw_some(all, side), right;
  for (const auto& name : all)
    if (std::find(left.begin(), left.end(), name) == left.end()) right.push_back(name);
  if (random_.chance(0.25)) right = draw_some(right, 1);
  const uint64_t direction = random_.below(4);  // 0, 1: both; 2: out; 3: in
  std::string text = direction < 2    ? "FAULT cut off from"
                     : direction == 2 ? "FAULT cannot send to"
                                      : "FAULT cannot hear";
  for (const auto& name : right) text += " " + name;
  const auto time = random_.spread(milliseconds(100), seconds(15));
  std::string who;
  for (const auto& name : left) who += (who.empty() ? "" : ",") + name;
  hooks_.log(who, text + " for " + in_seconds(time));
  const auto pairs = Cuts::between(left, right, direction != 3, direction != 2);
  cuts_.cut(pairs);
  agenda_.later(time, [this, pairs, who] {
    hooks_.log(who, "FAULT connected again");
    cuts_.join(pairs);
  });
}

void FaultInjector::draw_storm() {
  Names names = living();
  if (names.empty()) return;  // those of the storm before have not come back
  names = draw_some(names, random_.chance(0.3) ? names.size() : 1 + random_.below(names.size()));
  const auto most = random_.spread(milliseconds(20), seconds(3));
  for (const auto& name : names) {
    if (spared_.count(name) != 0) continue;
    agenda_.later(
        random_.chance(0.5) ? nanoseconds(0) : random_.between({}, most), [this, name, most] {
          kill(name, random_.chance(0.1));
          agenda_.later(random_.spread(milliseconds(10), most), [this, name] { start(name); });
        });
  }
}

void FaultInjector::draw_weather() {
  NetworkModel bad = calm_;
  bad.max_delay = random_.spread(calm_.max_delay, milliseconds(100));
  bad.slow = random_.chance(0.5) ? random_.uniform() * 0.1 : 0;
  bad.reorder = random_.chance(0.7) ? random_.uniform() : 0;
  bad.duplicate = random_.chance(0.5) ? random_.uniform() * 0.2 : 0;
  bad.loss = random_.chance(0.5) ? random_.uniform() * 0.03 : 0;
  hooks_.log(
      "-", "FAULT network delay=" + in_seconds(bad.max_delay) +
               " slow=" + std::to_string(bad.slow) + " reorder=" + std::to_string(bad.reorder) +
               " duplicate=" + std::to_string(bad.duplicate) + " loss=" + std::to_string(bad.loss));
  swarm_.net.change_model(bad);
}

void FaultInjector::draw_links() {
  if (random_.chance(0.7))
    draw_rate();
  else
    draw_flapping();
}

void FaultInjector::heal() {
  agenda_.clear();
  hooks_.log("-", "HEALED");
  swarm_.net.change_model(calm_);
  cuts_.heal();
  divided_ = false;
  swarm_.lift_rates();
  machines_.heal();
  for (auto& [name, node] : swarm_.nodes) {
    swarm_.resume(name);
    if (node.alive && gone_.count(name) != 0) kill(name, /*silently=*/false);
    start(name);
  }
}

}  // namespace swarm::sim
