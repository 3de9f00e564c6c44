/// Durable state, keyed by (stream, step): bytes in, bytes out. A stream is stage_key(k) where
/// actors use it. Thread-safe.
///
/// Implementations: the rows of storage/stores.h, such as open_rocksdb_checkpoint_store() below, and
/// the simulator's DiskStore; all pass tests/support/checkpoint_store_contract.h.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/buffer.h"
#include "common/result.h"

namespace rocksdb {
class Env;
}

namespace swarm::storage {

struct CheckpointKey {
  std::string stream;  ///< 1 to 64 characters of [a-z0-9/_-].
  uint64_t step = 0;
};

class CheckpointStore {
 public:
  virtual ~CheckpointStore() = default;

  /// Stores all of `value` or nothing, visible in one atomic commit; on success it survives a
  /// machine crash. Deletes all but the newest `keep` (>= 1) of the stream, and the one that is
  /// pinned, in the same commit; a step older than those is itself not kept. A stored snapshot that no longer verifies is
  /// replaced. Errors: kAlreadyExists only if the content differs, kIo (nothing was stored),
  /// kInvalidArgument.
  virtual Status put(const CheckpointKey& key, const Buffer& value, uint32_t keep) = 0;

  /// As put(), but other content under this key is replaced, in the same commit: at any moment the
  /// old snapshot loads or the new one does. For states that keep changing within a step
  /// (asynchronous training). Never kAlreadyExists.
  virtual Status put_or_replace(const CheckpointKey& key, const Buffer& value, uint32_t keep) = 0;

  /// From now on no put deletes the snapshot of this step, however many are newer. It takes the place
  /// of the stream's pin before; if there is no such snapshot, that one stays. Survives a crash.
  /// Errors: kInvalidArgument, kIo.
  virtual Status pin(const std::string& stream, uint64_t step) = 0;

  /// The snapshot of this key. Errors: kNotFound, kCorruptCheckpoint (a checksum differs), kIo.
  virtual Result<Buffer> get(const CheckpointKey& key) const = 0;

  /// The first `bytes` of it at least, or all if it is shorter; what comes behind need neither be read
  /// nor verified. Errors: as get().
  virtual Result<Buffer> front(const CheckpointKey& key, uint64_t) const { return get(key); }

  /// Steps of complete snapshots of the stream, newest first (checksums not yet verified).
  virtual Result<std::vector<uint64_t>> steps(const std::string& stream) const = 0;

  /// Deletes snapshots newer than `step` (after a recovery to it, so that a later recovery does not
  /// mix histories).
  virtual Status drop_newer(const std::string& stream, uint64_t step) = 0;

  /// Sets these snapshots aside, those of them that are there, in one atomic commit: each is in the stream
  /// aside_key(`name`, its stream) afterwards, under its step, and no longer in its own. Those of `back`, in
  /// streams that lie aside, are in the stream that they were set aside of, in the place of what had their step. Of each stream only
  /// what was set aside last is kept, and what lies under kAsideBefore: what lies under other names goes in the
  /// same commit. Survives a crash.
  /// Errors: kInvalidArgument, kIo (all is as it was).
  virtual Status set_aside(const std::vector<CheckpointKey>& keys, const std::string& name,
                           const std::vector<CheckpointKey>& back = {}) = 0;

  /// Each of these snapshots, those of them that are there, lies under kAsideBefore too from now on, whatever
  /// becomes of it in its own stream; one of its step that lies there already stays. One atomic commit, which
  /// survives a crash. Errors: kInvalidArgument, kIo (all is as it was).
  virtual Status keep_aside(const std::vector<CheckpointKey>& keys) = 0;

  /// What lies under kAsideBefore of these streams goes. Errors: kInvalidArgument, kIo.
  virtual Status drop_before(const std::vector<std::string>& streams) = 0;

  /// All streams that have a snapshot, those that lie aside too.
  virtual Result<std::vector<std::string>> streams() const = 0;
};

struct CheckpointStoreOptions {
  std::string directory;
  /// Values are cut into chunks of this size [64 B, 64 MiB], each with its own checksum. May change
  /// between openings. Smaller: less memory held while reading, more bookkeeping.
  uint32_t chunk_bytes = 4u << 20;
  /// Where the files are; it outlives the store. Null: the machine's disks.
  rocksdb::Env* env = nullptr;
};

/// Opens or creates the store. One process at a time: kNotReady if locked. Errors: kCorruptCheckpoint (it is
/// damaged as a whole), kIo, kInvalidArgument.
Result<std::shared_ptr<CheckpointStore>> open_rocksdb_checkpoint_store(
    const CheckpointStoreOptions& options);

}  // namespace swarm::storage
