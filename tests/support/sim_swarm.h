/// A small swarm of the real actors for the tests of what they do together: mail arrives in the
/// same moment, nothing is drawn by chance, events are kept.
#pragma once

#include <algorithm>
#include <memory>
#include <string>

#include "apps/sim/deterministic_system.h"
#include "apps/sim/exact_histories.h"
#include "apps/sim/network.h"
#include "apps/sim/swarm.h"

namespace swarm::testing {

class SimSwarm : public sim::Swarm {
 public:
  std::shared_ptr<records::MemoryEventLog> events = std::make_shared<records::MemoryEventLog>();

  SimSwarm() {
    training.steps = 6;
    training.batch = 16;
    training.microbatch = 2;
    training.validation_samples = 4;
    checkpoint.every_steps = 2;
    observer.event = [this](const std::string&, const records::Event& e) { events->write(e); };
    observer.metrics = [this](const std::string&, const records::StepMetrics& line) {
      events->metrics(line);
    };
    observer.closed = [this](const std::string&, const records::ClosedStep& step) {
      events->closed(step);
    };
    observer.committed = [this](const std::string&, const records::CommittedStep& step) {
      events->committed(step);
    };
    observer.loaded = [this](const std::string&, const records::LoadedState& state) {
      events->loaded(state);
    };
  }

  void add_peer(const std::string& name, int stage) {
    Swarm::add_peer(name, stage);
    start(name);
  }
  void add_trainer(const std::string& name) {
    Swarm::add_trainer(name);
    start(name);
  }

  /// Mail between two nodes may wait long (cut(), heal()) and averagers are patient: rounds over
  /// slow links. Before the first start.
  void be_patient() {
    sim::NetworkModel model;
    model.silence_limit = std::chrono::hours(1);
    net.set_model(model, 1);
    averager_options.min_deadline = std::chrono::hours(1);
  }
  void cut_both_ways(const std::string& a, const std::string& b) {
    cut(a, b);
    cut(b, a);
  }

  bool finished() const { return events->count("finished") > 0; }
  bool run_to_end(std::chrono::seconds limit = std::chrono::seconds(120)) {
    return system.advance_until([this] { return finished(); }, limit,
                                std::chrono::milliseconds(10));
  }
  /// Until a step with this number was committed.
  bool run_to_step(uint64_t step, std::chrono::seconds limit = std::chrono::seconds(60)) {
    return system.advance_until(
        [this, step] {
          return std::any_of(events->steps.begin(), events->steps.end(),
                             [step](const auto& line) { return line.step >= step; });
        },
        limit, std::chrono::microseconds(100));
  }

  /// What the parameters may be, by what was closed.
  sim::ExactHistories closed_so_far() const {
    sim::ExactHistories histories(
        {num_stages, training.batch, training.microbatch, !training.delayed_updates});
    for (const auto& step : events->closed_steps) histories.closed(step);
    return histories;
  }

  /// Every living replica has exactly the parameters of a run without failures.
  std::string check_parameters() const {
    auto histories = closed_so_far();
    for (const auto& [name, node] : nodes) {
      if (!node.alive || node.stage < 0) continue;
      if (node.arithmetic == nullptr) return name + " has no stage";
      uint64_t step = node.arithmetic->step();
      if (step != training.steps) continue;  // still catching up; others were checked
      const Stage stage(static_cast<uint32_t>(node.stage));
      if (!histories.has(stage, step, node.arithmetic->parameters()))
        return name + " has other parameters";
      ++checked;
    }
    return "";
  }
  mutable int checked = 0;
};

}  // namespace swarm::testing
