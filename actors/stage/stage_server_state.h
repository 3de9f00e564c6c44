/// Inside of the StageServer: the actor's life (registration, phases, leaving) and its parts.
/// Included by stage_server*.cc only.
#pragma once

#include <caf/stateful_actor.hpp>
#include <memory>
#include <optional>
#include <string>

#include "actors/stage/copy_keeper.h"
#include "actors/stage/line_leaver.h"
#include "actors/stage/microbatches.h"
#include "actors/stage/stage_context.h"
#include "actors/stage/stage_mover.h"
#include "actors/stage/stage_updates.h"
#include "actors/stage/state_keeper.h"
#include "common/strong_id.h"

namespace swarm::actors {

class StageServerState : public StageHost {
 public:
  static constexpr const char* name = "stage_server";
  using Self = caf::stateful_actor<StageServerState>;

  void init(Self* self, StageServerDeps deps);
  caf::behavior make_behavior();

  // -- for the parts
  void stop_serving(const std::string& reason) override;
  void end_learning(const std::string& reason) override;
  void register_peer() override;
  void keep_snapshot(Term speaker, const KeepStep& keep) override;
  void save_snapshot() override;
  void compute_next() override { microbatches_->compute_next(); }
  void end_steps_before(Step step, const Error& error) override;
  void forget_answers() override { microbatches_->forget_answers(); }

 private:
  using At = routing::PeerPhase::At;

  void make_stage();
  caf::result<Mail> on_mail(const Mail& mail);
  caf::result<Mail> on_restore(const Mail& mail);
  caf::result<Mail> on_save(const Mail& mail);
  void on_tick();
  void on_node_down(const NodeId& node);
  caf::result<bool> on_drain();
  std::string describe() const;

  void enter(At to, const std::string& reason);
  void left(At from, const std::string& reason);
  void coordinator_changed();
  void register_busy();
  void registered(Step as_of, Result<Mail> reply);
  void obey(Step as_of, const proto::RegisterPeerReply& verdict);
  void serve(const proto::RegisterPeerReply& verdict);
  void fetch(const proto::RegisterPeerReply& verdict);
  void loading_is_over(const std::string& reason, std::chrono::milliseconds pause);
  void leave_stage();
  void register_later(std::chrono::milliseconds pause);
  void announce();

  Self* self_ = nullptr;
  std::optional<StageContext> context_;
  std::unique_ptr<StageUpdates> updates_;
  std::optional<Microbatches> microbatches_;
  std::optional<StateKeeper> keeper_;
  std::optional<StageMover> mover_;
  std::optional<CopyKeeper> copies_;
  std::optional<LineLeaver> leaver_;
  bool registering_ = false;
  bool was_serving_ = false;
  uint32_t swarm_peers_ = 0;  ///< As the coordinator said when it told this one to serve.
  uint64_t announcements_ = 0;
  Promises leaving_;     ///< Answered when the last snapshot is durable, or cannot be.
  bool durable_ = true;  ///< Nothing it would leave behind is on no disk.
};

}  // namespace swarm::actors
