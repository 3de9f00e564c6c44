/// The all-reduce in which each part of the vector has one member that reduces it: everyone streams
/// its numbers of that part to it in chunks, and the answer to a chunk is its encoded mean, sent
/// when all contributions are in. With equal parts this is the butterfly.
///
/// Where vectors count by samples every part tells its sender's, the same in all parts: so all reducers
/// weight alike, though nobody has collected the numbers before.
///
/// The reducer keeps decode(encode(mean)) itself, and adds contributions in the order of the member
/// list, so all members end with the same bits for every codec. Members without samples send
/// requests without a chunk: "nothing to add, I want the mean".
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "actors/averaging/all_reduce.h"
#include "routing/averaging/averaging_plan.h"

namespace swarm::actors {

class DirectReduce : public AllReduce {
 public:
  /// `parts`: of the vector, one for each member, contiguous and covering; may be empty. Requires
  /// validate(spec).ok(). Reduces what needs nobody else at once.
  DirectReduce(const AllReduceSetup& setup, AverageRound spec,
               const std::vector<routing::Part>& parts, MutableBuffer memory);

  size_t requests_to(uint32_t member) const override { return asked_[member].size(); }
  Outgoing request(uint32_t member, size_t number) override;
  Status take_answer(uint32_t member, size_t number, const tensor::EncodedTensor& answer) override;
  Result<size_t> contribute(const proto::AveragePart& head, const Buffer& body) override;
  bool answerable(size_t number) const override { return own_[number].missing == 0; }
  const tensor::EncodedTensor& answer(size_t number) const override { return own_[number].encoded; }
  bool complete() const override { return chunks_missing_ == 0; }
  bool needs(uint32_t member) const override;
  bool nothing_from(uint32_t member) const override {
    return contributions_missing_[member] > 0 && contributions_missing_[member] == own_.size();
  }
  std::string waiting_for() const override;
  Buffer result() const override { return result_.freeze(); }
  std::set<uint32_t> not_finite_means() const override;
  MutableBuffer take_memory() override;

 private:
  struct OwnChunk {
    routing::Part part;
    std::vector<Buffer> contributions;  // by member; decoded float32 [count]
    size_t missing = 0;
    tensor::EncodedTensor encoded;
  };
  std::vector<float> weights_by_samples() const;
  std::vector<Addend> addends(const OwnChunk& chunk, std::vector<float>& room);
  void reduce(OwnChunk& chunk);
  float* at(uint64_t element) const;

  tensor::Codec codec_;
  uint64_t chunk_elements_;
  std::vector<std::vector<routing::Part>> asked_;  // by member
  std::vector<size_t> answers_missing_;            // by member
  std::vector<size_t> contributions_missing_;      // by member
  std::vector<std::optional<TrainedOn>> trained_;  // by member; if vectors count by samples
  routing::Part own_part_;
  std::vector<OwnChunk> own_;
  size_t chunks_missing_ = 0;
  MutableBuffer result_;
};

}  // namespace swarm::actors
