#include "apps/audit/audit.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "apps/audit/check_step.h"
#include "apps/audit/closings.h"
#include "apps/audit/folded.h"
#include "apps/audit/peer_walk.h"
#include "apps/audit/recorded_steps.h"
#include "apps/launch/lineage.h"
#include "common/hex.h"
#include "records/audit_fold.h"
#include "routing/steps/history.h"

namespace swarm::launch {
namespace {

using records::ClosedStep;
using records::CommittedStep;
using records::Event;
using routing::History;

constexpr double kClocks_s = 1.0;     ///< By how much clocks and the order of writing may differ.
constexpr double kRounded_s = 0.002;  ///< Times are written in milliseconds.

class Auditor {
 public:
  Auditor(const AuditLog& log, const AuditContext& context, const Beginning& begin)
      : log_(log), context_(context), begin_(begin), closings_(log, context, report_.violations) {
    report_.notes = begin.notes;
    report_.violations.insert(report_.violations.end(), begin.violations.begin(),
                              begin.violations.end());
  }

  AuditReport run() {
    count_events();
    for (const Committed& line : log_.committed) check_commit(line);
    gather_peers();
    choose_history();
    for (const auto& [step, stages] : history_) check_step(stages, context_, report_.violations);
    check_complete();
    check_order();
    compare_checksums();
    PeerWalk walk(report_, {[this](const CommittedStep& done) { return in_history(done); },
                            [this](const CommittedStep& done, uint64_t before) {
                              return follows(done, before);
                            }});
    for (const auto& [peer, lines] : peers_) walk.follow(lines);
    count();
    report_.recorded = recorded_steps(history_);
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
      totals.minorities += event.is<records::Minority>();
      totals.abandoned += event.is<records::RoundAbandoned>();
      if (const auto configuration = event.as<records::ConfigurationHolds>()) {
        ++totals.configurations;
        if (configuration->forced)
          note(text(event) +
               ": a part went on without the rest; if it met a line of history that stays, its "
               "work since is given up");
      }
      if (event.is<records::RunFinished>()) report_.finished = true;
      if (event.is<records::RunResumed>()) report_.finished = false;
      if (const auto recompute = event.as<records::Recompute>()) totals.lost += recompute->slots;
      if (const auto sum = event.as<records::SumDropped>()) totals.dropped += sum->slots;
      if (event.is<records::ReplicasDiffer>() && !repaired(event)) violation(text(event));
      if (event.is<records::AveragesDiffer>())
        note(text(event) + ": the round was given up and tried again");
      if (event.is<records::AuditLineDamaged>()) note(text(event) + ": torn at its writer's death");
    }
    if (log_.torn_end) note("the last line has no end (its writer died at it) and was left out");
    if (log_.unknown > 0)
      note(std::to_string(log_.unknown) + " lines are of a kind that this program does not know");
  }

  /// What the peer did against what the coordinator decided for its round.
  void check_commit(const Committed& line) {
    const CommittedStep& done = line.record;
    const std::string where = at(done.step, done.stage) + ": " + who(done.held);
    const Closed* found = closings_.find_round(done);
    if (found == nullptr)
      return violation(
          fmt::format("{} committed round {}, which no coordinator closed", where, done.round));
    round_of_[&done] = found;
    commits_of_[{found, done.stage}].push_back(&done);
    if (!commits_[found].emplace(done.stage, done.held.peer).second)
      violation(fmt::format("{} committed round {} twice", where, done.round));
    records::check_member(done, found->record, report_.violations);
  }

  /// Each peer's own lines in their order.
  void gather_peers() {
    for (const auto& state : begin_.states)
      peers_[state.record.peer][state.line].before = &state.record;
    for (const Committed& line : log_.committed)
      peers_[line.record.held.peer][line.line].commit = &line.record;
    for (const Loaded& line : log_.loaded) peers_[line.record.peer][line.line].load = &line.record;
  }

