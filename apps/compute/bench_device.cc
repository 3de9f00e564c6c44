#include <cstdio>

#include "apps/bench/bench.h"
#include "apps/compute/block_seconds.h"
#include "apps/compute/compute.h"
#include "apps/plan/stage_work.h"
#include "config/experiment.h"
#include "tensor/core/blas_kernels.h"
#include "tensor/torch/threads.h"

namespace swarm::apps {

int bench_device(const DeviceBenchOptions& options) {
  const auto loaded = config::load_experiment(options.file, options.overrides);
  if (!loaded.ok()) {
    std::fprintf(stderr, "swarm bench: the experiment has errors\n%s\n", loaded.text().c_str());
    return 2;
  }
  const auto& base = loaded.experiment->base;
  tensor::set_threads(base.threads);
  const auto seconds = block_seconds(base);
  if (!seconds) {
    std::fprintf(stderr, "swarm bench: %s\n", to_string(seconds.error()).c_str());
    return 1;
  }
  const std::string kernels = tensor::blas_kernels();
  const double tokens = double(base.training.microbatch) * base.model.sequence;
  std::printf(
      "# device \"%s\", %d threads, kernels of OpenBLAS: %s\n"
      "# %.4g s for both passes of a microbatch of %u through a block\n"
      "[[devices]]\nname = \"%s\"\ncount = 1\nflops_per_s = %.4g\n",
      base.device.c_str(), base.threads, kernels.empty() ? "none" : kernels.c_str(), *seconds,
      base.training.microbatch, base.device.substr(0, base.device.find(':')).c_str(),
      3 * tokens * plan::block_flops(base.model) / *seconds);
  return 0;
}

}  // namespace swarm::apps
