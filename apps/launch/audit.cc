#include "apps/launch/audit.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "common/hex.h"

namespace swarm::launch {
namespace {

using actors::ClosedStep;
using actors::CommittedStep;
using actors::HeldSlots;
using actors::LoadedState;
using Closed = Recorded<ClosedStep>;
using Committed = Recorded<CommittedStep>;
using Loaded = Recorded<LoadedState>;
using StageStep = std::pair<uint32_t, uint64_t>;

constexpr double kClocks_s = 1.0;  ///< By how much clocks and the order of writing may differ.

std::string at(uint64_t step) { return "step " + std::to_string(step); }
std::string at(uint64_t step, size_t stage) {
  return at(step) + ", stage " + std::to_string(stage);
}

std::string who(const HeldSlots& held) { return held.node_name + " (" + held.peer.brief() + ")"; }

/// The newest round: closings of one step follow one another in this order, over coordinators too.
uint64_t order_of(const ClosedStep& step) {
  uint64_t newest = 0;
  for (const auto& stage : step.stages) newest = std::max(newest, stage.round);
  return newest;
}

bool same_held(const HeldSlots& a, const HeldSlots& b) {
  return a.slots == b.slots && a.attempts == b.attempts;
}

class Auditor {
 public:
  Auditor(const AuditLog& log, const AuditContext& context) : log_(log), context_(context) {}

  AuditReport run() {
    count_events();
    index();
    for (const Committed& line : log_.committed) check_commit(line);
    choose_history();
    for (const auto& [step, line] : history_) check_closing(line->record);
    check_complete();
    check_order();
    compare_checksums();
    follow_peers();
    count();
    return std::move(report_);
  }

 private:
  void violation(const std::string& text) { report_.violations.push_back(text); }
  void note(const std::string& text) { report_.notes.push_back(text); }

  void count_events() {
    auto& totals = report_.totals;
    for (const EventLine& event : context_.events) {
      const bool by_launcher = event.event == "timeline" || event.event == "chaos";
      auto did = [&](const char* action) {
        return by_launcher &&
               event.detail.find(std::string("action=") + action) != event.detail.npos;
      };
      totals.kills += did("kill");
      totals.pauses += did("pause");
      totals.crashes += event.event == "process_lost";
      totals.coordinators += event.event == "coordinator";
      totals.recoveries += event.event == "recovered";
      totals.abandoned += event.event == "round_abandoned";
      if (event.event == "finished") report_.finished = true;
      if (event.event == "run_resumed") report_.finished = false;
      if (event.event == "recompute") totals.lost += slots_of(event.detail);
      if (event.event == "sum_dropped") totals.dropped += slots_of(event.detail);
      if (event.event == "replicas_differ" || event.event == "averages_differ")
        violation(event.text());
      if (event.event == "audit_line_damaged") note(event.text() + ": torn at its writer's death");
    }
    if (log_.torn_end) note("the last line has no end (its writer died at it) and was left out");
    if (log_.unknown > 0)
      note(std::to_string(log_.unknown) + " lines are of a kind that this program does not know");
  }

  static uint64_t slots_of(const std::string& detail) {
    const size_t found = detail.find("slots=");
    return found == detail.npos ? 0 : std::strtoull(detail.c_str() + found + 6, nullptr, 10);
  }

  void index() {
    for (const Closed& line : log_.closed) {
      const ClosedStep& closed = line.record;
      if (closed.slots == 0) continue;  // nothing was trained
      if (closed.stages.size() != context_.num_stages)
        violation(at(closed.step) + ": closed for " + std::to_string(closed.stages.size()) +
                  " stages, the model has " + std::to_string(context_.num_stages));
      bool repeated = false;
      for (uint32_t stage = 0; stage < closed.stages.size(); ++stage) {
        auto [place, added] = rounds_.emplace(
            std::make_pair(StageStep(stage, closed.step), closed.stages[stage].round), &line);
        if (added) continue;
        repeated = true;
        if (!same_decision(place->second->record, closed, stage))
          violation(
              at(closed.step, stage) + ": round " + std::to_string(closed.stages[stage].round) +
              " was closed twice with different content (lines " +
              std::to_string(place->second->line) + " and " + std::to_string(line.line) + ")");
      }
      if (!repeated) closings_.push_back(&line);
    }
    std::stable_sort(closings_.begin(), closings_.end(), [](const Closed* a, const Closed* b) {
      return order_of(a->record) < order_of(b->record);
    });
  }

