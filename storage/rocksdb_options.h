/// How the checkpoint store's RocksDB is set up (docs/checkpoint_format.md).
#pragma once

#include <rocksdb/options.h>

#include <string>

namespace swarm::storage {

/// For a database in `directory`, which exists. Snapshots are written past the machine's page cache where
/// its file system can do that: fewer copies, and nothing that training needs is driven out of memory.
rocksdb::Options rocksdb_options(const std::string& directory);

}  // namespace swarm::storage