  /// The closings that the final parameters descend from.
  void choose_history() {
    std::map<const Closed*, size_t> rank;
    std::vector<uint64_t> steps;
    for (const Closed* line : closings_.in_order()) {
      rank[line] = steps.size();
      steps.push_back(line->record.step);
      if (commits_.count(line) == 0) ++report_.totals.undone;
    }
    std::vector<AppliedUpdate> updates;
    for (const auto& [peer, lines] : peers_) {
      std::optional<std::pair<uint64_t, uint64_t>> state;  // step, checksum
      for (const auto& [number, line] : lines) {
        if (line.before != nullptr) state.emplace(line.before->step, line.before->checksum);
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
        history_[step].push_back(closings_.in_order()[closing]);
        chosen.insert(closings_.in_order()[closing]);
      }
    for (const Closed* line : closings_.in_order())
      if (commits_.count(line) != 0 && chosen.count(line) == 0) ++report_.totals.given_up;
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
    uint64_t expected = begin_.step;
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
    note(fmt::format("the run has not finished: {} of {} steps", expected, context_.steps));
  }

  /// Steps from `first` on, before `end`.
  void missing(uint64_t first, uint64_t end) {
    if (first >= end) return;
    const bool one = first + 1 == end;
    violation(fmt::format("{} {} never closed and committed", at(first),
                          one ? "was" : fmt::format("to {} were", end - 1)));
  }

  /// Steps rise by one; going back needs a `recovered` event that says so. In each line of history by
  /// itself: a part that is forced to go on begins where it is, however far others have come.
  void check_order() {
    std::map<std::string, const Closed*> last;  // by line
    for (const Closed* line : closings_.in_order()) {
      if (commits_.count(line) == 0) continue;
      const uint64_t step = line->record.step;
      const Closed* const before = std::exchange(last[closings_.line_of(line)], line);
      if (before != nullptr && step <= before->record.step && !recovered(*before, *line))
        violation("the swarm went back from " + at(before->record.step) + " to " + at(step) +
                  " and no `recovered` event says so");
      if (before != nullptr && step > before->record.step + 1 && !recovered(*before, *line))
        violation("the swarm went from " + at(before->record.step) + " to " + at(step));
    }
  }

  bool recovered(const Closed& before, const Closed& after) const {
    // One that did not know that its reign was over may have decided a last commit, which its successor, as that
    // says, has given up (docs/one_history.md, "What may still happen").
    const auto says_so = [](const Event& event) {
      const auto holds = event.as<records::ConfigurationHolds>();
      return event.is<records::Recovered>() || (holds && holds->gone_back);
    };
    return std::any_of(context_.events.begin(), context_.events.end(), [&](const Event& event) {
      return says_so(event) && event.step <= static_cast<int64_t>(after.record.step) &&
             said_between(event, before, after);
    });
  }

  /// Machines' clocks differ: times are compared where one of them wrote both lines, else coordinators by
  /// their terms. In a divided network a part with an older coordinator may train on long after a newer
  /// one said from where it goes on.
  bool said_between(const Event& event, const Closed& before, const Closed& after) const {
    const Reign &first = closings_.reign_of(&before), &last = closings_.reign_of(&after);
    const auto said = closings_.reign_at(event.node, event.time_s);
    const bool since = event.time_s >= before.time_s - kRounded_s;
    if (said == last) return event.time_s <= after.time_s + kRounded_s && (first != last || since);
    if (said == first) return since;
    const auto term = [](const Reign& reign) { return std::get<1>(reign); };
    // They begin anew when all processes have died before the first snapshot.
    if (said && term(first) < term(last))
      return term(first) < term(*said) && term(*said) < term(last);
    return said_meanwhile(event, before, after);
  }

  /// The same of lines whose writers no line names as coordinators.
  bool said_meanwhile(const Event& event, const Closed& before, const Closed& after) const {
    double earliest = before.time_s;
    const double took_over = std::get<0>(closings_.reign_of(&after));
    if (closings_.reign_of(&before) != closings_.reign_of(&after) && took_over > 0)
      earliest = std::min(earliest, took_over);
    return event.time_s >= earliest - kClocks_s && event.time_s <= after.time_s + kClocks_s;
  }

  bool in_history(const CommittedStep& done) const {
    const auto found = history_.find(done.step);
    const auto round = round_of_.find(&done);
    return found != history_.end() && round != round_of_.end() &&
           done.stage < found->second.size() && found->second[done.stage] == round->second;
  }

  /// Nothing is committed before step 0; of a later one a history that is not known says nothing.
  bool follows(const CommittedStep& done, uint64_t before) const {
    const auto round = round_of_.find(&done);
    const bool known = done.history != 0 && (before != 0 || done.step == 0);
    if (!known || round == round_of_.end()) return true;
    const ClosedStep& closed = round->second->record;
    if (!closed.configuration) return true;
    routing::CommitFacts facts{
        Step(closed.step), {}, Step(closed.computed_on), {}, *closed.configuration};
    for (const auto& stage : closed.stages) facts.digests.push_back(stage.digest);
    for (const uint32_t slot : closed.skipped) facts.skips.push_back(Slot(slot));
    return routing::history_after(History(before), facts) == History(done.history);
  }

  /// The coordinator saw it at once, and had those that it did not believe fetch what the others have.
  bool repaired(const records::Event& differ) {
    bool any = false;
    for (const records::Event& event : context_.events) {
      const auto found = event.as<records::ReplicaReplaced>();
      if (!found || event.step != differ.step || event.stage != differ.stage) continue;
      const auto key = std::make_tuple(static_cast<uint32_t>(event.stage),
                                       static_cast<uint64_t>(event.step), found->checksum.value);
      if (replaced_.insert(key).second) note(text(event) + ": what it had applied is left out");
      any = true;
    }
    return any;
  }

  bool is_replaced(const CommittedStep& one) const {
    return replaced_.count({one.stage, one.step + 1, one.checksum}) != 0;
  }

  /// Replicas of one round are equal, bit by bit.
  void compare_checksums() {
    for (const auto& [key, commits] : commits_of_) {
      const StageStep after(commits.front()->stage, commits.front()->step + 1);
      const CommittedStep* first = nullptr;  // of those that stayed
      for (const CommittedStep* done : commits) {
        if (is_replaced(*done)) continue;
        if (first == nullptr) first = done;
        if (done->checksum != first->checksum)
          violation(at(done->step, done->stage) + ": after it " + who(done->held) + " has " +
                    hex(done->checksum) + ", " + who(first->held) + " has " + hex(first->checksum));
        if (in_history(*done)) {
          report_.checksums.emplace(after, done->checksum);
        } else {
          report_.given_up_checksums[after].insert(done->checksum);
        }
      }
      report_.totals.checksums += commits.size() > 1;
    }
    if (begin_.step > 0)
      begin_checksums(
          begin_.step, peers_, [this](const CommittedStep& done) { return in_history(done); },
          report_);
    for (const Loaded& line : log_.loaded)  // what everything began with
      if (line.record.step == begin_.step)
        report_.checksums.emplace(StageStep(line.record.stage, begin_.step), line.record.checksum);
  }

  void count() {
    auto& totals = report_.totals;
    totals.coordinators = closings_.reigns();
    totals.folded = begin_.step;
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
  const Beginning& begin_;
  AuditReport report_;
  Closings closings_;
  std::map<const CommittedStep*, const Closed*> round_of_;
  std::map<std::pair<const Closed*, uint32_t>, std::vector<const CommittedStep*>> commits_of_;
  std::set<std::tuple<uint32_t, uint64_t, uint64_t>> replaced_;  ///< (stage, step, checksum)
  std::map<const Closed*, std::set<std::pair<uint32_t, PeerId>>> commits_;
  std::map<PeerId, std::map<size_t, PeerLine>> peers_;      ///< By peer, line.
  std::map<uint64_t, std::vector<const Closed*>> history_;  ///< By step, stage.
};

}  // namespace

AuditReport audit(AuditLog log, AuditContext context) {
  Beginning begin = begin_after_folds(log);
  std::set<std::string> known;
  if (!log.events.empty())
    for (const Event& event : context.events)
      if (records::is_audited(event)) known.insert(to_json(event));
  for (Event& event : log.events)  // those that events.jsonl has given up
    if (known.insert(to_json(event)).second) context.events.push_back(std::move(event));
  check_before(context, begin);
  return Auditor(log, context, begin).run();
}

}  // namespace swarm::launch
