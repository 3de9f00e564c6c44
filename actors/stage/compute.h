/// The thread that runs LibTorch for one stage, so that CAF's cooperative threads never compute.
#pragma once

#include <caf/actor.hpp>
#include <caf/actor_system.hpp>
#include <caf/event_based_actor.hpp>
#include <chrono>
#include <functional>
#include <memory>

#include "actors/net/errors.h"
#include "common/result.h"
#include "tensor/core/stage.h"

namespace swarm::actors {

/// Work on the stage. What it computes goes into memory that the closure shares with the asker;
/// the answer to the request is the moment from which the asker may read it.
using ComputeWork = std::function<void(tensor::Stage&)>;
struct ComputeJob {
  std::shared_ptr<ComputeWork> work;
  int passes = 0;  ///< Forward and backward passes of a microbatch in it; each costs the delay.
};
using StageFactory = std::function<Result<std::unique_ptr<tensor::Stage>>()>;

using compute_atom = caf::atom_constant<caf::atom("compute")>;

/// Spawns an actor that owns the stage made by `factory` and answers
///
///   (compute_atom)               -> uint64_t num_parameters; error when the stage cannot be made
///   (compute_atom, ComputeJob)   -> double seconds           error kInternal with what() of an
///   exception
///
/// Thread: detached (its own) in a running node; pooled in tests (`detached` false).
/// The stage is made on the first (compute_atom) message, in that thread.
///
/// `pass_delay` makes the device slower by that much per pass: the job's answer waits, its seconds
/// include the wait, and jobs that come meanwhile wait their turn, so answers keep the order of
/// the jobs. No thread sleeps.
caf::actor spawn_compute(caf::actor_system& system, StageFactory factory, bool detached,
                         std::chrono::duration<double> pass_delay = {});

/// Runs `work(stage)`, which has so many passes, there and then `done(Result<R>, seconds)` in
/// `self`.
template <class R, class Work, class Done>
void compute(caf::event_based_actor* self, const caf::actor& actor, Work work, Done done,
             int passes = 0) {
  auto slot = std::make_shared<Result<R>>(Error{ErrorCode::kInternal, "not computed"});
  ComputeJob job{std::make_shared<ComputeWork>(
                     [slot, work = std::move(work)](tensor::Stage& stage) { *slot = work(stage); }),
                 passes};
  auto on_error = done;
  self->request(actor, caf::infinite, compute_atom::value, std::move(job))
      .then([slot, done](double seconds) mutable { done(std::move(*slot), seconds); },
            [on_error](const caf::error& error) mutable {
              on_error(Result<R>(from_caf(error)), 0.0);
            });
}

}  // namespace swarm::actors

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(swarm::actors::ComputeJob)
