/// How the checkpoint store's RocksDB is set up (docs/checkpoint_format.md).
#pragma once

#include <rocksdb/options.h>

namespace swarm::storage {

rocksdb::Options rocksdb_options();

}  // namespace swarm::storage
