#include <unistd.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <set>

#include "actors/net/links/socket.h"
#include "actors/node/node.h"
#include "apps/commands/commands.h"
#include "apps/commands/node_collect.h"
#include "apps/launch/collected_folder.h"
#include "apps/launch/devices.h"
#include "apps/launch/key_file.h"
#include "apps/launch/links_file.h"
#include "apps/launch/preemption_watch.h"
#include "apps/launch/run_folder.h"
#include "apps/launch/service.h"
#include "apps/launch/timeline.h"
#include "config/experiment.h"
#include "config/nearest.h"
#include "records/files.h"

namespace swarm::apps {
namespace {

struct Arguments {
  ConfigArguments config;
  std::string name, listen, announce, run_folder, follow_links, key_file, collect;
  std::vector<std::string> join, stages;
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
std::string apply(const Arguments& a, actors::NodeOptions& options) {
  if (std::string bad = apply_stages(a.stages, options); !bad.empty()) return bad;
  if (a.trainer) options.trainer = true;
  options.stays = a.stay;
  options.launched = a.launched;
  options.collects = !a.collect.empty();
  return {};
}

/// Fills in the run's key if there is one, or if this node is the one to make it. Empty: good.
std::string find_key(const Arguments& a, actors::NodeOptions& options) {
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
std::string check_collect(const Arguments& a, const actors::NodeOptions& options) {
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

/// The options of the node, or the exit code that refuses them.
int resolve(const Arguments& a, actors::NodeOptions& options, std::string& config) {
  if (const std::string bad = check_join(a.join); !bad.empty()) return refuse(bad);
  const auto result = load(a);
  if (!result.ok()) {
    std::fputs(errors_of(result).c_str(), stderr);
    return kBadConfig;
  }
  config::Experiment experiment = *result.experiment;
  if (const std::string bad = check_name(a, experiment); !bad.empty()) return refuse(bad);
  for (auto& spec : experiment.nodes) {  // the command line overrules [[nodes]] too
    if (!a.listen.empty()) spec.listen = {};
    if (!a.announce.empty()) spec.announce = {};
  }
  std::string folder = a.run_folder;
  if (folder.empty()) folder = experiment.run.folder + "/" + experiment.run.name + "/nodes-here";
  options = config::to_node_options(experiment, a.name, folder);
  std::string why = apply(a, options);
  if (why.empty()) why = check_address(options.links);
  if (why.empty()) why = find_key(a, options);
  if (why.empty()) why = check_collect(a, options);
  if (!why.empty()) return refuse(why);
  const std::string alone = launch::lone_trainer(experiment, options.trainer ? a.name : "");
  if (!a.launched && !alone.empty())  // `swarm run` has said it
    std::fprintf(stderr, "swarm node %s: note: %s\n", a.name.c_str(), alone.c_str());
  config = config_of(experiment, options);
  return 0;
}

/// What a file of --follow-links has come to say; empty without one.
actors::NewShape new_shape(const Arguments& a, const actors::NodeOptions& options) {
  if (a.follow_links.empty()) return {};
  std::error_code error;
  if (!a.launched && !std::filesystem::exists(a.follow_links, error))
    std::fprintf(stderr,
                 "swarm node %s: --follow-links: there is no %s yet; its changes count once "
                 "it is there\n",
                 a.name.c_str(), a.follow_links.c_str());
  auto reader = std::make_shared<launch::LinksFileReader>(  // shared by copies of the function
      a.follow_links, a.name, options.links.shape);
  return [reader] { return reader->poll(); };
}

/// What the machine says of its own end; empty if nothing asks it. `watch` outlives it.
std::function<std::optional<actors::SpotNotice>()> spot_notice(const actors::NodeOptions& options,
                                                               launch::PreemptionWatch& watch) {
  if (options.preemption_command.empty() && options.preemption_file.empty()) return {};
  return [&watch] {
    using Clock = std::chrono::steady_clock;
    return watch.look(std::chrono::duration<double>(Clock::now().time_since_epoch()).count());
  };
}

/// A line of the node for whoever looks at its terminal.
void say(const std::string& name, const std::string& line) {
  std::printf("node %s %s\n", name.c_str(), line.c_str());
  std::fflush(stdout);
  launch::tell_service_manager("STATUS=" + line);
}

/// What the next machine types.
std::string join_line(const Arguments& a, const actors::NodeOptions& options,
                      const std::string& at) {
  std::string line = "join me with: swarm node " + a.config.file + " --name NAME";
  for (const auto& one : a.config.overrides) line += " --set '" + one + "'";
  const bool beyond = !actors::is_loopback(options.links.listen.host);
  if (beyond) line += " --listen ITS_ADDRESS:" + std::to_string(options.links.listen.port);
  if (!options.links.key.empty()) line += " --key COPY_OF_" + options.key_file;
  return line + " --join " + at;
}

/// Says where the node is. Errors: kIo.
Status tell_others(const Arguments& a, const actors::NodeOptions& options,
                   const std::string& config, const actors::Node& node) {
  auto done = launch::write_node_file(options.node_folder(),
                                      {a.name, ::getpid(), node.id(), node.endpoint()});
  if (done) done = records::write_atomically(options.node_folder() + "/config.toml", config);
  if (!done) return done;
  const std::string at = node.endpoint().text(), here = node.listening().text();
  say(a.name, "listens on " + here + (here == at ? "" : " and is announced as " + at) +
                  "; console: swarm console " + at);
  if (!a.launched) say(a.name, join_line(a, options, at));
  return {};
}

int serve(const Arguments& a, const actors::NodeOptions& options, const std::string& config,
          actors::NodeDeps deps) {
  deps.new_shape = new_shape(a, options);
  launch::PreemptionWatch watch(options.preemption_command, options.preemption_file,
                                options.preemption_poll_s);
  deps.spot_notice = spot_notice(options, watch);
  deps.leaving = [] { launch::tell_service_manager("STOPPING=1"); };
  deps.alive = [] { launch::tell_service_manager("WATCHDOG=1"); };
  if (!a.launched) deps.say = [name = a.name](const std::string& line) { say(name, line); };
  std::unique_ptr<NodeCollect> collect;
  if (options.collects) {
    CollectOptions what{a.collect, {}, options.links.key, deps.open_store, deps.say};
    collect = std::make_unique<NodeCollect>(std::move(what), options.linger_s, a.stay);
    deps.finished = [&collect] { collect->begin(); };
  }
  auto node = actors::Node::start(options, deps);
  if (!node) {
    std::fprintf(stderr, "swarm node %s: %s\n", a.name.c_str(), to_string(node.error()).c_str());
    return 1;
  }
  launch::tell_service_manager("READY=1");
  if (collect) collect->reach_at((*node)->reached_here());
  const auto told = tell_others(a, options, config, **node);
  if (!told) {
    std::fprintf(stderr, "swarm node: %s\n", to_string(told.error()).c_str());
    return 1;
  }
  int code = (*node)->run();  // which has drained
  watch.end();
  if (code == 0 && collect && collect->failed()) code = 1;
  std::fflush(nullptr);
  std::_Exit(code);  // see Node::run()
}

/// Whether the node may get a stage, or keeps snapshots: then it starts where LibTorch and the
/// database are.
bool may_compute(const actors::NodeOptions& options) {
  return !options.stages.empty() || options.collects;
}

void start(const Arguments& a, Program& program) {
  actors::NodeOptions options;
  std::string config;
  program.exit_code = resolve(a, options, config);
  if (program.exit_code != 0) return;
  if (!may_compute(options)) {
    program.exit_code = serve(a, options, config, {});
    return;
  }
  program.compute_here([&](const Compute& compute) {
    const auto there = compute.check_device(options.device);
    const auto slow = launch::slow_precision(options.compute, options.device, cpu_instructions());
    if (there && !slow.empty()) std::fprintf(stderr, "swarm node: %s\n", slow.c_str());
    return there ? serve(a, options, config, compute.node) : refuse(there.error().detail);
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
                   "Stages to serve at first, such as 0,2, or auto: one, whichever needs it most; "
                   "instead of those in the file")
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
  command->add_option("--key", a->key_file,
                      "FILE with the run's key (`swarm key FILE` makes one); overrules node.key");
  command->add_option("--collect", a->collect,
                      "When training is finished, brings all nodes' records and newest snapshots "
                      "into the run folder DIR, and ends; the others end as soon as it has theirs");
  command->add_flag("--stay", a->stay,
                    "Keeps the node when training is finished; else it leaves after node.linger_s");
  command->add_flag("--launched", a->launched)->group("");  // by `swarm run`: hidden
  command->callback([a, &program] { start(*a, program); });
}

}  // namespace swarm::apps
