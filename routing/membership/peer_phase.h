/// Where a stage server is in its life, and what it does when the coordinator has answered its
/// registration (docs/training_protocol.md draws it).
#pragma once

#include <cstdint>

#include "common/result.h"
#include "common/strong_id.h"

namespace swarm::routing {

/// kStarting -> kRegistering -> (kLoading or kLearning ->) kServing; back to kRegistering when a
/// commit was missed or the swarm goes back. kLearning may last: the coordinator goes on to hear of
/// the peer. kDraining comes from anywhere and is final: what ends afterwards,
/// such as a loading, changes nothing.
///
/// Pure; not thread-safe; one owner.
class PeerPhase {
 public:
  enum class At { kStarting, kRegistering, kLoading, kLearning, kServing, kDraining };
  enum class Leaving {
    kSave,  ///< Write the last snapshot, then say saved().
    kWait,  ///< It is being written; answer when it is.
    kGone,  ///< Nothing is left to do.
  };

  At at() const { return at_; }
  bool serves() const { return at_ == At::kServing; }
  bool leaves() const { return at_ == At::kDraining; }
  /// The coordinator is to hear of the peer, and its verdict counts.
  bool registers() const {
    return at_ == At::kRegistering || at_ == At::kLearning || at_ == At::kServing;
  }
  bool learns() const { return at_ == At::kLearning; }
  /// The coordinator is to know that it is there, and no more.
  bool is_busy() const { return at_ == At::kStarting || at_ == At::kLoading; }
  /// "serving".
  const char* name() const { return name(at_); }
  static const char* name(At at);
  /// What requests hear when the peer does not serve: kShuttingDown or kNotReady.
  Error refusal() const;

  /// False: it is there already, or leaves.
  bool enter(At to);

  /// Leaves, now or since earlier; whoever asks is answered by what is returned.
  Leaving leave(bool has_state);
  /// The last snapshot is durable, or could not be written.
  void saved() { saved_ = true; }

 private:
  At at_ = At::kStarting;
  bool saved_ = false;
};

/// Where a peer's parameters are.
struct PeerProgress {
  bool has_state = false;
  Step open_step;    ///< Whose microbatches are served.
  Step applied;      ///< Updates in the parameters: open_step, or one less while delayed.
  Step computed_on;  ///< `applied` when the open step began.

  /// The open step's sum was computed on parameters that are no more: of no use to another
  /// coordinator.
  bool computed_ahead() const { return computed_on != applied; }
};

/// What SERVE means to a peer in steps.
enum class Serve {
  kIgnore,    ///< It was overtaken by a commit; the peer registers again on its timer.
  kServe,     ///< Serve the open step.
  kCollapse,  ///< First give up what was computed ahead of the updates applied.
};

/// `step` and `open_step` as the verdict has them, `serving`: it serves already.
Serve serve_in_steps(const PeerProgress& peer, bool serving, Step step, Step open_step);

}  // namespace swarm::routing
