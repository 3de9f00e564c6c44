/// The all-reduce of two levels (docs/averaging.md, "Two levels"; routing/averaging/two_level_plan.h says who
/// does what). What a member asks and answers:
///
///   level 1, in its group    a run of its numbers, to who reduces there; answered with the run's mean
///   level 2, across groups   a piece of its group's sum, to the piece's top; answered with the piece's mean
///
/// The top adds the groups' sums in the order of the groups, divides, and encodes: once, for all. The answer to a run
/// is the encoded pieces as they came, one after the other: who asked knows their lengths by the plan. So all
/// members end with the same bits for every codec. Sums travel as float32.
///
/// A request of level 2 is ready when the group's numbers are in. Where vectors count by samples it tells those
/// of the group, all together, and the round that all of them build on, if it is one; then it has two rows, the
/// plain sum and the mean by samples, as only the top learns which of them counts.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "actors/averaging/all_reduce.h"
#include "routing/averaging/two_level_plan.h"

namespace swarm::actors {

class TwoLevelReduce : public AllReduce {
 public:
  /// `plan`: of as many members and elements as `spec`. Requires validate(spec).ok(). Reduces what needs
  /// nobody else at once.
  TwoLevelReduce(const AllReduceSetup& setup, AverageRound spec, routing::TwoLevelPlan plan,
                 MutableBuffer memory);

  size_t requests_to(uint32_t member) const override { return asked_[member].size(); }
  bool ready(uint32_t member, size_t number) const override;
  Outgoing request(uint32_t member, size_t number) override;
  Status take_answer(uint32_t member, size_t number, const tensor::EncodedTensor& answer) override;
  Result<size_t> contribute(const proto::AveragePart& head, const Buffer& body) override;
  bool answerable(size_t number) const override;
  const tensor::EncodedTensor& answer(size_t number) const override;
  bool complete() const override { return runs_missing_ == 0; }
  bool needs(uint32_t member) const override;
  bool nothing_from(uint32_t member) const override;
  std::string waiting_for() const override;
  Buffer result() const override { return result_.freeze(); }
  std::set<uint32_t> not_finite_means() const override;
  MutableBuffer take_memory() override;

 private:
  /// This member reduces it for its group.
  struct OwnRun {
    const routing::TwoLevelPlan::Run* run;
    std::vector<Buffer> contributions;  // by place in the group; decoded float32 [count]
    size_t missing = 0;                 // contributions
    bool closed = false;                // they are summed
    std::vector<Buffer> sums;           // by piece: float32 [rows, count], until its mean is here
    std::vector<tensor::EncodedTensor> means;  // by piece, until all are here
    size_t means_missing = 0;
    tensor::EncodedTensor answer;
  };
  /// This member is its top.
  struct OwnPiece {
    size_t run = 0, place = 0;  // in own_, in the run
    std::vector<Buffer> sums;   // by group
    size_t missing = 0;         // sums
    tensor::EncodedTensor mean;
  };
  /// Level 1: a run of the plan; level 2: a piece of an own run.
  struct Asked {
    size_t run = 0, place = 0;
  };

  bool in_group(uint32_t member) const { return plan_.group_of[member] == group_; }
  const std::vector<uint32_t>& group() const { return plan_.groups[group_]; }
  void add_own(const routing::TwoLevelPlan::Run& run);
  void count_missing();
  TrainedOn trained_in_group() const;
  size_t rows(const TrainedOn& trained) const;
  std::vector<float> weights_of_groups(uint32_t column) const;
  Result<size_t> from_member(const proto::AveragePart& head, const Buffer& body);
  Result<size_t> from_group(const proto::AveragePart& head, const Buffer& body);
  // two_level_sums.cc
  void close(OwnRun& own);
  Buffer sum_of(const OwnRun& own, size_t place);
  void reduce(OwnPiece& piece);
  void take_mean(OwnRun& own, size_t place, const tensor::EncodedTensor& mean);
  Status take_run(const routing::TwoLevelPlan::Run& run, const tensor::EncodedTensor& answer);
  Status take_piece(const Asked& asked, const tensor::EncodedTensor& answer);
  float* at(uint64_t element) const;

  tensor::Codec codec_;
  routing::TwoLevelPlan plan_;
  uint32_t group_;                             // own
  std::vector<size_t> contributors_;           // by group
  std::vector<std::vector<Asked>> asked_;      // by member
  std::vector<size_t> answers_missing_;        // by member
  std::vector<size_t> contributions_missing_;  // by member: runs of its numbers, or pieces of sums
  std::vector<std::optional<TrainedOn>> trained_;  // by member: its own, or of its group
  std::vector<OwnRun> own_;
  std::vector<OwnPiece> pieces_;
  std::unordered_map<uint64_t, size_t> run_at_, piece_at_;  // own_ and pieces_ by first element
  size_t runs_missing_ = 0;
  MutableBuffer result_;
};

}  // namespace swarm::actors
