/// What a node of a swarm holds of its run, and how it is read: over a link, or from a folder that
/// was copied from its machine. docs/collecting.md
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/buffer.h"
#include "common/ids.h"
#include "common/result.h"

namespace swarm::launch {

struct HeldFile {
  std::string name;
  uint64_t bytes = 0;
  uint64_t digest = 0;  ///< xxh64 of its first `bytes`.
};

struct HeldSnapshot {
  uint32_t stage = 0;
  uint64_t step = 0;
};

struct Holdings {
  std::string run_id, node_name;
  uint32_t num_stages = 0;
  std::vector<HeldFile> files;
  std::vector<HeldSnapshot> snapshots;
  std::vector<std::string> unreadable;  ///< What it has and could not list: "FILE: why".
};

struct SnapshotPart {
  uint64_t total_bytes = 0;
  uint64_t digest = 0;  ///< xxh64 of the whole.
  Buffer bytes;
};

/// One node. Blocking; one thread. Every call has a deadline. Errors: those of the node and its link;
/// kNotFound if a snapshot was pruned since it was listed.
class NodeSource {
 public:
  virtual ~NodeSource() = default;
  /// A part of a file from `offset` on, at most kMostPart; empty at its end.
  virtual Result<Buffer> read_file(const std::string& name, uint64_t offset) = 0;
  virtual Result<SnapshotPart> read_snapshot(const HeldSnapshot& which, uint64_t offset) = 0;

  static constexpr uint32_t kMostPart = 1u << 20;
};

}  // namespace swarm::launch
