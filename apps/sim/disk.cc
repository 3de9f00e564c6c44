#include "apps/sim/disk.h"

#include <fmt/format.h>

#include <iterator>
#include <set>

#include "common/names.h"
#include "storage/snapshot_manifest.h"

namespace swarm::sim {
namespace {

/// All but the newest few and the pinned one go.
void prune(std::map<uint64_t, Disk::Value>& snapshots, uint32_t keep) {
  uint64_t surplus = snapshots.size() > keep ? snapshots.size() - keep : 0;
  for (auto it = snapshots.begin(); surplus > 0; --surplus)
    it = it->second.pinned ? std::next(it) : snapshots.erase(it);
}

using Keys = std::vector<storage::CheckpointKey>;

/// Copies what is there of `key` to `to`. False: nothing is.
bool copy_in(Disk::Streams& streams, const storage::CheckpointKey& key, const std::string& to) {
  const auto stream = streams.find(key.stream);
  if (stream == streams.end() || stream->second.count(key.step) == 0) return false;
  auto value = stream->second.at(key.step);
  value.pinned = false;
  streams[to].insert_or_assign(key.step, std::move(value));
  return true;
}

void keep_aside_in(Disk::Streams& streams, const Keys& keys) {
  for (const auto& key : keys) {
    const std::string to = aside_key(kAsideBefore, key.stream);
    const auto kept = streams.find(to);
    if (kept == streams.end() || kept->second.count(key.step) == 0) copy_in(streams, key, to);
  }
}

void set_aside_in(Disk::Streams& streams, const Keys& keys, const std::string& name,
                  const Keys& back) {
  std::set<std::string> changed;
  for (const auto& key : keys) {
    if (!copy_in(streams, key, aside_key(name, key.stream))) continue;
    streams.at(key.stream).erase(key.step);
    if (streams.at(key.stream).empty()) streams.erase(key.stream);
    changed.insert(key.stream);
  }
  for (const auto& key : back)
    if (const auto to = aside_of(key.stream); copy_in(streams, key, to)) changed.insert(to);
  for (auto it = streams.begin(); it != streams.end();) {
    const std::string of = aside_of(it->first);
    const bool stays = it->first == aside_key(name, of) || aside_name(it->first) == kAsideBefore;
    const bool goes = changed.count(of) != 0 && !stays;
    it = goes ? streams.erase(it) : std::next(it);
  }
}

}  // namespace

void Disk::Change::apply(Streams& to, bool torn) const {
  if (what == What::kSetAside) return set_aside_in(to, keys, key.stream, back);
  if (what == What::kKeepAside) return keep_aside_in(to, keys);
  auto& snapshots = to[key.stream];
  const auto old = snapshots.find(key.step);
  switch (what) {
    case What::kPut:
      if (torn && old != snapshots.end() && !old->second.torn) return;  // replaced in one commit
      snapshots[key.step] = {bytes, torn, old != snapshots.end() && old->second.pinned};
      if (!torn) prune(snapshots, keep);  // part of the commit that was cut short
      break;
    case What::kDropNewer:
      snapshots.erase(snapshots.upper_bound(key.step), snapshots.end());
      break;
    case What::kDropAll:
      snapshots.clear();
      break;
    case What::kPin:
      if (old == snapshots.end()) break;
      for (auto& [step, value] : snapshots) value.pinned = step == key.step;
      break;
    case What::kSetAside:
    case What::kKeepAside:
      break;  // above
  }
  if (snapshots.empty()) to.erase(key.stream);
}

void Disk::change(Change::What what, const storage::CheckpointKey& key, std::string bytes,
                  uint32_t keep) {
  unsynced_.push_back({++changes_, what, key, std::move(bytes), keep});
  unsynced_.back().apply(visible_, false);
}

void Disk::put(const storage::CheckpointKey& key, std::string bytes, uint32_t keep) {
  refused_.erase(key.stream);
  change(Change::What::kPut, key, std::move(bytes), keep);
}

void Disk::drop_newer(const std::string& stream, uint64_t step) {
  change(Change::What::kDropNewer, {stream, step}, "", 0);
}

void Disk::pin(const std::string& stream, uint64_t step) {
  change(Change::What::kPin, {stream, step}, "", 0);
}

void Disk::set_aside(Keys keys, const std::string& name, Keys back) {
  unsynced_.push_back(
      {++changes_, Change::What::kSetAside, {name, 0}, "", 0, std::move(keys), std::move(back)});
  unsynced_.back().apply(visible_, false);
}

void Disk::keep_aside(Keys keys) {
  unsynced_.push_back({++changes_, Change::What::kKeepAside, {}, "", 0, std::move(keys)});
  unsynced_.back().apply(visible_, false);
}

void Disk::drop_before(const std::vector<std::string>& streams) {
  for (const std::string& stream : streams)
    change(Change::What::kDropAll, {aside_key(kAsideBefore, stream), 0}, "", 0);
}

Status Disk::keep(std::string record) {
  if (trouble_.fails) return Error{ErrorCode::kIo, "input/output error"};
  if (trouble_.full) return Error{ErrorCode::kIo, "no space is left"};
  kept_ = std::move(record);
  return {};
}

void Disk::spoil_newest() {
  for (Streams* streams : {&visible_, &durable_})
    for (auto& [stream, snapshots] : *streams)
      if (!snapshots.empty()) snapshots.rbegin()->second.torn = true;
}

void Disk::sync(uint64_t number) {
  while (!unsynced_.empty() && unsynced_.front().number <= number) {
    unsynced_.front().apply(durable_, false);
    unsynced_.pop_front();
  }
}

Disk Disk::as_after_a_crash() const {
  Disk left;
  left.durable_ = left.visible_ = durable_;
  left.kept_ = kept_;
  return left;
}

std::string Disk::crash(Random& random) {
  std::string lost;
  const uint64_t kept = unsynced_.empty() ? 0 : random.below(unsynced_.size() + 1);
  for (uint64_t i = 0; i < kept; ++i) unsynced_[i].apply(durable_, false);
  if (kept < unsynced_.size()) {
    const Change& first = unsynced_[kept];
    const bool torn = first.what == Change::What::kPut && random.chance(0.5);
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

Status DiskStore::pin(const std::string& stream, uint64_t step) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (auto ok = usable(stream); !ok.ok()) return ok;
  if (disk_->trouble().fails) return Error{ErrorCode::kIo, "input/output error"};
  if (disk_->trouble().full) return Error{ErrorCode::kIo, "no space is left"};
  disk_->pin(stream, step);
  changed();
  return {};
}

Status DiskStore::store(const storage::CheckpointKey& key, const Buffer& value, uint32_t keep,
                        bool replace) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (auto ok = usable(key.stream); !ok.ok()) return ok;
  if (disk_->trouble().fails || disk_->trouble().full) disk_->refuse(key.stream);
  if (disk_->trouble().fails) return Error{ErrorCode::kIo, "input/output error"};
  if (disk_->trouble().full) return Error{ErrorCode::kIo, "no space is left"};
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
  if (disk_->trouble().unreadable) return Error{ErrorCode::kIo, "input/output error"};
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
  if (disk_->trouble().fails) return Error{ErrorCode::kIo, "input/output error"};
  disk_->drop_newer(stream, step);
  changed();
  return {};
}

Status DiskStore::takes(const Keys& keys, const std::string& name) const {
  for (const auto& key : keys)
    if (auto ok = usable(aside_key(name, key.stream)); !ok.ok()) return ok;
  if (disk_->trouble().fails) return Error{ErrorCode::kIo, "input/output error"};
  if (disk_->trouble().full) return Error{ErrorCode::kIo, "no space is left"};
  return {};
}

Status DiskStore::set_aside(const Keys& keys, const std::string& name, const Keys& back) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (auto ok = takes(keys, name); !ok.ok()) return ok;
  disk_->set_aside(keys, name, back);
  changed();
  return {};
}

Status DiskStore::keep_aside(const Keys& keys) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (auto ok = takes(keys, kAsideBefore); !ok.ok()) return ok;
  disk_->keep_aside(keys);
  changed();
  return {};
}

Status DiskStore::drop_before(const std::vector<std::string>& streams) {
  std::lock_guard<std::mutex> lock(mutex_);
  for (const std::string& stream : streams)
    if (auto ok = usable(stream); !ok.ok()) return ok;
  if (disk_->trouble().fails) return Error{ErrorCode::kIo, "input/output error"};
  disk_->drop_before(streams);
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
