/// The receiving side of state transfer: carries out a routing::DownloadPlan (who is asked, who
/// reads what). A part of the StateTransfer actor; all calls come from that actor.
#pragma once

#include <caf/actor.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/result.hpp>
#include <memory>
#include <set>
#include <string>

#include "actors/state/chunk_keeper.h"
#include "actors/state/options.h"
#include "actors/state/state_messages.h"
#include "common/result.h"

namespace swarm::actors {

class StateDownload;  // one fetch; state_download.cc

class StateDownloads {
 public:
  /// `keeper`: of downloads from snapshots.
  StateDownloads(caf::event_based_actor* self, caf::actor links,
                 const StateTransferOptions& options, ChunkKeeperDeps keeper);
  ~StateDownloads();

  /// To be returned by the handler of (fetch_atom, FetchState).
  /// Errors: kInvalidArgument; kNotFound (nobody has it), kLinkLost (nobody could be reached),
  /// kCorruptCheckpoint (all bytes received were wrong), kOverloaded (no memory for so large a
  /// state); the detail tells of every source.
  caf::result<FetchedState> start(const FetchState& fetch);
  /// Answers what is pending.
  void close(const Error& error);
  std::string describe() const;

 private:
  caf::event_based_actor* self_;
  caf::actor links_;
  StateTransferOptions options_;
  ChunkKeeperDeps keeper_;
  std::set<std::shared_ptr<StateDownload>> running_;
};

}  // namespace swarm::actors
