#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <set>

#include "actors/node/node.h"
#include "apps/commands/commands.h"
#include "apps/launch/links_file.h"
#include "apps/launch/run_folder.h"
#include "config/experiment.h"
#include "config/nearest.h"

namespace swarm::apps {
namespace {

struct Arguments {
  ConfigArguments config;
  std::string name, listen, announce, run_folder, follow_links;
  std::vector<std::string> join;
  std::vector<int> stages;
  bool trainer = false, stay = false, launched = false;
};

constexpr size_t kListedNames = 12;

int refuse(const std::string& why) {
  std::fprintf(stderr, "swarm node: %s\n", why.c_str());
  return kBadConfig;
}

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
std::string check_name(const Arguments& a, const config::Experiment& experiment) {
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
config::ExperimentResult load(const Arguments& a) {
  auto overrides = a.config.overrides;
  if (!a.listen.empty()) overrides.push_back("node.listen=" + a.listen);
  if (!a.announce.empty()) overrides.push_back("node.announce=" + a.announce);
  if (!a.join.empty()) {
    std::string list;
    for (const auto& item : a.join) list += (list.empty() ? "" : ", ") + config::quote(item);
    overrides.push_back("node.join=[" + list + "]");
  }
  return config::load_experiment(a.config.file, overrides);
}

/// Empty if the command line can be applied to `options`.
std::string apply(const Arguments& a, actors::NodeOptions& options) {
  std::set<int> stages(a.stages.begin(), a.stages.end());
  for (const int stage : stages)
    if (stage < 0 || stage >= options.num_stages)
      return "--stages: expected 0 to " + std::to_string(options.num_stages - 1) + ", found " +
             std::to_string(stage);
  if (!a.stages.empty()) options.stages.assign(stages.begin(), stages.end());
  if (a.trainer) options.trainer = true;
  options.stays = a.stay;
  options.launched = a.launched;
  return {};
}

/// The options of the node, or the exit code that refuses them.
int resolve(const Arguments& a, actors::NodeOptions& options) {
  if (const std::string why = check_join(a.join); !why.empty()) return refuse(why);
  const auto result = load(a);
  if (!result.ok()) {
    std::fputs(errors_of(result).c_str(), stderr);
    return kBadConfig;
  }
  config::Experiment experiment = *result.experiment;
  if (const std::string why = check_name(a, experiment); !why.empty()) return refuse(why);
  for (auto& spec : experiment.nodes) {  // the command line overrules [[nodes]] too
    if (!a.listen.empty()) spec.listen = {};
    if (!a.announce.empty()) spec.announce = {};
  }
  std::string folder = a.run_folder;
  if (folder.empty()) folder = experiment.run.folder + "/" + experiment.run.name + "/nodes-here";
  options = config::to_node_options(experiment, a.name, folder);
  if (const std::string why = apply(a, options); !why.empty()) return refuse(why);
  return 0;
}

/// What a file of --follow-links has come to say; empty without one.
actors::NewShape new_shape(const Arguments& a, const actors::NodeOptions& options) {
  if (a.follow_links.empty()) return {};
  auto reader = std::make_shared<launch::LinksFileReader>(  // shared by copies of the function
      a.follow_links, a.name, options.links.shape);
  return [reader] { return reader->poll(); };
}

/// A line of the node for whoever looks at its terminal.
void say(const std::string& name, const std::string& line) {
  std::printf("node %s %s\n", name.c_str(), line.c_str());
  std::fflush(stdout);
}

int serve(const Arguments& a, const actors::NodeOptions& options, actors::NodeDeps deps) {
  deps.new_shape = new_shape(a, options);
  if (!a.launched) deps.say = [name = a.name](const std::string& line) { say(name, line); };
  auto node = actors::Node::start(options, deps);
  if (!node) {
    std::fprintf(stderr, "swarm node %s: %s\n", a.name.c_str(), to_string(node.error()).c_str());
    return 1;
  }
  const auto written = launch::write_node_file(
      options.node_folder(), {a.name, ::getpid(), (*node)->id(), (*node)->endpoint()});
  if (!written) {
    std::fprintf(stderr, "swarm node: %s\n", to_string(written.error()).c_str());
    return 1;
  }
  const std::string at = (*node)->endpoint().text();
  say(a.name, "listens on " + at + "; console: swarm console " + at);
  if (!a.launched)
    say(a.name, "join me with: swarm node " + a.config.file + " --name NAME --join " + at);
  const int code = (*node)->run();
  std::fflush(nullptr);
  std::_Exit(code);  // see Node::run()
}

/// Whether the node may get a stage: then it starts where LibTorch is.
bool may_compute(const actors::NodeOptions& options) { return !options.stages.empty(); }

void start(const Arguments& a, Program& program) {
  actors::NodeOptions options;
  program.exit_code = resolve(a, options);
  if (program.exit_code != 0) return;
  if (!may_compute(options)) {
    program.exit_code = serve(a, options, {});
    return;
  }
  program.compute_here([&](const Compute& compute) {
    const auto there = compute.check_device(options.device);
    return there ? serve(a, options, compute.node) : refuse(there.error().detail);
  });
}

}  // namespace

void add_node(CLI::App& app, Program& program) {
  auto* command =
      app.add_subcommand("node", "Runs one node of a swarm that spans several machines");
  auto a = std::make_shared<Arguments>();
  add_config_arguments(*command, a->config);
  command
      ->add_option(
          "--name", a->name,
          "The node's name, unique in the swarm; one of [[nodes]] brings that entry's roles")
      ->required();
  command
      ->add_option("--stages", a->stages,
                   "Stages to serve, such as 0,2; instead of those in the file")
      ->delimiter(',');
  command->add_flag("--trainer", a->trainer, "Makes the node a trainer, whatever the file says");
  command->add_option("--listen", a->listen, "HOST:PORT to listen on; overrules node.listen");
  command->add_option("--announce", a->announce,
                      "HOST:PORT to tell others; overrules node.announce");
  command
      ->add_option("--join", a->join, "HOST:PORT of any node of the swarm to join; may be repeated")
      ->expected(1)
      ->take_all();
  command->add_option("--run-folder", a->run_folder,
                      "Folder DIR; the node writes to DIR/nodes/NAME/");
  command->add_option("--follow-links", a->follow_links,
                      "FILE of changes of the node's artificial rates and delays, looked at ten "
                      "times a second; see docs/bad_network.md");
  command->add_flag("--stay", a->stay,
                    "Keeps the node when training is finished; else it leaves after node.linger_s");
  command->add_flag("--launched", a->launched)->group("");  // by `swarm run`: hidden
  command->callback([a, &program] { start(*a, program); });
}

}  // namespace swarm::apps
