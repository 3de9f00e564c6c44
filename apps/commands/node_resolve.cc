#include "apps/commands/node_resolve.h"

#include <charconv>
#include <cstdio>
#include <filesystem>
#include <set>

#include "actors/net/links/socket.h"
#include "apps/launch/collected_folder.h"
#include "apps/launch/key_file.h"
#include "apps/launch/run_folder.h"
#include "apps/launch/timeline.h"
#include "config/experiment.h"
#include "config/nearest.h"

namespace swarm::apps {
namespace {

constexpr size_t kListedNames = 12;

/// Errors of --listen, --announce and --join stand under their own names.
std::string errors_of(config::ExperimentResult result) {
  for (auto& error : result.errors)
    for (const char* flag : {"listen", "announce", "join"})
      if (error.where.file == std::string("--set node.") + flag) {
        error.where.file = std::string("--") + flag;
        error.key.clear();
      }
  return result.text();
}

/// Empty if each --join can be dialled.
std::string check_join(const std::vector<std::string>& join) {
  for (const auto& item : join)
    if (const auto at = Endpoint::parse(item); !at || at->port == 0)
      return "--join: expected HOST:PORT of a node of the swarm, found " + config::quote(item);
  return {};
}

/// Empty if the file lists the node, or the command line says what it is.
std::string check_name(const NodeArguments& a, const config::Experiment& experiment) {
  if (!config::is_name(a.name)) return "--name: expected 1 to 64 of [A-Za-z0-9_.-]";
  const bool has_roles = !a.stages.empty() || a.trainer;
  if (has_roles || experiment.nodes.empty() || experiment.find(a.name) != nullptr) return {};
  std::vector<std::string> names;
  std::string list;
  for (const auto& node : experiment.nodes) {
    names.push_back(node.name);
    if (names.size() <= kListedNames) list += (list.empty() ? "" : ", ") + node.name;
  }
  if (names.size() > kListedNames) list += ", ...";
  const std::string near = config::nearest(a.name, names);
  return "--name: " + a.config.file + " lists no node " + config::quote(a.name) +
         (near.empty() ? "" : "; did you mean " + config::quote(near) + "?") + " It lists " + list +
         "; a node of another name needs --stages or --trainer";
}

/// --listen, --announce and --join are node.listen, node.announce and node.join: same checks.
config::ExperimentResult load(const NodeArguments& a) {
  auto overrides = a.config.overrides;
  if (!a.listen.empty()) overrides.push_back("node.listen=" + a.listen);
  if (!a.announce.empty()) overrides.push_back("node.announce=" + a.announce);
  if (!a.key_file.empty()) overrides.push_back("node.key=" + config::quote(a.key_file));
  if (!a.join.empty()) {
    std::string list;
    for (const auto& item : a.join) list += (list.empty() ? "" : ", ") + config::quote(item);
    overrides.push_back("node.join=[" + list + "]");
  }
  return config::load_experiment(a.config.file, overrides);
}

/// Takes --stages over. Empty if they can be served.
std::string apply_stages(const std::vector<std::string>& words, actors::NodeOptions& options) {
  if (words.empty()) return {};
  std::set<int32_t> stages;
  for (const auto& word : words) {
    int32_t stage = -1;
    const auto* end = word.data() + word.size();
    const auto read = std::from_chars(word.data(), end, stage);
    if (word == "auto" && words.size() == 1)
      stage = actors::kAnyStage;
    else if (read.ec != std::errc() || read.ptr != end || stage < 0 || stage >= options.num_stages)
      return "--stages: expected 0 to " + std::to_string(options.num_stages - 1) +
             ", or auto alone, found " + config::quote(word);
    stages.insert(stage);
  }
  options.stages.assign(stages.begin(), stages.end());
  return {};
}

/// Empty if the command line can be applied to `options`.
std::string apply(const NodeArguments& a, actors::NodeOptions& options) {
  if (std::string bad = apply_stages(a.stages, options); !bad.empty()) return bad;
  if (a.trainer) options.trainer = true;
  options.stays = a.stay;
  options.launched = a.launched;
  options.collects = !a.collect.empty();
  return {};
}

/// Fills in the run's key if there is one, or if this node is the one to make it. Empty: good.
std::string find_key(const NodeArguments& a, actors::NodeOptions& options) {
  auto& links = options.links;
  launch::KeyUse use;
  use.given = !options.key_file.empty();
  if (!use.given) options.key_file = options.run_folder + "/operator.key";
  use.path = options.key_file;
  use.makes = !use.given && (a.launched || options.join.empty());
  use.needed = !actors::is_loopback(links.listen.host) && !links.open;
  auto found = launch::find_key(use);
  if (found) {
    links.key = std::move(found->key);
    if (!found->warning.empty())
      std::fprintf(stderr, "swarm node %s: %s\n", a.name.c_str(), found->warning.c_str());
    return {};
  }
  if (use.given || found.code() != ErrorCode::kNotFound) return found.error().detail;
  return "a node that listens beyond loopback needs the run's key: copy the key's file from the "
         "node that it joins (its operator.key or node.key) and give it with --key FILE, or set "
         "node.open = true";
}

/// Empty if others can use the address that the node tells them.
std::string check_address(const actors::LinksOptions& links) {
  using actors::links::is_wildcard;
  if (is_wildcard(links.announce.host))
    return "--announce: expected an address that others can dial, found " + links.announce.text();
  if (is_wildcard(links.listen.host) && links.announce.host.empty())
    return "--listen " + links.listen.text() +
           " is no address that others can dial: add --announce HOST:PORT, or listen on one "
           "address";
  return {};
}

/// Empty if what the run leaves can be collected there.
std::string check_collect(const NodeArguments& a, const actors::NodeOptions& options) {
  std::error_code error;
  if (a.collect.empty()) return {};
  if (options.links.key.empty())
    return "--collect takes weights, which needs the run's key: --key FILE";
  if (std::filesystem::weakly_canonical(a.collect, error) ==
      std::filesystem::weakly_canonical(options.run_folder, error))
    return "--collect: expected another folder than the node's own " + options.run_folder;
  if (const auto good = launch::prepare_collected_folder(a.collect); !good)
    return "--collect: " + good.error().detail;
  const std::string there = launch::run_of_collected_folder(a.collect);
  const std::string other = launch::other_run(a.collect, there, options.run_id);
  return other.empty() ? "" : "--collect: " + other;
}

/// The experiment as the node's records keep it: without what is this machine's alone.
std::string config_of(config::Experiment experiment, const actors::NodeOptions& options) {
  const actors::LinksOptions defaults;
  experiment.run.id = options.run_id;
  experiment.base.join.clear();
  experiment.base.key_file.clear();
  experiment.base.preemption_command.clear();
  experiment.base.preemption_file.clear();
  experiment.base.links.listen = defaults.listen;
  experiment.base.links.announce = defaults.announce;
  return config::to_toml(experiment);
}

/// Empty if nobody else's files lie in the node's folder.
std::string check_folder(const NodeArguments& a, const actors::NodeOptions& options) {
  const auto before = launch::read_node_file(options.node_folder());
  if (!before || before->name == a.name) return {};
  return "the files in " + options.node_folder() + " are those of the node " +
         config::quote(before->name) +
         " (its node.json says so): start it under that name, or "
         "move the folder to nodes/" +
         before->name;
}

}  // namespace

int refuse_node(const std::string& why) {
  std::fprintf(stderr, "swarm node: %s\n", why.c_str());
  return kBadConfig;
}

int resolve_node(const NodeArguments& a, actors::NodeOptions& options, std::string& config) {
  if (const std::string bad = check_join(a.join); !bad.empty()) return refuse_node(bad);
  const auto result = load(a);
  if (!result.ok()) {
    std::fputs(errors_of(result).c_str(), stderr);
    return kBadConfig;
  }
  config::Experiment experiment = *result.experiment;
  if (const std::string bad = check_name(a, experiment); !bad.empty()) return refuse_node(bad);
  for (auto& spec : experiment.nodes) {  // the command line overrules [[nodes]] too
    if (!a.listen.empty()) spec.listen = {};
    if (!a.announce.empty()) spec.announce = {};
  }
  std::string folder = a.run_folder;
  if (folder.empty()) folder = experiment.run.folder + "/" + experiment.run.name + "/nodes-here";
  options = config::to_node_options(experiment, a.name, folder);
  std::string why = apply(a, options);
  if (why.empty()) why = check_folder(a, options);
  if (why.empty()) why = check_address(options.links);
  if (why.empty()) why = find_key(a, options);
  if (why.empty()) why = check_collect(a, options);
  if (!why.empty()) return refuse_node(why);
  const std::string alone = launch::lone_trainer(experiment, options.trainer ? a.name : "");
  if (!a.launched && !alone.empty())  // `swarm run` has said it
    std::fprintf(stderr, "swarm node %s: note: %s\n", a.name.c_str(), alone.c_str());
  config = config_of(experiment, options);
  return 0;
}

}  // namespace swarm::apps
