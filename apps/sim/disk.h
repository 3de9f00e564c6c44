/// A disk in memory that outlives the processes that write to it, and forgets what they had not
/// synced when they are killed.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "apps/sim/random.h"
#include "storage/checkpoint_store.h"

namespace swarm::sim {

/// What is wrong with a disk, for as long as it is.
struct DiskTrouble {
  bool fails = false;                  ///< Whatever is written or deleted.
  bool full = false;                   ///< Nothing more can be written.
  std::chrono::nanoseconds slower{0};  ///< Each write, and the next after it.
  bool unreadable = false;             ///< What there is can be listed, no more.
  bool any() const { return fails || full || slower.count() > 0; }
};

/// The snapshots of one node, and what its voter keeps. Changes of snapshots are visible at once and durable when synced; a crash keeps
/// the first few of those not synced, as a log does, and may tear the next. Not thread-safe.
class Disk {
 public:
  struct Value {
    std::string bytes;
    bool torn = false;  ///< It is not what was written: reading says kCorruptCheckpoint.
    bool pinned = false;
  };
  using Streams = std::map<std::string, std::map<uint64_t, Value>>;

  void put(const storage::CheckpointKey& key, std::string bytes, uint32_t keep);
  void drop_newer(const std::string& stream, uint64_t step);
  void pin(const std::string& stream, uint64_t step);
  void set_aside(std::vector<storage::CheckpointKey> keys, const std::string& name,
                 std::vector<storage::CheckpointKey> back = {});
  void keep_aside(std::vector<storage::CheckpointKey> keys);
  void drop_before(const std::vector<std::string>& streams);
  /// What is kept beside the snapshots, replaced as a whole; durable at once. Errors: kIo.
  Status keep(std::string record);
  const std::optional<std::string>& kept() const { return kept_; }
  /// Nothing more can be written, or something can again.
  void fill(bool full = true) { trouble_.full = full; }
  /// The newest snapshot of each stream does not verify any more.
  void spoil_newest();
  void set_trouble(const DiskTrouble& trouble) { trouble_ = trouble; }
  const DiskTrouble& trouble() const { return trouble_; }
  /// A write into `stream` was refused.
  void refuse(const std::string& stream) { refused_.insert(stream); }
  /// The last one was, or the next one may be.
  bool refuses(const std::string& stream) const {
    return trouble_.any() || refused_.count(stream) != 0;
  }
  /// The stage that its node serves, as nodes/NAME/stages.json says; nothing: as it was told at first.
  const std::optional<int32_t>& serves() const { return serves_; }
  /// Durable at once, if the disk takes anything.
  void keep_stage(int32_t stage) {
    if (!trouble_.fails && !trouble_.full) serves_ = stage;
  }
  const Streams& content() const { return visible_; }
  const Streams& durable() const { return durable_; }

  /// Number of the latest change; everything up to it is durable after sync(number).
  uint64_t changes() const { return changes_; }
  void sync(uint64_t number);
  /// What would be there if the machine lost its power now; in no trouble.
  Disk as_after_a_crash() const;
  /// kill -9: says what became of the changes that were not synced, "" if there were none.
  std::string crash(Random& random);

 private:
  struct Change {
    uint64_t number = 0;
    enum class What { kPut, kDropNewer, kPin, kSetAside, kKeepAside, kDropAll };
    What what = What::kPut;
    storage::CheckpointKey key;
    std::string bytes;
    uint32_t keep = 0;
    std::vector<storage::CheckpointKey>
        keys{};  ///< kSetAside, under this name: `key.stream`; kKeepAside.
    std::vector<storage::CheckpointKey> back{};  ///< kSetAside.
    void apply(Streams& to, bool torn) const;
  };
  void change(Change::What what, const storage::CheckpointKey& key, std::string bytes,
              uint32_t keep);

  Streams durable_, visible_;
  std::optional<std::string> kept_;
  std::optional<int32_t> serves_;
  std::deque<Change> unsynced_;
  uint64_t changes_ = 0;
  DiskTrouble trouble_;
  std::set<std::string> refused_;
};

/// What one process sees of a disk. After close() everything is kIo: the process is gone.
/// Thread-safe as long as it is the disk's only store.
class DiskStore final : public storage::CheckpointStore {
 public:
  /// `sync_at_once`: put() returns when all is durable; else the owner of `disk` syncs it.
  explicit DiskStore(std::shared_ptr<Disk> disk, bool sync_at_once = false)
      : disk_(std::move(disk)), sync_at_once_(sync_at_once) {}

  Status put(const storage::CheckpointKey& key, const Buffer& value, uint32_t keep) override;
  Status put_or_replace(const storage::CheckpointKey& key, const Buffer& value,
                        uint32_t keep) override;
  Status pin(const std::string& stream, uint64_t step) override;
  Result<Buffer> get(const storage::CheckpointKey& key) const override;
  Result<std::vector<uint64_t>> steps(const std::string& stream) const override;
  Status drop_newer(const std::string& stream, uint64_t step) override;
  Status set_aside(const std::vector<storage::CheckpointKey>& keys, const std::string& name,
                   const std::vector<storage::CheckpointKey>& back) override;
  Status keep_aside(const std::vector<storage::CheckpointKey>& keys) override;
  Status drop_before(const std::vector<std::string>& streams) override;
  Result<std::vector<std::string>> streams() const override;

  void close();

 private:
  Status store(const storage::CheckpointKey& key, const Buffer& value, uint32_t keep, bool replace);
  Status usable(const std::string& stream) const;
  Status takes(const std::vector<storage::CheckpointKey>& keys, const std::string& name) const;
  void changed() {
    if (sync_at_once_) disk_->sync(disk_->changes());
  }

  mutable std::mutex mutex_;
  std::shared_ptr<Disk> disk_;
  bool sync_at_once_ = false, closed_ = false;
};

}  // namespace swarm::sim
