#include "apps/bench/process_flow.h"

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <map>
#include <memory>
#include <optional>

#include "apps/bench/figures/flow_experiment.h"
#include "apps/bench/figures/flow_readings.h"
#include "apps/commands/tool_link.h"
#include "apps/launch/launcher.h"
#include "apps/launch/line_tail.h"
#include "apps/launch/run_folder.h"
#include "common/names.h"
#include "config/experiment.h"
#include "records/files.h"
#include "swarm/console.pb.h"

namespace swarm::apps {
namespace {

using Clock = std::chrono::steady_clock;

double now_s() { return std::chrono::duration<double>(Clock::now().time_since_epoch()).count(); }

/// Asks the consoles of a run's nodes.
class Consoles {
 public:
  explicit Consoles(const std::string& folder) : folder_(folder) {}

  /// `actor ACTOR` of that node. Errors: kNotFound (it does not listen), those of ToolLink, kInternal.
  Result<std::string> describe(const std::string& node, const std::string& actor) {
    const auto console = of(node);
    if (!console) return console.error();
    proto::ConsoleRequest request;
    request.set_line("actor " + actor);
    const auto reply =
        link_->ask(*console, actors::make_mail(std::move(request), {}, std::chrono::seconds(20)));
    if (!reply) return reply.error();
    if (reply->kind != actors::KindOf<proto::ConsoleReply>::value)
      return Error{ErrorCode::kInternal, "unexpected answer"};
    const auto& said = reply->as<proto::ConsoleReply>();
    if (said.failed()) return Error{ErrorCode::kInternal, said.text()};
    return said.text();
  }

 private:
  Result<caf::actor> of(const std::string& node) {
    if (!link_) {
      link_ = std::make_unique<ToolLink>();
      if (auto opened = link_->open(); !opened) return opened.error();
    }
    if (const auto known = consoles_.find(node); known != consoles_.end()) return known->second;
    const auto file = launch::read_node_file(folder_ + "/nodes/" + node);
    if (!file) return file.error();
    auto console = link_->resolve(file->endpoint, kConsoleName);
    if (console) consoles_.emplace(node, *console);
    return console;
  }

  std::string folder_;
  std::unique_ptr<ToolLink> link_;  // has threads: made when all nodes were started
  std::map<std::string, caf::actor> consoles_;
};

CpuReading cpu_now() {
  std::string line;
  std::getline(std::ifstream("/proc/stat"), line);
  return read_cpu(line).value_or(CpuReading{});
}

Result<FlowReadings> read_all(const FlowScenario& scenario, Consoles& consoles) {
  FlowReadings readings;
  readings.cpu = cpu_now();
  Status done;
  const std::string stage = RoleName{Role::kStage}.text(),
                    trainer = RoleName{Role::kTrainer}.text();
  each_peer(scenario, [&](size_t, const std::string& name, const FlowPeer&) {
    if (!done) return;
    const double asked_s = now_s();
    const auto text = consoles.describe(name, stage);
    const auto forwards = text ? read_forwards(*text) : std::nullopt;
    if (!text) done = Error{text.error().code, name + ": " + text.error().detail};
    if (text && !forwards) done = Error{ErrorCode::kInternal, name + " serves no stage"};
    if (!done) return;
    readings.peers[name] = {(asked_s + now_s()) / 2, *forwards};
    read_told(*text, readings);
  });
  for (uint32_t t = 0; t < scenario.trainers && done; ++t)
    if (const auto text = consoles.describe("trainer-" + std::to_string(t), trainer))
      read_told(*text, readings);
  if (!done) return done.error();
  return readings;
}

/// One run: what is due is done whenever the launcher says that a step has closed.
class Measurement {
 public:
  Measurement(const FlowScenario& scenario, const std::string& folder)
      : scenario_(scenario), consoles_(folder) {}

  void look(const std::string& progress) {
    if (over_) return;
    if (!began_s_) began_s_ = now_s();
    const double passed_s = now_s() - *began_s_;
    const double end_s = scenario_.settle_s + scenario_.measured_s;
    if (::isatty(STDERR_FILENO) == 1)
      std::fprintf(stderr, "\r%3.0f of %.0f s  %s ", passed_s, end_s, progress.c_str());
    if (before_ && now_s() - measured_from_s_ >= scenario_.measured_s) {
      after_ = take();
      end();
    }
    if (!before_ && passed_s >= scenario_.settle_s) {
      before_ = take();
      measured_from_s_ = now_s();
      loss_from_s_ = records::unix_now_s() + scenario_.measured_s * 2 / 3;
    }
  }

  /// After the run. Errors: what went wrong at a reading; kCancelled (it ended before its time).
  Result<FlowResult> result(const std::string& folder) const {
    if (error_) return *error_;
    if (!before_ || !after_) return Error{ErrorCode::kCancelled, "interrupted"};
    std::vector<records::StepMetrics> steps;
    for (const auto& line : launch::LineTail(folder + "/metrics.jsonl").poll())
      if (const auto step = records::parse_metrics(line)) steps.push_back(*step);
    FlowResult result = flow_result(scenario_, *before_, *after_);
    result.machine->loss = mean_loss(steps, loss_from_s_);
    result.machine->folder = folder;
    return result;
  }

 private:
  std::optional<FlowReadings> take() {
    auto readings = read_all(scenario_, consoles_);
    if (readings) return *readings;
    error_ = readings.error();
    end();
    return std::nullopt;
  }
  void end() {
    if (over_) return;
    over_ = true;
    std::raise(SIGINT);  // the launcher drains its nodes
  }

  const FlowScenario scenario_;
  Consoles consoles_;
  std::optional<double> began_s_;
  std::optional<FlowReadings> before_, after_;
  std::optional<Error> error_;
  double measured_from_s_ = 0, loss_from_s_ = 0;
  bool over_ = false;
};

}  // namespace

Result<FlowResult> run_processes(const FlowScenario& scenario,
                                 const std::vector<std::string>& overrides) {
  auto loaded = config::parse_experiment(flow_experiment(scenario), "wiring.toml", overrides);
  if (!loaded.ok()) return Error{ErrorCode::kInvalidArgument, loaded.text()};
  auto experiment = *loaded.experiment;
  const auto folder = launch::make_run_folder(experiment);
  if (!folder) return folder.error();
  Measurement measurement(scenario, *folder);
  launch::LaunchOptions options;
  options.folder = *folder;
  options.on_progress = [&](const std::string& progress) { measurement.look(progress); };
  const auto report = launch::Launcher(experiment, options).run();
  if (report.outcome == launch::Outcome::kFailed)
    return Error{ErrorCode::kInternal, report.reason + "; see " + *folder};
  return measurement.result(*folder);
}

}  // namespace swarm::apps
