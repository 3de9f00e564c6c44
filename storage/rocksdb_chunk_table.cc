#include "storage/rocksdb_chunk_table.h"

#include <rocksdb/convenience.h>
#include <rocksdb/env.h>
#include <rocksdb/sst_file_writer.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

#include "storage/rocksdb_files.h"
#include "storage/store_keys.h"

namespace swarm::storage {
namespace {

rocksdb::Status write_table(const rocksdb::Options& options, const std::string& path,
                            const SnapshotManifest& manifest, const Buffer& value) {
  rocksdb::EnvOptions file(options);
  file.use_direct_writes = options.use_direct_io_for_flush_and_compaction;
  rocksdb::SstFileWriter table(file, options);
  rocksdb::Status status = table.Open(path);
  for (size_t i = 0; status.ok() && i < manifest.chunk_digests.size(); ++i) {
    const uint8_t* first = value.data() + uint64_t{manifest.chunk_bytes} * i;
    status = table.Put(chunk_key(manifest.put_id, i),
                       {reinterpret_cast<const char*>(first), manifest.chunk_size(i)});
  }
  return status.ok() ? table.Finish() : status;  // and fsync
}

}  // namespace

rocksdb::Status take_in_chunks(rocksdb::DB& db, const rocksdb::Options& options,
                               const std::string& directory, const SnapshotManifest& manifest,
                               const Buffer& value) {
  const std::string path = directory + kTableInTheMaking;
  rocksdb::Status status = write_table(options, path, manifest, value);
  if (status.ok()) {
    rocksdb::IngestExternalFileOptions how;
    how.move_files = true;
    how.snapshot_consistency = false;  // no reader knows these keys before the manifest
    how.write_global_seqno = false;    // the file stays as it was written
    const IngestGuard guard;
    status = db.IngestExternalFile({path}, how);
  }
  std::error_code nothing_to_do;
  std::filesystem::remove(path, nothing_to_do);
  return status;
}

rocksdb::Status drop_tables_but(rocksdb::DB& db, const std::set<uint64_t>& kept) {
  rocksdb::Status status;
  const auto drop = [&](const std::string& first, const std::string& last) {  // not `last` itself
    const rocksdb::Slice begin(first), end(last);
    if (status.ok())
      status = rocksdb::DeleteFilesInRange(&db, db.DefaultColumnFamily(), &begin, &end,
                                           /*include_end=*/false);
  };
  uint64_t from = 0;
  for (const uint64_t put_id : kept) {
    drop(chunk_key(from, 0), chunk_key(put_id, 0));
    from = put_id + 1;
  }
  drop(chunk_key(from, 0), std::string(1, kChunkTag + 1));
  return status;
}

uint64_t last_put_in_tables(rocksdb::DB& db) {
  std::vector<rocksdb::LiveFileMetaData> files;
  db.GetLiveFilesMetaData(&files);
  uint64_t last = 0;
  for (const auto& file : files)
    for (const std::string& key : {file.smallestkey, file.largestkey})
      if (key.size() == chunk_key(0, 0).size() && key[0] == kChunkTag)
        last = std::max(last, from_big_endian(std::string_view(key).substr(1, 8)));
  return last;
}

uint64_t stored_bytes(rocksdb::DB& db) {
  uint64_t total = 0;
  for (const std::string& name :
       {rocksdb::DB::Properties::kTotalBlobFileSize, rocksdb::DB::Properties::kTotalSstFilesSize,
        rocksdb::DB::Properties::kCurSizeAllMemTables}) {
    uint64_t bytes = 0;
    if (db.GetIntProperty(name, &bytes)) total += bytes;
  }
  return total;
}

bool is_old(rocksdb::DB& db, const rocksdb::ReadOptions& at, uint64_t put_id) {
  std::string marker;
  return db.Get(at, marker_key(put_id), &marker).ok();
}

}  // namespace swarm::storage
