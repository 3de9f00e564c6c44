#include <fmt/format.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/options.h>
#include <rocksdb/write_batch.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <shared_mutex>
#include <system_error>
#include <utility>

#include "storage/checkpoint_store.h"
#include "storage/rocksdb_chunk_table.h"
#include "storage/rocksdb_errors.h"
#include "storage/rocksdb_files.h"
#include "storage/rocksdb_options.h"
#include "storage/rocksdb_set_aside.h"
#include "storage/set_aside.h"
#include "storage/snapshot_manifest.h"
#include "storage/store_keys.h"

// Layout and order of writes: docs/checkpoint_format.md. Chunks bypass the write-ahead log and the memtable: each put
// writes a table of its own, past the page cache, which the database takes in. It is durable before the manifest, the
// only record in the log, makes it visible.

namespace swarm::storage {
namespace {

std::string text(const CheckpointKey& key) {
  return fmt::format("snapshot {} at step {}", key.stream, key.step);
}

using Iterator = std::unique_ptr<rocksdb::Iterator>;

class RocksdbCheckpointStore final : public CheckpointStore {
 public:
  /// `env`: of `options`.
  RocksdbCheckpointStore(std::unique_ptr<rocksdb::Env> env, std::unique_ptr<rocksdb::DB> db,
                         rocksdb::Options options, const CheckpointStoreOptions& store)
      : env_(std::move(env)),
        db_(std::move(db)),
        options_(std::move(options)),
        directory_(store.directory),
        chunk_bytes_(store.chunk_bytes) {}

  /// Removes what torn puts left behind and finds the first free put id.
  Status recover() {
    std::error_code nothing_to_do;
    std::filesystem::remove(directory_ + kTableInTheMaking, nothing_to_do);
    auto visible = visible_puts();
    if (!visible) return visible.error();
    uint64_t last = visible->empty() ? 0 : *visible->rbegin();
    last = std::max(last, last_put_in_tables(*db_));
    rocksdb::WriteBatch batch;
    Iterator it(db_->NewIterator({}));
    for (it->Seek({&kMarkerTag, 1}); it->Valid() && it->key()[0] == kMarkerTag; it->Next()) {
      uint64_t put_id = from_big_endian(it->key().ToStringView().substr(1));
      last = std::max(last, put_id);
      if (visible->count(put_id) == 0) remove_old_chunks(batch, put_id);
    }
    if (!it->status().ok()) return to_error(it->status(), "reading the markers");
    next_put_id_ = last + 1;
    Status status = batch.Count() == 0 ? Status() : commit(batch, "removing unfinished snapshots");
    if (status.ok() && settle()) drop_all_but(*visible);
    return status;
  }

  Status put(const CheckpointKey& key, const Buffer& value, uint32_t keep) override {
    return store(key, value, keep, /*replace=*/false);
  }

  Status put_or_replace(const CheckpointKey& key, const Buffer& value, uint32_t keep) override {
    return store(key, value, keep, /*replace=*/true);
  }

  Status pin(const std::string& stream, uint64_t step) override {
    std::lock_guard<std::mutex> lock(write_mutex_);
    if (Status open = reopen(); !open.ok()) return open;
    auto stored = steps(stream);
    if (!stored.ok()) return stored.error();
    if (std::count(stored->begin(), stored->end(), step) == 0 || pinned(stream) == step) return {};
    rocksdb::WriteBatch batch;
    batch.Put(pin_key(stream), big_endian(step));
    return commit(batch, "pinning " + text({stream, step}));
  }

  Result<Buffer> get(const CheckpointKey& key) const override { return front(key, UINT64_MAX); }

  Result<Buffer> front(const CheckpointKey& key, uint64_t bytes_wanted) const override {
    Status valid = check_stream(key.stream);
    if (!valid.ok()) return valid.error();
    std::shared_lock<std::shared_mutex> lock(db_mutex_);
    // The database as it is now: retention may drop the chunks while they are being read. The snapshot keeps their
    // keys and the iterator their files; no table goes between the two.
    auto release = [this](const rocksdb::Snapshot* s) { db_->ReleaseSnapshot(s); };
    std::unique_ptr<const rocksdb::Snapshot, decltype(release)> view(nullptr, release);
    rocksdb::ReadOptions options;
    Iterator chunks;
    {
      std::shared_lock<std::shared_mutex> no_drop(drop_mutex_);
      view.reset(db_->GetSnapshot());
      options.snapshot = view.get();
      chunks.reset(db_->NewIterator(options));
    }
    std::string bytes;
    rocksdb::Status read = db_->Get(options, manifest_key(key), &bytes);
    if (read.IsNotFound()) return Error{ErrorCode::kNotFound, "no " + text(key)};
    if (!read.ok()) return to_error(read, "reading the manifest of " + text(key));
    auto manifest = SnapshotManifest::decode(bytes);
    if (!manifest.ok()) return Error{manifest.code(), text(key) + ": " + manifest.error().detail};
    return read_chunks(options, *chunks, *manifest, key, bytes_wanted);
  }

