/// Events that the peers of a stage write of their snapshots: on their own disk, copied to peers of other
/// stages, in a mirror.
#pragma once

#include "records/event_info.h"
#include "records/fields.h"

namespace swarm::records {

struct Checkpointed {
  static constexpr EventInfo kInfo{"checkpointed", Level::kInfo, Place::kNone, kPlain,
                                   "The peer's snapshot of `step` is on its disk."};
  Millis took{};
  template <class Visitor>
  void fields(Visitor& v) {
    v("took_ms", took, "from the frozen state to the disk");
  }
};

struct CheckpointFailed {
  static constexpr EventInfo kInfo{"checkpoint_failed", Level::kError, Place::kTrouble,
                                   kRemarkable | kNeedsReason,
                                   "A snapshot could not be written or listed, or (from a "
                                   "coordinator) the last one of the run is not everywhere."};
  Error error{};
  template <class Visitor>
  void fields(Visitor& v) {
    v("error", error, "what failed");
  }
};

struct CopyMade {
  static constexpr EventInfo kInfo{"copy_made", Level::kInfo, Place::kNone, kPlain,
                                   "The node has a copy of `stage`'s snapshot of `step` on its "
                                   "disk, for the day when all nodes of that stage are lost."};
  std::string from;
  uint64_t bytes = 0;
  Millis took{};
  template <class Visitor>
  void fields(Visitor& v) {
    v("from", from, "name of the node that it was fetched from");
    v("bytes", bytes, "of the snapshot");
    v("took_ms", took, "from that node's disk to this one's");
  }
};

struct CopyFailed {
  static constexpr EventInfo kInfo{"copy_failed", Level::kWarn, Place::kTrouble, kNeedsReason,
                                   "Such a copy could not be made; training goes on and it is "
                                   "tried again."};
  Error error{};
  template <class Visitor>
  void fields(Visitor& v) {
    v("error", error, "what failed");
  }
};

struct MirrorWritten {
  static constexpr EventInfo kInfo{"mirror_written", Level::kInfo, Place::kNone, kPlain,
                                   "The stage's snapshot of `step` is in the mirror."};
  uint64_t bytes = 0;
  Millis took{};
  template <class Visitor>
  void fields(Visitor& v) {
    v("bytes", bytes, "of the snapshot");
    v("took_ms", took, "from the peer's own disk to the mirror");
  }
};

struct MirrorFailed {
  static constexpr EventInfo kInfo{"mirror_failed", Level::kError, Place::kTrouble,
                                   kRemarkable | kNeedsReason,
                                   "The mirror cannot be written or read; training goes on and it "
                                   "is tried again. Told every 10 minutes while it lasts."};
  Error error{};
  template <class Visitor>
  void fields(Visitor& v) {
    v("error", error, "what failed");
  }
};

struct MirrorTaken {
  static constexpr EventInfo kInfo{"mirror_taken", Level::kInfo, Place::kRecovery, kRemarkable,
                                   "The peer's own disk had no such snapshot: it was copied from "
                                   "the mirror."};
  uint64_t bytes = 0;
  Millis took{};
  template <class Visitor>
  void fields(Visitor& v) {
    v("bytes", bytes, "of the snapshot");
    v("took_ms", took, "from the mirror to the peer's own disk");
  }
};

struct MirrorRefused {
  static constexpr EventInfo kInfo{"mirror_refused", Level::kError, Place::kTrouble,
                                   kRemarkable | kNeedsReason,
                                   "A file of the mirror is damaged or of something else; an older "
                                   "one is tried."};
  std::string file;
  Error error{};
  template <class Visitor>
  void fields(Visitor& v) {
    v("file", file, "its name");
    v("error", error, "what is wrong with it");
  }
};

struct LineSetAside {
  static constexpr EventInfo kInfo{"line_set_aside", Level::kWarn, Place::kRecovery, kRemarkable,
                                   "The node's line of history was given up at a meeting: "
                                   "snapshots of it lie aside in the node's database, where nobody "
                                   "goes on from them."};
  std::string at;
  template <class Visitor>
  void fields(Visitor& v) {
    v("at", at, "the streams, each with the steps that lie in it");
  }
};

using SnapshotEvents =
    EventList<Checkpointed, CheckpointFailed, CopyMade, CopyFailed, MirrorWritten, MirrorFailed,
              MirrorTaken, MirrorRefused, LineSetAside>;

}  // namespace swarm::records
