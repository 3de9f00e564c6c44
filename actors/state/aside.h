/// Snapshots of a line of history that a node gave up, in its checkpoint store (docs/one_history.md): they are set
/// aside under that line's number.
#pragma once

#include <caf/allowed_unsafe_message_type.hpp>
#include <string>
#include <vector>

#include "common/result.h"
#include "routing/membership/line_left.h"
#include "storage/checkpoint_store.h"

namespace swarm::actors {

struct LeaveLine {
  std::vector<std::string> streams;  ///< Of snapshots, the stage's own first.
  std::string
      beside;  ///< What is kept of the own stream's steps and goes with them, if it is there.
  routing::LineLeft line;
};

/// A part goes on without the rest: what it had before may be the last there is of the line that stays, if it is
/// not its own.
struct KeepBefore {
  std::vector<std::string> streams;  ///< As LeaveLine.
  std::string beside;
  uint64_t configuration = 0;  ///< The first behind the first fork.
  bool patient =
      true;  ///< What the disk does not read just now is an error; else it stays where it is.
};

/// What was decided before is kept aside, whatever becomes of it. Errors: kIo.
Status keep_before(storage::CheckpointStore& store, const KeepBefore& order);

/// Sets aside what `order.line` does not keep, what cannot be read too, and takes back what lies aside and is of the
/// line that goes on, in one commit. Returns what lies aside of these streams under this number, as
/// list_aside(). Errors: kIo (all is as it was).
Result<std::vector<std::string>> leave_line(storage::CheckpointStore& store,
                                            const LeaveLine& order);

/// "aside/1/stage/0 40 20" for each stream of snapshots that lie aside: their steps, newest first. Errors: kIo.
Result<std::vector<std::string>> list_aside(const storage::CheckpointStore& store);

}  // namespace swarm::actors

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(swarm::actors::LeaveLine)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(swarm::actors::KeepBefore)
