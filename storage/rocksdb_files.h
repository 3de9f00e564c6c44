/// The file system that the checkpoint store's RocksDB works on.
#pragma once

#include <rocksdb/file_system.h>

#include <memory>

namespace swarm::storage {

/// `base`, but that while IngestGuard lives, what its thread links is renamed instead, which all file systems
/// can do, and tables are not deleted. RocksDB deletes a table that it could not take in even where its line is in
/// the manifest already and only the fsync of that has failed: the database would name a file that is gone, and
/// never open again. What is left over the next opening deletes.
std::shared_ptr<rocksdb::FileSystem> table_keeping_files(std::shared_ptr<rocksdb::FileSystem> base);

/// Around IngestExternalFile().
class IngestGuard {
 public:
  IngestGuard();
  ~IngestGuard();
  IngestGuard(const IngestGuard&) = delete;
  IngestGuard& operator=(const IngestGuard&) = delete;
};

}  // namespace swarm::storage
