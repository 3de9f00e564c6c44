#include "storage/rocksdb_set_aside.h"

#include <memory>
#include <set>
#include <string_view>

#include "common/names.h"
#include "storage/rocksdb_chunk_table.h"
#include "storage/rocksdb_errors.h"
#include "storage/snapshot_manifest.h"
#include "storage/store_keys.h"

namespace swarm::storage {
namespace {

/// What was set aside of `streams` goes where `goes` says so of its name.
template <class Goes>
Status drop_names(rocksdb::DB& db, const std::set<std::string>& streams, Goes goes,
                  rocksdb::WriteBatch& batch) {
  const std::string prefix = kManifestTag + std::string(kAsideStreams);
  std::unique_ptr<rocksdb::Iterator> it(db.NewIterator({}));
  for (it->Seek(prefix); it->Valid() && it->key().starts_with(prefix); it->Next()) {
    const std::string_view rest = it->key().ToStringView().substr(1);
    const std::string key(rest.substr(0, rest.find('\0')));
    if (streams.count(aside_of(key)) != 0 && goes(aside_name(key))) batch.Delete(it->key());
  }
  if (!it->status().ok()) return to_error(it->status(), "listing what is set aside");
  return {};
}

/// "": it is not there.
Result<std::string> manifest_of(rocksdb::DB& db, const CheckpointKey& key) {
  if (Status valid = check_stream(key.stream); !valid.ok()) return valid.error();
  std::string manifest;
  const rocksdb::Status read = db.Get({}, manifest_key(key), &manifest);
  if (!read.ok() && !read.IsNotFound())
    return to_error(read, "reading a manifest of " + key.stream);
  return manifest;
}

/// Of before the tables: its chunks go with the first of its manifests.
bool names_old_chunks(rocksdb::DB& db, const std::string& manifest) {
  const auto decoded = SnapshotManifest::decode(manifest);
  return decoded && is_old(db, {}, decoded->put_id);
}

CheckpointKey aside(const CheckpointKey& key, const std::string& name) {
  return {aside_key(name, key.stream), key.step};
}

}  // namespace

Status batch_keeping_aside(rocksdb::DB& db, const std::vector<CheckpointKey>& keys,
                           rocksdb::WriteBatch& batch) {
  for (const CheckpointKey& key : keys) {
    const CheckpointKey to = aside(key, kAsideBefore);
    const auto kept = manifest_of(db, to);
    if (!kept) return kept.error();
    const auto manifest = manifest_of(db, key);
    if (!manifest) return manifest.error();
    if (kept->empty() && !manifest->empty() && !names_old_chunks(db, *manifest))
      batch.Put(manifest_key(to), *manifest);
  }
  return {};
}

Status batch_setting_aside(rocksdb::DB& db, const std::vector<CheckpointKey>& keys,
                           const std::string& name, const std::vector<CheckpointKey>& back,
                           rocksdb::WriteBatch& batch) {
  std::set<std::string> streams;
  for (const CheckpointKey& key : keys) {
    const CheckpointKey to = aside(key, name);
    if (Status valid = check_stream(to.stream); !valid.ok()) return valid;
    const auto manifest = manifest_of(db, key);
    if (!manifest) return manifest.error();
    if (manifest->empty()) continue;
    std::string pin;
    batch.Put(manifest_key(to), *manifest);
    batch.Delete(manifest_key(key));
    const bool pinned = db.Get({}, pin_key(key.stream), &pin).ok() && pin == big_endian(key.step);
    if (pinned) batch.Delete(pin_key(key.stream));
    streams.insert(key.stream);
  }
  for (const CheckpointKey& key : back) {
    const CheckpointKey to{aside_of(key.stream), key.step};
    if (Status valid = check_stream(to.stream); !valid.ok()) return valid;
    const auto manifest = manifest_of(db, key);
    if (!manifest) return manifest.error();
    if (manifest->empty()) continue;
    batch.Put(manifest_key(to), *manifest);
    streams.insert(to.stream);
  }
  const auto goes = [&name](const std::string& other) {
    return other != name && other != kAsideBefore;
  };
  return streams.empty() ? Status() : drop_names(db, streams, goes, batch);
}

Status batch_dropping_before(rocksdb::DB& db, const std::vector<std::string>& streams,
                             rocksdb::WriteBatch& batch) {
  const auto goes = [](const std::string& name) { return name == kAsideBefore; };
  return drop_names(db, {streams.begin(), streams.end()}, goes, batch);
}

}  // namespace swarm::storage
