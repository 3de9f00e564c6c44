/// How much work each stage has for each of its peers, and what moving one of them would change.
///
/// All stages carry the same microbatches. So a stage's load is what flows / what its peers can carry, and
/// what they can carry is measured: microbatches done per second of work. Queues are no measure of that: work
/// waits in front of one slow stage and not of the next, and residents that wait for later stages are no work.
///
/// Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "common/ids.h"
#include "common/strong_id.h"
#include "routing/time.h"

namespace swarm::routing {

/// What a peer said of its work since it spoke before. What is no number counts as not said.
struct LoadReport {
  Stage stage;         ///< That it served then; of another one than it serves now it says nothing.
  Time at{};           ///< When it came, by the coordinator's clock.
  double running = 0;  ///< Seconds of work per second.
  double queued = 0;   ///< Seconds that microbatches waited in its queues, per second.
  double done_per_s = 0;  ///< Microbatches.

  double load() const { return running + queued; }
};

struct PlacedPeer {
  enum class Standing {
    kMovable,
    kStays,   ///< Serves, and is not to be moved.
    kLearns,  ///< Has not all of its stage's state yet.
    kLeaves,  ///< Drains: counts for nothing.
  };
  PeerId id;  ///< Node and role, without the role's life, so that it keeps its name when it moves.
  Stage stage;
  Standing standing = Standing::kMovable;
  std::optional<LoadReport> report;
  double bytes_per_s = 0;  ///< At which it downloads a state; 0: not known.
};

/// Waits for a stage.
struct Newcomer {
  PeerId id;
  double bytes_per_s = 0;
};

/// What the coordinator knows, late as it may be.
struct PlacementView {
  std::vector<PlacedPeer> peers;  ///< Alive as far as is known; one said twice counts once.
  std::vector<Newcomer> newcomers;
  std::vector<double> state_bytes;  ///< By stage.
};

/// One stage. `peers` and `carries` have those in them that are on their way there, and not those on their
/// way from it.
struct StageLoad {
  uint32_t peers = 0;
  uint32_t sure = 0;    ///< Serve it, and said so lately.
  double carries = 0;   ///< Microbatches per second.
  double queued = 0;    ///< Mean of those that said it.
  double per_peer = 0;  ///< What one of them carries, on average.
};

class StageLoads {
 public:
  /// `peers` are of known stages, each once. A report older than `max_age` says nothing. Requires stages.
  StageLoads(size_t stages, const std::vector<const PlacedPeer*>& peers, Time now, Time max_age);

  size_t size() const { return stages_.size(); }
  const StageLoad& operator[](Stage stage) const { return stages_[stage.value()]; }
  bool any_known() const { return flow_ > 0; }
  uint32_t peers() const;

  /// Seconds of work per second for each of its peers, once all are where they are to be; infinite if it has
  /// none. With `more` times an average peer of it.
  double load(Stage stage, double more = 0) const;
  /// With what waits in its queues now: whether its peers have enough to do.
  double busy(Stage stage) const;

  /// How quick a peer is, beside the average of its stage: 1/8 to 8, 1 if not known.
  double speed(const PlacedPeer& peer) const;

  /// It is on its way, and no more where it was.
  void leave(const PlacedPeer& peer);
  void expect(Stage stage, double speed);

  /// Serves its stage, and said so lately.
  bool is_sure(const PlacedPeer& peer) const;

 private:
  const LoadReport* fresh(const PlacedPeer& peer) const;
  void measure(const std::vector<const PlacedPeer*>& peers);

  Time now_, max_age_;
  std::vector<StageLoad> stages_;
  double flow_ = 0;  ///< Microbatches per second through each stage.
};

}  // namespace swarm::routing
