/// A node's folder as it was copied from its machine, read as if the node ran. Its database must not
/// be in use.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "apps/launch/node_source.h"
#include "storage/checkpoint_store.h"

namespace swarm::launch {

class CopiedNode : public NodeSource {
 public:
  using OpenStore =
      std::function<Result<std::shared_ptr<storage::CheckpointStore>>(const std::string& folder)>;

  /// `folder`: .../nodes/NAME. Its database, if it has one, is opened with `open`; one that cannot be
  /// opened is listed as unreadable.
  CopiedNode(std::string folder, const OpenStore& open);

  /// Whose it is and which snapshots it holds; the run and the number of stages as its config.toml
  /// says.
  Holdings identify() const;
  /// The same with its records.
  Holdings list() const;
  Result<Buffer> read_file(const std::string& name, uint64_t offset) override;
  Result<SnapshotPart> read_snapshot(const HeldSnapshot& which, uint64_t offset) override;

 private:
  struct Open {
    HeldSnapshot which;
    Buffer bytes;
    uint64_t digest = 0;
  };

  void add_snapshots(Holdings& to) const;

  std::string folder_;
  std::shared_ptr<storage::CheckpointStore> store_;  // null: it served no stage
  std::string no_store_;                             // why there is none
  std::optional<Open> open_;                         // read last
};

}  // namespace swarm::launch