  Result<std::vector<uint64_t>> steps(const std::string& stream) const override {
    Status valid = check_stream(stream);
    if (!valid.ok()) return valid.error();
    std::vector<uint64_t> found;
    std::string prefix = stream_prefix(stream);
    std::shared_lock<std::shared_mutex> lock(db_mutex_);
    Iterator it(db_->NewIterator({}));
    for (it->Seek(prefix); it->Valid() && it->key().starts_with(prefix); it->Next())
      found.push_back(from_big_endian(it->key().ToStringView().substr(prefix.size())));
    if (!it->status().ok()) return to_error(it->status(), "listing the snapshots of " + stream);
    return std::vector<uint64_t>(found.rbegin(), found.rend());
  }

  Status drop_newer(const std::string& stream, uint64_t step) override {
    return change("dropping snapshots of " + stream, [&](rocksdb::WriteBatch& batch) -> Status {
      auto stored = steps(stream);
      if (!stored.ok()) return stored.error();
      for (uint64_t newer : *stored)
        if (newer > step) remove_snapshot(batch, {stream, newer});
      return {};
    });
  }

  Status set_aside(const std::vector<CheckpointKey>& keys, const std::string& name,
                   const std::vector<CheckpointKey>& back) override {
    return change("setting snapshots aside", [&](rocksdb::WriteBatch& batch) {
      return batch_setting_aside(*db_, keys, name, back, batch);
    });
  }

  Status keep_aside(const std::vector<CheckpointKey>& keys) override {
    return change("keeping snapshots aside", [&](rocksdb::WriteBatch& batch) {
      return batch_keeping_aside(*db_, keys, batch);
    });
  }

  Status drop_before(const std::vector<std::string>& streams) override {
    return change("dropping what was kept aside", [&](rocksdb::WriteBatch& batch) {
      return batch_dropping_before(*db_, streams, batch);
    });
  }

  Result<std::vector<std::string>> streams() const override {
    std::vector<std::string> found;
    std::shared_lock<std::shared_mutex> lock(db_mutex_);
    Iterator it(db_->NewIterator({}));
    it->Seek({&kManifestTag, 1});
    while (it->Valid() && it->key()[0] == kManifestTag) {
      std::string_view rest = it->key().ToStringView().substr(1);
      found.emplace_back(rest.substr(0, rest.find('\0')));
      it->Seek(kManifestTag + found.back() + '\1');
    }
    if (!it->status().ok()) return to_error(it->status(), "listing the streams");
    return found;
  }

 private:
  Status store(const CheckpointKey& key, const Buffer& value, uint32_t keep, bool replace) {
    Status valid = check_stream(key.stream);
    if (!valid.ok()) return valid;
    if (keep == 0) return Error{ErrorCode::kInvalidArgument, "keep must be at least 1"};
    if (value.size() / chunk_bytes_ >= UINT32_MAX)
      return Error{ErrorCode::kInvalidArgument, text(key) + " has too many chunks"};
    std::lock_guard<std::mutex> lock(write_mutex_);
    if (Status open = reopen(); !open.ok()) return open;
    Result<Buffer> old = get(key);
    const bool differs = old.ok() && old->view() != value.view();
    if (differs && !replace)
      return Error{ErrorCode::kAlreadyExists, text(key) + " exists with different content"};
    if (old.code() == ErrorCode::kIo) return old.error();
    auto doomed = surplus(key, keep);
    if (!doomed.ok()) return doomed.error();
    rocksdb::WriteBatch batch;
    for (uint64_t step : *doomed) remove_snapshot(batch, {key.stream, step});
    // One that exists but is damaged is replaced: what put() acknowledges must load.
    const bool shown = std::count(doomed->begin(), doomed->end(), key.step) == 0;
    const bool outdated = differs || old.code() == ErrorCode::kCorruptCheckpoint;
    if (outdated && shown) remove_snapshot(batch, key);
    bool removes = batch.Count() > 0;
    if ((!old.ok() || differs) && shown) {
      auto manifest = SnapshotManifest::describe(value, next_put_id_++, chunk_bytes_);
      if (!manifest.chunk_digests.empty()) {
        rocksdb::Status written = take_in_chunks(*db_, options_, directory_, manifest, value);
        failed_ |= !written.ok();
        if (!written.ok()) return Error{ErrorCode::kIo, "writing chunks: " + written.ToString()};
      }
      batch.Put(manifest_key(key), manifest.encode());
    }
    if (batch.Count() == 0) return {};
    Status status = commit(batch, "storing " + text(key));
    if (status.ok() && removes) reclaim();
    if (status.ok() && !removes) settle();
    return status;
  }

