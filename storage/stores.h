/// The table of checkpoint stores, and where in a node's folder each lies.
///
/// A new store is a file of its own, a name in storage/options.h and a row in storage/stores.cc.
#pragma once

#include <memory>
#include <string>

#include "common/result.h"
#include "storage/checkpoint_store.h"
#include "storage/options.h"

namespace swarm::storage {

/// A row of the table.
struct StoreInfo {
  const char* folder;  ///< Within the node's folder; no other row has it.
  Result<std::shared_ptr<CheckpointStore>> (*open)(const CheckpointStoreOptions& options);
};

/// Opens or creates the store of the node whose files are in `node_folder`. One process at a time:
/// kNotReady if locked. Requires a kind that is a row of the table. Errors: kCorruptCheckpoint (it is damaged
/// as a whole: see set_store_aside()), kIo.
Result<std::shared_ptr<CheckpointStore>> open_store(StoreKind kind, const std::string& node_folder);

/// A damaged store of the node makes room for an empty one: see set_aside(). Returns its path now.
/// Requires that nobody has it open. Errors: kIo.
Result<std::string> set_store_aside(StoreKind kind, const std::string& node_folder,
                                    const std::string& time);

/// Opens the store that is there, of whichever kind. Errors: kNotFound (none is), those of opening.
Result<std::shared_ptr<CheckpointStore>> find_store(const std::string& node_folder);

}  // namespace swarm::storage
