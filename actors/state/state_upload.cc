#include "actors/state/state_upload.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "actors/net/local.h"
#include "actors/net/requests.h"
#include "actors/state/checkpointer.h"
#include "common/names.h"
#include "tensor/core/flat.h"

namespace swarm::actors {
namespace {

constexpr size_t kMaxCopies = 2;  ///< Of each kind.
constexpr uint32_t kRetryAfter_ms = 2'000;
constexpr size_t kMaxWaiting = 256;
/// Of the device or the disk, which give up sooner; a large state takes them long.
constexpr auto kFreezeTimeout = std::chrono::seconds(600);
/// A copy this young answers for the newest state without another freeze.
constexpr auto kFresh = std::chrono::milliseconds(250);

}  // namespace

StateUpload::StateUpload(caf::event_based_actor* self, Stage stage,
                         const StateTransferOptions& options,
                         std::shared_ptr<storage::CheckpointStore> store, caf::actor stage_server,
                         bool detached)
    : self_(self),
      stage_(stage),
      options_(options),
      store_(std::move(store)),
      stage_server_(std::move(stage_server)),
      detached_(detached) {}

void StateUpload::info(const proto::StateInfo& request, Promise promise) {
  const Stage stage(request.stage());
  const bool own = stage == stage_;
  if (!own && (request.exact_step_plus_one() == 0 || !store_)) {
    promise.deliver(to_caf(ErrorCode::kNotFound, fmt::format("this peer serves stage {}, not {}",
                                                             stage_, request.stage())));
    return;
  }
  if (freezing_.size() + reading_.size() >= kMaxWaiting) {
    promise.deliver(to_caf(ErrorCode::kOverloaded, "too many requests for this state"));
    return;
  }
  if (request.exact_step_plus_one() == 0) {
    for (auto& copy : copies_)
      if (copy.is_live() && copy.frozen + kFresh > self_->clock().now())
        return answer(promise, copy);
    if (!no_room()) return freeze({promise, stage_});
    promise.deliver(to_caf(
        Error{ErrorCode::kOverloaded, "others are reading this peer's state", kRetryAfter_ms}));
    return;
  }
  const Step step(request.exact_step_plus_one() - 1);
  if (auto* copy = find(stage, step)) return answer(promise, *copy);
  read({promise, stage, true, step});
}

/// From the store; what is not there may still be in memory.
void StateUpload::read(Waiting who) {
  if (!store_) return freeze(who);
  if (!reader_) reader_ = spawn_snapshot_reader(self_->system(), store_, detached_);
  reading_.push_back(who);
  auto take = [this, who] {  // all who wait for it
    std::vector<Waiting> mine;
    auto rest = std::stable_partition(reading_.begin(), reading_.end(), [&](const Waiting& w) {
      return w.step != who.step || w.stage != who.stage;
    });
    mine.assign(rest, reading_.end());
    reading_.erase(rest, reading_.end());
    return mine;
  };
  self_
      ->request(reader_, kFreezeTimeout, load_atom::value, stage_key(who.stage.value()),
                who.step.value())
      .then(
          [=](const Buffer& state) {
            auto waiting = take();
            if (waiting.empty()) return;
            auto* copy = find(who.stage, who.step);
            if (copy == nullptr) copy = &keep(state, who.stage, who.step, /*live=*/false);
            for (auto& one : waiting) answer(one.promise, *copy);
          },
          [=](const caf::error& error) {
            const Error why = from_caf(error);
            unreadable(who, why);
            for (auto& one : take()) {
              if (why.code == ErrorCode::kNotFound && one.stage == stage_)
                freeze(one);
              else
                one.promise.deliver(to_caf(why));
            }
          });
}

/// A copy that is not what it was: nobody is to be sent here for it again.
void StateUpload::unreadable(const Waiting& who, const Error& why) {
  const bool gone = why.code == ErrorCode::kNotFound || why.code == ErrorCode::kCorruptCheckpoint;
  if (who.stage != stage_ && gone && stage_server_)
    self_->send(stage_server_, spoiled_atom::value, who.stage.value(), who.step.value());
}

void StateUpload::freeze(Waiting who) {
  if (!stage_server_) {
    who.promise.deliver(
        to_caf(who.exact ? ErrorCode::kNotFound : ErrorCode::kNotReady, "no state in memory yet"));
    return;
  }
  freezing_.push_back(who);
  if (freezing_.size() > 1) return;  // the answer under way serves all
  self_->request(stage_server_, kFreezeTimeout, freeze_atom::value)
      .then([this](const FrozenState& state) { frozen(state); },
            [this](const caf::error& error) { frozen(from_caf(error)); });
}

void StateUpload::frozen(Result<FrozenState> state) {
  auto waiting = std::move(freezing_);
  freezing_.clear();
  for (auto& who : waiting) {
    if (!state.ok()) {
      who.promise.deliver(
          to_caf(who.exact ? ErrorCode::kNotFound : state.code(), state.error().detail));
      continue;
    }
    if (who.exact && who.step != state->step) {
      who.promise.deliver(
          to_caf(ErrorCode::kNotFound,
                 fmt::format("no state of step {}; in memory is step {}", who.step, state->step)));
      continue;
    }
    auto* copy = find(stage_, state->step);
    // In asynchronous mode a state goes on within its period.
    if (copy == nullptr || copy->state.view() != state->state.view())
      copy = &keep(state->state, stage_, state->step, /*live=*/true);
    copy->frozen = self_->clock().now();
    answer(who.promise, *copy);
  }
}

/// The newest of them.
StateUpload::Copy* StateUpload::find(Stage stage, Step step) {
  const auto found = std::find_if(copies_.rbegin(), copies_.rend(), [=](const Copy& copy) {
    return copy.stage == stage && copy.step == step;
  });
  return found == copies_.rend() ? nullptr : &*found;
}

bool StateUpload::no_room() const {
  const auto now = self_->clock().now();
  const auto used = std::count_if(copies_.begin(), copies_.end(), [now](const Copy& copy) {
    return copy.is_live() && copy.in_use(now);
  });
  return used >= static_cast<std::ptrdiff_t>(kMaxCopies);
}

StateUpload::Copy& StateUpload::keep(const Buffer& state, Stage stage, Step step, bool live) {
  const auto now = self_->clock().now();
  const auto alike = [live](const Copy& copy) { return copy.is_live() == live; };
  if (std::count_if(copies_.begin(), copies_.end(), alike) >=
      static_cast<std::ptrdiff_t>(kMaxCopies))
    copies_.erase(
        std::min_element(copies_.begin(), copies_.end(), [&](const auto& a, const auto& b) {
          return std::tuple(!alike(a), a.in_use(now), a.used) <
                 std::tuple(!alike(b), b.in_use(now), b.used);
        }));
  Copy copy;
  if (live) copy.frozen = now;
  copy.handle = next_handle_++;
  copy.stage = stage;
  copy.step = step;
  copy.state = state;
  copy.digest = tensor::digest(state.data(), state.size());
  copy.used = now;
  copies_.push_back(std::move(copy));
  self_->delayed_send(self_, options_.ttl, run_later_atom::value, LocalTask([this] { expire(); }));
  return copies_.back();
}

/// Drops unused copies; comes back when the next one may be due.
void StateUpload::expire() {
  const auto now = self_->clock().now();
  copies_.erase(std::remove_if(copies_.begin(), copies_.end(),
                               [&](const Copy& copy) { return copy.used + options_.ttl <= now; }),
                copies_.end());
  if (copies_.empty()) return;
  auto next = copies_.front().used;
  for (auto& copy : copies_) next = std::min(next, copy.used);
  self_->delayed_send(self_, next + options_.ttl - now, run_later_atom::value,
                      LocalTask([this] { expire(); }));
}

void StateUpload::answer(Promise promise, Copy& copy) {
  copy.used = self_->clock().now();
  copy.offered += copy.state.size();
  proto::StateInfoReply reply;
  reply.set_handle(copy.handle);
  reply.set_step(copy.step.value());
  reply.set_size_bytes(copy.state.size());
  reply.set_digest(copy.digest);
  promise.deliver(make_mail(std::move(reply)));
}

void StateUpload::chunk(const proto::StateChunk& request, Promise promise) {
  auto copy = std::find_if(copies_.begin(), copies_.end(),
                           [&](const Copy& c) { return c.handle == request.handle(); });
  if (copy == copies_.end()) {
    promise.deliver(to_caf(ErrorCode::kNotFound, "this copy of the state is gone; ask again"));
    return;
  }
  const uint64_t size = copy->state.size();
  if (request.size_bytes() == 0 || request.size_bytes() > kMaxStateChunkBytes ||
      request.offset() >= size || request.size_bytes() > size - request.offset()) {
    promise.deliver(to_caf(
        ErrorCode::kInvalidArgument,
        fmt::format("state_chunk: range outside the state of {} bytes, or above 4 MiB", size)));
    return;
  }
  copy->used = self_->clock().now();
  copy->read += request.size_bytes();
  promise.deliver(make_mail(proto::StateChunkReply{},
                            copy->state.slice(request.offset(), request.size_bytes())));
}

void StateUpload::close(const Error& error) {
  for (auto* list : {&freezing_, &reading_}) {
    auto waiting = std::move(*list);
    list->clear();
    for (auto& who : waiting) who.promise.deliver(to_caf(error));
  }
  if (reader_) self_->send_exit(reader_, caf::exit_reason::user_shutdown);
  reader_ = nullptr;
  stage_server_ = nullptr;
  copies_.clear();
}

std::string StateUpload::describe() const {
  std::string text = "frozen states";
  for (auto& copy : copies_)
    text += fmt::format(" step {} ({} bytes)", copy.step, copy.state.size());
  return copies_.empty() ? "no frozen state" : text;
}

}  // namespace swarm::actors
