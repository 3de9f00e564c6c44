/// What the parts of one StageServer share: where the stage is, and what they ask of the actor.
#pragma once

#include <array>
#include <caf/event_based_actor.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "actors/coordinator/coordinator_client.h"
#include "actors/net/link_rates.h"
#include "actors/stage/device.h"
#include "actors/stage/stage_server.h"
#include "actors/stage/sum_watch.h"
#include "common/keep_step.h"
#include "common/names.h"
#include "common/strong_id.h"
#include "routing/membership/peer_phase.h"
#include "routing/membership/stage_move.h"
#include "routing/steps/contributions.h"
#include "routing/steps/history.h"
#include "swarm/train.pb.h"
#include "tensor/core/error_feedback.h"

namespace swarm::actors {

/// The actor, to its parts.
class StageHost {
 public:
  virtual ~StageHost() = default;
  /// From serving back to registering.
  virtual void stop_serving(const std::string& reason) = 0;
  /// From learning back to registering, with the state that is in memory.
  virtual void end_learning(const std::string& reason) = 0;
  /// Tells the coordinator how things are now.
  virtual void register_peer() = 0;
  /// The newest that is durable in every stage: it is not pruned.
  virtual void keep_snapshot(Term speaker, const KeepStep& keep) = 0;
  virtual void save_snapshot() = 0;
  /// Something to compute may have become due.
  virtual void compute_next() = 0;
  /// Microbatches of steps before `step` are answered with `error`; the answers kept for repeats
  /// are forgotten.
  virtual void end_steps_before(Step step, const Error& error) = 0;
  virtual void forget_answers() = 0;
};

struct StageContext {
  StageContext(caf::event_based_actor* actor, StageHost* the_host, StageServerDeps the_deps)
      : self(actor),
        host(the_host),
        deps(std::move(the_deps)),
        device(actor, deps.compute),
        sum_watch(std::make_shared<SumWatch>(
            SumWatch::of(deps.node_name, deps.training, deps.options, deps.faults))) {}

  caf::event_based_actor* self;
  StageHost* host;
  StageServerDeps deps;
  Device device;
  std::unique_ptr<CoordinatorClient> coordinator;
  routing::PeerPhase phase;
  routing::StageMove move;  ///< Out of the stage.
  routing::PeerProgress at;
  routing::Contributions contributions;  ///< To the sum of the open step, or to updates.
  uint64_t checksum = 0;                 ///< Of the parameters; 0: not known.
  routing::History history;              ///< Of the parameters; 0: not known.
  /// What codecs took (actors/stage/residuals.h); none while they are read from the disk.
  std::optional<tensor::Residuals> residuals = tensor::Residuals{};
  uint64_t num_parameters = 0;
  std::array<uint64_t, kTrafficClasses> bytes_sent{};
  LinkRates rates;                      ///< Of the node's links.
  std::shared_ptr<SumWatch> sum_watch;  ///< For compute jobs.

  bool is_last() const { return deps.stage.value() + 1 == deps.num_stages; }
  /// What it sends of its own in a round.
  uint64_t average_bytes() const;
  std::string stream() const { return stage_key(deps.stage.value()); }
  double now_s() const {
    return std::chrono::duration<double>(self->clock().now().time_since_epoch()).count();
  }
  /// The coordinator says what the run learns from: from now on this node tells others.
  void keep(const proto::Text& text) const;
  /// The state transfer hears of a state that was replaced or given up.
  void tell_standing() const;
  /// As CoordinatorClient::accept().
  Status accept(Term term, const std::optional<NodeId>& from) const;
  /// This peer, in a route.
  proto::RouteHop hop() const;
  template <class Event>
  void record(const Event& event) const {
    record(at.open_step, event);
  }
  template <class Event>
  void record(Step step, const Event& event) const {
    deps.events->record(deps.stage.value(), static_cast<int64_t>(step.value()), event);
  }
};

}  // namespace swarm::actors
