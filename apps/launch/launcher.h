/// Runs an experiment: every node as a child process of this one, until training is finished, has
/// failed or was interrupted. `swarm run`, `verify` and `bench overhead` are built on it.
///
/// Owns the run folder's merged files (events.jsonl, metrics.jsonl, audit.jsonl), its event files
/// for TensorBoard and all children. Thread: the main thread, from construction to destruction.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/launch/audit_places.h"
#include "apps/launch/chaos_run.h"
#include "apps/launch/child_process.h"
#include "apps/launch/line_tail.h"
#include "apps/launch/links_file.h"
#include "apps/launch/merged_files.h"
#include "apps/launch/restarts.h"
#include "apps/launch/resume_watch.h"
#include "apps/launch/run_state.h"
#include "apps/launch/stall_watch.h"
#include "apps/launch/tensorboard.h"
#include "common/ids.h"
#include "config/experiment.h"
#include "records/catalogue.h"
#include "records/summary.h"

namespace swarm::launch {

struct LaunchOptions {
  std::string folder;   ///< An existing run folder with its config.toml.
  bool resume = false;  ///< The folder has a history.
  std::string program = "/proc/self/exe";
  /// Called with the progress line whenever it may have changed; may be empty.
  std::function<void(const std::string&)> on_progress;
  /// Called with each event that a person should see; may be empty.
  std::function<void(const records::Event&)> on_event;
};

using records::Outcome;

struct RunReport {
  Outcome outcome = Outcome::kFailed;
  std::string reason;  ///< Why it failed, or is not durable.
  double seconds = 0;
};

class Launcher {
 public:
  Launcher(config::Experiment experiment, LaunchOptions options);
  /// Kills whatever still runs.
  ~Launcher();
  Launcher(const Launcher&) = delete;

  /// Blocks until the end; then no child is left. SIGINT, SIGTERM and SIGHUP drain the nodes (a
  /// second one kills them). Call once.
  RunReport run();

  const RunState& state() const { return state_; }

 private:
  static constexpr size_t kMaxAuditLine = size_t{64} << 20;  // grows with slots times stages

  struct Node {
    config::NodeSpec spec;
    std::string folder;
    std::optional<ChildProcess> process;
    std::optional<Endpoint> endpoint;  ///< The running process's, or (for its port) the last one's.
    bool listening = false;
    bool stop_expected = false;  ///< The timeline killed it.
    LineTail events, metrics, audit;
    Restarts restarts;
    double began_at_s = 0;             ///< Of its process, since the run's start.
    std::optional<double> start_at_s;  ///< It has ended unasked, and starts again then.
  };

  // launcher.cc
  bool start_next_nodes();
  bool start(Node& node);
  std::optional<Endpoint> restart_at(const Node& node) const;
  std::vector<Endpoint> living_endpoints(const Node& except) const;
  void poll_children();
  void on_exit(Node& node);
  void follow_timeline();
  void act(size_t index);
  void apply(Node& node, config::TimelineAction action);
  void wait_until_gone(Node& node);
  /// False when the run is over; sets report_.
  bool judge();
  void stop_all();
  bool any_running() const;
  std::string last_output(const Node& node) const;
  template <class Event>
  void record(const std::string& node, const Event& event) {
    record_event(node, records::make_event(-1, -1, event));
  }
  void record_event(const std::string& node, records::Event event);
  void fail(const std::string& reason);
  double seconds_since_start() const;
  Node* find(const std::string& name);

  // launcher_chaos.cc
  void follow_chaos();
  void carry_out(const ChaosOrder& order);
  ChaosFacts chaos_facts() const;

  // launcher_files.cc
  void load_history();
  void poll_files();
  void merge_event(const std::string& line);
  void merge_metrics(const std::string& line);
  void merge_audit(Node& node);
  void end_torn_lines(Node& node);

  config::Experiment experiment_;
  LaunchOptions options_;
  RunState state_;
  AuditPlaces audit_;
  MergedFiles merged_;
  TensorboardFolder tensorboard_;
  bool tensorboard_broken_ = false;
  KeptOutputs outputs_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::chrono::steady_clock::time_point started_at_;
  StallWatch stall_;
  ResumeWatch resume_;
  uint64_t steps_before_ = 0;
  LinksFileWriter links_;
  ChaosRun chaos_;
  std::optional<std::chrono::steady_clock::time_point> chaos_began_at_;
  bool over_ = false;
  RunReport report_;
};

}  // namespace swarm::launch
