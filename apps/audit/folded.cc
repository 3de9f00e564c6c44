#include "apps/audit/folded.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "apps/audit/closings.h"

namespace swarm::launch {
namespace {

using records::FoldedAudit;
using State = Recorded<FoldedAudit::Peer>;

/// Follows each peer over lines that are removed.
class States {
 public:
  explicit States(Beginning& out) : out_(out) {}

  void take(const Recorded<FoldedAudit>& fold) {
    for (const auto& peer : fold.record.peers) last_[peer.peer] = {peer, fold.time_s, fold.line};
  }
  void take(const Committed& line) {
    const auto& done = line.record;
    if (done.step >= out_.step) return goes_on(done.held.peer, false);
    last_[done.held.peer] = {{done.held.peer, done.held.node_name, done.stage, done.step + 1,
                              done.checksum, done.history},
                             line.time_s,
                             line.line};
  }
  void take(const Loaded& line) {
    const auto& load = line.record;
    goes_on(load.peer, true);
    if (load.step < out_.step)
      last_[load.peer] = {
          {load.peer, load.node_name, load.stage, load.step, load.checksum, load.history},
          line.time_s,
          line.line};
  }
  void end() {
    while (!last_.empty()) goes_on(PeerId(last_.begin()->first), true);
  }

 private:
  /// A state that nothing was added to counts as what the first step begins with, or not at all.
  void goes_on(const PeerId& peer, bool unused) {
    const auto found = last_.find(peer);
    if (found == last_.end()) return;
    if (!unused || found->second.record.step == out_.step) out_.states.push_back(found->second);
    last_.erase(found);
  }

  Beginning& out_;
  std::map<PeerId, State> last_;
};

void follow_states(const AuditLog& log, Beginning& out) {
  States states(out);
  size_t folded = 0, committed = 0, loaded = 0;
  const auto line_at = [](const auto& lines, size_t i) {
    return i < lines.size() ? lines[i].line : SIZE_MAX;
  };
  while (true) {
    const size_t fold = line_at(log.folded, folded), commit = line_at(log.committed, committed),
                 load = line_at(log.loaded, loaded), first = std::min({fold, commit, load});
    if (first == SIZE_MAX) return states.end();
    if (first == fold)
      states.take(log.folded[folded++]);
    else if (first == commit)
      states.take(log.committed[committed++]);
    else
      states.take(log.loaded[loaded++]);
  }
}

template <class Lines>
void move_before(uint64_t step, Lines& lines, Lines& to) {
  const auto later = std::stable_partition(
      lines.begin(), lines.end(), [&](const auto& line) { return line.record.step < step; });
  to.assign(std::make_move_iterator(lines.begin()), std::make_move_iterator(later));
  lines.erase(lines.begin(), later);
}

std::string name_of(const std::string& node) { return node.empty() ? "the run's file" : node; }

void tell(const std::string& name, const FoldedAudit& fold, Beginning& out) {
  if (fold.end == 0) return;
  out.notes.push_back(fmt::format(
      "{}: steps 0 to {}: {} when they were folded: {} closings ({} slots, {} skipped, {} "
      "samples), "
      "{} updates applied, {} not compared with their closing{}",
      name, fold.end - 1,
      fold.violation ? fmt::format("{} violations", fold.num_violations) : "verified", fold.closed,
      fold.slots, fold.skipped, fold.samples, fold.committed, fold.not_compared,
      fold.torn == 0 ? "" : fmt::format("; {} torn lines", fold.torn)));
}

}  // namespace

Beginning begin_after_folds(AuditLog& log) {
  Beginning out;
  if (log.folded.empty()) return out;
  std::map<std::string, const FoldedAudit*> newest;
  std::set<std::string> wrong;  // later lines of a file say it again
  for (const auto& line : log.folded) {
    auto& fold = newest[line.node];
    if (fold == nullptr || line.record.lines >= fold->lines) fold = &line.record;
    out.step = std::max(out.step, line.record.end);
    if (line.record.violation)
      wrong.insert(name_of(line.node) +
                   ", found when its lines were folded: " + *line.record.violation);
    for (const auto& text : line.record.events)
      if (auto event = records::parse_event(text)) log.events.push_back(std::move(*event));
  }
  for (const auto& [node, fold] : newest) tell(name_of(node), *fold, out);
  out.violations.assign(wrong.begin(), wrong.end());
  if (out.step > 0)
    out.notes.push_back(fmt::format(
        "the check begins at step {}, with the states that peers had there; of earlier steps it is "
        "not checked any more what is in files of several nodes or in no file: that each was "
        "closed "
        "and committed, and that replicas on different nodes were equal",
        out.step));
  follow_states(log, out);
  move_before(out.step, log.closed, out.before.closed);
  move_before(out.step, log.committed, out.before.committed);
  move_before(out.step, log.loaded, out.before.loaded);
  return out;
}

void check_before(const AuditContext& context, Beginning& begin) {
  auto& found = begin.violations;
  const Closings closings(begin.before, context, found);
  for (const Closed* line : closings.in_order()) {
    records::check_numbers(line->record, context.rules(), found);
    for (size_t stage = 0; stage < line->record.stages.size(); ++stage)
      records::check_matrix(line->record, stage, context.rules(), found);
  }
  for (const Committed& line : begin.before.committed)
    if (const Closed* closed = closings.find_round(line.record))
      records::check_member(line.record, closed->record, found);
}

void begin_checksums(uint64_t step, const std::map<PeerId, std::map<size_t, PeerLine>>& peers,
                     const std::function<bool(const records::CommittedStep&)>& in_history,
                     AuditReport& report) {
  enum Then { kWentOn, kEnded, kLoaded, kGaveUp };  // the first that there is decides
  std::vector<std::pair<Then, const FoldedAudit::Peer*>> states;
  std::set<std::pair<uint32_t, uint64_t>> went_on;  // stage, checksum
  for (const auto& [peer, lines] : peers)
    for (auto at = lines.begin(); at != lines.end(); ++at) {
      const auto next = std::next(at);
      const auto* commit = next != lines.end() ? next->second.commit : nullptr;
      const bool goes_on = commit != nullptr && in_history(*commit);
      const auto* state = at->second.before;
      const auto* load = at->second.load;
      if (state != nullptr && state->step == step) {
        states.emplace_back(commit != nullptr ? kGaveUp : (next == lines.end() ? kEnded : kLoaded),
                            state);
        if (goes_on) went_on.insert({state->stage, state->checksum});
      }
      if (load != nullptr && load->step == step && goes_on)
        went_on.insert({load->stage, load->checksum});
    }
  for (auto& [then, state] : states)
    if (went_on.count({state->stage, state->checksum}) > 0) then = kWentOn;
  std::stable_sort(states.begin(), states.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::map<uint32_t, std::pair<Then, const FoldedAudit::Peer*>> chosen;  // by stage
  for (const auto& [then, state] : states) {
    const StageStep key(state->stage, step);
    if (then != kGaveUp) {
      const auto& [how, first] = chosen.emplace(state->stage, std::pair(then, state)).first->second;
      report.checksums.emplace(key, first->checksum);
      const bool other =
          how == kWentOn && (state->history == 0 || state->history != first->history);
      if (state->checksum == first->checksum || then == kWentOn || (then == kEnded && !other))
        continue;
    }
    report.given_up_checksums[key].insert(state->checksum);
  }
}

}  // namespace swarm::launch
