/// Hands out what its node holds of the run: its records, and snapshots from its store
/// (docs/collecting.md). On every node. Links pass its mail on from who has proven the run's key only.
///
///   mail (Mail)    reply               errors
///   ListRecords    ListRecordsReply    kIo
///   ReadRecord     ReadRecordReply     kNotFound, kInvalidArgument, kCorruptCheckpoint, kIo
///   Collected      Ack                 -
///
/// Memory  one snapshot, the one that was asked for last, until nobody has read from it for 30 s.
/// Thread  detached: it reads from disk.
#pragma once

#include <caf/actor.hpp>
#include <caf/actor_system.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "storage/checkpoint_store.h"

namespace swarm::actors {

struct RecordsDeskDeps {
  caf::actor links, dht;
  std::string node_folder, run_id, node_name;
  uint32_t num_stages = 0;
  std::shared_ptr<storage::CheckpointStore> store;  ///< The node's; null without stages.
  /// Somebody holds all of it; `finished`: and knows that training is.
  std::function<void(bool finished)> collected;
  std::function<void()> read = [] {};  ///< Somebody is at it; at most once a second.
  bool detached = true;                ///< False on the deterministic scheduler.
};

/// Of one ReadRecord.
constexpr uint32_t kMostRecordBytes = 1u << 20;

/// Registers itself with `links` as kRecordsName.
caf::actor spawn_records_desk(caf::actor_system& system, RecordsDeskDeps deps);

}  // namespace swarm::actors
