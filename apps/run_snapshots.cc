#include "apps/run_snapshots.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>

#include "storage/checkpoint_store.h"

namespace swarm::apps {
namespace {

struct NodeStore {
  std::string node;
  std::shared_ptr<storage::CheckpointStore> store;
};

std::string stream_of(int32_t stage) { return "stage/" + std::to_string(stage); }

Result<std::vector<NodeStore>> open_stores(const std::string& run_folder) {
  std::vector<NodeStore> out;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(run_folder + "/nodes", error)) {
    const std::string directory = entry.path().string() + "/db";
    if (!std::filesystem::is_directory(directory, error)) continue;
    auto store = storage::open_rocksdb_checkpoint_store({directory});
    if (!store) return store.error();
    out.push_back({entry.path().filename().string(), *store});
  }
  if (out.empty())
    return Error{ErrorCode::kNotFound, "no node's database in " + run_folder + "/nodes"};
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.node < b.node; });
  return out;
}

}  // namespace

Result<std::vector<StageSnapshot>> read_snapshots(const std::string& run_folder, int32_t num_stages,
                                                  uint64_t step) {
  auto stores = open_stores(run_folder);
  if (!stores) return stores.error();
  std::vector<StageSnapshot> out;
  for (int32_t stage = 0; stage < num_stages; ++stage) {
    const size_t before = out.size();
    for (const auto& node : *stores) {
      auto state = node.store->get({stream_of(stage), step});
      if (state) out.push_back({node.node, stage, step, *state});
      if (!state && state.code() != ErrorCode::kNotFound) return state.error();
    }
    if (out.size() == before)
      return Error{ErrorCode::kNotFound, "no snapshot of stage " + std::to_string(stage) +
                                             " at step " + std::to_string(step)};
  }
  return out;
}

Result<uint64_t> newest_common_step(const std::string& run_folder, int32_t num_stages) {
  auto stores = open_stores(run_folder);
  if (!stores) return stores.error();
  std::set<uint64_t> common;
  for (int32_t stage = 0; stage < num_stages; ++stage) {
    std::set<uint64_t> steps, both;
    for (const auto& node : *stores) {
      auto found = node.store->steps(stream_of(stage));
      if (!found) return found.error();
      steps.insert(found->begin(), found->end());
    }
    std::set_intersection(steps.begin(), steps.end(), common.begin(), common.end(),
                          std::inserter(both, both.end()));
    common = stage == 0 ? steps : both;
  }
  if (common.empty())
    return Error{ErrorCode::kNotFound, "no step of which every stage has a snapshot"};
  return *common.rbegin();
}

}  // namespace swarm::apps
