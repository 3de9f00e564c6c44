#include "actors/averaging/direct_reduce.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include "tensor/core/codec.h"
#include "tensor/core/flat.h"

namespace swarm::actors {
DirectReduce::DirectReduce(const AllReduceSetup& setup, AverageRound spec,
                           const std::vector<routing::Part>& parts, MutableBuffer memory)
    : AllReduce(std::move(spec)), codec_(setup.codec), chunk_elements_(setup.chunk_elements) {
  const size_t bytes = spec_.n * sizeof(float);
  result_ =
      memory.owner() && memory.size() == bytes ? std::move(memory) : MutableBuffer::allocate(bytes);
  const size_t members = spec_.members.size();
  asked_.resize(members);
  answers_missing_.resize(members);
  contributions_missing_.resize(members);
  own_part_ = parts[spec_.self];
  feed_errors_back(setup, own_part_);
  if (spec_.trained_on) {
    trained_.resize(members);
    trained_[spec_.self] = counted(*spec_.trained_on);
  }
  for (size_t i = 0; i < members; ++i) {
    if (i == spec_.self) continue;
    asked_[i] = routing::chunks(parts[i], chunk_elements_);
    answers_missing_[i] = asked_[i].size();
    chunks_missing_ += asked_[i].size();
  }
  size_t contributors = 0;
  for (uint32_t i = 0; i < members; ++i) contributors += i != spec_.self && contributes(i);
  for (const auto& part : routing::chunks(own_part_, chunk_elements_)) {
    own_.push_back({part, std::vector<Buffer>(members), contributors, {}});
    ++chunks_missing_;
  }
  for (uint32_t i = 0; i < members; ++i)
    if (i != spec_.self && contributes(i)) contributions_missing_[i] = own_.size();
  if (contributors == 0)
    for (auto& chunk : own_) reduce(chunk);
}

MutableBuffer DirectReduce::take_memory() {
  own_.clear();  // encoded means may share it
  MutableBuffer memory = std::move(result_);
  result_ = {};
  if (memory.owner().use_count() != 1) return {};
  std::atomic_thread_fence(std::memory_order_acquire);  // what the last reader read is behind us
  return memory;
}

float* DirectReduce::at(uint64_t element) const {
  return reinterpret_cast<float*>(result_.data()) + element;
}

AllReduce::Outgoing DirectReduce::request(uint32_t member, size_t number) {
  const auto& part = asked_[member][number];
  return own_numbers(part.first, part.count, codec_);
}

Status DirectReduce::take_answer(uint32_t member, size_t number,
                                 const tensor::EncodedTensor& answer) {
  const auto& part = asked_[member][number];
  auto values = tensor::decode_flat(answer, part.count);
  if (!values.ok()) return values.error();
  std::memcpy(at(part.first), values->data(), part.count * sizeof(float));
  --answers_missing_[member];
  --chunks_missing_;
  return {};
}

Result<size_t> DirectReduce::contribute(const proto::AveragePart& head, const Buffer& body) {
  const uint32_t sender = head.sender();
  if (sender >= spec_.members.size() || sender == spec_.self)
    return invalid_average(fmt::format("sender {} is no other member", sender));
  if (head.offset() < own_part_.first || head.offset() - own_part_.first >= own_part_.count ||
      (head.offset() - own_part_.first) % chunk_elements_ != 0)
    return invalid_average(fmt::format("offset {} starts no chunk of my part", head.offset()));
  const size_t index = (head.offset() - own_part_.first) / chunk_elements_;
  auto& chunk = own_[index];
  if (!contributes(sender)) return index;
  if (!head.has_chunk())
    return Error{ErrorCode::kShapeMismatch, "averaging: a member with samples sent none"};
  if (spec_.trained_on) {
    const TrainedOn told = counted({head.samples(), Round(head.based_on())});
    if (auto noted = note_trained(told, trained_[sender]); !noted) return noted.error();
  }
  if (chunk.missing == 0 || !chunk.contributions[sender].empty()) return index;  // a repeat
  auto values = tensor::decode_flat({head.chunk(), body}, chunk.part.count);
  if (!values.ok()) return values.error();
  chunk.contributions[sender] = std::move(*values);
  --contributions_missing_[sender];
  if (--chunk.missing == 0) reduce(chunk);
  return index;
}

/// By which the members' numbers are multiplied; none: they count equally, or hold sums. Requires all
/// contributions.
///
/// By samples only from a common average on: a vector that holds the others' updates already, but was
/// not trained on since, would count for nothing beside one that lacks them.
std::vector<float> DirectReduce::weights_by_samples() const {
  const TrainedOn all = together(trained_);
  std::vector<float> weights;
  for (const auto& one : trained_)
    if (all.samples > 0) weights.push_back(weight_of(*one, all));
  return weights;
}

/// Of those that contribute, in the order of the member list.
std::vector<AllReduce::Addend> DirectReduce::addends(const OwnChunk& chunk,
                                                     std::vector<float>& room) {
  std::vector<Addend> all;
  for (uint32_t i = 0; i < spec_.members.size(); ++i) {
    if (!contributes(i)) continue;
    const auto* numbers = i == spec_.self
                              ? own_addend(chunk.part.first, chunk.part.count, room)
                              : reinterpret_cast<const float*>(chunk.contributions[i].data());
    all.push_back({i, numbers});
  }
  return all;
}

/// Adds up in the order of the member list, divides, encodes, and keeps what the others will
/// decode.
void DirectReduce::reduce(OwnChunk& chunk) {
  const uint64_t count = chunk.part.count;
  float* sum = at(chunk.part.first);
  const auto weights = weights_by_samples();
  std::vector<float> room;
  const auto all = addends(chunk, room);
  bool first = true;
  for (const Addend& one : all) {
    const float weight = weights.empty() ? 1 : weights[one.member];
    if (weight == 0) continue;
    if (first)
      std::memcpy(sum, one.numbers, count * sizeof(float));
    else if (weights.empty())
      tensor::add_into(sum, one.numbers, count);
    else
      tensor::add_scaled(sum, one.numbers, weight, count);
    if (first && weight != 1) tensor::scale(sum, count, weight);
    first = false;
  }
  if (first) std::memset(sum, 0, count * sizeof(float));
  if (weights.empty())
    tensor::scale(sum, count, static_cast<float>(1.0 / static_cast<double>(spec_.total_samples)));
  check_sum(sum, count, all);
  chunk.encoded = encode_mean(chunk.part.first, sum, count, codec_, result_.owner());
  // The codec may not reach as far as float32.
  if (codec_ != tensor::Codec::kNone) check_sum(sum, count, all);
  chunk.contributions.clear();
  --chunks_missing_;
}

std::set<uint32_t> DirectReduce::not_finite_means() const {
  std::set<uint32_t> whose;
  for (uint32_t i = 0; i < asked_.size(); ++i)
    for (const routing::Part& part : asked_[i])
      if (!tensor::all_finite(at(part.first), part.count)) whose.insert(i);
  if (!tensor::all_finite(at(own_part_.first), own_part_.count)) whose.insert(spec_.self);
  return whose;
}

bool DirectReduce::needs(uint32_t member) const {
  return answers_missing_[member] > 0 || contributions_missing_[member] > 0;
}

std::string DirectReduce::waiting_for() const {
  std::string text;
  for (uint32_t i = 0; i < spec_.members.size(); ++i)
    if (needs(i))
      text += fmt::format("{}{} ({} contributions, {} means)", text.empty() ? "" : ", ",
                          spec_.members[i].averager.brief(), contributions_missing_[i],
                          answers_missing_[i]);
  return text.empty() ? "nobody" : text;
}

}  // namespace swarm::actors
