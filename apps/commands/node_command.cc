#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "actors/node/node.h"
#include "apps/commands/commands.h"
#include "apps/commands/node_collect.h"
#include "apps/commands/node_resolve.h"
#include "apps/launch/collected_folder.h"
#include "apps/launch/devices.h"
#include "apps/launch/links_file.h"
#include "apps/launch/preemption_watch.h"
#include "apps/launch/run_folder.h"
#include "apps/launch/service.h"
#include "config/experiment.h"
#include "records/files.h"

namespace swarm::apps {
namespace {

/// What a file of --follow-links has come to say; empty without one.
actors::NewShape new_shape(const NodeArguments& a, const actors::NodeOptions& options) {
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
std::string join_line(const NodeArguments& a, const actors::NodeOptions& options,
                      const Endpoint& at) {
  std::string line = "join me with: swarm node " + a.config.file + " --name NAME";
  for (const auto& one : a.config.overrides) line += " --set '" + one + "'";
  const bool beyond = !actors::is_loopback(options.links.listen.host);
  if (beyond) line += " --listen ITS_ADDRESS:" + std::to_string(options.links.listen.port);
  if (!options.links.key.empty()) line += " --key COPY_OF_" + options.key_file;
  return line + " --join " + at.text();
}

/// Says where the node is. Errors: kIo.
Status tell_others(const NodeArguments& a, const actors::NodeOptions& options,
                   const std::string& config, const actors::Node& node) {
  auto done = launch::write_node_file(options.node_folder(),
                                      {a.name, ::getpid(), node.id(), node.endpoint()});
  if (done) done = records::write_atomically(options.node_folder() + "/config.toml", config);
  if (!done) return done;
  const std::string at = node.endpoint().text(), here = node.listening().text();
  say(a.name, "listens on " + here + (here == at ? "" : " and is announced as " + at) +
                  "; console: swarm console " + at);
  return {};
}

int serve(const NodeArguments& a, const actors::NodeOptions& options, const std::string& config,
          actors::NodeDeps deps) {
  deps.new_shape = new_shape(a, options);
  launch::PreemptionWatch watch(options.preemption_command, options.preemption_file,
                                options.preemption_poll_s);
  deps.spot_notice = spot_notice(options, watch);
  deps.leaving = [] { launch::tell_service_manager("STOPPING=1"); };
  deps.alive = [] { launch::tell_service_manager("WATCHDOG=1"); };
  if (!a.launched) {
    deps.say = [name = a.name](const std::string& line) { say(name, line); };
    deps.how_to_join = [&](const Endpoint& at) { return join_line(a, options, at); };
  }
  std::unique_ptr<NodeCollect> collect;
  if (options.collects) {
    CollectOptions what{a.collect, {}, options.links.key, deps.open_store, deps.say};
    collect = std::make_unique<NodeCollect>(std::move(what), options.training.steps,
                                            options.linger_s, a.stay);
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

/// Whether the run is finished and is where this node was to bring it; says so. Its others have left, so
/// that it would wait for them in vain.
bool has_collected_all(const NodeArguments& a, const actors::NodeOptions& options) {
  if (a.collect.empty() || a.stay) return false;
  const uint64_t end = launch::end_of_collected_run(a.collect);
  if (end < options.training.steps || launch::run_of_collected_folder(a.collect) != options.run_id)
    return false;
  say(a.name, "has nothing to do: training is finished (" + std::to_string(end) + " steps), and " +
                  a.collect +
                  " holds the whole run. With --stay it stays as it is; an experiment with other "
                  "steps or another run.name is another run");
  return true;
}

void start(const NodeArguments& a, Program& program) {
  actors::NodeOptions options;
  std::string config;
  program.exit_code = resolve_node(a, options, config);
  if (program.exit_code != 0 || has_collected_all(a, options)) return;
  if (!may_compute(options)) {
    program.exit_code = serve(a, options, config, {});
    return;
  }
  program.compute_here([&](const Compute& compute) {
    const auto there = compute.check_device(options.device);
    const auto slow = launch::slow_precision(options.compute, options.device, cpu_instructions());
    if (there && !slow.empty()) std::fprintf(stderr, "swarm node: %s\n", slow.c_str());
    return there ? serve(a, options, config, compute.node) : refuse_node(there.error().detail);
  });
}

}  // namespace

void add_node(CLI::App& app, Program& program) {
  auto* command =
      app.add_subcommand("node", "Runs one node of a swarm that spans several machines");
  auto a = std::make_shared<NodeArguments>();
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
