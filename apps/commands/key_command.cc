#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "apps/commands/commands.h"
#include "apps/launch/key_file.h"

namespace swarm::apps {

void add_key(CLI::App& app, int& exit_code) {
  auto* command =
      app.add_subcommand("key", "Makes a run's key: who has its file may act on the run's nodes");
  auto path = std::make_shared<std::string>();
  command->add_option("FILE", *path, "New file, mode 600; each machine of the run gets a copy")
      ->required();
  command->callback([path, &exit_code] {
    const auto made = launch::make_key_file(*path);
    if (made) return;
    std::fprintf(stderr, "swarm key: %s\n", made.error().detail.c_str());
    exit_code = 1;
  });
}

}  // namespace swarm::apps
