#include "apps/commands/program.h"

#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>

#include "apps/commands/commands.h"
#include "apps/launch/programs.h"

namespace swarm::apps {

void Program::compute_here(const std::function<int(const Compute&)>& work) {
  if (compute != nullptr) {
    exit_code = work(*compute);
    return;
  }
  const Error error = launch::become_compute_program(argv);
  std::fprintf(stderr, "swarm: %s\n", error.detail.c_str());
  exit_code = 1;
}

namespace {

constexpr rlim_t kDescriptors = 16'384;

/// The first word if it is neither an option nor a command; else null.
const char* unknown_command(const CLI::App& app, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return nullptr;
  const bool known =
      !app.get_subcommands([&](const CLI::App* one) { return one->check_name(argv[1]); }).empty();
  return known ? nullptr : argv[1];
}

/// Every link is a descriptor; most systems allow 1,024 unless a program asks for what it may have.
void allow_many_descriptors() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= kDescriptors) return;
  limit.rlim_cur = std::min(kDescriptors, limit.rlim_max);
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

int run_program(Program program, int argc) {
  std::signal(SIGPIPE, SIG_IGN);
  allow_many_descriptors();
  std::signal(SIGCHLD, SIG_DFL);  // ignored by a parent, it would hide how our children end
  CLI::App app("Trains models on a swarm of unreliable machines.", "swarm");
  app.set_version_flag("--version", "swarm " SWARM_VERSION, "Prints the version and ends");
  app.require_subcommand(1);
  add_run(app, program.exit_code);
  add_sweep(app, program.exit_code);
  add_node(app, program);
  add_console(app, program.exit_code);
  add_collect(app, program);
  add_sample(app, program);
  add_audit(app, program.exit_code);
  add_verify(app, program);
  add_compare(app, program.exit_code);
  add_report(app, program.exit_code);
  add_plan(app, program.exit_code);
  add_bench(app, program);
  add_sim(app, program.exit_code);
  add_config(app, program.exit_code);
  add_key(app, program.exit_code);
  add_device(app, program);
  if (const char* name = unknown_command(app, argc, program.argv)) {
    std::fprintf(stderr, "swarm: there is no command \"%s\"; swarm --help lists them\n", name);
    return kBadConfig;
  }
  try {
    app.parse(argc, program.argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kBadConfig;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "swarm: %s\n", error.what());
    return 1;
  }
  return program.exit_code;
}

}  // namespace swarm::apps
