#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "apps/commands/collector.h"
#include "apps/commands/commands.h"
#include "apps/launch/key_file.h"

namespace swarm::apps {
namespace {

struct Arguments {
  std::string folder, key_file;
  std::vector<std::string> from;
};

int fail(const std::string& why, int code) {
  std::fprintf(stderr, "swarm collect: %s\n", why.c_str());
  return code;
}

/// What there is now, and the exit code.
int tell(const std::string& folder, const launch::CollectedRun& collected) {
  const auto& run = collected.run;
  for (const auto& note : run.notes) std::fprintf(stderr, "swarm collect: %s\n", note.c_str());
  for (const auto& line : collected.lacks)
    std::fprintf(stderr, "swarm collect: lacks %s\n", line.c_str());
  std::printf("%s: %llu of %llu steps%s\n", folder.c_str(),
              static_cast<unsigned long long>(run.steps_closed),
              static_cast<unsigned long long>(run.steps), run.finished ? ", finished" : "");
  return collected.lacks.empty() ? 0 : 1;
}

int start(const Arguments& a, const Compute& compute) {
  CollectOptions options;
  options.folder = a.folder;
  options.open_store = compute.node.open_store;
  options.say = [](const std::string& line) {
    std::printf("%s\n", line.c_str());
    std::fflush(stdout);
  };
  std::vector<std::string> folders;
  for (const auto& from : a.from) {
    std::error_code error;
    const auto endpoint = Endpoint::parse(from);
    if (std::filesystem::is_directory(from, error))
      folders.push_back(from);
    else if (endpoint && endpoint->port != 0)
      options.nodes.push_back(*endpoint);
    else
      return fail("expected HOST:PORT of a node or a folder, found \"" + from + "\"", kBadConfig);
  }
  if (!folders.empty() && !options.nodes.empty())
    return fail("expected nodes or folders, found both: collect one after the other", kBadConfig);
  if (folders.empty()) {
    if (a.key_file.empty())
      return fail(
          "collecting takes weights, which needs the run's key: --key FILE (the nodes' "
          "operator.key or node.key)",
          kBadConfig);
    auto key = launch::read_key_file(a.key_file);
    if (!key) return fail(key.error().detail, kBadConfig);
    options.key = std::move(*key);
  }
  auto into = open_collection(options);
  if (!into) return fail(to_string(into.error()), 1);
  const auto collected =
      folders.empty() ? collect(options, *into) : collect_folders(options, *into, folders);
  return collected ? tell(a.folder, *collected) : fail(to_string(collected.error()), 1);
}

}  // namespace

void add_collect(CLI::App& app, Program& program) {
  auto* command = app.add_subcommand(
      "collect", "Brings the records and newest snapshots of all nodes into one run folder");
  auto a = std::make_shared<Arguments>();
  command
      ->add_option("DIR", a->folder, "Run folder to be; what is there already is not fetched again")
      ->required();
  command
      ->add_option("FROM", a->from,
                   "HOST:PORT of any node of the swarm; or folders copied from the nodes' machines")
      ->required();
  command->add_option("--key", a->key_file, "FILE with the run's key; folders need none");
  command->callback([a, &program] {
    program.compute_here([&](const Compute& compute) { return start(*a, compute); });
  });
}

}  // namespace swarm::apps
