/// What one node writes to the mirror of its run and reads there (docs/checkpoint_format.md). The folder
/// is shared by all nodes of the run: on a mounted bucket, a network file system.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/buffer.h"
#include "common/result.h"
#include "storage/mirror_files.h"

namespace swarm::storage {

struct MirrorOptions {
  std::string mirror;  ///< [checkpoint] mirror; it exists.
  std::string run_id, fingerprint;
  std::string node;  ///< Name of this node: no other writes under it.
};

/// One owner. Every call may take as long as the file system does.
class MirrorFolder {
 public:
  explicit MirrorFolder(MirrorOptions options);

  /// Errors: kIo (also: the mirror itself is not there).
  Result<std::vector<MirrorFile>> list() const;
  /// Written beside and renamed: whoever lists finds all of it or nothing, and it is durable when this
  /// returns. Errors: kAlreadyExists (it is there), kOverloaded (another node is writing it), kIo.
  Status write(const MirrorFile& file, const Buffer& state) const;
  /// The state, if it is the one that the name says, of this run, bit by bit. Errors: kNotFound,
  /// kCorruptCheckpoint, kInvalidArgument (it was made with other settings), kIo.
  Result<Buffer> read(const MirrorFile& file) const;
  /// Of one that is not there it is done. Errors: kIo.
  Status remove(const MirrorFile& file) const;
  /// "NAME.damaged": nobody lists it any more.
  void set_aside(const MirrorFile& file) const;
  /// What writers that died left of steps up to this one.
  void remove_parts(uint64_t up_to_step) const;

 private:
  std::string path_of(const MirrorFile& file) const { return folder_ + "/" + mirror_name(file); }
  std::string part_of(const MirrorFile& file) const;
  bool others_write(const MirrorFile& file, bool before_us) const;
  std::string head(const MirrorFile& file, uint64_t bytes, uint64_t digest) const;
  Status write_part(const std::string& part, const std::string& head, const Buffer& state) const;

  MirrorOptions options_;
  std::string folder_;
};

}  // namespace swarm::storage
