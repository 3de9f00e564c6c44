#include "apps/audit/audit.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <tuple>

#include "apps/launch/lineage.h"
#include "common/hex.h"

namespace swarm::launch {
namespace {

using records::ClosedStep;
using records::CommittedStep;
using records::Event;
using records::HeldSlots;
using records::LoadedState;
using Closed = Recorded<ClosedStep>;
using Committed = Recorded<CommittedStep>;
using Loaded = Recorded<LoadedState>;
using StageStep = std::pair<uint32_t, uint64_t>;

/// When a coordinator became one, its term, its node; in the order of time.
using Reign = std::tuple<double, uint64_t, std::string>;

constexpr double kSameClock_s = 0.002;  ///< Times are written in milliseconds.
constexpr double kClocks_s = 1.0;       ///< By how much clocks and the order of writing may differ.

std::string at(uint64_t step) { return "step " + std::to_string(step); }
std::string at(uint64_t step, size_t stage) {
  return at(step) + ", stage " + std::to_string(stage);
}

std::string who(const HeldSlots& held) { return held.node_name + " (" + held.peer.brief() + ")"; }

/// The newest round: a coordinator's closings follow one another in this order.
uint64_t order_of(const ClosedStep& step) {
  uint64_t newest = 0;
  for (const auto& stage : step.stages) newest = std::max(newest, stage.round);
  return newest;
}

/// "slot:attempt ..."
std::string list(const HeldSlots& held) {
  std::string text;
  for (size_t i = 0; i < held.slots.size() && i < held.attempts.size(); ++i)
    text +=
        (i > 0 ? " " : "") + std::to_string(held.slots[i]) + ":" + std::to_string(held.attempts[i]);
  return text.empty() ? "nothing" : text;
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
    gather_peers();
    choose_history();
    for (const auto& [step, stages] : history_) check_step(stages);
    check_complete();
    check_order();
    compare_checksums();
    for (const auto& [peer, lines] : peers_) follow(lines);
    count();
    return std::move(report_);
  }

 private:
  void violation(const std::string& what) { report_.violations.push_back(what); }
  void note(const std::string& what) { report_.notes.push_back(what); }

  void count_events() {
    auto& totals = report_.totals;
    for (const Event& event : context_.events) {
      totals.kills += has_action(event, "kill");
      totals.pauses += has_action(event, "pause");
      totals.crashes += event.is<records::ProcessLost>();
      totals.recoveries += event.is<records::Recovered>();
      totals.abandoned += event.is<records::RoundAbandoned>();
      if (event.is<records::CoordinatorActive>()) takeovers_.push_back(&event);
      if (event.is<records::RunFinished>()) report_.finished = true;
      if (event.is<records::RunResumed>()) report_.finished = false;
      if (const auto recompute = event.as<records::Recompute>()) totals.lost += recompute->slots;
      if (const auto sum = event.as<records::SumDropped>()) totals.dropped += sum->slots;
      if (event.is<records::ReplicasDiffer>() || event.is<records::AveragesDiffer>())
        violation(text(event));
      if (event.is<records::AuditLineDamaged>()) note(text(event) + ": torn at its writer's death");
    }
    if (log_.torn_end) note("the last line has no end (its writer died at it) and was left out");
    if (log_.unknown > 0)
      note(std::to_string(log_.unknown) + " lines are of a kind that this program does not know");
  }

  void index() {
    for (const Closed& line : log_.closed) {
      const ClosedStep& closed = line.record;
      if (closed.slots == 0) continue;  // nothing was trained
      reigns_[&line] = reign_of(line);
      if (closed.stages.size() != context_.num_stages)
        violation(at(closed.step) + ": closed for " + std::to_string(closed.stages.size()) +
                  " stages, the model has " + std::to_string(context_.num_stages));
      bool repeated = false;
      for (uint32_t stage = 0; stage < closed.stages.size(); ++stage) {
        auto& before = rounds_[{{stage, closed.step}, closed.stages[stage].round}];
        const auto same = std::find_if(before.begin(), before.end(), [&](const Closed* other) {
          return reigns_.at(other) == reigns_.at(&line);
        });
        if (same == before.end()) {
          before.push_back(&line);
          continue;
        }
        repeated = true;
        if (!same_decision((*same)->record, closed, stage))
          violation(at(closed.step, stage) + ": round " +
                    std::to_string(closed.stages[stage].round) +
                    " was closed twice with different content (lines " +
                    std::to_string((*same)->line) + " and " + std::to_string(line.line) + ")");
      }
      if (!repeated) closings_.push_back(&line);
    }
    std::stable_sort(closings_.begin(), closings_.end(), [this](const Closed* a, const Closed* b) {
      return std::make_pair(reigns_.at(a), order_of(a->record)) <
             std::make_pair(reigns_.at(b), order_of(b->record));
    });
  }

