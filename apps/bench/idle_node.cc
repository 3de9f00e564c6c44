#include "apps/bench/idle_node.h"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "apps/bench/resident.h"
#include "apps/launch/run_folder.h"

namespace swarm::apps {
namespace {

const char* const kExperiment =
    "[run]\nname = \"bench-idle\"\n"
    "[model]\nlayers = 2\nwidth = 32\nheads = 2\nffn = 64\nsequence = 32\n"
    "[data]\ntrain = [\"/usr/share/common-licenses\"]\n"
    "[pipeline]\nstages = 1\n"
    "[[nodes]]\nname = \"trainer\"\ntrainer = true\n"
    "[[nodes]]\nname = \"stage\"\nstages = [0]\n"
    "[[nodes]]\nname = \"seed\"\n";

}  // namespace

Result<IdleFolder> IdleFolder::make(const std::string& of_seed) {
  char folder[] = "/tmp/swarm-bench-idle-XXXXXX";
  if (::mkdtemp(folder) == nullptr) return Error{ErrorCode::kIo, "cannot make a folder in /tmp"};
  std::ofstream(std::string(folder) + "/experiment.toml") << kExperiment << of_seed;
  return IdleFolder(folder);
}

IdleFolder::~IdleFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

IdleNode::IdleNode(launch::ChildProcess child, Endpoint endpoint)
    : child_(std::move(child)), endpoint_(std::move(endpoint)) {}

IdleNode::IdleNode(IdleNode&& other) noexcept
    : child_(other.child_), endpoint_(other.endpoint_), owns_(std::exchange(other.owns_, false)) {}

IdleNode::~IdleNode() {
  if (owns_) child_.signal(SIGKILL);
}

Result<IdleNode> IdleNode::start(const IdleFolder& folder, const std::string& name) {
  auto child =
      launch::ChildProcess::start({"/proc/self/exe", "node", folder.path() + "/experiment.toml",
                                   "--name", name, "--run-folder", folder.path()},
                                  folder.path() + "/" + name + ".out");
  if (!child) return child.error();
  const auto give_up_at = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  for (;;) {
    const auto file = launch::read_node_file(folder.path() + "/nodes/" + name);
    if (file) return IdleNode(*child, file->endpoint);
    if (child->reap() || std::chrono::steady_clock::now() > give_up_at) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  child->signal(SIGKILL);
  std::string said;
  std::getline(std::ifstream(folder.path() + "/" + name + ".out"), said);
  return Error{ErrorCode::kInternal, "node " + name + " did not start: " + said};
}

double IdleNode::settled_mb() const {
  std::this_thread::sleep_for(std::chrono::seconds(2));
  return resident_mb(child_.pid());
}

}  // namespace swarm::apps
