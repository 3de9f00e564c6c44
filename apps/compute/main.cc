// `swarm-compute`: all commands of `swarm`, and LibTorch for those that compute.
#include <malloc.h>
#include <unistd.h>

#include <cstdio>

#include "apps/bench/resident.h"
#include "apps/commands/program.h"
#include "apps/compute/compute.h"
#include "storage/stores.h"
#include "tensor/core/blas_kernels.h"
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

/// A pass frees as much as it takes, hundreds of megabytes of activations, and glibc gave them back
/// to the system each time: 8,600 faults a second for a small model, a twelfth of its peer's time.
/// Up to 256 MiB of free memory stay with the process; 32 MiB is the most that glibc's heaps take.
/// All threads share one heap: those of threads are made of pieces of 64 MiB, and a piece that is free goes back whatever
/// the limit is. Where a pass crossed such a border, by chance, a peer spent another 4 % on faults.
void keep_freed_memory() {
  ::mallopt(M_ARENA_MAX, 1);
  ::mallopt(M_MMAP_THRESHOLD, 32 << 20);
  ::mallopt(M_TRIM_THRESHOLD, 256 << 20);
}

}  // namespace
}  // namespace swarm::apps

int main(int argc, char** argv) {
  using namespace swarm::apps;
  swarm::tensor::use_better_kernels(argv);
  keep_freed_memory();
  const Compute compute{sample,
                        verify,
                        bench_throughput,
                        bench_averaging,
                        bench_checkpoint,
                        bench_device,
                        bench_square_cube,
                        bench_memory_baseline,
                        swarm::tensor::check_device,
                        node_deps()};
  return run_program({argv, &compute}, argc);
}
