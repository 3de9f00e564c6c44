#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>

#include "apps/commands/commands.h"
#include "apps/plan/plan_file.h"
#include "apps/plan/plan_text.h"

namespace swarm::apps {
namespace {

struct Arguments {
  std::string file;
  size_t top = 10;
  bool json = false;
};

int run(const Arguments& a) {
  const auto loaded = plan::load_plan_file(a.file);
  if (!loaded.ok()) {
    std::fprintf(stderr, "swarm plan: the plan has errors\n%s\n", loaded.text().c_str());
    return kBadConfig;
  }
  const auto found = plan::search(*loaded.input);
  const auto text = a.json ? plan::plan_json(*loaded.input, found, a.top)
                           : plan::plan_text(*loaded.input, found, a.top);
  std::fputs(text.c_str(), stdout);
  return found.plans.empty() ? 1 : 0;
}

}  // namespace

void add_plan(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand(
      "plan", "How fast and at what price given machines would train a model, by arithmetic");
  auto a = std::make_shared<Arguments>();  // shared with the callback
  command->add_option("FILE", a->file, "Model, machines and their links (docs/planner.md)")
      ->required();
  command->add_option("--top", a->top, "How many ways to cut the model are shown")
      ->check(CLI::Range(1, 1'000))
      ->capture_default_str();
  command->add_flag("--json", a->json, "Prints JSON");
  command->callback([a, &exit_code] { exit_code = run(*a); });
}

}  // namespace swarm::apps