  /// In whose time it was closed: when that coordinator became one, and its term. Terms alone would
  /// not do: they start again when all processes have died before the first snapshot, and two parts
  /// of a divided network may count the same.
  Reign reign_of(const Closed& line) const {
    Reign reign{0, line.record.term, line.node};
    for (const Event* event : takeovers_) {
      const auto coordinator = event->as<records::CoordinatorActive>();
      if (event->node == line.node && coordinator && coordinator->term == line.record.term &&
          event->time_s <= line.time_s + kSameClock_s)
        std::get<0>(reign) = std::max(std::get<0>(reign), event->time_s);
    }
    return reign;
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

  /// The round that a peer means: of several with its number the one that it was a member of, or
  /// whose average it applied. Null: nobody closed it.
  const Closed* find_round(const CommittedStep& done) const {
    const auto found = rounds_.find({{done.stage, done.step}, done.round});
    if (found == rounds_.end()) return nullptr;
    const Closed* best = nullptr;
    int best_score = -1;
    for (const Closed* line : found->second) {
      const auto& stage = line->record.stages[done.stage];
      const bool member =
          std::any_of(stage.members.begin(), stage.members.end(),
                      [&](const HeldSlots& one) { return one.peer == done.held.peer; });
      const int score = 2 * member + (stage.digest == done.digest);
      if (score > best_score) best = line;
      best_score = std::max(best_score, score);
    }
    return best;
  }

  /// What the peer did against what the coordinator decided for its round.
  void check_commit(const Committed& line) {
    const CommittedStep& done = line.record;
    const std::string where = at(done.step, done.stage) + ": " + who(done.held);
    const Closed* found = find_round(done);
    if (found == nullptr)
      return violation(where + " committed round " + std::to_string(done.round) +
                       ", which no coordinator closed");
    round_of_[&done] = found;
    if (!commits_[found].emplace(done.stage, done.held.peer).second)
      violation(where + " committed round " + std::to_string(done.round) + " twice");
    const auto& stage = found->record.stages[done.stage];
    if (stage.digest != done.digest)
      violation(where + " applied the average " + hex(done.digest) + ", decided was " +
                hex(stage.digest));
    for (const HeldSlots& member : stage.members) {
      if (!(member.peer == done.held.peer)) continue;
      if (!same_held(member, done.held))
        violation(where + " held other slots or attempts than those that were counted: " +
                  list(done.held) + ", not " + list(member));
      return;
    }
    violation(where + " committed but was no member of the round");
  }

  /// Each peer's own lines in their order.
  void gather_peers() {
    for (const Committed& line : log_.committed)
      peers_[line.record.held.peer][line.line].commit = &line.record;
    for (const Loaded& line : log_.loaded) peers_[line.record.peer][line.line].load = &line.record;
  }

  /// The closings that the final parameters descend from.
  void choose_history() {
    std::map<const Closed*, size_t> rank;
    std::vector<uint64_t> steps;
    for (const Closed* line : closings_) {
      rank[line] = steps.size();
      steps.push_back(line->record.step);
      if (commits_.count(line) == 0) ++report_.totals.undone;
    }
    std::vector<AppliedUpdate> updates;
    for (const auto& [peer, lines] : peers_) {
      std::optional<std::pair<uint64_t, uint64_t>> state;  // step, checksum
      for (const auto& [number, line] : lines) {
        if (line.load != nullptr) state.emplace(line.load->step, line.load->checksum);
        if (line.commit == nullptr) continue;
        const CommittedStep& done = *line.commit;
        AppliedUpdate update{done.stage, done.step, std::nullopt, done.checksum, 0};
        if (state && state->first == done.step) update.before = state->second;
        state.emplace(done.step + 1, done.checksum);
        const auto round = round_of_.find(&done);
        if (round == round_of_.end() || rank.count(round->second) == 0) continue;  // said before
        update.closing = rank[round->second];
        updates.push_back(update);
      }
    }
    std::optional<uint64_t> last;
    if (report_.finished && context_.steps > 0) last = context_.steps - 1;
    std::set<const Closed*> chosen;
    for (const auto& [step, stages] : trace_history(updates, context_.num_stages, steps, last))
      for (const size_t closing : stages) {
        history_[step].push_back(closings_[closing]);
        chosen.insert(closings_[closing]);
      }
    for (const Closed* line : closings_)
      if (commits_.count(line) != 0 && chosen.count(line) == 0) ++report_.totals.given_up;
    for (const auto& [step, stages] : history_) {
      const ClosedStep& closed = stages[0]->record;
      report_.skipped[step] = closed.skipped;
      if (closed.computed_on != step) report_.computed_on[step] = closed.computed_on;
    }
  }

  /// Parts of a divided network may each have supplied a stage; then they have counted the same.
  void check_step(const std::vector<const Closed*>& stages) {
    std::set<const Closed*> seen;
    for (uint32_t stage = 0; stage < stages.size(); ++stage) {
      const ClosedStep& closed = stages[stage]->record;
      if (seen.insert(stages[stage]).second) check_closing(closed);
      if (closed.skipped != stages[0]->record.skipped)
        violation(at(closed.step, stage) + ": other slots are skipped than in stage 0");
      const std::set<uint32_t> skipped(closed.skipped.begin(), closed.skipped.end());
      if (closed.slots <= context_.batch && stage < closed.stages.size())
        check_matrix(closed, stage, skipped);
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

  /// Stages of which a peer committed the closing that the history has for them.
  std::set<uint32_t> stages_committed(const std::vector<const Closed*>& stages) const {
    std::set<uint32_t> result;
    for (uint32_t stage = 0; stage < stages.size(); ++stage)
      for (const auto& [committed, peer] : commits_.at(stages[stage]))
        if (committed == stage) result.insert(stage);
    return result;
  }

  /// A run that was interrupted has fewer steps, and its last one may be half committed.
  void check_complete() {
    uint64_t expected = 0;
    for (const auto& [step, stages] : history_) {
      missing(expected, step);
      expected = step + 1;
      if (step >= context_.steps)
        violation(at(step) + " was closed, the run ends before " + at(context_.steps));
      const auto there = stages_committed(stages);
      if (there.size() == stages.size()) continue;
      if (!report_.finished && step == history_.rbegin()->first) {
        note(at(step) + " is committed by some stages only: the run ended there");
        continue;
      }
      for (uint32_t stage = 0; stage < stages.size(); ++stage)
        if (there.count(stage) == 0) violation(at(step, stage) + ": no peer committed the step");
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

  /// Steps rise by one; going back needs a `recovered` event that says so.
  void check_order() {
    const Closed* before = nullptr;
    for (const Closed* line : closings_) {
      if (commits_.count(line) == 0) continue;
      const uint64_t step = line->record.step;
      if (before != nullptr && step <= before->record.step && !recovered(*before, *line))
        violation("the swarm went back from " + at(before->record.step) + " to " + at(step) +
                  " and no `recovered` event says so");
      if (before != nullptr && step > before->record.step + 1 && !recovered(*before, *line))
        violation("the swarm went from " + at(before->record.step) + " to " + at(step));
      before = line;
    }
  }

  /// In a divided network a part with an older coordinator may train on long after a newer one said
  /// from where it goes on.
  bool recovered(const Closed& before, const Closed& after) const {
    double earliest = before.time_s;
    const double took_over = std::get<0>(reigns_.at(&after));
    if (reigns_.at(&before) != reigns_.at(&after) && took_over > 0)
      earliest = std::min(earliest, took_over);
    return std::any_of(context_.events.begin(), context_.events.end(), [&](const Event& event) {
      return event.is<records::Recovered>() &&
             event.step <= static_cast<int64_t>(after.record.step) &&
             event.time_s >= earliest - kClocks_s && event.time_s <= after.time_s + kClocks_s;
    });
  }

  bool in_history(const CommittedStep& done) const {
    const auto found = history_.find(done.step);
    const auto round = round_of_.find(&done);
    return found != history_.end() && round != round_of_.end() &&
           done.stage < found->second.size() && found->second[done.stage] == round->second;
  }

  /// Replicas of one round are equal, bit by bit.
  void compare_checksums() {
    std::map<std::pair<const Closed*, uint32_t>, std::vector<const CommittedStep*>> rounds;
    for (const Committed& line : log_.committed)
      if (const auto round = round_of_.find(&line.record); round != round_of_.end())
        rounds[{round->second, line.record.stage}].push_back(&line.record);
    for (const auto& [key, commits] : rounds) {
      const StageStep after(commits.front()->stage, commits.front()->step + 1);
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

  /// What a peer wrote in one line.
  struct PeerLine {
    const CommittedStep* commit = nullptr;
    const LoadedState* load = nullptr;
  };
  struct PeerState {
    uint64_t step = 0;
    bool in_history = true;  ///< Its parameters are those of the history ...
    std::string given_up;    ///< ... or else, where they are from.
    bool known = false;
  };

  /// No step is left out, none comes back without a load, and nothing is added on top of a state
  /// that the swarm gave up.
  void follow(const std::map<size_t, PeerLine>& lines) {
    PeerState state;
    for (const auto& [number, line] : lines) {
      if (line.load != nullptr) take_load(*line.load, state);
      if (line.commit != nullptr) take_commit(*line.commit, state);
    }
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
    totals.coordinators = takeovers_.size();
    totals.steps = history_.size();
    totals.commits = log_.committed.size();
    totals.loads = log_.loaded.size();
    for (const auto& [step, stages] : history_) {
      const ClosedStep& closed = stages[0]->record;
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
  std::vector<const Event*> takeovers_;
  std::map<const Closed*, Reign> reigns_;
  std::map<std::pair<StageStep, uint64_t>, std::vector<const Closed*>> rounds_;
  std::map<const CommittedStep*, const Closed*> round_of_;
  std::map<const Closed*, std::set<std::pair<uint32_t, PeerId>>> commits_;
  std::map<PeerId, std::map<size_t, PeerLine>> peers_;      ///< By peer, line.
  std::map<uint64_t, std::vector<const Closed*>> history_;  ///< By step, stage.
};

}  // namespace

AuditReport audit(const AuditLog& log, const AuditContext& context) {
  return Auditor(log, context).run();
}

}  // namespace swarm::launch
