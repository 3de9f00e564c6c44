/// An experiment file (TOML) as Options structs, and back. config/reference.toml has every key.
///
/// Loading is strict and reports *all* errors of a file at once (a syntax error alone ends it
/// early). Relative paths in a file (data, run folder) are relative to the current directory of the
/// process, not to the file. Pure apart from reading that one file; thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "actors/node/options.h"
#include "common/names.h"
#include "config/value.h"

namespace swarm::config {

struct RunOptions {
  std::string name = "experiment";  ///< Names runs/NAME; same rules as a node's name.
  std::string folder = "runs";      ///< Where run folders are made.
  std::string id;                   ///< Equal on all nodes; empty: "<name>-<fingerprint>".
  uint64_t seed = 1;                ///< Seeds weights, data order and windows.
  double stall_limit_s = 120;       ///< A run without progress for this long has failed.
  /// A node whose process ends unasked is started again so often in a row.
  uint32_t restarts = 3;
  bool tensorboard = true;  ///< `swarm run` writes event files for TensorBoard.
};

/// A stretch of time without the node, as when a spot machine is taken away.
struct Preemption {
  double at_s = 0;    ///< Since `swarm run` began.
  double for_s = 30;  ///< From the signal to the node's next start.
  friend bool operator==(const Preemption& a, const Preemption& b) {
    return a.at_s == b.at_s && a.for_s == b.for_s;
  }
};
/// kill: SIGKILL, nothing is saved. stop: SIGTERM, the node leaves in order.
enum class PreemptBy : uint8_t { kKill, kStop };

/// One process of the run.
struct NodeSpec {
  std::string name;
  int32_t count = 1;            ///< In a file: makes name-0, name-1, ...; 1 in a loaded Experiment.
  std::vector<int32_t> stages;  ///< actors::kAnyStage alone: "auto".
  bool trainer = false;
  int32_t threads = 0;    ///< 0: as in [node].
  std::string device;     ///< Empty: as in [node].
  std::string log_level;  ///< Empty: as in [node].
  Endpoint listen;        ///< Empty host: as in [node].
  Endpoint announce;      ///< Empty host: as in [node].
  /// Artificial: every microbatch takes each peer of the node this much longer [s], half of it in
  /// the forward and half in the backward pass; the peer computes nothing else meanwhile.
  double delay_s = 0;
  /// Artificial: rates and delays of all its links together.
  actors::NodeShape shape;
  std::vector<Preemption> preempt;  ///< `swarm run` carries these out, once each.
  /// One more preemption at a random moment of each such window, drawn from chaos.seed and the
  /// node's name; between chaos.start_after_s and chaos.end_after_s. 0: none.
  double preempt_every_s = 0;
  double preempt_for_s = 30;
  PreemptBy preempt_by = PreemptBy::kKill;
};

enum class TimelineAction : uint8_t {
  kKill,
  kStart,
  kPause,
  kResume,
  kStop,
  kLink,
  kCut,
  kHeal,
  kFullDisk,
  kFreeDisk
};
const char* to_string(TimelineAction action);

/// What `swarm run` does to a node's process or links, once, when the time has come.
struct TimelineEvent {
  int64_t at_step = -1;   ///< When this many steps are closed; -1: by time.
  double at_second = -1;  ///< Seconds since training began; -1: by step.
  TimelineAction action = TimelineAction::kKill;
  std::string node;          ///< kLink: a * stands for any letters.
  actors::ShapeChange link;  ///< kLink only.
};

/// Faults at random moments, which `swarm run` carries out: the same seed, the same
/// schedule. All off by default.
struct ChaosOptions {
  uint64_t seed = 1;
  double kill_every_s = 0;     ///< One kill -9 at a random moment of each such window; 0: none.
  double restart_after_s = 3;  ///< From a kill to the start of the node.
  double pause_every_s = 0;    ///< One SIGSTOP in each such window; 0: none.
  double pause_for_s = 2;      ///< From a SIGSTOP to the SIGCONT.
  /// One fault in the first half of each such window, so that what it costs is told from what the next
  /// does; of `kinds`, each as often as the others. 0: none.
  double every_s = 0;
  std::vector<std::string> kinds = {"kill", "stop", "pause", "cut", "full_disk"};
  double cut_for_s = 8;        ///< From a cut to its healing.
  double full_disk_for_s = 8;  ///< How long none of a node's writes but its records succeeds.
  double start_after_s = 0;    ///< From the first closed step to the first window.
  double end_after_s = 3600;   ///< From the first closed step; nothing new is done after this.
  /// After a restart or SIGCONT a node counts as missing for this long.
  double settle_s = 3;
  /// What may be hit: "peer", "trainer", "coordinator" (whoever it is then), "seed" (the rest).
  std::vector<std::string> targets = {"peer", "trainer", "coordinator", "seed"};
  bool spare_last = true;  ///< Never the last peer of a stage, nor the last trainer.
};

struct Experiment {
  RunOptions run;
  /// What all nodes share; its name, stages and trainer are not those of any node.
  actors::NodeOptions base;
  /// How trainers and stage servers alike choose among peers.
  routing::PeerEstimatesOptions estimates;
  routing::WiringOptions wiring;
  std::vector<NodeSpec> nodes;
  std::vector<actors::PathShape> paths;  ///< Artificial; later ones overrule earlier ones.
  std::vector<TimelineEvent> timeline;
  ChaosOptions chaos;

