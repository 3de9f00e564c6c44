// Experiment -> TOML, fingerprint, options of one node.
#include <xxhash.h>

#include <algorithm>
#include <cstdio>

#include "config/experiment.h"
#include "config/schema.h"

namespace swarm::config {
namespace {

/// Only what differs from the default: a list of nodes stays readable.
template <class T>
std::string print_tables(const char* name, const std::vector<T>& tables,
                         const std::vector<Key<T>>& keys) {
  std::string out;
  const T defaults{};
  for (const auto& table : tables) {
    out += std::string("\n[[") + name + "]]\n";
    for (const auto& key : keys) {
      const std::string value = key.print(table);
      if (key.name == "action" || value != key.print(defaults))
        out += key.name + " = " + value + "\n";
    }
  }
  return out;
}

/// "action "kill", node "a"": a row of a list of tables.
template <class T>
std::string in_a_line(const T& table, const std::vector<Key<T>>& keys) {
  std::string text;
  for (const auto& key : keys) {
    const std::string value = key.print(table);
    if (!value.empty()) text += (text.empty() ? "" : ", ") + key.name + " " + value;
  }
  return text;
}

std::string comment(const std::string& text) {
  std::string out, line = "#";
  size_t at = 0;
  while (at < text.size()) {
    size_t end = text.find(' ', at);
    if (end == std::string::npos) end = text.size();
    const std::string word = text.substr(at, end - at);
    if (line.size() + 1 + word.size() > 100) {
      out += line + "\n";
      line = "#";
    }
    line += " " + word;
    at = end + 1;
  }
  return out + line + "\n";
}

template <class T>
std::string reference_tables(const char* name, const char* help, const std::vector<Key<T>>& keys,
                             const T& example) {
  std::string out = "\n" + comment(help) + std::string("# [[") + name + "]]\n";
  for (const auto& key : keys) {
    out += comment(key.help + " (" + key.expected + ")");
    out += "# " + key.name + " = " + key.print(example) + "\n";
  }
  return out;
}

}  // namespace

const char* to_string(TimelineAction action) {
  switch (action) {
    case TimelineAction::kKill:
      return "kill";
    case TimelineAction::kStart:
      return "start";
    case TimelineAction::kPause:
      return "pause";
    case TimelineAction::kResume:
      return "resume";
    case TimelineAction::kStop:
      return "stop";
    case TimelineAction::kLink:
      return "link";
    case TimelineAction::kCut:
      return "cut";
    case TimelineAction::kHeal:
      return "heal";
    case TimelineAction::kFullDisk:
      return "full_disk";
    case TimelineAction::kFreeDisk:
      return "free_disk";
  }
  return "unknown";
}

const NodeSpec* Experiment::find(const std::string& name) const {
  for (const auto& node : nodes)
    if (node.name == name) return &node;
  return nullptr;
}

actors::NodeOptions to_node_options(const Experiment& experiment, const std::string& node_name,
                                    const std::string& run_folder) {
  actors::NodeOptions options = experiment.base;
  options.name = node_name;
  options.run_folder = run_folder;
  if (const NodeSpec* spec = experiment.find(node_name)) {
    options.stages = spec->stages;
    options.trainer = spec->trainer;
    if (spec->threads > 0) options.threads = spec->threads;
    if (!spec->device.empty()) options.device = spec->device;
    if (!spec->log_level.empty()) options.log_level = spec->log_level;
    if (!spec->listen.host.empty()) options.links.listen = spec->listen;
    if (!spec->announce.host.empty()) options.links.announce = spec->announce;
    options.delay_s = spec->delay_s;
    options.links.shape.node = spec->shape;
  }
  if (options.training.min_peers == 0) {
    size_t peers = 0;
    for (const NodeSpec& node : experiment.nodes) peers += node.stages.size();
    if (peers > 0) options.training.min_peers = static_cast<uint32_t>(peers / 2 + 1);
  }
  options.links.shape.paths = experiment.paths;
  options.links.node_name = node_name;
  options.links.run_id = options.run_id;
  options.links.config_fingerprint = options.config_fingerprint;
  options.links.settings = shared_settings(experiment);
  return options;
}

namespace {

std::string fingerprint_of(const Experiment& experiment, bool older) {
  std::string text = "swarm 1\n";
  const Experiment defaults;
  for (const auto& key : experiment_keys()) {
    const std::string value = key.print(experiment);
    const bool counts = key.shared || (older && key.was_shared);
    if (!counts) continue;
    if (key.later && (value == key.print(defaults) || value == key.earlier)) continue;
    text += key.path() + " = " + value + "\n";
  }
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  char hex[33];
  std::snprintf(hex, sizeof hex, "%016llx%016llx", static_cast<unsigned long long>(hash.high64),
                static_cast<unsigned long long>(hash.low64));
  return hex;
}

}  // namespace

std::string fingerprint(const Experiment& experiment) { return fingerprint_of(experiment, false); }

std::string older_fingerprint(const Experiment& experiment) {
  return fingerprint_of(experiment, true);
}

std::string changed_settings(const Experiment& before, const Experiment& after) {
  std::string out;
  for (const auto& key : experiment_keys()) {
    if (!key.shared || key.print(before) == key.print(after)) continue;
    out += (out.empty() ? "" : ", ") + key.path() + " from " + key.print(before) + " to " +
           key.print(after);
  }
  return out;
}

std::vector<actors::SharedSetting> shared_settings(const Experiment& experiment) {
  const Experiment defaults;
  std::vector<actors::SharedSetting> all;
  for (const auto& key : experiment_keys())
    if (key.shared) all.push_back({key.path(), key.print(experiment)});
  std::stable_partition(all.begin(), all.end(), [&](const auto& setting) {
    for (const auto& key : experiment_keys())
      if (key.path() == setting.key) return key.print(defaults) != setting.value;
    return false;
  });
  return all;
}

std::string to_toml(const Experiment& experiment) {
  std::string out;
  for (const auto& section : sections()) {
    out += (out.empty() ? "[" : "\n[") + section.name + "]\n";
    for (const auto& key : experiment_keys())
      if (key.section == section.name) out += key.name + " = " + key.print(experiment) + "\n";
  }
  out += print_tables("nodes", experiment.nodes, node_keys());
  out += print_tables("paths", experiment.paths, path_keys());
  out += print_tables("timeline", experiment.timeline, timeline_keys());
  return out;
}

std::vector<Setting> settings_of(const Experiment& experiment) {
  static const Experiment defaults;
  static const NodeSpec plain;
  std::vector<Setting> all;
  for (const auto& key : experiment_keys()) {
    std::string value = key.print(experiment);
    const bool at_default = value == key.print(defaults);
    all.push_back({key.path(), std::move(value), at_default});
  }
  for (const auto& node : experiment.nodes) {
    for (const auto& key : node_keys()) {
      if (key.name == "name" || key.name == "count") continue;
      std::string value = key.print(node);
      const bool at_default = value == key.print(plain);
      all.push_back({"nodes." + node.name + "." + key.name, std::move(value), at_default});
    }
  }
  for (size_t i = 0; i < experiment.paths.size(); ++i)
    all.push_back({"paths." + std::to_string(i), in_a_line(experiment.paths[i], path_keys())});
  for (size_t i = 0; i < experiment.timeline.size(); ++i)
    all.push_back(
        {"timeline." + std::to_string(i), in_a_line(experiment.timeline[i], timeline_keys())});
  return all;
}

std::string reference_toml() {
  std::string out =
      "# Every key of an experiment file with its default; `swarm config reference` prints this.\n"
      "# A file needs only the keys it changes, and data.train. Names that end in _ms are\n"
      "# milliseconds, in _s seconds, in _bytes bytes.\n";
  const Experiment defaults;
  for (const auto& section : sections()) {
    out += "\n" + comment(section.help) + "[" + section.name + "]\n";
    for (const auto& key : experiment_keys()) {
      if (key.section != section.name) continue;
      out += comment(key.help + " (" + key.expected + ")");
      out += key.name + " = " + key.print(defaults) + "\n";
    }
  }
  NodeSpec node;
  node.name = "stage0";
  node.count = 2;
  node.stages = {0};
  node.preempt = {{120, 30}};
  TimelineEvent event;
  event.at_step = 30;
  event.at_second = 60;
  event.node = "stage0-1";
  event.link = {"", "stage0-0", 1e6, 1e6, 0.05, 0.01, 1e6, 0.05, 0.01, true};
  out += reference_tables("nodes", "A process that `swarm run` starts; as many as there are.",
                          node_keys(), node);
  out += reference_tables("paths",
                          "What the way from one node to another is made to be, beyond what its "
                          "ends are; later ones overrule earlier ones, key by key.",
                          path_keys(),
                          actors::PathShape{"stage0-*", "stage1-*", 1e6, 0.05, 0.01, true});
  out += reference_tables("timeline",
                          "What `swarm run` does to a node, once; either at_step or at_second.",
                          timeline_keys(), event);
  return out;
}

}  // namespace swarm::config
