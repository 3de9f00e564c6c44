#include "actors/averaging/all_reduce.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <set>
#include <utility>

#include "actors/averaging/direct_reduce.h"
#include "actors/averaging/two_level_reduce.h"
#include "common/check.h"
#include "routing/averaging/two_level_plan.h"
#include "tensor/core/codec.h"
#include "tensor/core/flat.h"

namespace swarm::actors {
namespace {

std::vector<uint32_t> weights_of(const AverageRound& spec) {
  std::vector<uint32_t> weights;
  for (const AverageMember& member : spec.members) weights.push_back(member.part_weight);
  return weights;
}

/// Each member reduces a part by its weight; of many with a short vector some do.
std::unique_ptr<AllReduce> butterfly(const AllReduceSetup& setup, AverageRound spec,
                                     MutableBuffer memory) {
  auto parts = routing::plan_parts(
      spec.n,
      routing::reducers(spec.n, weights_of(spec), setup.min_part_elements, spec.round.value()));
  return std::make_unique<DirectReduce>(setup, std::move(spec), std::move(parts),
                                        std::move(memory));
}

std::unique_ptr<AllReduce> two_level(const AllReduceSetup& setup, AverageRound spec,
                                     MutableBuffer memory) {
  auto plan = routing::plan_two_levels(spec.n, weights_of(spec), setup.min_part_elements,
                                       setup.chunk_elements, spec.round.value());
  return std::make_unique<TwoLevelReduce>(setup, std::move(spec), std::move(plan),
                                          std::move(memory));
}

std::unique_ptr<AllReduce> by_members(const AllReduceSetup& setup, AverageRound spec,
                                      MutableBuffer memory) {
  const auto make = spec.members.size() > routing::kMostDirect ? two_level : butterfly;
  return make(setup, std::move(spec), std::move(memory));
}

struct TopologyRow {
  Topology topology;
  std::unique_ptr<AllReduce> (*make)(const AllReduceSetup&, AverageRound, MutableBuffer);
};
constexpr TopologyRow kTopologies[] = {
    {Topology::kButterfly, butterfly},
    {Topology::kTwoLevel, two_level},
    {Topology::kAuto, by_members},
};

}  // namespace

uint64_t add_samples(uint64_t a, uint64_t b) {
  const uint64_t most = std::numeric_limits<uint64_t>::max();
  return a > most - b ? most : a + b;
}

TrainedOn together(const std::vector<std::optional<TrainedOn>>& trained) {
  TrainedOn all{0, TrainedOn::kNotKnown};
  for (const auto& one : trained) {
    if (!one) return {0, TrainedOn::kNotKnown};
    if (one->average == TrainedOn::kNotKnown) continue;
    if (all.average != TrainedOn::kNotKnown && one->average != all.average)
      return {0, TrainedOn::kNotKnown};
    all = {add_samples(all.samples, one->samples), one->average};
  }
  return all;
}

float weight_of(const TrainedOn& one, const TrainedOn& all) {
  if (one.average == TrainedOn::kNotKnown) return 0;
  return static_cast<float>(static_cast<double>(one.samples) / static_cast<double>(all.samples));
}

AllReduceSetup all_reduce_setup(const AveragerOptions& options) {
  return {options.topology, options.codec, options.chunk_elements, options.min_part_elements};
}

Status validate(const AverageRound& spec) {
  if (spec.members.empty() || spec.members.size() > routing::kMostParts)
    return invalid_average("1 to 1024 members");
  if (spec.self >= spec.members.size()) return invalid_average("self is not in the member list");
  if (spec.n == 0 || spec.n > tensor::kMaxTensorBytes * 4)
    return invalid_average(fmt::format("n = {} elements", spec.n));
  if (spec.total_samples == 0) return invalid_average("no samples to average over");
  for (const auto& member : spec.members)
    if (member.part_weight > routing::kMostWeight)
      return invalid_average(fmt::format("a part of weight {}", member.part_weight));
  std::set<ActorId> distinct;
  for (const auto& member : spec.members)
    if (!distinct.insert(member.averager).second)
      return invalid_average(member.averager.brief() + " is listed twice");
  const bool may_be_empty = spec.members[spec.self].samples == 0;
  if (spec.gradient.size() != spec.n * sizeof(float) && !(may_be_empty && spec.gradient.empty()))
    return Error{ErrorCode::kShapeMismatch, fmt::format("averaging: gradient of {} bytes, n = {}",
                                                        spec.gradient.size(), spec.n)};
  return {};
}

Status add_part_weights(const google::protobuf::RepeatedField<uint32_t>& weights,
                        std::vector<AverageMember>& members) {
  if (weights.empty()) return {};
  if (static_cast<size_t>(weights.size()) != members.size())
    return invalid_average(
        fmt::format("{} weights of parts for {} members", weights.size(), members.size()));
  for (size_t i = 0; i < members.size(); ++i)
    members[i].part_weight = weights.Get(static_cast<int>(i));
  return {};
}

Status add_relays(const google::protobuf::RepeatedPtrField<proto::PartRelay>& relays, uint32_t self,
                  std::vector<AverageMember>& members) {
  for (const auto& relay : relays) {
    const bool distinct =
        relay.a() != relay.b() && relay.a() != relay.via() && relay.b() != relay.via();
    if (!distinct || std::max({relay.a(), relay.b(), relay.via()}) >= members.size())
      return invalid_average(fmt::format("a relay from {} to {} through {} of {} members",
                                         relay.a(), relay.b(), relay.via(), members.size()));
    if (relay.a() == self) members[relay.b()].via = relay.via();
    if (relay.b() == self) members[relay.a()].via = relay.via();
  }
  return {};
}

TrainedOn AllReduce::counted(TrainedOn told) const {
  if (spec_.most_samples > 0) told.samples = std::min(told.samples, spec_.most_samples);
  return told;
}

/// What did not train since the last average may count for nothing, and what was given back with it would be
/// gone: it keeps what it has lost for a round in which it counts.
void AllReduce::feed_errors_back(const AllReduceSetup& setup, routing::Part part) {
  if (!spec_.residuals || setup.codec == tensor::Codec::kNone) return;
  if (routing::reducers_take_turns(spec_.n, spec_.members.size(), setup.min_part_elements))
    part = {0, spec_.n};
  mean_.emplace(part.first, part.count, spec_.residuals->mean);
  if (!spec_.trained_on || spec_.trained_on->samples > 0)
    contribution_.emplace(0, spec_.n, spec_.residuals->contribution);
}

std::optional<tensor::Residuals> AllReduce::residuals() {
  if (!mean_) return spec_.residuals;
  return tensor::Residuals{contribution_ ? contribution_->next() : spec_.residuals->contribution,
                           mean_->next()};
}

AllReduce::Outgoing AllReduce::own_numbers(uint64_t first, uint64_t count, tensor::Codec codec) {
  Outgoing out;
  out.head.set_round(spec_.round.value());
  out.head.set_sender(spec_.self);
  out.head.set_offset(first);
  if (!contributes(spec_.self)) return out;
  if (spec_.trained_on) {
    out.head.set_samples(spec_.trained_on->samples);
    out.head.set_based_on(spec_.trained_on->average.value());
  }
  const auto values = spec_.gradient.slice(first * sizeof(float), count * sizeof(float));
  auto encoded = contribution_
                     ? contribution_->encode(first, reinterpret_cast<const float*>(values.data()),
                                             count, codec)
                     : tensor::encode(values, {static_cast<int64_t>(count)}, codec);
  *out.head.mutable_chunk() = std::move(encoded.meta);
  out.body = std::move(encoded.data);
  return out;
}

const float* AllReduce::own_addend(uint64_t first, uint64_t count, std::vector<float>& room) {
  const auto* values = reinterpret_cast<const float*>(spec_.gradient.data()) + first;
  if (!contribution_) return values;
  room.resize(count);
  contribution_->add(first, values, count, room.data());
  return room.data();
}

tensor::EncodedTensor AllReduce::encode_mean(uint64_t first, float* mean, uint64_t count,
                                             tensor::Codec codec,
                                             const std::shared_ptr<void>& owner) {
  if (mean_) return mean_->encode(first, mean, count, codec, mean);
  const Buffer shared(owner, mean, count * sizeof(float));
  auto encoded = tensor::encode(shared, {static_cast<int64_t>(count)}, codec);
  if (codec == tensor::Codec::kNone) return encoded;
  const Buffer decoded = tensor::decode_flat(encoded, count).value();
  std::memcpy(mean, decoded.data(), decoded.size());
  return encoded;
}

void AllReduce::check_sum(const float* sum, uint64_t count, const std::vector<Addend>& addends) {
  if (tensor::all_finite(sum, count)) return;
  std::set<uint32_t> all, wrong;
  for (const Addend& one : addends) {
    if (one.numbers == nullptr) continue;
    all.insert(one.member);
    if (!tensor::all_finite(one.numbers, count)) wrong.insert(one.member);
  }
  not_finite_.merge(wrong.empty() ? all : wrong);
}

/// A member that told one reducer another number than it told another would make parts of different
/// means; one that changes it in the same round is told so.
Status AllReduce::note_trained(const TrainedOn& told, std::optional<TrainedOn>& known) {
  if (known && (known->samples != told.samples || known->average != told.average))
    return invalid_average("a member tells two numbers of samples in one round");
  known = told;
  return {};
}

std::unique_ptr<AllReduce> make_all_reduce(const AllReduceSetup& setup, AverageRound spec,
                                           MutableBuffer memory) {
  for (const auto& row : kTopologies)
    if (row.topology == setup.topology) return row.make(setup, std::move(spec), std::move(memory));
  SWARM_CHECK(false && "every topology has a row");
  return nullptr;
}

}  // namespace swarm::actors
