#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "apps/commands/commands.h"
#include "common/hex.h"
#include "config/experiment.h"
#include "tensor/data/text_data.h"

namespace swarm::apps {

void add_config_arguments(CLI::App& command, ConfigArguments& arguments, bool file_required) {
  auto* file = command.add_option("FILE", arguments.file, "Experiment file (TOML)");
  if (file_required) file->required();
  command
      .add_option("--set", arguments.overrides,
                  "section.key=value: overrules the file; may be repeated")
      ->expected(1)
      ->take_all();
}

namespace {

int check(const ConfigArguments& arguments, bool show) {
  const auto result = config::load_experiment(arguments.file, arguments.overrides);
  if (!result.ok()) {
    std::fputs(result.text().c_str(), stderr);
    std::fprintf(stderr, "%zu error%s\n", result.errors.size(),
                 result.errors.size() == 1 ? "" : "s");
    return kBadConfig;
  }
  const auto& base = result.experiment->base;
  if (show) {
    std::fputs(config::to_toml(*result.experiment).c_str(), stdout);
    return 0;
  }
  const auto text = tensor::open_text_data(base.data, base.model.sequence);
  std::printf("%s: ok, %zu nodes, fingerprint %s, text %s\n", arguments.file.c_str(),
              result.experiment->nodes.size(), base.config_fingerprint.c_str(),
              text ? hex((*text)->fingerprint()).c_str() : "cannot be read");
  if (text) return 0;
  std::fflush(stdout);
  std::fprintf(stderr, "%s: %s\n(a machine without a trainer needs no text)\n1 error\n",
               arguments.file.c_str(), text.error().detail.c_str());
  return kBadConfig;
}

}  // namespace

void add_config(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("config", "Checks and prints experiment files");
  command->require_subcommand(1);
  auto arguments = std::make_shared<ConfigArguments>();
  auto* check_it = command->add_subcommand("check", "Reports all errors of a file");
  add_config_arguments(*check_it, *arguments);
  check_it->callback([arguments, &exit_code] { exit_code = check(*arguments, false); });
  auto* show =
      command->add_subcommand("show", "Prints every key with the value that a file gives it");
  add_config_arguments(*show, *arguments);
  show->callback([arguments, &exit_code] { exit_code = check(*arguments, true); });
  auto* reference = command->add_subcommand("reference", "Prints every key with its default");
  reference->callback([] { std::fputs(config::reference_toml().c_str(), stdout); });
}

}  // namespace swarm::apps
