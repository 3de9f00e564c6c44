/// One member's side of one all-reduce, whatever its topology: what it asks of whom, what it
/// answers, what comes out. No mail, no time: actors/averaging/averager.cc carries it out.
///
/// Every vector is summed in one order, the same in all repetitions, and encoded by one member, so all end with
/// the same bits. A topology is a class (or a use of DirectReduce) and a row of the table in all_reduce.cc.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "actors/averaging/options.h"
#include "common/buffer.h"
#include "common/ids.h"
#include "common/result.h"
#include "common/strong_id.h"
#include "routing/averaging/averaging_plan.h"
#include "swarm/state.pb.h"
#include "swarm/train.pb.h"
#include "tensor/core/error_feedback.h"
#include "tensor/core/stage.h"

namespace swarm::actors {

/// Another averager, and how much it brings.
struct AverageMember {
  ActorId averager;
  Endpoint endpoint;
  uint64_t samples = 0;  ///< In its gradient sum.
  /// The place of the member through which this averager reaches it; none: directly.
  std::optional<uint32_t> via{};
  /// Of all members': how much of the vector it reduces (routing/averaging/part_weights.h).
  uint32_t part_weight = 1;
};

/// What a member's vector was trained on since the average that it builds on; of no round: the first
/// weights.
struct TrainedOn {
  static constexpr Round kNotKnown{~uint64_t{0}};  ///< Came from elsewhere.
  uint64_t samples = 0;
  Round average;
};

/// Without overflow.
uint64_t add_samples(uint64_t a, uint64_t b);
/// The samples of several members, and what they build on: of no average that is known unless all build on it who know
/// theirs. Whose came from elsewhere has none: at its own pace a stage has gone on while it came, so beside
/// those it is old, and counts for nothing. `trained`: of all of them, else nothing is known.
TrainedOn together(const std::vector<std::optional<TrainedOn>>& trained);
/// Of one of them, of 1. Requires all.samples > 0.
float weight_of(const TrainedOn& one, const TrainedOn& all);

/// Sets `part_weight`; none: all are 1. Errors: kInvalidArgument (not one for each, too large a one).
Status add_part_weights(const google::protobuf::RepeatedField<uint32_t>& weights,
                        std::vector<AverageMember>& members);
/// Sets `via` for `self`. Errors: kInvalidArgument (a place that there is not, or not three
/// members).
Status add_relays(const google::protobuf::RepeatedPtrField<proto::PartRelay>& relays, uint32_t self,
                  std::vector<AverageMember>& members);

struct AverageRound {
  Round round;                         ///< Grows from round to round.
  std::vector<AverageMember> members;  ///< The same list, in the same order, at every member.
  uint32_t self = 0;                   ///< This averager's place in `members`.
  /// float32 [n]: un-normalised sum over this peer's samples. May be empty without samples.
  /// Not written by anyone until the round has been answered.
  Buffer gradient;
  uint64_t n = 0;              ///< Elements.
  uint64_t total_samples = 0;  ///< Divisor; >= 1.
  /// Asynchronous: each member's vector counts by its own samples, if all build on the same average and
  /// anybody has trained since; else all count equally. A member that tells of more than
  /// `most_samples` counts as one with so many (0: any number).
  std::optional<TrainedOn> trained_on{};
  uint64_t most_samples = 0;
  /// What lossy codecs took from this member in rounds that count, to be given back in this one; none: what
  /// they take is lost.
  std::optional<tensor::Residuals> residuals{};
};

/// What a round or a part of one is refused with.
inline Error invalid_average(const std::string& what) {
  return {ErrorCode::kInvalidArgument, "averaging: " + what};
}

/// Errors: kInvalidArgument, kShapeMismatch. Allocate nothing before this holds.
Status validate(const AverageRound& spec);

struct AllReduceSetup {
  Topology topology = Topology::kAuto;
  tensor::Codec codec = tensor::Codec::kNone;
  uint64_t chunk_elements = 1;     ///< Of one request; >= 1.
  uint64_t min_part_elements = 1;  ///< Of a member's part, where the vector allows it; >= 1.
};

AllReduceSetup all_reduce_setup(const AveragerOptions& options);

/// Not thread-safe; one owner.
class AllReduce {
 public:
  /// Requires validate(spec).ok().
  explicit AllReduce(AverageRound spec) : spec_(std::move(spec)) {}
  virtual ~AllReduce() = default;

  const AverageRound& spec() const { return spec_; }

  // What this member asks of the others. Requests to a member are numbered from 0.

