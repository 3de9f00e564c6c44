/// Where a voter keeps its record: a file in a running node, memory in tests and in the simulator.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "actors/node/event_log.h"
#include "common/result.h"

namespace swarm::actors {

/// Bytes in, bytes out. Used by one voter at a time.
struct VoterDisk {
  virtual ~VoterDisk() = default;
  /// Nothing: it has none yet, or has lost it. Errors: kIo.
  virtual Result<std::optional<std::string>> load() = 0;
  /// Replaces what was there; durable when it returns. Errors: kIo (old or new bytes are there).
  virtual Status save(const std::string& bytes) = 0;
};

/// The file kVoterFile of `node_folder`. A damaged one is set aside and recorded in `events`, and the
/// voter begins with nothing.
constexpr const char* kVoterFile = "voter";
std::shared_ptr<VoterDisk> voter_file(const std::string& node_folder,
                                      std::shared_ptr<EventLog> events);

}  // namespace swarm::actors
