/// Where a node's snapshots are kept. Plain data, no RocksDB.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace swarm::storage {

/// By place in the table of storage/stores.cc: the file, under a node's folder, without which a store of
/// the row is empty.
inline std::vector<std::string> store_heads() { return {"db/CURRENT"}; }

/// A row of the table in storage/stores.cc, by its place there; a row without a name here is chosen
/// by its name in the configuration alone.
enum class StoreKind : uint8_t { kRocksdb };

/// Names of all rows, by place: append, never reorder.
inline std::vector<std::string> store_names() { return {"rocksdb"}; }

}  // namespace swarm::storage
