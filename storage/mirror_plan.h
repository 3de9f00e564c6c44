/// Which snapshots a peer brings to the mirror, which it deletes there, and which it takes from it.
///
/// Pure: files are what list_mirror() says. Peers do not talk about it: each looks at what is there.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "storage/mirror_files.h"

namespace swarm::storage {

using MirrorFiles = std::vector<MirrorFile>;

/// A file of `stage` for each complete step, newest first.
MirrorFiles complete_files(const MirrorFiles& files, uint32_t stage, uint32_t num_stages);

/// Of `own`, the stage's snapshots in the node's database, the one to write now: no older than the
/// newest complete step, and not there. One that other stages have already comes first, since it may
/// complete a step; else only the newest.
std::optional<MirrorFile> to_write(const MirrorFiles& own, const MirrorFiles& files, uint32_t stage,
                                   uint32_t num_stages);

/// What may go once `written` is among `files`: what is older than the newest `keep` (>= 1) complete steps, or lies
/// between them without being complete; all but the newest keep + 1 of a stage where nothing becomes
/// complete; and, if `written` has completed its step, other histories of that step: they were given up.
/// The newest complete step stays.
MirrorFiles to_prune(const MirrorFile& written, const MirrorFiles& files, uint32_t num_stages,
                     uint32_t keep);

/// Which of `files` go as they are `aside` snapshots of a line of history that was given up: those of known histories
/// which are not among those that `stay`.
MirrorFiles to_withdraw(const MirrorFiles& files, const MirrorFiles& aside,
                        const MirrorFiles& stay);

struct TakeLimits {
  bool newer_only = true;            ///< Than all of the peer's own.
  std::optional<uint64_t> before{};  ///< Only older steps than this.
};

/// The newest file of the stage that is of a complete step and not one of the peer's `own` steps: what it
/// takes.
std::optional<MirrorFile> to_take(const MirrorFiles& files, uint32_t stage, uint32_t num_stages,
                                  const std::vector<uint64_t>& own, const TakeLimits& limits);

}  // namespace swarm::storage