  /// The puts whose manifests are there and right. Chunks of a damaged one cannot be told from those of a torn
  /// put, and could not be loaded either.
  Result<std::set<uint64_t>> visible_puts() const {
    std::set<uint64_t> visible;
    Iterator it(db_->NewIterator({}));
    for (it->Seek({&kManifestTag, 1}); it->Valid() && it->key()[0] == kManifestTag; it->Next()) {
      auto manifest = SnapshotManifest::decode(it->value().ToStringView());
      if (manifest.ok()) visible.insert(manifest->put_id);
    }
    if (!it->status().ok()) return to_error(it->status(), "reading the manifests");
    return visible;
  }

  Result<Buffer> read_chunks(const rocksdb::ReadOptions& options, rocksdb::Iterator& all,
                             const SnapshotManifest& manifest, const CheckpointKey& key,
                             uint64_t bytes) const {
    if (manifest.total_bytes > stored_bytes(*db_))
      return Error{ErrorCode::kCorruptCheckpoint, text(key) + ": larger than the whole store"};
    const uint64_t most = bytes / manifest.chunk_bytes + 1;  // chunks
    const uint64_t chunks = std::min<uint64_t>(most, manifest.chunk_digests.size());
    MutableBuffer value =
        MutableBuffer::allocate(std::min(manifest.total_bytes, chunks * manifest.chunk_bytes));
    const auto key_of = is_old(*db_, options, manifest.put_id) ? old_chunk_key : chunk_key;
    for (size_t i = 0; i < chunks; ++i) {
      const std::string wanted = key_of(manifest.put_id, i);
      all.Seek(wanted);
      if (!all.status().ok()) return to_error(all.status(), "reading " + text(key));
      if (!all.Valid() || all.key() != wanted)
        return Error{ErrorCode::kCorruptCheckpoint,
                     fmt::format("{}: chunk {} is missing", text(key), i)};
      const rocksdb::Slice chunk = all.value();
      Status same = manifest.verify_chunk(i, chunk.ToStringView());
      if (!same.ok()) return Error{same.code(), text(key) + ": " + same.error().detail};
      std::memcpy(value.data() + uint64_t{manifest.chunk_bytes} * i, chunk.data(), chunk.size());
    }
    return value.freeze();
  }

  void remove_old_chunks(rocksdb::WriteBatch& batch, uint64_t put_id) {
    batch.DeleteRange(old_chunk_key(put_id, 0), old_chunk_key(put_id + 1, 0));
    batch.Delete(marker_key(put_id));
    compacts_ = true;
  }

  void remove_snapshot(rocksdb::WriteBatch& batch, const CheckpointKey& key) {
    std::string bytes;
    if (!db_->Get({}, manifest_key(key), &bytes).ok()) return;
    auto manifest = SnapshotManifest::decode(bytes);
    if (manifest.ok() && is_old(*db_, {}, manifest->put_id))
      remove_old_chunks(batch, manifest->put_id);
    batch.Delete(manifest_key(key));
  }

  std::optional<uint64_t> pinned(const std::string& stream) const {
    std::string bytes;
    if (!db_->Get({}, pin_key(stream), &bytes).ok() || bytes.size() != 8) return std::nullopt;
    return from_big_endian(bytes);
  }

  /// Steps beyond the newest `keep`, newest first and without the pinned one, as if `key` were stored;
  /// may contain key.step.
  Result<std::vector<uint64_t>> surplus(const CheckpointKey& key, uint32_t keep) const {
    auto stored = steps(key.stream);
    if (!stored.ok()) return stored.error();
    std::set<uint64_t, std::greater<uint64_t>> all(stored->begin(), stored->end());
    all.insert(key.step);
    std::vector<uint64_t> doomed(all.begin(), all.end());
    doomed.erase(doomed.begin(), doomed.begin() + static_cast<std::ptrdiff_t>(
                                                      std::min<size_t>(keep, doomed.size())));
    if (const auto kept = pinned(key.stream))
      doomed.erase(std::remove(doomed.begin(), doomed.end(), *kept), doomed.end());
    return doomed;
  }

  /// `fill` says what is to change: nothing is written if it adds nothing.
  template <class Fill>
  Status change(const std::string& what, Fill fill) {
    std::lock_guard<std::mutex> lock(write_mutex_);
    if (Status open = reopen(); !open.ok()) return open;
    rocksdb::WriteBatch batch;
    if (Status filled = fill(batch); !filled.ok() || batch.Count() == 0) return filled;
    Status status = commit(batch, what);
    if (status.ok()) reclaim();
    return status;
  }

