/// Writes and reads snapshots off the compute path (design Sec. 7). One per stage server.
///
///   mail                                                 reply           errors
///   (save_atom, string stream, uint64 step, Buffer,
///    bool replace, bool spare_one)                       uint64 step     kAlreadyExists (other
///                                                                        content, not `replace`),
///                                                                        kIo, kInvalidArgument;
///                                                                        `spare_one`: one more stays,
///                                                                        which nobody has named yet
///   (save_beside_atom, string stream, FrozenState)       -               kIo, kInvalidArgument; its
///                                                                        residuals, where it is saved
///   (load_atom, string stream, uint64 step)              Buffer          kNotFound, kIo,
///                                                                        kCorruptCheckpoint
///   (list_atom, string stream)                           vector<uint64>  kIo; newest first
///   (history_atom, string stream, uint64 step)           uint64          kNotFound, kIo,
///                                                                        kCorruptCheckpoint; of its
///                                                                        StageState, by its head
///   (pin_atom, string stream, uint64 step)               -               kIo, kInvalidArgument;
///                                                                        see CheckpointStore::pin()
///   (forget_newer_atom, string stream, uint64 step)      -               kIo
///   (keep_atom, string stream, uint64 number, Buffer)    -               kIo, kInvalidArgument;
///                                                                        replaces, drops nothing
///   (copies_atom, vector<uint64> stages)                 StoredCopies    kIo; of their streams
///   (copy_atom, string stream, uint64 step, Buffer)      -               kIo, kInvalidArgument;
///                                                                        replaces, keeps two
///   (leave_line_atom, LeaveLine)                         vector<string>  kIo; as leave_line()
///   (keep_before_atom, KeepBefore)                       -               kIo; as keep_before()
///   (drop_before_atom, vector<string> streams)           -               kIo; as CheckpointStore::
///                                                                        drop_before()
///   (asides_atom)                                        vector<string>  kIo; as list_aside()
///   (retain_atom, string prefix, vector<string> streams) -               kIo; drops the other streams
///                                                                        that begin so
///
/// Thread  detached in a running node, because the disk blocks; pooled in tests.
/// Owns    nothing: the store is shared with the state transfer's reader (thread-safe).
#pragma once

#include <caf/actor.hpp>
#include <caf/actor_system.hpp>
#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/atom.hpp>
#include <memory>
#include <vector>

#include "actors/net/buffer_message.h"
#include "actors/state/aside.h"
#include "actors/state/state_messages.h"
#include "routing/membership/recovery.h"
#include "storage/checkpoint_store.h"

namespace swarm::actors {

using save_atom = caf::atom_constant<caf::atom("save")>;
using save_beside_atom = caf::atom_constant<caf::atom("savebeside")>;
using load_atom = caf::atom_constant<caf::atom("load")>;
using list_atom = caf::atom_constant<caf::atom("list")>;
using forget_newer_atom = caf::atom_constant<caf::atom("forgetnew")>;
using history_atom = caf::atom_constant<caf::atom("history")>;
using pin_atom = caf::atom_constant<caf::atom("pin")>;
using keep_atom = caf::atom_constant<caf::atom("keep")>;
using retain_atom = caf::atom_constant<caf::atom("retain")>;
using copies_atom = caf::atom_constant<caf::atom("copies")>;
using leave_line_atom = caf::atom_constant<caf::atom("leaveline")>;
using keep_before_atom = caf::atom_constant<caf::atom("keepbefore")>;
using drop_before_atom = caf::atom_constant<caf::atom("dropbefore")>;
using asides_atom = caf::atom_constant<caf::atom("asides")>;
using copy_atom = caf::atom_constant<caf::atom("copy")>;

struct StoredCopies {
  std::vector<routing::StoredCopy> copies;
};

caf::actor spawn_checkpointer(caf::actor_system& system,
                              std::shared_ptr<storage::CheckpointStore> store, uint32_t keep,
                              bool detached);

/// An actor of its own that reads only: answers load_atom as above. For states that neighbours ask
/// for, which must not wait behind a snapshot that is being written.
caf::actor spawn_snapshot_reader(caf::actor_system& system,
                                 std::shared_ptr<storage::CheckpointStore> store, bool detached);

}  // namespace swarm::actors

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(swarm::actors::StoredCopies)
