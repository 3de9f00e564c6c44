#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "apps/bench/bench.h"
#include "apps/bench/resident.h"
#include "apps/launch/child_process.h"
#include "apps/launch/run_folder.h"

namespace swarm::apps {
namespace {

const char* const kExperiment =
    "[run]\nname = \"bench-memory\"\n"
    "[model]\nlayers = 2\nwidth = 32\nheads = 2\nffn = 64\nsequence = 32\n"
    "[data]\ntrain = [\"/usr/share/common-licenses\"]\n"
    "[pipeline]\nstages = 1\n"
    "[[nodes]]\nname = \"idle\"\n"
    "[[nodes]]\nname = \"trainer\"\ntrainer = true\n"
    "[[nodes]]\nname = \"stage\"\nstages = [0]\n";

/// Of a node without work, two seconds after it listens.
Result<double> idle_node_mb(const std::string& folder, const std::string& name) {
  auto child = launch::ChildProcess::start({"/proc/self/exe", "node", folder + "/experiment.toml",
                                            "--name", name, "--run-folder", folder},
                                           folder + "/" + name + ".out");
  if (!child) return child.error();
  const std::string node_folder = folder + "/nodes/" + name;
  auto give_up_at = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!launch::read_node_file(node_folder)) {
    if (child->reap() || std::chrono::steady_clock::now() > give_up_at)
      return Error{ErrorCode::kInternal, "node " + name + " did not start; see " + folder};
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  std::this_thread::sleep_for(std::chrono::seconds(2));
  double resident = resident_mb(child->pid());
  child->signal(SIGKILL);
  return resident;
}

}  // namespace

int bench_memory() {
  char folder[] = "/tmp/swarm-bench-memory-XXXXXX";
  if (::mkdtemp(folder) == nullptr) {
    std::perror("swarm bench: cannot make a folder in /tmp");
    return 1;
  }
  std::ofstream(std::string(folder) + "/experiment.toml") << kExperiment;
  auto baseline = launch::ChildProcess::start({"/proc/self/exe", "bench", "memory", "--baseline"},
                                              std::string(folder) + "/baseline.out");
  if (!baseline) return 1;
  while (!baseline->reap()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  double alone = 0;
  std::ifstream(std::string(folder) + "/baseline.out") >> alone;
  std::printf("this program with LibTorch loaded, doing nothing: %.1f MB resident\n", alone);
  for (const char* name : {"idle", "trainer"}) {
    auto resident = idle_node_mb(folder, name);
    if (!resident) {
      std::fprintf(stderr, "swarm bench: %s\n", to_string(resident.error()).c_str());
      return 1;
    }
    std::printf("%-8s node without work: %.1f MB resident, %.1f MB more\n", name, *resident,
                *resident - alone);
  }
  std::filesystem::remove_all(folder);
  return 0;
}

}  // namespace swarm::apps
