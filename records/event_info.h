/// What every event of the catalogue (records/catalogue.h) says about itself.
#pragma once

#include <cstdint>
#include <string>

namespace swarm::records {

enum class Level : uint8_t { kInfo, kWarn, kError };
const char* to_string(Level level);  ///< "info", "warn", "error"

/// What a report draws events as, one row each.
enum class Lane : uint8_t { kKill, kPause, kLoss, kJoin, kRecovery, kCoordinator, kTrouble, kRun };
constexpr size_t kLanes = 8;
const char* to_string(Lane lane);  ///< "kills", ...

/// Where an event stands in a report.
enum class Place : uint8_t {
  kNone,  ///< A run's routine: not drawn.
  kKill,
  kPause,
  kLoss,
  kJoin,
  kRecovery,
  kCoordinator,
  kTrouble,
  kRun,
  kByAction,  ///< As its `action` says: kill and stop, pause, or not at all.
};

enum Flags : unsigned {
  kPlain = 0,
  kRemarkable = 1,   ///< `swarm run` shows it while the run goes on.
  kNeedsReason = 2,  ///< It tells of something refused or failed: its `reason` is never empty.
};

struct EventInfo {
  const char* name;
  Level level;
  Place place;
  unsigned flags;
  const char* meaning;  ///< For docs/events.md: what has happened.

  bool remarkable() const { return (flags & kRemarkable) != 0; }
  bool needs_reason() const { return (flags & kNeedsReason) != 0; }
};

/// The events of one file; the catalogue joins them.
template <class... Events>
struct EventList {};

}  // namespace swarm::records
