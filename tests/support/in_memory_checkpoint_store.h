/// A CheckpointStore that forgets everything when it goes; thread-safe; same contract as RocksDB's.
#pragma once

#include <map>
#include <mutex>

#include "storage/checkpoint_store.h"
#include "storage/snapshot_manifest.h"

namespace swarm::testing {

class InMemoryCheckpointStore final : public storage::CheckpointStore {
 public:
  Status put(const storage::CheckpointKey& key, const Buffer& value, uint32_t keep) override {
    Status valid = storage::check_stream(key.stream);
    if (!valid.ok()) return valid;
    if (keep == 0) return Error{ErrorCode::kInvalidArgument, "keep must be at least 1"};
    std::lock_guard<std::mutex> lock(mutex_);
    if (fail_puts_) return Error{ErrorCode::kIo, "the test said so"};
    auto& snapshots = streams_[key.stream];
    auto found = snapshots.find(key.step);
    if (found != snapshots.end() && found->second != value.view())
      return Error{ErrorCode::kAlreadyExists, "exists with different content"};
    snapshots.emplace(key.step, std::string(value.view()));
    while (snapshots.size() > keep) snapshots.erase(snapshots.begin());
    return {};
  }

  Result<Buffer> get(const storage::CheckpointKey& key) const override {
    Status valid = storage::check_stream(key.stream);
    if (!valid.ok()) return valid.error();
    std::lock_guard<std::mutex> lock(mutex_);
    auto stream = streams_.find(key.stream);
    if (stream == streams_.end() || stream->second.count(key.step) == 0)
      return Error{ErrorCode::kNotFound, "no such snapshot"};
    return Buffer::from_string(stream->second.at(key.step));
  }

  Result<std::vector<uint64_t>> steps(const std::string& stream) const override {
    Status valid = storage::check_stream(stream);
    if (!valid.ok()) return valid.error();
    std::lock_guard<std::mutex> lock(mutex_);
    std::vector<uint64_t> found;
    auto it = streams_.find(stream);
    if (it != streams_.end())
      for (const auto& [step, value] : it->second) found.insert(found.begin(), step);
    return found;
  }

  Status drop_newer(const std::string& stream, uint64_t step) override {
    Status valid = storage::check_stream(stream);
    if (!valid.ok()) return valid;
    std::lock_guard<std::mutex> lock(mutex_);
    auto it = streams_.find(stream);
    if (it == streams_.end()) return {};
    it->second.erase(it->second.upper_bound(step), it->second.end());
    if (it->second.empty()) streams_.erase(it);
    return {};
  }

  Result<std::vector<std::string>> streams() const override {
    std::lock_guard<std::mutex> lock(mutex_);
    std::vector<std::string> names;
    for (const auto& [name, snapshots] : streams_) names.push_back(name);
    return names;
  }

  /// From now on every put answers kIo (a full or broken disk).
  void fail_puts(bool fail) {
    std::lock_guard<std::mutex> lock(mutex_);
    fail_puts_ = fail;
  }

 private:
  mutable std::mutex mutex_;
  bool fail_puts_ = false;
  std::map<std::string, std::map<uint64_t, std::string>> streams_;
};

}  // namespace swarm::testing
