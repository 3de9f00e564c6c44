/// What a sender knows of the peers of one stage from its own requests: seconds per sample, spread,
/// bans, and the deadline that follows (design Sec. 4: silence is data).
#pragma once

#include <cstdint>
#include <map>

#include "common/ids.h"

namespace swarm::routing {

struct PeerEstimatesOptions {
  double smoothing = 0.2;                   ///< Weight of a new observation in the moving averages.
  double initial_seconds_per_sample = 0.1;  ///< Assumed until any peer was measured.
  double deadline_spread = 6.0;    ///< Deadline = mean + this many mean absolute deviations...
  double deadline_factor = 3.0;    ///< ... but at least this many means ...
  double min_deadline_s = 2.0;     ///< ... and never less than this ...
  double max_deadline_s = 120.0;   ///< ... nor more than this.
  double first_deadline_s = 30.0;  ///< When nothing was ever measured.
};

/// Pure; time is an argument. Not thread-safe; one owner.
class PeerEstimates {
 public:
  static constexpr size_t kMostPeers = 4'096;

  explicit PeerEstimates(const PeerEstimatesOptions& options = {});

  /// A request of `samples` samples was answered after `seconds`.
  void observe(const PeerId& peer, double seconds, int64_t samples);
  /// No answer for `seconds`: a censored observation; it can only raise the estimate.
  void observe_timeout(const PeerId& peer, double seconds, int64_t samples);
  /// An error: not used until announced again with a version above `announcement`.
  void ban(const PeerId& peer, uint64_t announcement);
  /// Returns true if the peer is (again) usable.
  bool announced(const PeerId& peer, uint64_t announcement);
  bool banned(const PeerId& peer) const;
  void forget(const PeerId& peer);

  /// Best guess; peers never measured get the median of the measured ones.
  double seconds_per_sample(const PeerId& peer) const;
  /// For InterleavedRoundRobin::upsert: 1 / seconds_per_sample.
  double samples_per_s(const PeerId& peer) const;
  /// How long to wait for an answer about `samples` samples.
  double deadline_s(const PeerId& peer, int64_t samples) const;
  /// Likewise of a peer that is like most; 0: none was measured.
  double usual_deadline_s(int64_t samples) const;

 private:
  struct Estimate {
    double mean_s = 0;       // per sample; with count 0: the longest silence, a lower bound
    double deviation_s = 0;  // mean absolute, per sample
    uint64_t count = 0;      // answers; silences do not count
    bool banned = false;
    uint64_t announcement = 0;
    uint64_t used = 0;  // when it was told of for the last time, counted
  };
  /// That of a peer that is told of. Late answers bring back who was forgotten, so of more than
  /// kMostPeers those go that were not told of for longest.
  Estimate& use(const PeerId& peer);
  /// Median of the peers measured; 0 when none was.
  double typical_seconds_per_sample() const;
  PeerEstimatesOptions options_;
  std::map<PeerId, Estimate> peers_;
  uint64_t uses_ = 0;
};

}  // namespace swarm::routing
