/// Keeps the ranges that a peer has learned on its disk, so that a download survives its process:
/// carries out a routing::KeepPlan (docs/averaging.md, "After a restart").
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actors/stage/stage_context.h"
#include "actors/state/kept_ranges.h"
#include "common/strong_id.h"
#include "routing/state/keep_plan.h"
#include "routing/state/learn_plan.h"

namespace swarm::actors {

/// Part of the state of a StageServer; used only from its handlers. One block is on its way to the disk
/// or from it at a time; meanwhile there are a few copies of it.
class RangeKeeper {
 public:
  /// What the learner holds.
  struct Held {
    const std::vector<std::optional<routing::StateLabel>>& labels;  ///< By range.
    const std::vector<tensor::OptimizerCounters>& counters;         ///< By range.
    routing::KeepPlan::Download download;
  };
  /// Where an earlier process's ranges go. Nothing is called, and the plan not used, after stop().
  struct Reader {
    routing::LearnPlan* plan = nullptr;
    std::function<void()> changes;               ///< The stage is about to change; may come again.
    std::function<void(const KeptRange&)> take;  ///< This one is in the stage now.
    std::function<void()> then;                  ///< The plan has something new.
  };
  using Look = std::function<Held()>;

  explicit RangeKeeper(StageContext& context) : context_(context) {}

  /// A download begins with what is in the stage; what is on the disk is overwritten.
  void begin(const RangeLayout& layout);
  /// A download begins. While the sources are asked, loads into the stage what an earlier process
  /// kept of this layout, of `wanted` or a few steps before, and is still missing.
  void begin(const RangeLayout& layout, Step wanted, Reader reader);
  /// Writes a block, if one is due and none is being written. `look` may be called later, until
  /// stop().
  void keep(const Look& look);
  /// What was kept is not what it was taken for.
  void start_anew();
  /// The download is over; what is on the disk stays.
  void stop();
  /// The peer is whole: the disk forgets.
  void forget();

 private:
  struct Session {
    Session(RangeLayout the_layout, const routing::KeepOptions& options, routing::Time now)
        : layout(std::move(the_layout)), plan(options, now) {}
    RangeLayout layout;
    routing::KeepPlan plan;
    bool writing = false;
    bool disk_failed = false;  ///< And that was said.
    // -- of begin()
    Step wanted;
    Reader reader;
    bool reading = false;
    std::vector<uint64_t> blocks;  ///< Still to be read.
    uint64_t loaded = 0, too_old = 0;
    std::optional<Error> refused;
  };
  using Ptr = std::shared_ptr<Session>;

  routing::Time now() const { return context_.self->clock().now().time_since_epoch(); }
  std::string stream() const;
  static void expect(const Session& session);
  void read_next(const Ptr& session);
  void read(const Ptr& session, const Buffer& block);
  void load(const Ptr& session, std::vector<KeptRange> ranges);
  void loaded(const Ptr& session, const std::vector<KeptRange>& ranges, const Status& status);
  void refuse(const Ptr& session, const Error& why);
  void finish(const Ptr& session);
  void tell(const Session& session);
  void write(const Ptr& session, size_t block, const Look& look);
  void store(const Ptr& session, size_t block, const std::vector<KeptRange>& ranges);

  StageContext& context_;
  Ptr session_;               ///< Null: nothing is being learned.
  bool may_be_there_ = true;  ///< Something, on the disk.
};

}  // namespace swarm::actors
