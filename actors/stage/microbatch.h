/// A microbatch as a stage server sees it: what a ForwardRequest asks and a ForwardReply says,
/// decoded and checked once.
#pragma once

#include <cstdint>

#include "actors/net/mail.h"
#include "common/microbatch_key.h"
#include "common/result.h"
#include "common/strong_id.h"
#include "swarm/train.pb.h"
#include "tensor/core/stage.h"

namespace swarm::actors {

struct Microbatch {
  MicrobatchKey key;
  bool adds = false;          ///< This stage is to add it to its gradient sum.
  bool forward_only = false;  ///< Validation.
  tensor::StageInput input;   ///< Shares the request's memory.
  Mail request;               ///< For what is only passed on.

  /// After the forward pass: what backward needs of the activations the stage itself keeps.
  void free_body() {
    input.activations = {};
    request.body = {};
  }
};

struct MicrobatchLimits {
  Stage stage;
  uint32_t max_samples = 0;
  uint32_t sequence = 0;
  uint64_t slots = 0;  ///< Of a step, validation included.
};

/// Errors: kInvalidArgument (another stage's), kShapeMismatch.
Result<Microbatch> decode_microbatch(const Mail& mail, const MicrobatchLimits& limits);

/// The same microbatch for the next stage. Its tokens are copied here and not again, whoever it is
/// offered to.
proto::ForwardRequest for_next_stage(const Microbatch& microbatch,
                                     const tensor::EncodedTensor& activations);

/// What came back from the next stage.
struct Downstream {
  double loss_sum = 0;
  bool non_finite = false;
  tensor::EncodedTensor gradient;
  Mail reply;  ///< Holds the route, or where it was not finite.

  const proto::ForwardReply& head() const { return reply.as<proto::ForwardReply>(); }
};
Downstream decode_downstream(const Mail& reply);

}  // namespace swarm::actors
