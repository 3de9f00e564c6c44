#include <cstdio>

#include "apps/commands/commands.h"
#include "apps/commands/compute_arguments.h"
#include "apps/compute/compute.h"
#include "apps/launch/run_folder.h"
#include "config/experiment.h"
#include "storage/run_snapshots.h"
#include "tensor/torch/sampler.h"
#include "tensor/torch/threads.h"

namespace swarm::apps {
namespace {

int fail(const Error& error) {
  std::fprintf(stderr, "swarm sample: %s\n", to_string(error).c_str());
  return 1;
}

}  // namespace

int sample(const SampleArguments& a) {
  const auto experiment = launch::read_experiment_of(a.folder);
  if (!experiment) {
    fail(experiment.error());
    return kBadConfig;
  }
  const auto& options = experiment->base;
  auto step = storage::newest_common_step(a.folder, options.num_stages);
  if (!step) return fail(step.error());
  auto snapshots = storage::read_snapshots(a.folder, options.num_stages, *step);
  if (!snapshots) return fail(snapshots.error());
  std::vector<Buffer> states;  // one of each stage: replicas are equal
  for (const auto& why : snapshots->unreadable)
    std::fprintf(stderr, "swarm sample: another replica is used: %s\n", why.c_str());
  for (const auto& snapshot : snapshots->found)
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

}  // namespace swarm::apps
