// TwoLevelReduce: adds up, first the group's numbers, then the groups' sums.
#include <cstring>
#include <optional>
#include <utility>

#include "actors/averaging/two_level_reduce.h"
#include "tensor/core/codec.h"
#include "tensor/core/flat.h"

namespace swarm::actors {
namespace {

using Run = routing::TwoLevelPlan::Run;

const float* floats(const Buffer& buffer) { return reinterpret_cast<const float*>(buffer.data()); }

/// sum [n] = the sum of those vectors that there are, each times its weight, in their order. Without weights
/// the plain sum.
void add_up(float* sum, const std::vector<const float*>& vectors, const std::vector<float>& weights,
            uint64_t n) {
  bool first = true;
  for (size_t i = 0; i < vectors.size(); ++i) {
    const float weight = weights.empty() ? 1 : weights[i];
    if (vectors[i] == nullptr || weight == 0) continue;
    if (first)
      std::memcpy(sum, vectors[i], n * sizeof(float));
    else if (weights.empty())
      tensor::add_into(sum, vectors[i], n);
    else
      tensor::add_scaled(sum, vectors[i], weight, n);
    if (first && weight != 1) tensor::scale(sum, n, weight);
    first = false;
  }
  if (first) std::memset(sum, 0, n * sizeof(float));
}

}  // namespace

/// Of the own group. Requires all contributions of a run.
TrainedOn TwoLevelReduce::trained_in_group() const {
  std::vector<std::optional<TrainedOn>> trained;
  for (const uint32_t member : group()) trained.push_back(trained_[member]);
  return together(trained);
}

/// Of a group's sum: the plain one, and the mean by samples where it may come to count.
size_t TwoLevelReduce::rows(const TrainedOn& trained) const {
  return spec_.trained_on && trained.average != TrainedOn::kNotKnown && trained.samples > 0 ? 2 : 1;
}

/// By which the groups' second rows are multiplied; none: their first rows are summed. As with single
/// members (direct_reduce.cc): by samples from a common average on. Requires all sums of a piece.
std::vector<float> TwoLevelReduce::weights_of_groups(uint32_t column) const {
  if (!spec_.trained_on) return {};
  std::vector<TrainedOn> groups;
  double all = 0;
  for (uint32_t g = 0; g < contributors_.size(); ++g) {
    const auto told = g == group_ ? trained_in_group() : trained_[plan_.reducers[column][g]];
    if (!told || told->average == TrainedOn::kNotKnown) return {};
    groups.push_back(*told);
    if (told->average != groups.front().average) return {};
    all += static_cast<double>(told->samples);
  }
  std::vector<float> weights;
  for (const TrainedOn& one : groups)
    if (all > 0) weights.push_back(static_cast<float>(static_cast<double>(one.samples) / all));
  return weights;
}

/// The group's numbers are in.
void TwoLevelReduce::close(OwnRun& own) {
  own.closed = true;
  if (contributors_[group_] > 0)
    for (size_t place = 0; place < own.sums.size(); ++place) own.sums[place] = sum_of(own, place);
  own.contributions = {};
  for (size_t place = 0; place < own.run->pieces.size(); ++place) {
    const auto& planned = own.run->pieces[place];
    if (planned.top != group_) continue;
    OwnPiece& piece = pieces_[piece_at_.at(planned.part.first)];
    if (contributors_[group_] > 0) {
      piece.sums[group_] = own.sums[place];
      --piece.missing;
    }
    if (piece.missing == 0) reduce(piece);
  }
}

/// Of the group's numbers, in the order of the member list: float32 [rows, count].
Buffer TwoLevelReduce::sum_of(const OwnRun& own, size_t place) {
  const routing::Part& part = own.run->pieces[place].part;
  const TrainedOn trained = trained_in_group();
  std::vector<const float*> numbers(group().size(), nullptr);
  std::vector<float> weights, room;
  for (size_t i = 0; i < group().size(); ++i) {
    const uint32_t member = group()[i];
    if (member == spec_.self && contributes(member))
      numbers[i] = own_addend(part.first, part.count, room);
    else if (contributes(member))
      numbers[i] = floats(own.contributions[i]) + (part.first - own.run->part.first);
    if (rows(trained) > 1) weights.push_back(weight_of(*trained_[member], trained));
  }
  MutableBuffer memory = MutableBuffer::allocate(rows(trained) * part.count * sizeof(float));
  auto* sum = reinterpret_cast<float*>(memory.data());
  add_up(sum, numbers, {}, part.count);
  if (rows(trained) > 1) add_up(sum + part.count, numbers, weights, part.count);
  std::vector<Addend> addends;
  for (size_t i = 0; i < group().size(); ++i) addends.push_back({group()[i], numbers[i]});
  check_sum(sum, part.count, addends);
  return memory.freeze();
}

/// The means of a run come from who reduces it in this group; those of an own run from the pieces' tops.
std::set<uint32_t> TwoLevelReduce::not_finite_means() const {
  std::set<uint32_t> whose;
  for (const Run& run : plan_.runs)
    for (const auto& piece : run.pieces) {
      if (tensor::all_finite(at(piece.part.first), piece.part.count)) continue;
      const auto& reducers = plan_.reducers[run.column];
      const bool own = reducers[group_] == spec_.self;
      whose.insert(reducers[own ? piece.top : group_]);
    }
  return whose;
}

/// Adds up in the order of the groups, divides, encodes, and keeps what the others will decode.
void TwoLevelReduce::reduce(OwnPiece& piece) {
  OwnRun& own = own_[piece.run];
  const routing::Part& part = own.run->pieces[piece.place].part;
  const auto weights = weights_of_groups(own.run->column);
  std::vector<const float*> sums;
  for (size_t g = 0; g < piece.sums.size(); ++g) {
    const uint64_t row = !weights.empty() && weights[g] > 0 ? part.count : 0;
    sums.push_back(piece.sums[g].empty() ? nullptr : floats(piece.sums[g]) + row);
  }
  float* mean = at(part.first);
  add_up(mean, sums, weights, part.count);
  if (weights.empty())
    tensor::scale(mean, part.count,
                  static_cast<float>(1.0 / static_cast<double>(spec_.total_samples)));
  // Who reduces in a group answers for its sum: it has looked at the group's numbers.
  std::vector<Addend> addends;
  for (size_t g = 0; g < sums.size(); ++g)
    addends.push_back({plan_.reducers[own.run->column][g], sums[g]});
  check_sum(mean, part.count, addends);
  piece.mean = encode_mean(part.first, mean, part.count, codec_, result_.owner());
  // The codec may not reach as far as float32.
  if (codec_ != tensor::Codec::kNone) check_sum(mean, part.count, addends);
  piece.sums = {};
  take_mean(own, piece.place, piece.mean);
}

}  // namespace swarm::actors
