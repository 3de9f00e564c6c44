#include "apps/sim/disk.h"

#include <fmt/format.h>

#include "storage/snapshot_manifest.h"

namespace swarm::sim {

void Disk::Change::apply(Streams& to, bool torn) const {
  auto& snapshots = to[key.stream];
  if (is_put) {
    const auto old = snapshots.find(key.step);
    if (torn && old != snapshots.end() && !old->second.torn) return;  // replaced in one commit
    snapshots[key.step] = {bytes, torn};
    if (!torn)  // the deletion of old ones is part of the commit that was cut short
      while (snapshots.size() > keep) snapshots.erase(snapshots.begin());
  } else {
    snapshots.erase(snapshots.upper_bound(key.step), snapshots.end());
  }
  if (snapshots.empty()) to.erase(key.stream);
}

void Disk::put(const storage::CheckpointKey& key, std::string bytes, uint32_t keep) {
  unsynced_.push_back({++changes_, true, key, std::move(bytes), keep});
  unsynced_.back().apply(visible_, false);
}

void Disk::drop_newer(const std::string& stream, uint64_t step) {
  unsynced_.push_back({++changes_, false, {stream, step}, "", 0});
  unsynced_.back().apply(visible_, false);
}

void Disk::sync(uint64_t number) {
  while (!unsynced_.empty() && unsynced_.front().number <= number) {
    unsynced_.front().apply(durable_, false);
    unsynced_.pop_front();
  }
}

std::string Disk::crash(Random& random) {
  std::string lost;
  const uint64_t kept = unsynced_.empty() ? 0 : random.below(unsynced_.size() + 1);
  for (uint64_t i = 0; i < kept; ++i) unsynced_[i].apply(durable_, false);
  if (kept < unsynced_.size()) {
    const Change& first = unsynced_[kept];
    const bool torn = first.is_put && random.chance(0.5);
    if (torn) first.apply(durable_, true);
    lost = fmt::format("kept={} lost={}", kept, unsynced_.size() - kept);
    if (torn) lost += fmt::format(" torn_step={}", first.key.step);
  }
  unsynced_.clear();
  visible_ = durable_;
  return lost;
}

Status DiskStore::usable(const std::string& stream) const {
  Status valid = storage::check_stream(stream);
  if (!valid.ok()) return valid;
  if (closed_) return Error{ErrorCode::kIo, "the process is gone"};
  return {};
}

Status DiskStore::put(const storage::CheckpointKey& key, const Buffer& value, uint32_t keep) {
  return store(key, value, keep, /*replace=*/false);
}

Status DiskStore::put_or_replace(const storage::CheckpointKey& key, const Buffer& value,
                                 uint32_t keep) {
  return store(key, value, keep, /*replace=*/true);
}

Status DiskStore::store(const storage::CheckpointKey& key, const Buffer& value, uint32_t keep,
                        bool replace) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (auto ok = usable(key.stream); !ok.ok()) return ok;
  if (disk_->full()) return Error{ErrorCode::kIo, "no space is left"};
  if (keep == 0) return Error{ErrorCode::kInvalidArgument, "keep must be at least 1"};
  auto stream = disk_->content().find(key.stream);
  if (stream != disk_->content().end()) {
    auto found = stream->second.find(key.step);
    if (found != stream->second.end() && !found->second.torn) {
      if (found->second.bytes == value.view()) return {};
      if (!replace) return Error{ErrorCode::kAlreadyExists, "exists with different content"};
    }
  }
  disk_->put(key, std::string(value.view()), keep);
  changed();
  return {};
}

Result<Buffer> DiskStore::get(const storage::CheckpointKey& key) const {
  std::lock_guard<std::mutex> lock(mutex_);
  if (auto ok = usable(key.stream); !ok.ok()) return ok.error();
  auto stream = disk_->content().find(key.stream);
  if (stream == disk_->content().end() || stream->second.count(key.step) == 0)
    return Error{ErrorCode::kNotFound, "no such snapshot"};
  const auto& value = stream->second.at(key.step);
  if (value.torn) return Error{ErrorCode::kCorruptCheckpoint, "a checksum differs"};
  return Buffer::from_string(value.bytes);
}

Result<std::vector<uint64_t>> DiskStore::steps(const std::string& stream) const {
  std::lock_guard<std::mutex> lock(mutex_);
  if (auto ok = usable(stream); !ok.ok()) return ok.error();
  std::vector<uint64_t> found;
  auto it = disk_->content().find(stream);
  if (it != disk_->content().end())
    for (const auto& [step, value] : it->second) found.insert(found.begin(), step);
  return found;
}

Status DiskStore::drop_newer(const std::string& stream, uint64_t step) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (auto ok = usable(stream); !ok.ok()) return ok;
  disk_->drop_newer(stream, step);
  changed();
  return {};
}

Result<std::vector<std::string>> DiskStore::streams() const {
  std::lock_guard<std::mutex> lock(mutex_);
  std::vector<std::string> names;
  for (const auto& [name, snapshots] : disk_->content()) names.push_back(name);
  return names;
}

void DiskStore::close() {
  std::lock_guard<std::mutex> lock(mutex_);
  closed_ = true;
}

}  // namespace swarm::sim
