#include <chrono>
#include <cstdio>
#include <fstream>
#include <string>
#include <thread>

#include "apps/bench/bench.h"
#include "apps/bench/idle_node.h"

namespace swarm::apps {
namespace {

/// Of a process that has LibTorch loaded and does nothing. Errors: kIo.
Result<double> with_torch_mb(const IdleFolder& folder) {
  const std::string output = folder.path() + "/baseline.out";
  auto child =
      launch::ChildProcess::start({"/proc/self/exe", "bench", "memory", "--baseline"}, output);
  if (!child) return child.error();
  while (!child->reap()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  double resident = 0;
  std::ifstream(output) >> resident;
  return resident;
}

Status measure() {
  const auto folder = IdleFolder::make();
  if (!folder) return folder.error();
  const auto alone = with_torch_mb(*folder);
  if (!alone) return alone.error();
  std::printf("a process with LibTorch loaded, doing nothing: %.1f MB resident\n", *alone);
  for (const char* name : {"seed", "trainer", "stage"}) {
    const auto node = IdleNode::start(*folder, name);
    if (!node) return node.error();
    std::printf("%-8s node without work: %.1f MB resident\n", name, node->settled_mb());
  }
  return {};
}

}  // namespace

int bench_memory() {
  const Status done = measure();
  if (!done) std::fprintf(stderr, "swarm bench: %s\n", to_string(done.error()).c_str());
  return done ? 0 : 1;
}

}  // namespace swarm::apps