  const NodeSpec* find(const std::string& name) const;
};

struct ConfigError {
  Location where;
  std::string key;         ///< "model.layers"; empty for syntax errors.
  std::string message;     ///< What was expected and what was found.
  std::string suggestion;  ///< Nearest valid name; may be empty.

  /// "file:3:1: model.layer: unknown key; did you mean \"layers\"?"
  std::string text() const;
};

/// Either an experiment or at least one error, in the order of the file.
struct ExperimentResult {
  std::optional<Experiment> experiment;
  std::vector<ConfigError> errors;
  bool ok() const { return experiment.has_value(); }
  /// All errors, one per line.
  std::string text() const;
};

/// kIgnore leaves [[timeline]] out, unchecked.
enum class Timeline : uint8_t { kRead, kIgnore };

/// `overrides`: "section.key=value" each, applied in order after the file, with the same checks.
/// The value is TOML; text that is not a TOML value is taken as a string. "nodes.NAME.key=value"
/// sets a key of that node (NAME-0 where it has a count); in NAME a * stands for any letters.
ExperimentResult load_experiment(const std::string& path,
                                 const std::vector<std::string>& overrides = {},
                                 Timeline timeline = Timeline::kRead);
/// The same from memory; `file` names it in errors.
ExperimentResult parse_experiment(const std::string& text, const std::string& file,
                                  const std::vector<std::string>& overrides = {},
                                  Timeline timeline = Timeline::kRead);

/// What run.name and nodes' names must be.
using swarm::is_name;

/// Everything one node is told; `run_folder` is where the run writes. A name that the experiment
/// does not list yields a node without stages and trainer.
actors::NodeOptions to_node_options(const Experiment& experiment, const std::string& node_name,
                                    const std::string& run_folder);

/// xxh128 [32 hex digits] over what all nodes must share: run.seed, model, pipeline, data.holdout,
/// training, optimizer, wire. Not: names, folders, threads, timeouts, where the text lies (the text
/// has a fingerprint of its own, tensor::TextData).
std::string fingerprint(const Experiment& experiment);

/// The same as runs wrote it while the paths of the text counted; their snapshots carry it.
std::string older_fingerprint(const Experiment& experiment);

/// "training.steps from 100 to 230, ...": the settings of fingerprint() that differ.
std::string changed_settings(const Experiment& before, const Experiment& after);

/// The settings of fingerprint(), those that are not at their default first.
std::vector<actors::SharedSetting> shared_settings(const Experiment& experiment);

/// All keys as resolved; parsing it gives an equal Experiment.
std::string to_toml(const Experiment& experiment);

struct Setting {
  std::string
      path;  ///< "model.layers", "nodes.NAME.KEY"; "timeline.I", "paths.I" for a whole entry.
  std::string value;  ///< As TOML.
  bool at_default = false;
};
/// Every key of the experiment, of its nodes (but name and count), its paths and its timeline.
std::vector<Setting> settings_of(const Experiment& experiment);

/// All keys with help, unit, range and default: the content of config/reference.toml.
std::string reference_toml();

}  // namespace swarm::config
