/// What RocksDB says, as errors of the store.
#pragma once

#include <rocksdb/status.h>

#include <string>

#include "common/result.h"

namespace swarm::storage {

/// kCorruptCheckpoint or kIo. `what` was done.
Error to_error(const rocksdb::Status& status, const std::string& what);

/// Of opening the database in `directory`: kNotReady too, if somebody has it open.
Error open_error(const rocksdb::Status& status, const std::string& directory);

}  // namespace swarm::storage
