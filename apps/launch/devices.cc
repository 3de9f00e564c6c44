#include "apps/launch/devices.h"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>
#include <thread>

#include "apps/launch/child_process.h"
#include "apps/launch/programs.h"

namespace swarm::launch {
namespace {

/// Errors: kInvalidArgument with the words of `swarm device`, kIo.
Status ask_device(const std::string& device) {
  char file[] = "/tmp/swarm-device-XXXXXX";
  const int opened = ::mkstemp(file);
  if (opened < 0) return Error{ErrorCode::kIo, "cannot make a file in /tmp"};
  ::close(opened);
  auto child = ChildProcess::start({"/proc/self/exe", "device", device}, file);
  while (child && !child->reap()) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  std::string words;
  std::getline(std::ifstream(file), words);
  ::unlink(file);
  if (!child) return child.error();
  if (child->exit()->code == 0 && child->exit()->signal == 0) return {};
  return Error{ErrorCode::kInvalidArgument, words.empty() ? child->exit()->text() : words};
}

}  // namespace

Status check_devices(const config::Experiment& experiment) {
  std::set<std::string> good = {"cpu"};
  bool computes = false;
  for (const auto& node : experiment.nodes) {
    if (node.stages.empty()) continue;
    if (!computes) {
      const auto own = own_program();
      if (!own) return own.error();
      if (const auto path = find_compute_program(*own); !path) return path.error();
      computes = true;
    }
    const std::string device = config::to_node_options(experiment, node.name, "").device;
    if (good.count(device) > 0) continue;
    if (const auto there = ask_device(device); !there)
      return Error{there.error().code, fmt::format("node {}: {}", node.name, there.error().detail)};
    good.insert(device);
  }
  return {};
}

int32_t cores_here() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (::sched_getaffinity(0, sizeof cores, &cores) == 0) return CPU_COUNT(&cores);
  return static_cast<int32_t>(std::thread::hardware_concurrency());
}

int32_t crowded_threads(const config::Experiment& experiment, int32_t cores) {
  int32_t threads = 0;
  bool several = false;
  for (const auto& node : experiment.nodes) {
    const auto& device = node.device.empty() ? experiment.base.device : node.device;
    if (node.stages.empty() || device != "cpu") continue;
    const int32_t own = node.threads > 0 ? node.threads : experiment.base.threads;
    threads += own * static_cast<int32_t>(node.stages.size());  // each computes by itself
    several |= own > 1;
  }
  return several && threads > cores ? threads : 0;
}

void spin_briefly() {
  if (std::getenv("OMP_WAIT_POLICY") == nullptr) ::setenv("GOMP_SPINCOUNT", "1000", /*replace=*/0);
}

std::string slow_precision(tensor::ComputeType compute, const std::string& device,
                           const CpuInstructions& cpu) {
  if (compute != tensor::ComputeType::kBf16 || device != "cpu" || cpu.bf16) return "";
  return "this CPU has no instructions for bf16: with pipeline.compute = \"bf16\" passes take "
         "several "
         "times as long as with \"fp32\"";
}

}  // namespace swarm::launch
