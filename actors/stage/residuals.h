/// What codecs of averages took from a peer, given back in its next rounds (docs/averaging.md, "What codecs
/// lose"): StageContext::residuals. They follow the peer's state: a round that counts replaces them, a
/// snapshot has its own beside it, and with a state that came from elsewhere they are dropped.
///
/// Part of the state of a StageServer; used only from its handlers.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "actors/averaging/averager.h"
#include "actors/stage/stage_context.h"
#include "actors/state/state_messages.h"
#include "common/strong_id.h"
#include "tensor/core/error_feedback.h"

namespace swarm::actors {

/// What they begin with in a node's store: streams of residuals, one a stage.
constexpr const char* kResidualStreams = "residual/";
std::string residual_key(Stage stage);

/// For a round to come; none: what its codec takes is lost.
std::optional<tensor::Residuals> residuals_of(const StageContext& context);
/// The mean of `result` is in the parameters.
void take_residuals(StageContext& context, const AverageResult& result);
/// The parameters are no longer those that they were made beside.
void drop_residuals(StageContext& context, const std::string& why);

/// The copy is on the disk: brings its residuals there, zeros too, then calls.
void save_residuals(StageContext& context, const FrozenState& frozen,
                    const std::function<void()>& then);
/// The own snapshot is loaded, whose bytes have `digest`: takes what stands beside it, then calls. If that is
/// not there or cannot be read, it is zeros, and an event says so.
void restore_residuals(StageContext& context, Step step, uint64_t digest,
                       std::chrono::milliseconds limit, const std::function<void()>& then);

}  // namespace swarm::actors
