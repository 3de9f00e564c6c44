/// The state of a stage server: where it comes from (the seed, an own snapshot, a neighbour) and
/// where it goes (snapshots, neighbours).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "actors/stage/snapshot_writer.h"
#include "actors/stage/stage_context.h"
#include "actors/stage/stage_updates.h"
#include "actors/stage/state_learner.h"
#include "actors/state/state_messages.h"
#include "common/strong_id.h"
#include "routing/state/byte_pace.h"
#include "routing/state/told_state.h"

namespace swarm::actors {

/// Part of the state of a StageServer; used only from its handlers. Every loading ends in `done`,
/// with why it is over and how long to wait before registering again; nothing else of the peer's
/// life is decided here.
class StateKeeper {
 public:
  using Done = std::function<void(const std::string& reason, std::chrono::milliseconds pause)>;

  StateKeeper(StageContext& context, StageUpdates& updates, Done done);

  /// A fresh run, unless the mirror has snapshots of it or cannot be asked: they are there, whoever lost
  /// the machines. No step is begun before its stage can come back to it, so this ends when the
  /// first snapshot is durable: were all its peers killed before, the others could never go on.
  void initialize();
  /// One that cannot be read is not offered again.
  void restore_own(Step step);
  /// From those that the verdict names; false if there is none.
  bool fetch(const proto::RegisterPeerReply& verdict);

  /// See SnapshotWriter::save().
  void save(SnapshotWriter::Done done);
  SnapshotWriter& writer() { return writer_; }
  const SnapshotWriter& writer() const { return writer_; }
  /// How long the snapshot of a peer that leaves is waited for: its own bytes decide.
  std::chrono::milliseconds leave_limit() const;
  /// The newest snapshot that the mirror has and the node's disk lacks is copied there; then calls, whatever
  /// came of it.
  void take_from_mirror(const std::function<void()>& then);
  /// The swarm waits for snapshots that go together: if there is no state yet and that lasts, one more, of
  /// whatever step.
  void take_another();
  /// Calls when the mirror has what is on the disk, or has failed, or after leave_limit().
  void mirrored(const std::function<void()>& then);
  /// A copy for a neighbour. Errors: kNotReady.
  caf::result<FrozenState> freeze();

  /// A range for one that learns. Errors: kNotReady, kInvalidArgument.
  caf::result<RangeOfState> range(uint64_t first, uint64_t count);

  /// Those that the verdict names, without any whose state was not what the coordinator says, unless
  /// there are no others. Takes the verdict's word for what follows.
  std::vector<StateHolder> holders(const proto::RegisterPeerReply& verdict);
  /// From these, while they train on: begins, or goes on with them. Requires one.
  void learn(const std::vector<StateHolder>& sources, Step swarm_at) {
    learner_.learn(sources, swarm_at);
  }
  void stop_learning() { learner_.stop(); }
  /// Others may need the state: what is learned is taken as it is, if it is of one step.
  void settle_learned() { learner_.settle_as_it_is(); }
  /// The peer serves: nothing of an unfinished download stays on the disk.
  void forget_learned() {
    learner_.forget_kept();
    told_.forget();
  }
  const StateLearner& learner() const { return learner_; }

  void describe_to(proto::RegisterPeer& message) const;

 private:
  /// Where a loaded state is from.
  struct Origin {
    enum class Kind { kSeed, kOwnSnapshot, kNeighbour };
    Kind kind = Kind::kSeed;
    std::string neighbours;  ///< By name.
    double seconds = 0;      ///< Of the transfer.
    std::vector<ActorId> from{};
    bool copies = false;  ///< kNeighbour: they serve other stages and had a copy.

    std::string name() const;
  };
  struct Loaded {
    Step step;
    uint64_t checksum = 0;
    routing::History history{};
    uint64_t digest = 0;  ///< Of its bytes.
  };

  /// What came of looking at the mirror.
  enum class Took { kOne, kNone, kNothingThere, kFailed };

  uint64_t state_bytes() const;
  void draw();
  void learned(const StateLearner::Learned& state);
  void load(const Buffer& state, const Origin& origin);
  void loaded(const Loaded& state, const Origin& origin);
  /// It came from neighbours, and is not the one that the coordinator says.
  bool refuses(const Loaded& state, const Origin& origin);
  void failed(const std::string& source, const Error& error);
  std::function<Result<FrozenState>(tensor::Stage&)> freeze_job() const;
  Result<FrozenState> still_here(Result<FrozenState> frozen) const;
  void copy(SnapshotWriter::Frozen done);
  void take(bool any, const std::function<void(Took)>& then);

  StageContext& context_;
  StageUpdates& updates_;
  Done done_;
  routing::ToldState told_;
  StateLearner learner_;
  SnapshotWriter writer_;
  double look_at_s_ = 0;       ///< When take_another() looks again.
  double draw_at_s_ = 0;       ///< Before that initialize() does not look, and waits.
  double tell_failure_s_ = 0;  ///< That the mirror fails is told no sooner again.
};

}  // namespace swarm::actors
