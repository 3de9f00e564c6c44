#include "apps/audit/closings.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace swarm::launch {
namespace {

constexpr double kSameClock_s = 0.002;  ///< Times are written in milliseconds.

/// The newest round: a coordinator's closings follow one another in this order.
uint64_t order_of(const records::ClosedStep& step) {
  uint64_t newest = 0;
  for (const auto& stage : step.stages) newest = std::max(newest, stage.round);
  return newest;
}

/// Of a line, as ConfigurationHolds names it: the number of its newest fork; 0: it never forked.
uint64_t forked_in(const std::string& line) {
  uint64_t number = 0;
  std::from_chars(line.data(), line.data() + line.size(), number);
  return number;
}

bool same_decision(const records::ClosedStep& a, const records::ClosedStep& b, uint32_t stage) {
  const auto &x = a.stages[stage], &y = b.stages[stage];
  if (x.digest != y.digest || x.members.size() != y.members.size() || a.skipped != b.skipped ||
      a.samples != b.samples || a.first_sample != b.first_sample)
    return false;
  for (size_t i = 0; i < x.members.size(); ++i)
    if (!(x.members[i].peer == y.members[i].peer) || !same_held(x.members[i], y.members[i]))
      return false;
  return true;
}

}  // namespace

Closings::Closings(const AuditLog& log, const AuditContext& context,
                   std::vector<std::string>& violations) {
  std::map<std::string, Reign>
      now;  // by node: an event is of the last reign that its node has told before
  for (const records::Event& event : context.events) {
    if (const auto coordinator = event.as<records::CoordinatorActive>()) {
      takeovers_.push_back({event.time_s, event.node, coordinator->term});
      now[event.node] = {event.time_s, coordinator->term, event.node};
    }
    const auto holds = event.as<records::ConfigurationHolds>();
    const auto reign = now.find(event.node);
    if (!holds || !holds->line || reign == now.end()) continue;
    lines_[reign->second] = *holds->line;
    const auto before = holds->lines_before.value_or(std::vector<std::string>());
    before_[*holds->line].insert(before.begin(), before.end());
  }
  for (const Closed& line : log.closed) {
    if (line.record.slots == 0) continue;  // nothing was trained
    if (line.record.stages.size() != context.num_stages)
      violations.push_back(fmt::format("{}: closed for {} stages, the model has {}",
                                       at(line.record.step), line.record.stages.size(),
                                       context.num_stages));
    add(line, violations);
  }
  // Configurations have one order, whoever took office first; lines of before there were any have 0. Those of another
  // line of history count by themselves: its numbers say nothing about this one's.
  const std::string stays = line_that_stays(log);
  const auto place = [&](const Closed* one) {
    const std::string line = line_of(one);
    const bool counts = line == stays || line.empty() || before_[stays].count(line) != 0;
    return std::make_tuple(counts, one->record.configuration, reigns_.at(one),
                           order_of(one->record));
  };
  std::stable_sort(closings_.begin(), closings_.end(),
                   [&](const Closed* a, const Closed* b) { return place(a) < place(b); });
}

/// That most nodes' last commits are of; of equally many the one that forked first.
std::string Closings::line_that_stays(const AuditLog& log) const {
  std::map<std::string, const Closed*> last;  // by node
  for (const auto& done : log.committed)
    if (const Closed* found = find_round(done.record)) last[done.record.held.node_name] = found;
  std::map<std::pair<uint64_t, std::string>, size_t> nodes;
  for (const auto& [node, closed] : last) {
    const std::string line = line_of(closed);
    ++nodes[{forked_in(line), line}];
  }
  std::string stays;
  size_t most = 0;
  for (const auto& [line, count] : nodes)
    if (count > most) std::tie(stays, most) = std::pair(line.second, count);
  return stays;
}

void Closings::add(const Closed& line, std::vector<std::string>& violations) {
  const records::ClosedStep& closed = line.record;
  reigns_[&line] = find_reign(line);
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
      violations.push_back(fmt::format(
          "{}: round {} was closed twice with different content (lines {} and {})",
          at(closed.step, stage), closed.stages[stage].round, (*same)->line, line.line));
  }
  if (!repeated) closings_.push_back(&line);
}

/// In whose time it was closed: when that coordinator became one, and its term. Terms alone would
/// not do: they start again when all processes have died before the first snapshot, and two parts
/// of a divided network may count the same.
Reign Closings::find_reign(const Closed& line) const {
  Reign reign{0, line.record.term, line.node};
  for (const Takeover& takeover : takeovers_)
    if (takeover.node == line.node && takeover.term == line.record.term &&
        takeover.time_s <= line.time_s + kSameClock_s)
      std::get<0>(reign) = std::max(std::get<0>(reign), takeover.time_s);
  return reign;
}

std::optional<Reign> Closings::reign_at(const std::string& node, double time_s) const {
  std::optional<Reign> latest;
  for (const Takeover& takeover : takeovers_) {
    if (takeover.node != node || takeover.time_s > time_s + kSameClock_s) continue;
    const Reign one{takeover.time_s, takeover.term, node};
    if (!latest || *latest < one) latest = one;
  }
  return latest;
}

/// By its reign: of two configurations that hold soon after one another only the second may be told.
std::string Closings::line_of(const Closed* line) const {
  const auto found = lines_.find(reigns_.at(line));
  return found == lines_.end() ? "" : found->second;
}

const Closed* Closings::find_round(const records::CommittedStep& done) const {
  const auto found = rounds_.find({{done.stage, done.step}, done.round});
  if (found == rounds_.end()) return nullptr;
  const Closed* best = nullptr;
  int best_score = -1;
  for (const Closed* line : found->second) {
    const auto& stage = line->record.stages[done.stage];
    const bool member =
        std::any_of(stage.members.begin(), stage.members.end(),
                    [&](const records::HeldSlots& one) { return one.peer == done.held.peer; });
    const int score = 2 * member + (stage.digest == done.digest);
    if (score > best_score) best = line;
    best_score = std::max(best_score, score);
  }
  return best;
}

}  // namespace swarm::launch
