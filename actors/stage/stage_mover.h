/// Takes a peer out of its stage when the coordinator says so (docs/elastic.md): it takes no new
/// microbatches, finishes what it has, stays for the average and the update that it has a part in, asks
/// whether it may go, and ends; the supervisor then spawns its role with the other stage.
#pragma once

#include <functional>

#include "actors/stage/microbatches.h"
#include "actors/stage/stage_context.h"
#include "actors/stage/stage_updates.h"

namespace swarm::actors {

/// Part of the state of a StageServer; used only from its handlers. Where it is stands in
/// StageContext::move.
class StageMover {
 public:
  /// `announce`: others are to hear what has become of the peer.
  StageMover(StageContext& context, const StageUpdates& updates, const Microbatches& microbatches,
             std::function<void()> announce);

  /// The answer to a registration, whatever it says.
  void hear(const proto::RegisterPeerReply& verdict);
  /// The peer leaves, or takes another state. While the swarm gathers the order stands.
  void stop();
  void describe_to(proto::RegisterPeer& message) const;

 private:
  bool may_obey(Stage to) const;
  void look();
  void ask();
  void answered(const routing::StageMove::Order& order, const Result<Mail>& reply);
  void stays(const std::string& reason);
  void go();
  routing::Time now() const;

  StageContext& context_;
  const StageUpdates& updates_;
  const Microbatches& microbatches_;
  std::function<void()> announce_;
  bool looking_ = false;
};

}  // namespace swarm::actors
