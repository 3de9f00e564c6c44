#include "actors/averaging/two_level_reduce.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include "tensor/core/codec.h"
#include "tensor/core/flat.h"

namespace swarm::actors {
namespace {

using Run = routing::TwoLevelPlan::Run;

/// What a member reduces for its group: of some pieces of that it is the top, in other rounds perhaps of others.
routing::Part reduced_by(uint32_t member, const routing::TwoLevelPlan& plan, uint32_t group) {
  uint64_t first = UINT64_MAX, end = 0;
  for (const Run& run : plan.runs) {
    if (plan.reducers[run.column][group] != member) continue;
    first = std::min(first, run.part.first);
    end = std::max(end, run.part.first + run.part.count);
  }
  return end > 0 ? routing::Part{first, end - first} : routing::Part{};
}

}  // namespace

TwoLevelReduce::TwoLevelReduce(const AllReduceSetup& setup, AverageRound spec,
                               routing::TwoLevelPlan plan, MutableBuffer memory)
    : AllReduce(std::move(spec)),
      codec_(setup.codec),
      plan_(std::move(plan)),
      group_(plan_.group_of[spec_.self]),
      contributors_(plan_.groups.size()),
      asked_(spec_.members.size()),
      answers_missing_(spec_.members.size()),
      contributions_missing_(spec_.members.size()),
      trained_(spec_.members.size()),
      runs_missing_(plan_.runs.size()) {
  const size_t bytes = spec_.n * sizeof(float);
  result_ =
      memory.owner() && memory.size() == bytes ? std::move(memory) : MutableBuffer::allocate(bytes);
  for (uint32_t i = 0; i < spec_.members.size(); ++i)
    contributors_[plan_.group_of[i]] += contributes(i);
  if (spec_.trained_on && contributes(spec_.self))
    trained_[spec_.self] = counted(*spec_.trained_on);
  for (size_t i = 0; i < plan_.runs.size(); ++i) {
    const uint32_t reducer = plan_.reducers[plan_.runs[i].column][group_];
    if (reducer == spec_.self)
      add_own(plan_.runs[i]);
    else
      asked_[reducer].push_back({i, 0});
  }
  count_missing();
  feed_errors_back(setup, reduced_by(spec_.self, plan_, group_));
  for (OwnRun& own : own_)
    if (own.missing == 0) close(own);
}

void TwoLevelReduce::add_own(const Run& run) {
  OwnRun own;
  own.run = &run;
  own.contributions.resize(group().size());
  own.missing = contributors_[group_] - (contributes(spec_.self) ? 1 : 0);
  own.sums.resize(run.pieces.size());
  own.means.resize(run.pieces.size());
  own.means_missing = run.pieces.size();
  const auto groups = static_cast<size_t>(std::count_if(contributors_.begin(), contributors_.end(),
                                                        [](size_t one) { return one > 0; }));
  for (size_t place = 0; place < run.pieces.size(); ++place) {
    const auto& piece = run.pieces[place];
    if (piece.top == group_) {
      piece_at_[piece.part.first] = pieces_.size();
      pieces_.push_back(
          {own_.size(), place, std::vector<Buffer>(contributors_.size()), groups, {}});
    } else {
      asked_[plan_.reducers[run.column][piece.top]].push_back({own_.size(), place});
    }
  }
  run_at_[run.part.first] = own_.size();
  own_.push_back(std::move(own));
}

void TwoLevelReduce::count_missing() {
  for (uint32_t i = 0; i < asked_.size(); ++i) answers_missing_[i] = asked_[i].size();
  for (const uint32_t member : group())
    if (member != spec_.self && contributes(member)) contributions_missing_[member] = own_.size();
  for (const OwnPiece& piece : pieces_)
    for (uint32_t g = 0; g < contributors_.size(); ++g)
      if (g != group_ && contributors_[g] > 0)
        ++contributions_missing_[plan_.reducers[own_[piece.run].run->column][g]];
}

MutableBuffer TwoLevelReduce::take_memory() {
  own_.clear();  // encoded means may share it
  pieces_.clear();
  MutableBuffer memory = std::move(result_);
  result_ = {};
  if (memory.owner().use_count() != 1) return {};
  std::atomic_thread_fence(std::memory_order_acquire);  // what the last reader read is behind us
  return memory;
}

float* TwoLevelReduce::at(uint64_t element) const {
  return reinterpret_cast<float*>(result_.data()) + element;
}

// ---- what this member asks ----------------------------------------------------------------

bool TwoLevelReduce::ready(uint32_t member, size_t number) const {
  return in_group(member) || own_[asked_[member][number].run].closed;
}

AllReduce::Outgoing TwoLevelReduce::request(uint32_t member, size_t number) {
  const Asked& asked = asked_[member][number];
  if (in_group(member)) {
    const routing::Part& part = plan_.runs[asked.run].part;
    return own_numbers(part.first, part.count, codec_);
  }
  const OwnRun& own = own_[asked.run];
  Outgoing out;
  out.head.set_round(spec_.round.value());
  out.head.set_sender(spec_.self);
  out.head.set_offset(own.run->pieces[asked.place].part.first);
  if (contributors_[group_] == 0) return out;
  const TrainedOn trained = trained_in_group();
  if (spec_.trained_on) {
    out.head.set_samples(trained.samples);
    out.head.set_based_on(trained.average.value());
  }
  const Buffer& sum = own.sums[asked.place];
  auto encoded =
      tensor::encode(sum, {static_cast<int64_t>(sum.size() / sizeof(float))}, tensor::Codec::kNone);
  *out.head.mutable_chunk() = std::move(encoded.meta);
  out.body = std::move(encoded.data);
  return out;
}

Status TwoLevelReduce::take_answer(uint32_t member, size_t number,
                                   const tensor::EncodedTensor& answer) {
  const Asked& asked = asked_[member][number];
  auto taken =
      in_group(member) ? take_run(plan_.runs[asked.run], answer) : take_piece(asked, answer);
  if (!taken) return taken;
  --answers_missing_[member];
  return {};
}

/// The pieces of a run, each encoded by itself.
Status TwoLevelReduce::take_run(const Run& run, const tensor::EncodedTensor& answer) {
  const auto* codec = tensor::find_codec(answer.meta.codec());
  if (codec == nullptr) return invalid_average("a mean of an unknown codec");
  uint64_t bytes = 0;
  for (const auto& piece : run.pieces) bytes += codec->bytes(piece.part.count);
  if (answer.data.size() != bytes || answer.meta.shape_size() != 1 ||
      answer.meta.shape(0) != static_cast<int64_t>(run.part.count))
    return Error{ErrorCode::kShapeMismatch,
                 fmt::format("averaging: a mean of {} elements in {} bytes, not {}", run.part.count,
                             answer.data.size(), bytes)};
  tensor::EncodedTensor one{answer.meta, {}};
  uint64_t before = 0;
  for (const auto& piece : run.pieces) {
    one.meta.set_shape(0, static_cast<int64_t>(piece.part.count));
    one.data = answer.data.slice(before, codec->bytes(piece.part.count));
    before += one.data.size();
    auto values = tensor::decode_flat(one, piece.part.count);
    if (!values.ok()) return values.error();
    std::memcpy(at(piece.part.first), values->data(), values->size());
  }
  --runs_missing_;
  return {};
}

Status TwoLevelReduce::take_piece(const Asked& asked, const tensor::EncodedTensor& answer) {
  OwnRun& own = own_[asked.run];
  const auto& part = own.run->pieces[asked.place].part;
  if (answer.meta.codec() != tensor::codec_info(codec_).id)
    return invalid_average("a mean of another codec than this node's");  // it goes on as it is
  auto values = tensor::decode_flat(answer, part.count);
  if (!values.ok()) return values.error();
  std::memcpy(at(part.first), values->data(), values->size());
  take_mean(own, asked.place, answer);
  return {};
}

/// All of a run's: it is answered with them, in their order.
void TwoLevelReduce::take_mean(OwnRun& own, size_t place, const tensor::EncodedTensor& mean) {
  own.means[place] = mean;
  own.sums[place] = {};
  if (--own.means_missing > 0) return;
  --runs_missing_;
  const routing::Part& part = own.run->part;
  const std::vector<int64_t> shape{static_cast<int64_t>(part.count)};
  if (codec_ == tensor::Codec::kNone) {
    const Buffer shared(result_.owner(), at(part.first), part.count * sizeof(float));
    own.answer = tensor::encode(shared, shape, codec_);
  } else if (own.means.size() == 1) {
    own.answer = own.means[0];
  } else {
    std::string bytes;
    for (const auto& one : own.means) bytes.append(one.data.view());
    own.answer.meta = own.means[0].meta;
    own.answer.meta.set_shape(0, shape[0]);
    own.answer.data = Buffer::from_string(std::move(bytes));
  }
  own.means = {};
}

// ---- what the others ask ------------------------------------------------------------------

Result<size_t> TwoLevelReduce::contribute(const proto::AveragePart& head, const Buffer& body) {
  const uint32_t sender = head.sender();
  if (sender >= spec_.members.size() || sender == spec_.self)
    return invalid_average(fmt::format("sender {} is no other member", sender));
  return in_group(sender) ? from_member(head, body) : from_group(head, body);
}

Result<size_t> TwoLevelReduce::from_member(const proto::AveragePart& head, const Buffer& body) {
  const uint32_t sender = head.sender();
  const auto found = run_at_.find(head.offset());
  if (found == run_at_.end())
    return invalid_average(fmt::format("offset {} starts no run of my part", head.offset()));
  OwnRun& own = own_[found->second];
  if (!contributes(sender)) return found->second;
  if (!head.has_chunk())
    return Error{ErrorCode::kShapeMismatch, "averaging: a member with samples sent none"};
  if (spec_.trained_on) {
    const TrainedOn told = counted({head.samples(), Round(head.based_on())});
    if (auto noted = note_trained(told, trained_[sender]); !noted) return noted.error();
  }
  const auto place = static_cast<size_t>(std::lower_bound(group().begin(), group().end(), sender) -
                                         group().begin());
  if (own.closed || !own.contributions[place].empty()) return found->second;  // a repeat
  auto values = tensor::decode_flat({head.chunk(), body}, own.run->part.count);
  if (!values.ok()) return values.error();
  own.contributions[place] = std::move(*values);
  --contributions_missing_[sender];
  if (--own.missing == 0) close(own);
  return found->second;
}

Result<size_t> TwoLevelReduce::from_group(const proto::AveragePart& head, const Buffer& body) {
  const uint32_t sender = head.sender(), from = plan_.group_of[sender];
  const auto found = piece_at_.find(head.offset());
  if (found == piece_at_.end())
    return invalid_average(fmt::format("offset {} starts no piece of mine", head.offset()));
  OwnPiece& piece = pieces_[found->second];
  const Run& run = *own_[piece.run].run;
  if (plan_.reducers[run.column][from] != sender)
    return invalid_average(
        fmt::format("sender {} does not reduce offset {}", sender, head.offset()));
  const size_t number = own_.size() + found->second;
  if (contributors_[from] == 0) return number;
  if (!head.has_chunk())
    return Error{ErrorCode::kShapeMismatch, "averaging: a group with samples sent none"};
  TrainedOn told{0, TrainedOn::kNotKnown};
  if (spec_.trained_on) {
    uint64_t most = 0;
    for (size_t i = 0; i < contributors_[from]; ++i) most = add_samples(most, spec_.most_samples);
    told = {most > 0 ? std::min(head.samples(), most) : head.samples(), Round(head.based_on())};
    if (auto noted = note_trained(told, trained_[sender]); !noted) return noted.error();
  }
  if (piece.missing == 0 || !piece.sums[from].empty()) return number;  // a repeat
  auto values =
      tensor::decode_flat({head.chunk(), body}, rows(told) * run.pieces[piece.place].part.count);
  if (!values.ok()) return values.error();
  piece.sums[from] = std::move(*values);
  --contributions_missing_[sender];
  if (--piece.missing == 0) reduce(piece);
  return number;
}

bool TwoLevelReduce::answerable(size_t number) const {
  return number < own_.size() ? own_[number].means_missing == 0
                              : pieces_[number - own_.size()].missing == 0;
}

const tensor::EncodedTensor& TwoLevelReduce::answer(size_t number) const {
  return number < own_.size() ? own_[number].answer : pieces_[number - own_.size()].mean;
}

// ---- who is missing -----------------------------------------------------------------------

bool TwoLevelReduce::needs(uint32_t member) const {
  return answers_missing_[member] > 0 || contributions_missing_[member] > 0;
}

/// A group's sum may lack because of any of the group.
bool TwoLevelReduce::nothing_from(uint32_t member) const {
  return in_group(member) && contributions_missing_[member] > 0 &&
         contributions_missing_[member] == own_.size();
}

/// Those alone that others wait for as well, if there are any.
std::string TwoLevelReduce::waiting_for() const {
  bool silent = false;
  for (const uint32_t member : group()) silent |= nothing_from(member);
  std::string text;
  for (uint32_t i = 0; i < spec_.members.size(); ++i)
    if (silent ? nothing_from(i) : needs(i))
      text += fmt::format("{}{} ({} {}, {} means)", text.empty() ? "" : ", ",
                          spec_.members[i].averager.brief(), contributions_missing_[i],
                          in_group(i) ? "contributions" : "sums", answers_missing_[i]);
  return text.empty() ? "nobody" : text;
}

}  // namespace swarm::actors
