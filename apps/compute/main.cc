// `swarm-compute`: all commands of `swarm`, and LibTorch for those that compute.
#include <unistd.h>

#include <cstdio>

#include "apps/bench/resident.h"
#include "apps/commands/program.h"
#include "apps/compute/compute.h"
#include "storage/stores.h"
#include "tensor/torch/device.h"
#include "tensor/torch/model_stage.h"
#include "tensor/torch/threads.h"

namespace swarm::apps {
namespace {

int bench_memory_baseline() {
  tensor::set_threads(1);
  std::printf("%.3f\n", resident_mb(::getpid()));
  return 0;
}

actors::NodeDeps node_deps() {
  actors::NodeDeps deps;
  deps.make_stage = tensor::make_stage;
  deps.set_compute_threads = tensor::set_threads;
  deps.open_store = storage::open_store;
  deps.set_store_aside = storage::set_store_aside;
  return deps;
}

}  // namespace
}  // namespace swarm::apps

int main(int argc, char** argv) {
  using namespace swarm::apps;
  const Compute compute{sample,
                        verify,
                        bench_overhead,
                        bench_averaging,
                        bench_device,
                        bench_memory_baseline,
                        swarm::tensor::check_device,
                        node_deps()};
  return run_program({argv, &compute}, argc);
}
