/// What one process of a node sees of what its voter keeps on the machine's disk.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "actors/voter/voter_disk.h"
#include "apps/sim/disk.h"

namespace swarm::sim {

class VoterOnDisk final : public actors::VoterDisk {
 public:
  /// `running`: false when the process is gone; shared with the swarm.
  VoterOnDisk(std::shared_ptr<Disk> disk, std::shared_ptr<bool> running)
      : disk_(std::move(disk)), running_(std::move(running)) {}

  Result<std::optional<std::string>> load() override {
    if (!*running_) return gone();
    return disk_->kept();
  }
  Status save(const std::string& bytes) override { return *running_ ? disk_->keep(bytes) : gone(); }

 private:
  static Error gone() { return {ErrorCode::kIo, "the process is gone"}; }

  std::shared_ptr<Disk> disk_;
  std::shared_ptr<bool> running_;
};

}  // namespace swarm::sim
