// `swarm`: one program for running, looking into and checking a swarm.
#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <exception>

#include "apps/commands/commands.h"

int main(int argc, char** argv) {
  using namespace swarm::apps;
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGCHLD, SIG_DFL);  // ignored by a parent, it would hide how our children end
  CLI::App app("Trains models on a swarm of unreliable machines.", "swarm");
  app.require_subcommand(1);
  int exit_code = 0;
  add_run(app, exit_code);
  add_sweep(app, exit_code);
  add_node(app, exit_code);
  add_console(app, exit_code);
  add_sample(app, exit_code);
  add_audit(app, exit_code);
  add_verify(app, exit_code);
  add_compare(app, exit_code);
  add_report(app, exit_code);
  add_bench(app, exit_code);
  add_sim(app, exit_code);
  add_config(app, exit_code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kBadConfig;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "swarm: %s\n", error.what());
    return 1;
  }
  return exit_code;
}
