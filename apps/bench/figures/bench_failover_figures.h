/// `swarm bench failover`: which peers are struck when, and what a run's events say about how it
/// went on. Pure.
///
/// A blow is a kill -9 or a SIGSTOP of a stage peer. From its moment are measured [s]:
///   seen     until a sender gave up on the first microbatch that was with the peer ("rerouted":
///            its link broke, or the adaptive deadline passed)
///   served   until a sender had the reply of another peer for one of these microbatches
///            ("rerouted_served"): forward, everything behind it and backward included
///   step     until the next step of the whole swarm closed
/// and from the start of the new process (kill) or the SIGCONT (pause):
///   again    until the struck peer serves ("joined" or "resumed")
/// A peer that held no microbatch when it was struck has no `seen` and `served`. Times are those
/// that the nodes wrote, unix time in ms of one machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/experiment.h"
#include "records/catalogue.h"

namespace swarm::apps {

struct FailoverPlan {
  int kills = 10;
  int pauses = 10;
  uint64_t seed = 1;
  double start_s = 20;      ///< The first blow, from the start of the run.
  double gap_s = 14;        ///< Between blows; the moment within the first 2 s of it is random.
  double kill_back_s = 2;   ///< From a kill to the start of the next process.
  double pause_back_s = 7;  ///< From a SIGSTOP to the SIGCONT.
  double end_s() const { return start_s + gap_s * (kills + pauses); }
};

/// The blows, kills first, at random peers of `nodes`; equal seeds give equal plans.
/// Requires at least one name.
std::vector<config::TimelineEvent> failover_timeline(const FailoverPlan& plan,
                                                     const std::vector<std::string>& nodes);

struct Blow {
  bool kill = false;
  std::string node;
  double at_s = 0;  ///< Unix time.
  std::optional<double> seen_s, served_s, step_s, again_s;
  std::optional<double> deadline_s;  ///< The longest that passed on a microbatch of the peer.
  int rerouted = 0;
};

/// `events` in any order; `step_times`: unix times at which steps closed, rising.
std::vector<Blow> find_blows(std::vector<records::Event> events,
                             const std::vector<double>& step_times);

std::string failover_table(const std::vector<Blow>& blows);
std::string failover_json(const std::vector<Blow>& blows);

}  // namespace swarm::apps
