/// Learns the state of a stage range by range while the others train on: carries out a
/// routing::LearnPlan (docs/averaging.md, "Learners").
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actors/net/mail.h"
#include "actors/stage/range_keeper.h"
#include "actors/stage/stage_context.h"
#include "actors/stage/stage_updates.h"
#include "actors/state/state_messages.h"
#include "common/strong_id.h"
#include "routing/state/learn_plan.h"
#include "routing/state/told_state.h"
#include "tensor/core/optimizer.h"

namespace swarm::actors {

/// Part of the state of a StageServer; used only from its handlers. Changes the stage in place: from
/// the first range that comes until the end the peer has no state.
class StateLearner {
 public:
  struct Learned {
    routing::StateLabel label;
    bool changed = false;  ///< Else the state is the one that was there before.
    std::string from;      ///< The neighbours, by name.
    uint64_t bytes = 0;    ///< That they sent.
    double seconds = 0;
  };
  using Done = std::function<void(const Learned&)>;

  /// `done` when all ranges are of one step; the stage is settled then.
  StateLearner(StageContext& context, StageUpdates& updates, routing::ToldState& told, Done done);

  /// Begins, with what is in memory if the swarm may lead on from it, or goes on with these
  /// sources (some, if they are many). The swarm has applied `swarm_at`. Requires a source.
  void learn(const std::vector<StateHolder>& sources, Step swarm_at);
  /// What comes later changes nothing.
  void stop() {
    learning_.reset();
    keeper_.stop();
  }
  /// If all ranges are of one step, though perhaps not of the newest, they are the peer's state.
  void settle_as_it_is();
  /// The peer is whole: what the disk has of a download is of no use any more.
  void forget_kept() { keeper_.forget(); }

  void describe_to(proto::RegisterPeer& message) const;
  std::string describe() const;

 private:
  struct Source {
    StateHolder holder;
    caf::actor proxy;
    uint64_t bytes = 0;
  };
  struct Learning {
    explicit Learning(const routing::LearnOptions& options)
        : plan(options), counters(plan.ranges()) {}
    routing::LearnPlan plan;
    std::vector<tensor::OptimizerCounters> counters;  ///< By range.
    std::map<PeerId, Source> sources;                 ///< All that ever were.
    uint64_t received = 0;                            ///< Bytes of ranges and means.
    Step wanted;
    bool began = false;     ///< What is in memory has been looked at.
    bool changed = false;   ///< The stage is not as it was.
    bool settling = false;  ///< All ranges are there and being checked.
    routing::Time start{}, timer_at{};
  };
  using Ptr = std::shared_ptr<Learning>;

  routing::Time now() const { return context_.self->clock().now().time_since_epoch(); }
  bool over(const Ptr& learning) const { return learning != learning_; }
  routing::LearnOptions options() const;
  static std::string names(const Learning& learning);
  void begin(const Ptr& learning);
  void begin_with_memory(const Ptr& learning);
  RangeLayout layout() const;
  void begin_with_disk(const Ptr& learning);
  void began(const Ptr& learning);
  void go_on(const Ptr& learning);
  void look_again(const Ptr& learning);
  void read(const Ptr& learning, const routing::LearnRead& read);
  void ask(const Ptr& learning, const routing::LearnRead& read);
  void answered(const Ptr& learning, const routing::LearnRead& read, const Result<Mail>& reply);
  void failed(const Ptr& learning, const routing::LearnRead& read, const Error& error);
  void refuse(const Ptr& learning, const routing::LearnRead& read, uint64_t checksum);
  routing::Time waited(const routing::LearnRead& read, const proto::StateRangeReply& head) const;
  void take(const Ptr& learning, const routing::LearnRead& read, const Mail& mail);
  void give_up_own_state(const Ptr& learning);
  void settle(const Ptr& learning, const routing::StateLabel& label);
  void settled(const Ptr& learning, const routing::StateLabel& label, Result<uint64_t> checksum);
  void rest_if_too_slow(const Ptr& learning);
  /// Once a rest, whatever begins anew meanwhile. Bytes a second.
  void tell_too_slow(double needs, double has);
  std::chrono::milliseconds budget(const Learning& learning) const;

  StageContext& context_;
  StageUpdates& updates_;
  routing::ToldState& told_;
  Done done_;
  RangeKeeper keeper_;
  Ptr learning_;  ///< Null: nothing is being learned.
  std::optional<routing::Time> too_slow_told_;
};

}  // namespace swarm::actors