  static bool same_decision(const ClosedStep& a, const ClosedStep& b, uint32_t stage) {
    const auto &x = a.stages[stage], &y = b.stages[stage];
    if (x.digest != y.digest || x.members.size() != y.members.size() || a.skipped != b.skipped ||
        a.samples != b.samples || a.first_sample != b.first_sample)
      return false;
    for (size_t i = 0; i < x.members.size(); ++i)
      if (!(x.members[i].peer == y.members[i].peer) || !same_held(x.members[i], y.members[i]))
        return false;
    return true;
  }

  /// What the peer did against what the coordinator decided for its round.
  void check_commit(const Committed& line) {
    const CommittedStep& done = line.record;
    const std::string where = at(done.step, done.stage) + ": " + who(done.held);
    const auto found = rounds_.find({StageStep(done.stage, done.step), done.round});
    if (found == rounds_.end())
      return violation(where + " committed round " + std::to_string(done.round) +
                       ", which no coordinator closed");
    if (!commits_[found->second].emplace(done.stage, done.held.peer).second)
      violation(where + " committed round " + std::to_string(done.round) + " twice");
    const auto& stage = found->second->record.stages[done.stage];
    if (stage.digest != done.digest)
      violation(where + " applied the average " + hex(done.digest) + ", decided was " +
                hex(stage.digest));
    for (const HeldSlots& member : stage.members) {
      if (!(member.peer == done.held.peer)) continue;
      if (!same_held(member, done.held))
        violation(where + " held other slots or attempts than those that were counted");
      return;
    }
    violation(where + " committed but was no member of the round");
  }

  /// The last closing of each step that a peer committed.
  void choose_history() {
    for (const Closed* line : closings_) {
      if (commits_.count(line) == 0) {
        ++report_.totals.undone;
        continue;
      }
      const Closed*& chosen = history_[line->record.step];
      if (chosen != nullptr) ++report_.totals.given_up;
      chosen = line;
    }
    for (const auto& [step, line] : history_) {
      report_.skipped[step] = line->record.skipped;
      if (line->record.computed_on != step) report_.computed_on[step] = line->record.computed_on;
    }
  }

  void check_closing(const ClosedStep& closed) {
    const std::string where = at(closed.step);
    if (closed.microbatch != context_.microbatch ||
        uint64_t{closed.slots} * closed.microbatch != context_.batch)
      violation(where + ": " + std::to_string(closed.slots) + " slots of " +
                std::to_string(closed.microbatch) + " samples are not the batch of " +
                std::to_string(context_.batch));
    if (closed.first_sample != closed.step * context_.batch)
      violation(where + ": begins at sample " + std::to_string(closed.first_sample) +
                " of the data order, not at " + std::to_string(closed.step * context_.batch));
    const bool delayed = context_.delayed_updates && closed.computed_on + 1 == closed.step;
    if (closed.computed_on != closed.step && !delayed)
      violation(where + ": computed on the parameters after " + std::to_string(closed.computed_on) +
                " updates");
    std::set<uint32_t> skipped(closed.skipped.begin(), closed.skipped.end());
    if (skipped.size() != closed.skipped.size()) violation(where + ": a slot is skipped twice");
    if (!skipped.empty() && *skipped.rbegin() >= closed.slots)
      violation(where + ": slot " + std::to_string(*skipped.rbegin()) + " is skipped and none");
    const uint64_t counted = closed.slots - std::min<uint64_t>(skipped.size(), closed.slots);
    if (closed.samples != counted * closed.microbatch)
      violation(where + ": the sum was divided by " + std::to_string(closed.samples) +
                " samples, " + std::to_string(counted * closed.microbatch) + " are in it");
    if (closed.slots > context_.batch) return;  // said above; no list of slots is that long
    for (size_t stage = 0; stage < closed.stages.size(); ++stage)
      check_matrix(closed, stage, skipped);
  }

