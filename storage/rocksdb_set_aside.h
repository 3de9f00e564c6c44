/// What is set aside in a database of snapshots: their chunks stay where they are, the manifests get other keys.
#pragma once

#include <rocksdb/db.h>
#include <rocksdb/write_batch.h>

#include <string>
#include <vector>

#include "common/result.h"
#include "storage/checkpoint_store.h"

namespace swarm::storage {

/// Adds to `batch` what CheckpointStore::set_aside() is to change; nothing if none of them is there. The chunks of
/// what goes are nobody's afterwards. Errors: kIo, kInvalidArgument.
Status batch_setting_aside(rocksdb::DB& db, const std::vector<CheckpointKey>& keys,
                           const std::string& name, const std::vector<CheckpointKey>& back,
                           rocksdb::WriteBatch& batch);

/// Likewise CheckpointStore::keep_aside(): two manifests name the same chunks then.
Status batch_keeping_aside(rocksdb::DB& db, const std::vector<CheckpointKey>& keys,
                           rocksdb::WriteBatch& batch);

/// Likewise CheckpointStore::drop_before().
Status batch_dropping_before(rocksdb::DB& db, const std::vector<std::string>& streams,
                             rocksdb::WriteBatch& batch);

}  // namespace swarm::storage
