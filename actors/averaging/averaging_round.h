/// The arithmetic and bookkeeping of one member's side of one butterfly all-reduce; no mail, no
/// time. actors/averaging/averager.cc carries it out.
///
/// Not thread-safe; one owner.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "actors/averaging/averager.h"
#include "routing/averaging/averaging_plan.h"
#include "swarm/state.pb.h"
#include "tensor/core/stage.h"

namespace swarm::actors {

class AveragingRound {
 public:
  /// Errors: kInvalidArgument, kShapeMismatch. Allocate nothing before this holds.
  static Status validate(const AverageRound& spec);

  /// Requires validate(spec).ok() and chunk_elements > 0. Reduces what needs nobody else at once.
  /// `memory`: of an earlier round, that nobody else refers to any more; used if it is of the right
  /// size (faulting in fresh pages takes as long as half a round).
  AveragingRound(AverageRound spec, tensor::Codec codec, uint64_t chunk_elements,
                 MutableBuffer memory = {});

  const AverageRound& spec() const { return spec_; }

  // What this member asks of the others.

  /// Chunks of the part that `member` reduces; empty for this member.
  const std::vector<routing::Part>& chunks_of(uint32_t member) const { return asked_[member]; }
  /// This member's request for one of them: encoded contribution, or none without samples.
  struct Outgoing {
    proto::AveragePart head;
    Buffer body;
  };
  Outgoing request(uint32_t member, size_t chunk) const;
  /// The answer: the chunk's mean goes into the result. Errors: kShapeMismatch, kInvalidArgument.
  Status take_mean(uint32_t member, size_t chunk, const tensor::EncodedTensor& mean);

  // What the others ask of this member.

  /// Index of the own chunk that `head` names. Adds the contribution; a repeat changes nothing.
  /// Errors: kInvalidArgument (sender, offset), kShapeMismatch (size, missing contribution).
  Result<size_t> contribute(const proto::AveragePart& head, const Buffer& body);
  /// All contributions are in: mean() may be called.
  bool reduced(size_t own_chunk) const { return own_[own_chunk].missing == 0; }
  /// The encoded mean of an own chunk. Requires reduced(own_chunk).
  const tensor::EncodedTensor& mean(size_t own_chunk) const { return own_[own_chunk].encoded; }

  /// Every element of the result is known.
  bool complete() const { return chunks_missing_ == 0; }
  /// Something is still to come from `member`: a mean or a contribution.
  bool needs(uint32_t member) const;
  /// Members that needs() holds for, for people.
  std::string waiting_for() const;
  /// float32 [n]. Requires complete().
  Buffer result() const { return result_.freeze(); }
  /// The result's memory for the next round, or nothing while others still read it. Call last.
  MutableBuffer take_memory();
  /// The gradient is no longer needed (after complete()).
  void drop_gradient() { spec_.gradient = {}; }

 private:
  struct OwnChunk {
    routing::Part part;
    std::vector<Buffer> contributions;  // by member; decoded float32 [count]
    size_t missing = 0;
    tensor::EncodedTensor encoded;
  };
  bool contributes(uint32_t member) const { return spec_.members[member].samples > 0; }
  void reduce(OwnChunk& chunk);
  float* at(uint64_t element) const;

  AverageRound spec_;
  tensor::Codec codec_;
  uint64_t chunk_elements_;
  std::vector<std::vector<routing::Part>> asked_;  // by member
  std::vector<size_t> answers_missing_;            // by member
  std::vector<size_t> contributions_missing_;      // by member
  routing::Part own_part_;
  std::vector<OwnChunk> own_;
  size_t chunks_missing_ = 0;
  MutableBuffer result_;
};

}  // namespace swarm::actors
