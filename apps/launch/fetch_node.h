/// Brings what a node holds into a run folder, range by range (docs/collecting.md). What was fetched
/// before is kept until what replaces it is whole: an interrupted fetch goes on where it was, in a
/// file of its own. Nothing is taken that its digest does not confirm; all of it is on the disk on
/// return. Lines of a file whose node began it anew stay beside it (records::kKeptMark). Memory: a
/// part of a file, or one snapshot.
#pragma once

#include <cstdint>
#include <string>

#include "apps/launch/node_source.h"
#include "storage/checkpoint_store.h"

namespace swarm::launch {

struct Fetched {
  uint64_t bytes = 0;  ///< That were not here before.
};

/// The node's records, into `node_folder` (made if it is missing). Errors: the source's; kIo;
/// kInvalidArgument (the node names a file that is none of a node's records);
/// kCorruptCheckpoint (a file has other content than was listed: list again).
Result<Fetched> fetch_records(NodeSource& source, const Holdings& holdings,
                              const std::string& node_folder);

/// One snapshot, into `store`, whose files are in `node_folder`. Errors: the source's; kIo;
/// kCorruptCheckpoint (what came is not what was announced).
Result<Fetched> fetch_snapshot(NodeSource& source, const HeldSnapshot& which,
                               const std::string& node_folder, storage::CheckpointStore& store);

}  // namespace swarm::launch
