#include "apps/audit/folded.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

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
    if (done.step < out_.step)
      last_[done.held.peer] = {{done.held.peer, done.held.node_name, done.stage, done.step + 1,
                                done.checksum, done.history},
                               line.time_s,
                               line.line};
    else
      goes_on(done.held.peer, false);
  }
  void take(const Loaded& line) {
    const auto& load = line.record;
    if (load.step < out_.step)
      last_[load.peer] = {
          {load.peer, load.node_name, load.stage, load.step, load.checksum, load.history},
          line.time_s,
          line.line};
    else
      goes_on(load.peer, true);
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
void remove_before(uint64_t step, Lines& lines) {
  lines.erase(std::remove_if(lines.begin(), lines.end(),
                             [&](const auto& line) { return line.record.step < step; }),
              lines.end());
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
  remove_before(out.step, log.closed);
  remove_before(out.step, log.committed);
  remove_before(out.step, log.loaded);
  return out;
}

}  // namespace swarm::launch
