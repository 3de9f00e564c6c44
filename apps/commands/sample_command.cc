#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "apps/commands/commands.h"
#include "apps/commands/run_snapshots.h"
#include "config/experiment.h"
#include "tensor/core/threads.h"
#include "tensor/gpt/sampler.h"

namespace swarm::apps {
namespace {

struct Arguments {
  std::string folder;
  int threads = 1;
  tensor::SampleOptions sample;
};

int fail(const Error& error) {
  std::fprintf(stderr, "swarm sample: %s\n", to_string(error).c_str());
  return 1;
}

int sample(const Arguments& a) {
  const auto loaded = config::load_experiment(a.folder + "/config.toml");
  if (!loaded.ok()) {
    std::fputs(loaded.text().c_str(), stderr);
    return kBadConfig;
  }
  const auto& options = loaded.experiment->base;
  auto step = newest_common_step(a.folder, options.num_stages);
  if (!step) return fail(step.error());
  auto snapshots = read_snapshots(a.folder, options.num_stages, *step);
  if (!snapshots) return fail(snapshots.error());
  std::vector<Buffer> states;  // one of each stage: replicas are equal
  for (const auto& snapshot : *snapshots)
    if (snapshot.stage == static_cast<int32_t>(states.size())) states.push_back(snapshot.state);
  tensor::set_threads(a.threads);
  auto stages = tensor::load_stages(options.model, states);
  if (!stages) return fail(stages.error());
  std::fprintf(stderr, "step %llu of %s\n", static_cast<unsigned long long>(*step),
               a.folder.c_str());
  std::fputs(a.sample.prompt.c_str(), stdout);
  auto text = tensor::sample_text(*stages, options.model.sequence, a.sample, [](char byte) {
    std::fputc(byte, stdout);
    std::fflush(stdout);
  });
  std::fputc('\n', stdout);
  return text ? 0 : fail(text.error());
}

}  // namespace

void add_sample(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("sample", "Writes text with a run's newest snapshots");
  auto a = std::make_shared<Arguments>();
  command->add_option("RUN", a->folder, "Run folder; its nodes must not be running")->required();
  command->add_option("--prompt", a->sample.prompt, "Text to go on from");
  command->add_option("--tokens", a->sample.count, "Bytes to write")->check(CLI::Range(1, 1000000));
  command->add_option("--temperature", a->sample.temperature, "0: always the likeliest byte")
      ->check(CLI::Range(0.0, 100.0));
  command->add_option("--top-k", a->sample.top_k, "Choose among the k likeliest; 0: among all");
  command->add_option("--seed", a->sample.seed, "Of the choices");
  command->add_option("--threads", a->threads, "LibTorch threads")->check(CLI::Range(1, 1024));
  command->callback([a, &exit_code] { exit_code = sample(*a); });
}

}  // namespace swarm::apps
