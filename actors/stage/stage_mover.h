/// Takes a peer out of its stage when the coordinator says so, or because its node ends (docs/elastic.md): it
/// takes no new microbatches, finishes what it has, stays for the average and the update that it has a part
/// in, and asks whether it may go. A mover then ends, and the supervisor spawns its role with the other stage.
#pragma once

#include <chrono>
#include <functional>
#include <string>

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
  /// The node ends, and gives it so long to finish; then calls `gone`.
  void leave(std::chrono::milliseconds grace, std::function<void()> gone);
  /// Of one that leaves: at once, and the coordinator is told.
  void go_now(const std::string& reason);
  /// The peer is to register once it is answered whether it may go: a registration that overtakes a yes would
  /// make it a peer again.
  void register_afterwards() { registers_ = true; }
  void describe_to(proto::RegisterPeer& message) const;

 private:
  bool may_obey(Stage to) const;
  void look();
  void ask();
  void answered(const routing::StageMove::Order& order, const Result<Mail>& reply);
  void ask_to_end(bool goes, std::function<void(const Result<Mail>&)> answered);
  void answered(const Result<Mail>& reply);
  void unanswered();
  void end(const std::string& reason, bool finished);
  void say_goodbye();
  bool owes() const;
  void stays(const std::string& reason);
  void go();
  routing::Time now() const;

  StageContext& context_;
  const StageUpdates& updates_;
  const Microbatches& microbatches_;
  std::function<void()> announce_, gone_;
  routing::Time since_{}, heard_{};  ///< That it leaves, and of the last answer.
  bool looking_ = false, registers_ = false;
};

}  // namespace swarm::actors