  virtual size_t requests_to(uint32_t member) const = 0;
  struct Outgoing {
    proto::AveragePart head;
    Buffer body;
  };
  /// Whether it can be made already. Once it can it stays so; those before it are made first.
  virtual bool ready(uint32_t /*member*/, size_t /*number*/) const { return true; }
  /// A repetition gives the same. Requires ready(member, number).
  virtual Outgoing request(uint32_t member, size_t number) = 0;
  /// Errors: kShapeMismatch, kInvalidArgument.
  virtual Status take_answer(uint32_t member, size_t number,
                             const tensor::EncodedTensor& answer) = 0;

  // What the others ask of this member. Requests that get the same answer share a number.

  /// A repeat changes nothing. Errors: kInvalidArgument (sender, offset), kShapeMismatch (size,
  /// missing contribution).
  virtual Result<size_t> contribute(const proto::AveragePart& head, const Buffer& body) = 0;
  /// answer(number) may be called. May become so by any contribution or answer taken.
  virtual bool answerable(size_t number) const = 0;
  /// Requires answerable(number).
  virtual const tensor::EncodedTensor& answer(size_t number) const = 0;

  /// Every element of the result is known.
  virtual bool complete() const = 0;
  /// Something is still to come from `member`.
  virtual bool needs(uint32_t member) const = 0;
  /// `member` was to contribute to what this member reduces, and nothing has come. Parts of the rest may
  /// lack because of others: a mean waits for all contributions, and few chunks are in flight.
  virtual bool nothing_from(uint32_t member) const = 0;
  /// Members that needs() holds for, for people.
  virtual std::string waiting_for() const = 0;
  /// float32 [n]. Requires complete().
  virtual Buffer result() const = 0;
  /// Members whose numbers were not finite where this one adds them up, by their places, its own among
  /// them; the sum alone is read for that, when it is done. All that went into a sum that overflows. Not
  /// empty: the round is to be given up.
  const std::set<uint32_t>& not_finite() const { return not_finite_; }
  /// Whose means are not finite. Reads all; requires complete().
  virtual std::set<uint32_t> not_finite_means() const = 0;
  /// What stands in place of spec().residuals if the round counts: the same where nothing was encoded, none
  /// where there were none. Requires complete().
  std::optional<tensor::Residuals> residuals();
  /// The result's memory for the next round, or nothing while others still read it. Call last.
  virtual MutableBuffer take_memory() = 0;
  /// The gradient is no longer needed (after complete()).
  void drop_gradient() { spec_.gradient = {}; }

 protected:
  bool contributes(uint32_t member) const { return spec_.members[member].samples > 0; }
  /// What a member has added to a sum.
  struct Addend {
    uint32_t member = 0;
    const float* numbers = nullptr;  // [count]; null: none
  };
  /// Names those to blame if `sum` [count], of these, is not finite.
  void check_sum(const float* sum, uint64_t count, const std::vector<Addend>& addends);
  /// What a member tells, as far as it counts.
  TrainedOn counted(TrainedOn told) const;
  /// What encoding takes is made good from now on, if the round has residuals and the codec takes
  /// anything. `part`: of the elements whose means this member makes, in this round or, if the plan
  /// stays, in others; of a vector so short that reducers take turns it is all.
  void feed_errors_back(const AllReduceSetup& setup, routing::Part part);
  /// A request with this member's numbers of so much of the vector, or without, if it has none.
  Outgoing own_numbers(uint64_t first, uint64_t count, tensor::Codec codec);
  /// This member's numbers as they are added to a sum that it makes itself. `room`: holds them where
  /// they are not the gradient's as they lie.
  const float* own_addend(uint64_t first, uint64_t count, std::vector<float>& room);
  /// The mean of elements from `first` on, which stands in `mean` [count], in the memory that `owner` holds:
  /// encoded, and what the others will decode in its place.
  tensor::EncodedTensor encode_mean(uint64_t first, float* mean, uint64_t count,
                                    tensor::Codec codec, const std::shared_ptr<void>& owner);
  /// Errors: kInvalidArgument (`known`, what it told before, differs).
  static Status note_trained(const TrainedOn& told, std::optional<TrainedOn>& known);

  AverageRound spec_;

 private:
  std::set<uint32_t> not_finite_;
  std::optional<tensor::ErrorFeedback> contribution_, mean_;
};

/// Requires validate(spec).ok(). `memory`: of an earlier round, that nobody else refers to any
/// more; used if it is of the right size (faulting in fresh pages takes as long as half a round).
std::unique_ptr<AllReduce> make_all_reduce(const AllReduceSetup& setup, AverageRound spec,
                                           MutableBuffer memory = {});

}  // namespace swarm::actors
