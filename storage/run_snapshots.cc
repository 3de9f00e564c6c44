#include "storage/run_snapshots.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "common/names.h"
#include "storage/stores.h"

namespace swarm::storage {

Result<RunSnapshots> RunSnapshots::open(const std::string& run_folder, int32_t num_stages) {
  RunSnapshots out;
  out.num_stages_ = num_stages;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(run_folder + "/nodes", error)) {
    auto store = find_store(entry.path().string());
    if (!store && store.code() == ErrorCode::kNotFound) continue;
    if (!store && store.code() != ErrorCode::kNotReady) {  // damaged; else in use
      out.unopened_.push_back(entry.path().filename().string() + ": " + store.error().detail);
      continue;
    }
    if (!store) return store.error();
    out.stores_.push_back({entry.path().filename().string(), *store});
  }
  if (out.stores_.empty() && !out.unopened_.empty())
    return Error{ErrorCode::kIo, out.unopened_.front()};
  if (out.stores_.empty())
    return Error{ErrorCode::kNotFound, "no node's database in " + run_folder + "/nodes"};
  std::sort(out.stores_.begin(), out.stores_.end(),
            [](const auto& a, const auto& b) { return a.node < b.node; });
  out.stage_steps_.resize(static_cast<size_t>(num_stages));
  for (int32_t stage = 0; stage < num_stages; ++stage) {
    for (const auto& node : out.stores_) {
      auto steps = node.store->steps(stage_key(static_cast<uint32_t>(stage)));
      if (!steps) return steps.error();
      out.steps_.insert(steps->begin(), steps->end());
      out.stage_steps_[static_cast<size_t>(stage)].insert(steps->begin(), steps->end());
    }
  }
  return out;
}

StepSnapshots RunSnapshots::read(uint64_t step) const {
  StepSnapshots out;
  out.unreadable = unopened_;
  for (int32_t stage = 0; stage < num_stages_; ++stage) {
    for (const auto& node : stores_) {
      auto state = node.store->get({stage_key(static_cast<uint32_t>(stage)), step});
      if (state)
        out.found.push_back({node.node, stage, step, *state});
      else if (state.code() != ErrorCode::kNotFound)
        out.unreadable.push_back(
            fmt::format("{}: stage {}: {}", node.node, stage, state.error().detail));
    }
  }
  return out;
}

Result<Buffer> RunSnapshots::read(const std::string& node, const std::string& stream,
                                  uint64_t step) const {
  for (const NodeStore& one : stores_)
    if (one.node == node) return one.store->get({stream, step});
  return Error{ErrorCode::kNotFound, node + " has no database that can be read"};
}

Result<uint64_t> RunSnapshots::newest_common_step() const {
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step)
    if (std::all_of(stage_steps_.begin(), stage_steps_.end(),
                    [step](const auto& of_stage) { return of_stage.count(*step) > 0; }))
      return *step;
  return Error{ErrorCode::kNotFound, "no step of which every stage has a snapshot"};
}

Result<StepSnapshots> read_snapshots(const std::string& run_folder, int32_t num_stages,
                                     uint64_t step) {
  auto run = RunSnapshots::open(run_folder, num_stages);
  if (!run) return run.error();
  StepSnapshots out = run->read(step);
  std::set<int32_t> stages;
  for (const auto& snapshot : out.found) stages.insert(snapshot.stage);
  for (int32_t stage = 0; stage < num_stages; ++stage) {
    if (stages.count(stage) > 0) continue;
    const std::string none = fmt::format("no snapshot of stage {} at step {}", stage, step);
    if (out.unreadable.empty()) return Error{ErrorCode::kNotFound, none};
    return Error{ErrorCode::kCorruptCheckpoint,
                 fmt::format("{} can be read: {}", none, fmt::join(out.unreadable, "; "))};
  }
  return out;
}

Result<uint64_t> newest_common_step(const std::string& run_folder, int32_t num_stages) {
  auto run = RunSnapshots::open(run_folder, num_stages);
  if (!run) return run.error();
  return run->newest_common_step();
}

}  // namespace swarm::storage
