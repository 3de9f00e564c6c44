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

/// What jobs of a stage take.
struct ComputeTimes {
  std::chrono::nanoseconds job{0};   ///< Each.
  std::chrono::nanoseconds pass{0};  ///< And each forward or backward pass in it.
};

/// Stands before a compute actor: every job takes `times`, and is said to have taken that long; none
/// is done before those that came earlier.
caf::behavior slow_compute(caf::event_based_actor* self, const caf::actor& compute,
                           ComputeTimes times);

struct DiskTimes {
  std::chrono::nanoseconds fsync{0};  ///< From a write to its acknowledgement.
  std::chrono::nanoseconds read{0};   ///< Of a snapshot, or of a block of ranges.
};

/// Stands before a checkpointer: what it wrote is durable, and acknowledged, `times.fsync` later.
/// `snapshot(stream, step, dropped)` is called with each acknowledgement and each order to drop.
using SnapshotNoted = std::function<void(const std::string&, uint64_t, bool)>;
caf::behavior slow_disk(caf::event_based_actor* self, const caf::actor& checkpointer,
                        const std::shared_ptr<Disk>& disk, DiskTimes times,
                        const SnapshotNoted& snapshot);

/// Before a `mirror` that writes to `disk`: what it has taken is durable when it says so.
caf::behavior mirror_on_disk(caf::event_based_actor* self, const caf::actor& mirror,
                             const std::shared_ptr<Disk>& disk);

}  // namespace swarm::sim
