#include "actors/compute.h"

#include <caf/stateful_actor.hpp>
#include <chrono>

#include "actors/requests.h"

namespace swarm::actors {
namespace {

struct ComputeState {
  static constexpr const char* name = "compute";
  StageFactory factory;
  std::unique_ptr<tensor::Stage> stage;
};

caf::result<double> run(ComputeState& state, const ComputeJob& job) {
  if (!state.stage) return to_caf(ErrorCode::kNotReady, "the stage was not made");
  auto start = std::chrono::steady_clock::now();
  try {
    (*job.work)(*state.stage);
  } catch (const std::exception& e) {
    return to_caf(ErrorCode::kInternal, std::string("the stage threw: ") + e.what());
  }
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

caf::behavior compute_actor(caf::stateful_actor<ComputeState>* self, StageFactory factory) {
  install_default_handlers(self);
  self->state.factory = std::move(factory);
  return {
      [self](compute_atom) -> caf::result<uint64_t> {
        if (!self->state.stage) {
          auto made = self->state.factory();
          if (!made) return to_caf(made.error());
          self->state.stage = std::move(*made);
        }
        return self->state.stage->num_parameters();
      },
      [self](compute_atom, const ComputeJob& job) { return run(self->state, job); },
  };
}

}  // namespace

caf::actor spawn_compute(caf::actor_system& system, StageFactory factory, bool detached) {
  return detached ? system.spawn<caf::detached>(compute_actor, std::move(factory))
                  : system.spawn(compute_actor, std::move(factory));
}

}  // namespace swarm::actors
