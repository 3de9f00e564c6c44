/// The side of state transfer that supplies learners: answers StateRange from the stage server's
/// memory and from the means of its last updates. A part of the StateTransfer actor; all calls
/// come from that actor.
#pragma once

#include <caf/actor.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/typed_response_promise.hpp>
#include <optional>
#include <string>

#include "actors/net/mail.h"
#include "actors/state/state_messages.h"
#include "common/strong_id.h"
#include "routing/state/recent_means.h"

namespace swarm::actors {

class RangeUpload {
 public:
  using Promise = caf::typed_response_promise<Mail>;
  RangeUpload(caf::event_based_actor* self, Stage stage, caf::actor stage_server);

  void set_stage(caf::actor stage_server) { stage_server_ = std::move(stage_server); }
  void stands(const std::optional<routing::StateLabel>& label);
  void applied(const routing::AppliedMean& mean);
  /// Somebody may soon need the means from now on.
  void expect() { means_.asked(self_->clock().now().time_since_epoch()); }
  void range(const proto::StateRange& request, Promise promise);
  void close();
  std::string describe() const;

 private:
  Status check(const proto::StateRange& request) const;
  void give_state(const proto::StateRange& request, Promise promise);
  proto::StateRangeReply reply() const;
  void answer(Promise promise, proto::StateRangeReply reply, const Buffer& payload) const;

  caf::event_based_actor* self_;
  Stage stage_;
  caf::actor stage_server_;
  std::optional<routing::StateLabel> newest_;
  routing::RecentMeans means_;
  size_t asked_ = 0;  ///< Of the stage server, not answered yet.
};

}  // namespace swarm::actors