  Status commit(rocksdb::WriteBatch& batch, const std::string& what) {
    rocksdb::WriteOptions options;
    options.sync = true;
    rocksdb::Status status = db_->Write(options, &batch);
    failed_ |= !status.ok();
    if (!status.ok()) return Error{ErrorCode::kIo, what + ": " + status.ToString()};
    return {};
  }

  /// After a write that failed RocksDB refuses all others, however much room there is again, and
  /// DB::Resume() only helps with some. So the next write opens the database anew, which also removes what
  /// failed half way. It can be read at any time.
  Status reopen() {
    if (!failed_) return {};
    for (const bool writable : {false, true}) {
      rocksdb::DB* raw = nullptr;
      const rocksdb::Status opened = writable
                                         ? rocksdb::DB::Open(options_, directory_, &raw)
                                         : rocksdb::DB::OpenForReadOnly(options_, directory_, &raw);
      if (!opened.ok())
        return Error{ErrorCode::kIo, "opening the store again: " + opened.ToString()};
      std::unique_lock<std::shared_mutex> lock(db_mutex_);
      db_.reset(raw);
    }
    Status recovered = recover();
    failed_ = !recovered.ok();
    return recovered;
  }

  /// What was committed leaves the log, of which no more than the newest commit can be damaged then.
  bool settle() {
    const bool settled = db_->Flush(rocksdb::FlushOptions()).ok();
    failed_ |= !settled;
    return settled;
  }

  /// Drops the tables of removed snapshots. Disk space may come back later when it fails.
  void reclaim() {
    if (!settle()) return;  // no table goes before what says so is as durable
    const auto visible = visible_puts();
    if (visible) drop_all_but(*visible);
  }

  void drop_all_but(const std::set<uint64_t>& visible) {
    if (std::exchange(compacts_, false)) {
      std::string first(1, kOldChunkTag), last(1, kOldChunkTag + 1);
      rocksdb::Slice begin(first), end(last);
      (void)db_->CompactRange(rocksdb::CompactRangeOptions(), &begin, &end);
    }
    std::unique_lock<std::shared_mutex> lock(drop_mutex_);
    (void)drop_tables_but(*db_, visible);
  }

  const std::unique_ptr<rocksdb::Env> env_;
  std::unique_ptr<rocksdb::DB> db_;
  mutable std::shared_mutex db_mutex_;  // who reads shares it; it is another database afterwards
  mutable std::shared_mutex
      drop_mutex_;  // who begins to read shares it; tables are gone afterwards
  const rocksdb::Options options_;
  const std::string directory_;
  const uint32_t chunk_bytes_;
  std::mutex write_mutex_;    // puts, pins and drops, one at a time
  uint64_t next_put_id_ = 1;  // under write_mutex_, as what follows
  bool failed_ = false;       // a write has, since the database was opened
  bool compacts_ = false;     // old chunks were removed
};

}  // namespace

Result<std::shared_ptr<CheckpointStore>> open_rocksdb_checkpoint_store(
    const CheckpointStoreOptions& options) {
  if (options.chunk_bytes < kMinChunkBytes || options.chunk_bytes > kMaxChunkBytes)
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("chunk_bytes is {}; it must be {} to {}", options.chunk_bytes,
                             kMinChunkBytes, kMaxChunkBytes)};
  std::error_code failure;
  std::filesystem::create_directories(options.directory, failure);
  if (failure)
    return Error{ErrorCode::kIo,
                 "cannot create the directory '" + options.directory + "': " + failure.message()};
  if (beheaded(options.directory))
    return Error{ErrorCode::kCorruptCheckpoint,
                 "the checkpoint store '" + options.directory + "' has files, but no CURRENT"};
  rocksdb::DB* raw = nullptr;
  rocksdb::Options settings = rocksdb_options(options.directory);
  const auto* base = options.env != nullptr ? options.env : rocksdb::Env::Default();
  auto env = rocksdb::NewCompositeEnv(table_keeping_files(base->GetFileSystem()));
  settings.env = env.get();
  rocksdb::Status status = rocksdb::DB::Open(settings, options.directory, &raw);
  if (!status.ok()) return open_error(status, options.directory);
  auto store = std::make_shared<RocksdbCheckpointStore>(
      std::move(env), std::unique_ptr<rocksdb::DB>(raw), settings, options);
  Status recovered = store->recover();
  if (!recovered.ok())
    return Error{recovered.code(), "the checkpoint store '" + options.directory +
                                       "' is damaged: " + recovered.error().detail};
  return std::shared_ptr<CheckpointStore>(std::move(store));
}

}  // namespace swarm::storage