  /// Each slot exactly once, skipped ones nowhere.
  void check_matrix(const ClosedStep& closed, size_t stage, const std::set<uint32_t>& skipped) {
    const std::string where = at(closed.step, stage);
    std::map<uint32_t, const HeldSlots*> holders;
    for (const HeldSlots& member : closed.stages[stage].members) {
      for (const uint32_t slot : member.slots) {
        const std::string name = where + ": slot " + std::to_string(slot);
        const auto [place, added] = holders.emplace(slot, &member);
        if (!added)
          violation(name + " is counted twice, at " + who(*place->second) + " and " + who(member));
        if (slot >= closed.slots) violation(name + " is none of the step's, at " + who(member));
        if (skipped.count(slot) > 0) violation(name + " is skipped but counted at " + who(member));
      }
    }
    for (uint32_t slot = 0; slot < closed.slots; ++slot)
      if (holders.count(slot) == 0 && skipped.count(slot) == 0)
        violation(where + ": slot " + std::to_string(slot) + " is counted nowhere");
  }

  bool all_stages_committed(const Closed* line) const {
    std::set<uint32_t> stages;
    for (const auto& [stage, peer] : commits_.at(line)) stages.insert(stage);
    return stages.size() == line->record.stages.size();
  }

  /// A run that was interrupted has fewer steps, and its last one may be half committed.
  void check_complete() {
    uint64_t expected = 0;
    for (const auto& [step, line] : history_) {
      missing(expected, step);
      expected = step + 1;
      if (step >= context_.steps)
        violation(at(step) + " was closed, the run ends before " + at(context_.steps));
      if (all_stages_committed(line)) continue;
      if (!report_.finished && step == history_.rbegin()->first) {
        note(at(step) + " is committed by some stages only: the run ended there");
      } else {
        check_stages_committed(*line);
      }
    }
    if (report_.finished) return missing(expected, context_.steps);
    note("the run has not finished: " + std::to_string(expected) + " of " +
         std::to_string(context_.steps) + " steps");
  }

  /// Steps from `first` on, before `end`.
  void missing(uint64_t first, uint64_t end) {
    if (first >= end) return;
    const bool one = first + 1 == end;
    violation(at(first) + (one ? " was" : " to " + std::to_string(end - 1) + " were") +
              " never closed and committed");
  }

  void check_stages_committed(const Closed& line) {
    std::set<uint32_t> stages;
    for (const auto& [stage, peer] : commits_.at(&line)) stages.insert(stage);
    for (uint32_t stage = 0; stage < line.record.stages.size(); ++stage)
      if (stages.count(stage) == 0)
        violation(at(line.record.step, stage) + ": no peer committed the step");
  }

  /// Steps rise by one; going back needs a `recovered` event that says so.
  void check_order() {
    const Closed* before = nullptr;
    for (const Closed* line : closings_) {
      if (commits_.count(line) == 0) continue;
      const uint64_t step = line->record.step;
      if (before != nullptr && step <= before->record.step && !recovered(*before, *line))
        violation("the swarm went back from " + at(before->record.step) + " to " + at(step) +
                  " and no `recovered` event says so");
      if (before != nullptr && step > before->record.step + 1)
        violation("the swarm went from " + at(before->record.step) + " to " + at(step));
      before = line;
    }
  }

  bool recovered(const Closed& before, const Closed& after) const {
    return std::any_of(context_.events.begin(), context_.events.end(), [&](const EventLine& event) {
      return event.event == "recovered" && event.step <= static_cast<int64_t>(after.record.step) &&
             event.time_s >= before.time_s - kClocks_s && event.time_s <= after.time_s + kClocks_s;
    });
  }

  bool in_history(const CommittedStep& done) const {
    const auto found = history_.find(done.step);
    return found != history_.end() && done.stage < found->second->record.stages.size() &&
           found->second->record.stages[done.stage].round == done.round;
  }

  /// Replicas of one round are equal, bit by bit.
  void compare_checksums() {
    std::map<std::pair<StageStep, uint64_t>, std::vector<const CommittedStep*>> rounds;
    for (const Committed& line : log_.committed)
      rounds[{{line.record.stage, line.record.step}, line.record.round}].push_back(&line.record);
    for (const auto& [key, commits] : rounds) {
      const StageStep after(key.first.first, key.first.second + 1);
      for (const CommittedStep* done : commits) {
        if (done->checksum != commits.front()->checksum)
          violation(at(done->step, done->stage) + ": after it " + who(done->held) + " has " +
                    hex(done->checksum) + ", " + who(commits.front()->held) + " has " +
                    hex(commits.front()->checksum));
        if (in_history(*done)) {
          report_.checksums.emplace(after, done->checksum);
        } else {
          report_.given_up_checksums[after].insert(done->checksum);
        }
      }
      report_.totals.checksums += commits.size() > 1;
    }
    for (const Loaded& line : log_.loaded)  // what everything began with
      if (line.record.step == 0)
        report_.checksums.emplace(StageStep(line.record.stage, 0), line.record.checksum);
  }

