#include "apps/sim/checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "actors/net/mail.h"
#include "apps/sim/copies.h"
#include "apps/sim/period_checks.h"
#include "apps/sim/step_checks.h"

namespace swarm::sim {
namespace {

constexpr size_t kMaxOpenRequests = 1'000;

}  // namespace

Checks::Checks(Swarm& swarm)
    : swarm_(swarm),
      mode_(std::make_unique<StepChecks>(swarm, reporter())),
      floors_(swarm, reporter()) {}

void Checks::use_periods() {
  periods_ = true;
  mode_ = std::make_unique<PeriodChecks>(swarm_, reporter());
}

ModeChecks::Report Checks::reporter() {
  return [this](const std::string& invariant, const std::string& text) { report(invariant, text); };
}

void Checks::report(const std::string& invariant, const std::string& text) {
  if (!violation_) violation_ = Violation{invariant, text};
}

void Checks::event(const std::string& node, const records::Event& event) {
  records::Event seen = event;
  seen.time_s = seconds_of(swarm_);
  seen.node = node;
  mode_->event(seen);
  floors_.event(seen);
  if (event.is<records::ReplicasDiffer>() && !mode_->has_turned(event.stage))
    report("I2", fmt::format("{} found replicas of stage {} that differ: {}", node, event.stage,
                             text(event.fields)));
  const records::EventInfo* info = records::info_of(event.name);
  if (info == nullptr) report("I9", node + ": event " + event.name + " is not in the catalogue");
  if (info != nullptr && info->needs_reason() && event.reason().empty())
    report("I9", node + ": event " + event.name + " says no reason");
}

/// What it has of its old stage may go, as copies do.
void Checks::moved(const std::string& node, int from) {
  durable_.erase(node);
  mode_->before_start(node);
  floors_.moved(node, from);
}

bool Checks::was_left_behind(const std::string& name) const {
  const auto* stage = swarm_.nodes.at(name).arithmetic;
  return excused_.count(name) != 0 && (stage == nullptr || stage->step() != swarm_.training.steps);
}

void Checks::at_end() {
  std::set<std::string> left_behind;
  std::map<int, uint64_t> replicas;
  for (const auto& [name, node] : swarm_.nodes) {
    if (was_left_behind(name)) left_behind.insert(name);
    if (!node.alive || node.arithmetic == nullptr || was_left_behind(name)) continue;
    const uint64_t checksum = node.arithmetic->checksum();
    if (replicas.try_emplace(node.stage, checksum).first->second != checksum)
      report("I2", name + " ends with another checksum than its replicas");
  }
  mode_->at_end(left_behind);
}

void Checks::snapshot(const std::string& node, const std::string& stream, uint64_t step,
                      bool dropped) {
  auto& steps = durable_[node][stream];
  if (dropped) {
    const DiskStore store(swarm_.disks.at(node));
    forget_pushed_out(steps, store, stream);  // by what goes now itself
    // Step 0 too is set aside with its line; every peer can make it anew.
    steps.erase(step == 0 ? steps.begin() : steps.upper_bound(step), steps.end());
    return;
  }
  steps.insert(step);
  while (steps.size() > swarm_.checkpoint.keep) steps.erase(steps.begin());
}

/// A later one, not acknowledged, may have pushed some out; for good, even if that one goes too.
void Checks::forget_pushed_out(std::set<uint64_t>& steps, const DiskStore& store,
                               const std::string& stream) const {
  const auto there = store.steps(stream);
  if (!there) return;
  const std::set<uint64_t> stored(there->begin(), there->end());
  for (auto it = steps.begin(); it != steps.end();) {
    const auto newer = std::distance(stored.upper_bound(*it), stored.end());
    const bool out = stored.count(*it) == 0 && newer >= int64_t{swarm_.checkpoint.keep};
    it = out ? steps.erase(it) : std::next(it);
  }
}

void Checks::before_start(const std::string& node) {
  mode_->before_start(node);
  auto disk = swarm_.disks.find(node);
  if (disk == swarm_.disks.end()) return;
  const DiskStore store(disk->second);
  for (auto& [stream, steps] : durable_[node]) {
    forget_pushed_out(steps, store, stream);
    for (uint64_t step : steps) {
      auto read = store.get({stream, step});
      if (read) continue;
      report("I4", fmt::format("{}: acknowledged snapshot {} step {} cannot be read: {}", node,
                               stream, step, to_string(read.error())));
    }
  }
}

std::optional<uint64_t> Checks::newest_common() const {
  std::vector<std::string> names;
  for (const auto& [name, disk] : swarm_.disks) names.push_back(name);
  const auto common = OnDisks(swarm_).common(names);
  return common.empty() ? std::nullopt : std::optional(*common.rbegin());
}

void Checks::now() {
  floors_.now();
  const auto common = periods_ ? std::nullopt : newest_common();
  if (resumable_ && !common)
    report("I4", fmt::format("step {} was durable in every stage; now no step is: were all killed, "
                             "the run could not go on",
                             *resumable_));
  resumable_ = common > outdated_ ? common : std::nullopt;
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
  // A peer of a history that was given up fetches first.
  std::map<int, std::pair<uint64_t, uint64_t>> replicas;
  for (const auto& [name, node] : swarm_.nodes) {
    if (!node.alive || node.stage < 0 || was_left_behind(name)) continue;
    if (node.arithmetic == nullptr || node.arithmetic->step() != swarm_.training.steps)
      text +=
          fmt::format("{} is at step {}; ", name,
                      node.arithmetic == nullptr ? "-" : std::to_string(node.arithmetic->step()));
    else if (node.arithmetic->kept() != 0)
      text += fmt::format("{} keeps {} microbatches; ", name, node.arithmetic->kept());
    else if (const std::pair bits{node.arithmetic->checksum(),
                                  node.arithmetic->state().moments_checksum()};
             replicas.try_emplace(node.stage, bits).first->second != bits)
      text += name + " has other parameters or moments than its replicas; ";
  }
  return text;
}

}  // namespace swarm::sim
