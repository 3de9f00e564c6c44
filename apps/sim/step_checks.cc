#include "apps/sim/step_checks.h"

#include <fmt/format.h>

#include <algorithm>

#include "apps/sim/exact_histories.h"
#include "apps/sim/lossy_histories.h"

namespace swarm::sim {

Histories& StepChecks::histories() {
  if (histories_) return *histories_;
  const auto& training = swarm_.training;
  const HistoryShape shape{swarm_.num_stages, training.batch, training.microbatch,
                           !training.delayed_updates};
  if (rounds())
    histories_ = std::make_unique<LossyHistories>(shape, swarm_.averager_options.codec);
  else
    histories_ = std::make_unique<ExactHistories>(shape);
  return *histories_;
}

void StepChecks::parameters(const std::string& node, const ArithmeticStage& stage,
                            const char* how) {
  // A bit of what it began with may have turned: its learner may refuse it.
  if (std::string(how) == "settled") {
    settled_.insert(node);
    return;
  }
  settled_.erase(node);
  const Stage number(static_cast<uint32_t>(swarm_.nodes.at(node).stage));
  const Step step(stage.step());
  const std::string where = fmt::format("{} stage {} step {} ({})", node, number, step, how);
  if (step.value() > swarm_.training.steps)
    return report_("I1", where + " is beyond the last step");
  const auto turned = turned_.find(node);
  if (turned != turned_.end() && std::string(how) != "updated") turned->second = false;
  if (is_turned(node)) return;
  if (rounds()) replay_.seen(stage, number.value());
  if (!histories().has(number, step.value(), stage.parameters()))
    report_("I1", fmt::format("{}: first parameter is {}, not {}", where, stage.parameters()[0],
                              histories().first(number, step.value())));
}

void StepChecks::bit_turned(const std::string& node) {
  turned_[node] = true;
  doubtful_.erase(node);
  settled_.erase(node);
}

bool StepChecks::is_turned(const std::string& node) const {
  const auto turned = turned_.find(node);
  return turned != turned_.end() && turned->second;
}

bool StepChecks::has_turned(int stage) const {
  return std::any_of(turned_.begin(), turned_.end(), [this, stage](const auto& one) {
    return one.second && swarm_.nodes.at(one.first).stage == stage;
  });
}

void StepChecks::event(const records::Event& event) {
  context_.events.push_back(event);
  if (const auto now = event.as<records::CoordinatorActive>()) leads_[event.node] = now->term;
  if (const auto now = event.as<records::ConfigurationHolds>()) {
    forced_ |= now->forced;
    agreed_.insert(leads_[event.node]);
  }
  const auto replaced = event.as<records::ReplicaReplaced>();
  if (replaced && !turned_.empty() && turned_.count(replaced->peer) == 0)
    report_("I2", replaced->peer + " is replaced, in whose memory no bit has turned");
  if (event.is<records::Recovered>() && event.step >= 0) {
    const Step step(static_cast<uint64_t>(event.step));
    recovered_ = step;
    if (last_committed_ && *last_committed_ >= step) {
      if (step == Step())
        last_committed_.reset();
      else
        last_committed_ = step - 1;
    }
  }
}

void StepChecks::closed(const std::string& node, const records::ClosedStep& step) {
  audit_.closed.push_back({step, seconds_of(swarm_), ++audit_.lines, node});
  histories().closed(step);
  one_history(step);
  const auto was_not_finite = [](const auto& entry) { return entry.second.not_finite.found > 0; };
  if (!step.skipped.empty() &&
      std::none_of(swarm_.nodes.begin(), swarm_.nodes.end(), was_not_finite))
    report_("I1", fmt::format("step {}: slot {} is left out, but nobody found it not finite",
                              step.step, step.skipped.front()));
}

void StepChecks::one_history(const records::ClosedStep& step) {
  if (Term(step.term) < highest_term_) return;  // its members may follow another one already
  std::map<uint64_t, std::string> found;        // by history, a member that has it
  for (const auto& stage : step.stages)
    for (const records::HeldSlots& member : stage.members) {
      const auto state = states_.find(member.peer);
      if (state == states_.end() || state->second.step != Step(step.step)) continue;
      if (state->second.history != 0) found.emplace(state->second.history, member.node_name);
    }
  if (found.size() > 1)
    report_("I7",
            fmt::format("{} and {} close step {} together, and have different histories of it",
                        found.begin()->second, found.rbegin()->second, step.step));
}

void StepChecks::committed(const std::string& node, const records::CommittedStep& step) {
  audit_.committed.push_back({step, seconds_of(swarm_), ++audit_.lines, node});
  const std::tuple round(Stage(step.stage), Step(step.step), Round(step.round), step.digest);
  const std::pair after(Stage(step.stage), Step(step.step + 1));
  if (is_turned(node)) {
    doubtful_[node].push_back({round, after, step.checksum});
  } else {
    if (rounds_.try_emplace(round, step.checksum).first->second != step.checksum)
      report_("I2", fmt::format(
                        "{} stage {} step {}: another checksum than a replica after the same round",
                        node, step.stage, step.step));
    reached_[after].insert(step.checksum);
  }
  for (auto& [other, rounds] : doubtful_) believe_again(other, rounds);
  states_[step.held.peer] = {Step(step.step + 1), step.history};
  if (step.history == 0)
    report_("I7", fmt::format("{} stage {} step {}: committed without a history", node, step.stage,
                              step.step));
}

/// Rounding has taken the bit away, if a replica has the same checksum after a round, whoever was first.
void StepChecks::believe_again(const std::string& node, std::vector<Doubtful>& rounds) {
  const auto equal = std::find_if(rounds.begin(), rounds.end(), [this](const Doubtful& one) {
    const auto known = rounds_.find(one.round);
    return known != rounds_.end() && known->second == one.checksum;
  });
  if (equal == rounds.end()) return;
  turned_[node] = false;
  for (auto it = equal; it != rounds.end(); ++it) {
    rounds_.try_emplace(it->round, it->checksum);
    reached_[it->after].insert(it->checksum);
  }
  rounds.clear();
}

void StepChecks::loaded(const std::string& node, const records::LoadedState& state) {
  audit_.loaded.push_back({state, seconds_of(swarm_), ++audit_.lines, node});
  states_[state.peer] = {Step(state.step), state.history};
  if (settled_.count(node) > 0) parameters(node, *swarm_.nodes.at(node).arithmetic, "loaded");
  if (state.history == 0 && state.step > 0)
    report_("I7", fmt::format("{} loaded stage {} step {} from {}, without its history", node,
                              state.stage, state.step, state.source));
  auto& reached = reached_[{Stage(state.stage), Step(state.step)}];
  if (state.source == "seed") reached.insert(state.checksum);
  if (reached.count(state.checksum) == 0)
    report_("I2",
            fmt::format("{} loaded stage {} step {} from {}, with a checksum that no replica had",
                        node, state.stage, state.step, state.source));
}

void StepChecks::at_end(const std::set<std::string>&) {
  context_.steps = swarm_.training.steps;
  context_.num_stages = swarm_.num_stages;
  context_.batch = swarm_.training.batch;
  context_.microbatch = swarm_.training.microbatch;
  context_.delayed_updates = swarm_.training.delayed_updates;
  const auto verdict = launch::audit(audit_, context_);
  if (!verdict.passed()) return report_("audit", verdict.violations.front());
  if (!rounds()) return;
  if (const std::string what = replay_.differs(verdict); !what.empty()) report_("I1", what);
}

void StepChecks::metrics(const records::StepMetrics& line) {
  const Term term(line.term);
  if (agreed_.count(line.term) == 0)
    report_("I7", fmt::format("step {} is committed before it is told that more than half agree",
                              line.step));
  if (term < highest_term_) return;  // of one that was replaced; its peers refuse it
  const Step step(line.step);
  // The part that is not most of the swarm may decide what had its votes after the other one began.
  if (term != highest_term_ && (forced_ || (recovered_ && step >= *recovered_)))
    last_committed_.reset();
  if (term != highest_term_) recovered_.reset();
  highest_term_ = term;
  if (last_committed_ && step < *last_committed_)
    report_("I7", fmt::format("step {} was committed after step {} without a logged recovery", step,
                              *last_committed_));
  last_committed_ = step;
}

}  // namespace swarm::sim
