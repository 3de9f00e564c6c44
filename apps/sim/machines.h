/// Parts of a simulated machine that take virtual time, and its data.
#pragma once

#include <caf/event_based_actor.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "apps/sim/disk.h"
#include "tensor/data/text_data.h"

namespace swarm::sim {

/// Sample s is a window whose tokens are all sample_value(s).
class FakeTextData : public tensor::TextData {
 public:
  explicit FakeTextData(int32_t sequence) : sequence_(sequence) {}
  int32_t sequence() const override { return sequence_; }
  uint64_t num_windows(tensor::Split) const override { return 1'000'000; }
  uint64_t size_bytes(tensor::Split) const override { return 1'000'000; }
  uint64_t fingerprint() const override { return 1; }
  void read(tensor::Split, uint64_t, uint64_t, uint8_t*) const override {}
  Buffer microbatch(tensor::Split, const std::vector<uint64_t>& samples) const override;

 private:
  int32_t sequence_;
};

/// Stands before a compute actor: every job takes `pass`, one without a pass of a microbatch `other`,
/// and is said to have taken that long. Jobs end in their order.
caf::behavior slow_compute(caf::event_based_actor* self, const caf::actor& compute,
                           std::chrono::nanoseconds pass, std::chrono::nanoseconds other);

/// Stands before a checkpointer: what it wrote is durable, and acknowledged, `fsync` later.
/// `snapshot(stream, step, dropped)` is called with each acknowledgement and each order to drop.
using SnapshotNoted = std::function<void(const std::string&, uint64_t, bool)>;
caf::behavior slow_disk(caf::event_based_actor* self, const caf::actor& checkpointer,
                        const std::shared_ptr<Disk>& disk, std::chrono::nanoseconds fsync,
                        const SnapshotNoted& snapshot);

}  // namespace swarm::sim
