/// The receiving side of state transfer: asks several peers what they can supply, downloads ranges
/// in parallel from those that offer the same bytes, resumes from others when one fails, verifies
/// the digest. A part of the averager actor; all calls come from that actor.
#pragma once

#include <caf/event_based_actor.hpp>
#include <caf/result.hpp>
#include <memory>
#include <set>
#include <string>

#include "actors/averaging/averager.h"

namespace swarm::actors {

class StateDownload;  // one fetch; state_fetch.cc

class StateFetches {
 public:
  StateFetches(caf::event_based_actor* self, caf::actor links, const AveragerOptions& options);
  ~StateFetches();

  /// To be returned by the handler of (fetch_atom, FetchState). Takes the newest step on offer (or
  /// the exact one); among equal steps, the (digest, size) that most sources offer. When sources
  /// together give wrong bytes, each is tried alone, so one liar cannot stop the others.
  /// Errors: kInvalidArgument; kNotFound (nobody has it), kLinkLost (nobody could be reached),
  /// kCorruptCheckpoint (all bytes received were wrong); the detail tells of every source.
  caf::result<FetchedState> start(const FetchState& fetch);
  /// Answers what is pending.
  void close(const Error& error);
  std::string describe() const;

 private:
  caf::event_based_actor* self_;
  caf::actor links_;
  AveragerOptions options_;
  std::set<std::shared_ptr<StateDownload>> running_;
};

}  // namespace swarm::actors
