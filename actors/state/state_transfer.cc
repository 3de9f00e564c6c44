#include "actors/state/state_transfer.h"

#include <fmt/format.h>

#include <caf/stateful_actor.hpp>
#include <memory>
#include <string>
#include <utility>

#include "actors/net/links/links.h"
#include "actors/net/local.h"
#include "actors/net/requests.h"
#include "actors/state/range_upload.h"
#include "actors/state/state_download.h"
#include "actors/state/state_upload.h"

namespace swarm::actors {
namespace {

struct StateTransfer {
  static constexpr const char* name = "state_transfer";
  std::unique_ptr<StateUpload> upload;
  std::unique_ptr<RangeUpload> ranges;
  std::unique_ptr<StateDownloads> downloads;
};
using Self = caf::stateful_actor<StateTransfer>;

caf::result<Mail> on_mail(Self* self, const Mail& mail) {
  auto promise = self->make_response_promise<Mail>();
  switch (mail.kind) {
    case proto::KIND_STATE_INFO:
      self->state.upload->info(mail.as<proto::StateInfo>(), promise);
      break;
    case proto::KIND_STATE_CHUNK:
      self->state.upload->chunk(mail.as<proto::StateChunk>(), promise);
      break;
    case proto::KIND_STATE_RANGE:
      self->state.ranges->range(mail.as<proto::StateRange>(), promise);
      break;
    default:
      promise.deliver(to_caf(ErrorCode::kInvalidArgument,
                             std::string("a state transfer takes no ") + kind_name(mail.kind)));
  }
  return promise;
}

caf::behavior state_transfer(Self* self, const StateTransferDeps& deps) {
  auto& state = self->state;
  state.upload = std::make_unique<StateUpload>(self, deps.stage, deps.options, deps.store,
                                               deps.stage_server, deps.detached);
  state.ranges = std::make_unique<RangeUpload>(self, deps.stage, deps.stage_server);
  state.downloads = std::make_unique<StateDownloads>(self, deps.links, deps.options, deps.keeper);
  install_default_handlers(self);
  self->send(deps.links, register_atom::value, deps.id.actor, caf::actor_cast<caf::actor>(self));
  self->set_exit_handler([self](caf::exit_msg& exit) {
    const Error error{ErrorCode::kShuttingDown, "the state transfer stops"};
    self->state.upload->close(error);
    self->state.ranges->close();
    self->state.downloads->close(error);
    self->quit(exit.reason);
  });
  return {
      [self](const Mail& mail) { return on_mail(self, mail); },
      [self](fetch_atom, const FetchState& fetch) { return self->state.downloads->start(fetch); },
      [self](set_stage_atom, const caf::actor& stage) {
        self->state.upload->set_stage(stage);
        self->state.ranges->set_stage(stage);
      },
      [self](applied_atom, const routing::AppliedMean& mean) { self->state.ranges->applied(mean); },
      [self](expect_atom) { self->state.ranges->expect(); },
      [self](stands_atom, const StandsAt& at) { self->state.ranges->stands(at.label); },
      [self, stage = deps.stage](describe_atom) {
        return fmt::format("stage {}; {}; {}; {}", stage, self->state.upload->describe(),
                           self->state.ranges->describe(), self->state.downloads->describe());
      },
      [](run_later_atom, const LocalTask& task) { task(); },
  };
}

}  // namespace

caf::actor spawn_state_transfer(caf::actor_system& system, StateTransferDeps deps) {
  return deps.detached ? system.spawn<caf::detached>(state_transfer, std::move(deps))
                       : system.spawn(state_transfer, std::move(deps));
}

}  // namespace swarm::actors
