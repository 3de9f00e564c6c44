#include "apps/sim/checks.h"

#include <fmt/format.h>

#include <algorithm>

#include "actors/net/mail.h"

namespace swarm::sim {
namespace {

constexpr size_t kMaxOpenRequests = 1'000;

}  // namespace

void Checks::report(const std::string& invariant, const std::string& text) {
  if (!violation_) violation_ = Violation{invariant, text};
}

const std::vector<float>& Checks::expected(uint32_t stage, uint64_t step) {
  auto& steps = expected_[stage];
  if (steps.size() <= step)
    for (uint64_t s = steps.size(); s <= step; ++s)
      steps.push_back(expected_parameters(stage, s, swarm_.training.batch));
  return steps[step];
}

void Checks::parameters(const std::string& node, const ArithmeticStage& stage, const char* how) {
  if (asynchronous()) return periods_.parameters(node, stage);
  const auto number = static_cast<uint32_t>(swarm_.nodes.at(node).stage);
  const uint64_t step = stage.step();
  const std::string where = fmt::format("{} stage {} step {} ({})", node, number, step, how);
  if (step > swarm_.training.steps) return report("I1", where + " is beyond the last step");
  const auto& right = expected(number, step);
  if (!std::equal(right.begin(), right.end(), stage.parameters().begin()))
    report("I1", fmt::format("{}: first parameter is {}, not {}", where, stage.parameters()[0],
                             right[0]));
}

void Checks::noted(const std::string& node, const ArithmeticStage& stage, const StageNote& note) {
  if (asynchronous()) periods_.noted(node, stage, note);
}

void Checks::event(const std::string& node, const records::Event& event) {
  periods_.event(event);
  context_.events.push_back(event);
  context_.events.back().time_s = time_s();
  context_.events.back().node = node;
  if (event.is<records::ReplicasDiffer>())
    report("I2", fmt::format("{} found replicas of stage {} that differ: {}", node, event.stage,
                             text(event.fields)));
  const records::EventInfo* info = records::info_of(event.name);
  if (info == nullptr) report("I9", node + ": event " + event.name + " is not in the catalogue");
  if (info != nullptr && info->needs_reason() && event.reason().empty())
    report("I9", node + ": event " + event.name + " says no reason");
  if (event.is<records::Recovered>() && event.step >= 0) {
    const auto step = static_cast<uint64_t>(event.step);
    if (last_committed_ && *last_committed_ >= step) {
      if (step == 0)
        last_committed_.reset();
      else
        last_committed_ = step - 1;
    }
  }
}

double Checks::time_s() const {
  return std::chrono::duration<double>(swarm_.system.now().time_since_epoch()).count();
}

void Checks::closed(const std::string& node, const records::ClosedStep& step) {
  audit_.closed.push_back({step, time_s(), ++audit_.lines, node});
}

void Checks::committed(const std::string& node, const records::CommittedStep& step) {
  audit_.committed.push_back({step, time_s(), ++audit_.lines, node});
  const std::tuple round(step.stage, step.step, step.round, step.digest);
  if (rounds_.try_emplace(round, step.checksum).first->second != step.checksum)
    report("I2",
           fmt::format("{} stage {} step {}: another checksum than a replica after the same round",
                       node, step.stage, step.step));
  reached_[{step.stage, step.step + 1}].insert(step.checksum);
}

void Checks::loaded(const std::string& node, const records::LoadedState& state) {
  audit_.loaded.push_back({state, time_s(), ++audit_.lines, node});
  if (asynchronous()) return periods_.loaded(node, state);
  auto& reached = reached_[{state.stage, state.step}];
  if (state.source == "seed") reached.insert(state.checksum);
  if (reached.count(state.checksum) == 0)
    report("I2",
           fmt::format("{} loaded stage {} step {} from {}, with a checksum that no replica had",
                       node, state.stage, state.step, state.source));
}

void Checks::at_end() {
  std::map<int, uint64_t> replicas;
  for (const auto& [name, node] : swarm_.nodes) {
    if (!node.alive || node.arithmetic == nullptr) continue;
    const uint64_t checksum = node.arithmetic->checksum();
    if (replicas.try_emplace(node.stage, checksum).first->second != checksum)
      report("I2", name + " ends with another checksum than its replicas");
  }
  if (asynchronous()) return periods_.at_end();
  context_.steps = swarm_.training.steps;
  context_.num_stages = swarm_.num_stages;
  context_.batch = swarm_.training.batch;
  context_.microbatch = swarm_.training.microbatch;
  context_.delayed_updates = swarm_.training.delayed_updates;
  const auto verdict = launch::audit(audit_, context_);
  if (!verdict.passed()) report("audit", verdict.violations.front());
}

void Checks::metrics(const records::StepMetrics& line) {
  if (asynchronous()) return periods_.metrics(line);
  if (line.term < highest_term_) return;  // of one that was replaced; its peers refuse it
  highest_term_ = line.term;
  if (last_committed_ && line.step < *last_committed_)
    report("I7", fmt::format("step {} was committed after step {} without a logged recovery",
                             line.step, *last_committed_));
  last_committed_ = line.step;
}

void Checks::snapshot(const std::string& node, const std::string& stream, uint64_t step,
                      bool dropped) {
  auto& steps = durable_[node][stream];
  if (dropped) {
    steps.erase(steps.upper_bound(step), steps.end());
    return;
  }
  steps.insert(step);
  while (steps.size() > swarm_.checkpoint.keep) steps.erase(steps.begin());
}

void Checks::before_start(const std::string& node) {
  periods_.before_start(node);
  auto disk = swarm_.disks.find(node);
  if (disk == swarm_.disks.end()) return;
  const DiskStore store(disk->second);
  for (auto& [stream, steps] : durable_[node]) {
    const auto expected = steps;
    for (uint64_t step : expected) {
      auto read = store.get({stream, step});
      if (read) continue;
      // A later one, not acknowledged, may have pushed it out; for good, even if that one goes too.
      auto there = store.steps(stream);
      size_t newer = 0;
      if (there)
        for (uint64_t other : *there) newer += other > step ? 1 : 0;
      if (read.code() == ErrorCode::kNotFound && newer >= swarm_.checkpoint.keep) {
        steps.erase(step);
        continue;
      }
      report("I4", fmt::format("{}: acknowledged snapshot {} step {} cannot be read: {}", node,
                               stream, step, to_string(read.error())));
    }
  }
}

void Checks::now() {
  for (const auto& [name, node] : swarm_.nodes) {
    if (!node.alive || node.arithmetic == nullptr) continue;
    if (node.arithmetic->kept() > swarm_.stage_options.max_resident)
      report("I5", fmt::format("{} keeps {} microbatches, at most {} are allowed", name,
                               node.arithmetic->kept(), swarm_.stage_options.max_resident));
  }
  std::map<NodeId, const Swarm::Node*> by_id;
  for (const auto& [name, node] : swarm_.nodes)
    if (node.alive) by_id[node.id] = &node;
  const auto late = swarm_.system.now() - std::chrono::milliseconds(500);
  std::map<NodeId, size_t> open;
  for (const auto& request : swarm_.net.open_requests()) {
    auto from = by_id.find(request.from);
    if (from == by_id.end() || from->second->paused) continue;
    const std::string what = fmt::format("{} to {} of node {}", actors::kind_name(request.kind),
                                         request.to.brief(), request.from.brief());
    if (request.deadline < late) report("I9", "no answer by its deadline: " + what);
    if (++open[request.from] > kMaxOpenRequests)
      report("I5", fmt::format("more than {} requests are open: {}", kMaxOpenRequests, what));
  }
}

std::string Checks::unsettled() const {
  std::string text;
  std::map<int, uint64_t> replicas;  // a peer of a history that was given up fetches first
  for (const auto& [name, node] : swarm_.nodes) {
    if (!node.alive || node.stage < 0) continue;
    if (node.arithmetic == nullptr || node.arithmetic->step() != swarm_.training.steps)
      text +=
          fmt::format("{} is at step {}; ", name,
                      node.arithmetic == nullptr ? "-" : std::to_string(node.arithmetic->step()));
    else if (node.arithmetic->kept() != 0)
      text += fmt::format("{} keeps {} microbatches; ", name, node.arithmetic->kept());
    else if (const uint64_t bits = node.arithmetic->checksum();
             replicas.try_emplace(node.stage, bits).first->second != bits)
      text += name + " has other parameters than its replicas; ";
  }
  return text;
}

}  // namespace swarm::sim
