#include "actors/stage/compute.h"

#include <caf/stateful_actor.hpp>
#include <caf/typed_response_promise.hpp>
#include <chrono>
#include <deque>

#include "actors/net/requests.h"

namespace swarm::actors {
namespace {

using delayed_atom = caf::atom_constant<caf::atom("delayed")>;

using SecondsPromise = caf::typed_response_promise<double>;

struct ComputeState {
  static constexpr const char* name = "compute";
  StageFactory factory;
  std::unique_ptr<tensor::Stage> stage;
  std::chrono::duration<double> pass_delay{};
  // Of a delayed device.
  struct Waiting {
    ComputeJob job;
    SecondsPromise promise;
  };
  bool busy = false;            // an answer is being held back
  SecondsPromise current;       // that answer's
  std::deque<Waiting> waiting;  // jobs that came since, in order
};

Result<double> run(ComputeState& state, const ComputeJob& job) {
  if (!state.stage) return Error{ErrorCode::kNotReady, "the stage was not made"};
  auto start = std::chrono::steady_clock::now();
  try {
    (*job.work)(*state.stage);
  } catch (const std::exception& e) {
    return Error{ErrorCode::kInternal, std::string("the stage threw: ") + e.what()};
  }
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

using ComputeActor = caf::stateful_actor<ComputeState>;

void deliver(SecondsPromise& promise, const Result<double>& seconds) {
  if (seconds)
    promise.deliver(*seconds);
  else
    promise.deliver(to_caf(seconds.error()));
}

/// Runs jobs until one has to wait for the end of its delay.
void run_waiting(ComputeActor* self) {
  auto& state = self->state;
  while (!state.busy && !state.waiting.empty()) {
    auto next = std::move(state.waiting.front());
    state.waiting.pop_front();
    Result<double> seconds = run(state, next.job);
    const auto delay = state.pass_delay * next.job.passes;
    if (!seconds || delay.count() <= 0) {
      deliver(next.promise, seconds);
      continue;
    }
    state.busy = true;
    state.current = std::move(next.promise);
    self->delayed_send(self, std::chrono::duration_cast<std::chrono::microseconds>(delay),
                       delayed_atom::value, *seconds + delay.count());
  }
}

caf::behavior compute_actor(ComputeActor* self, StageFactory factory,
                            std::chrono::duration<double> pass_delay) {
  install_default_handlers(self);
  self->state.factory = std::move(factory);
  self->state.pass_delay = pass_delay;
  return {
      [self](compute_atom) -> caf::result<uint64_t> {
        if (!self->state.stage) {
          auto made = self->state.factory();
          if (!made) return to_caf(made.error());
          self->state.stage = std::move(*made);
        }
        return self->state.stage->num_parameters();
      },
      [self](compute_atom, const ComputeJob& job) -> caf::result<double> {
        auto promise = self->make_response_promise<double>();
        self->state.waiting.push_back({job, promise});
        run_waiting(self);
        return promise;
      },
      [self](delayed_atom, double seconds) {
        self->state.busy = false;
        self->state.current.deliver(seconds);
        run_waiting(self);
      },
  };
}

}  // namespace

caf::actor spawn_compute(caf::actor_system& system, StageFactory factory, bool detached,
                         std::chrono::duration<double> pass_delay) {
  return detached ? system.spawn<caf::detached>(compute_actor, std::move(factory), pass_delay)
                  : system.spawn(compute_actor, std::move(factory), pass_delay);
}

}  // namespace swarm::actors