  struct PeerState {
    uint64_t step = 0;
    bool in_history = true;  ///< Its parameters are those of the history ...
    std::string given_up;    ///< ... or else, where they are from.
    bool known = false;
  };

  /// Each peer's own lines in their order: no step is left out, none comes back without a load,
  /// and nothing is added on top of a state that the swarm gave up.
  void follow_peers() {
    std::map<PeerId, std::map<size_t, const Committed*>> commits;
    std::map<PeerId, std::map<size_t, const Loaded*>> loads;
    std::set<PeerId> peers;
    for (const Committed& line : log_.committed) {
      commits[line.record.held.peer][line.line] = &line;
      peers.insert(line.record.held.peer);
    }
    for (const Loaded& line : log_.loaded) {
      loads[line.record.peer][line.line] = &line;
      peers.insert(line.record.peer);
    }
    for (const PeerId& peer : peers) follow(commits[peer], loads[peer]);
  }

  void follow(const std::map<size_t, const Committed*>& commits,
              const std::map<size_t, const Loaded*>& loads) {
    PeerState state;
    auto load = loads.begin();
    for (const auto& [line, commit] : commits) {
      for (; load != loads.end() && load->first < line; ++load)
        take_load(load->second->record, state);
      take_commit(commit->record, state);
    }
    for (; load != loads.end(); ++load) take_load(load->second->record, state);
  }

  void take_load(const LoadedState& load, PeerState& state) {
    state = {load.step, true, {}, true};
    const StageStep key(load.stage, load.step);
    const auto right = report_.checksums.find(key);
    if (right != report_.checksums.end() && right->second == load.checksum) return;
    const std::string where = at(load.step, load.stage) + ": " + load.node_name + " (" +
                              load.peer.brief() + ") loaded " + hex(load.checksum) + " from " +
                              load.source;
    const auto others = report_.given_up_checksums.find(key);
    if (others != report_.given_up_checksums.end() && others->second.count(load.checksum) > 0) {
      state.in_history = false;
      state.given_up = where;
      return;
    }
    violation(where + (right == report_.checksums.end() ? ", which no peer ever reached"
                                                        : ", replicas have " + hex(right->second)));
  }

  void take_commit(const CommittedStep& done, PeerState& state) {
    const std::string where = at(done.step, done.stage) + ": " + who(done.held);
    if (!state.known)
      violation(where + " committed and never said where its state is from");
    else if (state.step != done.step)
      violation(where + " committed while its state was that of " + at(state.step));
    const bool now = in_history(done);
    if (state.known && now && !state.in_history)
      violation(where + " went on from a state that the swarm had given up (" + state.given_up +
                ")");
    state = {done.step + 1, now, now ? "" : "round " + std::to_string(done.round), true};
  }

  void count() {
    auto& totals = report_.totals;
    totals.steps = history_.size();
    totals.commits = log_.committed.size();
    totals.loads = log_.loaded.size();
    for (const auto& [step, line] : history_) {
      const ClosedStep& closed = line->record;
      const uint64_t counted =
          closed.slots - std::min<uint64_t>(closed.skipped.size(), closed.slots);
      totals.slots += counted;
      totals.skipped += closed.skipped.size();
      totals.samples += closed.samples;
      totals.attempts += closed.attempts;
      totals.retries += closed.attempts - std::min(closed.attempts, closed.slots);
      totals.contributions += counted * closed.stages.size();
    }
  }

  const AuditLog& log_;
  const AuditContext& context_;
  AuditReport report_;
  std::vector<const Closed*> closings_;  ///< In the order of their rounds.
  std::map<std::pair<StageStep, uint64_t>, const Closed*> rounds_;
  std::map<const Closed*, std::set<std::pair<uint32_t, PeerId>>> commits_;
  std::map<uint64_t, const Closed*> history_;  ///< By step.
};

}  // namespace

AuditReport audit(const AuditLog& log, const AuditContext& context) {
  return Auditor(log, context).run();
}

}  // namespace swarm::launch
