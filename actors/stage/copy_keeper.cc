#include "actors/stage/copy_keeper.h"

#include <fmt/format.h>

#include <algorithm>
#include <caf/send.hpp>
#include <set>
#include <utility>

#include "actors/net/requests.h"
#include "actors/state/checkpointer.h"
#include "actors/state/options.h"
#include "common/erase_if.h"
#include "common/names.h"
#include "records/catalogue.h"
#include "routing/state/byte_pace.h"
#include "tensor/core/state_format.h"

namespace swarm::actors {

using routing::StoredCopy;
using std::chrono::milliseconds;

namespace {

/// After a copy that failed; twice as long after each further one in a row.
constexpr double kPause_s = 30, kLongestPause_s = 600;

/// Whether `state` is what was ordered, whoever sent it.
Status fits(const Buffer& state, const StoredCopy& copy) {
  const auto head = tensor::head_of(state);
  if (!head) return Error{ErrorCode::kCorruptCheckpoint, "it is no snapshot"};
  const bool same = head->stage() == copy.stage.value() && head->step() == copy.step.value() &&
                    routing::goes_with(routing::History(head->history()), copy.history);
  if (same) return {};
  return Error{ErrorCode::kCorruptCheckpoint,
               fmt::format("it is of stage {}, step {}, history {:016x}", head->stage(),
                           head->step(), head->history())};
}

}  // namespace

CopyKeeper::CopyKeeper(StageContext& context, const SnapshotWriter& writer)
    : context_(context), writer_(writer) {}

bool CopyKeeper::mine(Stage stage) const {
  const auto& deps = context_.deps;
  return stage.value() < deps.num_stages && stage != deps.stage &&
         deps.copies.own.count(stage) == 0;
}

void CopyKeeper::list() {
  const auto& deps = context_.deps;
  if (!deps.copies.keeps) return;
  std::vector<uint64_t> stages;
  for (Stage stage; stage.value() < deps.num_stages; ++stage)
    if (mine(stage)) stages.push_back(stage.value());
  context_.self
      ->request(deps.checkpointer, deps.options.disk_limit, copies_atom::value, std::move(stages))
      .then(
          [this](const StoredCopies& found) {
            copies_ = found.copies;
            if (!copies_.empty()) context_.host->register_peer();
          },
          [](const caf::error&) {});  // the snapshot writer, which asks the same disk, has said so
}

// -- making them

void CopyKeeper::obey(const proto::RegisterPeerReply& verdict) {
  if (!context_.deps.copies.keeps || !context_.phase.serves()) return;
  for (const uint32_t stage : verdict.spare_copies()) drop(Stage(stage));
  for (const auto& order : verdict.copies())
    if (begin(order)) return;
}

/// One that is newer will do, unless it is known to be of another history (drop_others()).
bool CopyKeeper::is_done(const StoredCopy& copy) const {
  return std::any_of(copies_.begin(), copies_.end(), [&](const StoredCopy& one) {
    return one.stage == copy.stage && one.step >= copy.step &&
           routing::goes_with(one.history, copy.history);
  });
}

/// Those that are newer than `copy`: the disk would not keep it beside them.
void CopyKeeper::drop_others(const StoredCopy& copy) {
  const auto newer = [&](const StoredCopy& one) {
    return one.stage == copy.stage && one.step > copy.step;
  };
  if (erase_if(copies_, newer) == 0) return;
  caf::anon_send(context_.deps.checkpointer, forget_newer_atom::value,
                 stage_key(copy.stage.value()), copy.step.value());
}

bool CopyKeeper::begin(const proto::CopyOrder& order) {
  const StoredCopy copy{Stage(order.stage()), Step(order.step()),
                        routing::History(order.history())};
  if (making_ || context_.now_s() < not_before_s_ || !mine(copy.stage) || is_done(copy) ||
      order.sources().empty())
    return false;
  const uint64_t number = ++tries_;
  const auto source = from_proto(order.sources(static_cast<int>(
      number % static_cast<uint64_t>(order.sources_size()))));  // another one each time
  if (!source) return false;
  drop_others(copy);
  making_ = Making{copy, number, context_.now_s()};
  fetch(*making_, {beside(source->id, Role::kState), source->endpoint, source->node_name});
  return true;
}

void CopyKeeper::fetch(const Making& making, StateHolder source) {
  const auto& deps = context_.deps;
  FetchState fetch;
  fetch.stage = making.copy.stage;
  fetch.exact_step = making.copy.step;
  fetch.max_bytes = deps.copies.most_bytes;
  fetch.sources = {std::move(source)};
  const routing::BytePace slowest(kSlowestLink, deps.options.transfer_limit);
  const auto limit = std::chrono::duration_cast<milliseconds>(slowest.limit(fetch.max_bytes));
  context_.self->request(deps.state_transfer, limit, fetch_atom::value, std::move(fetch))
      .then([this, making](const FetchedState& fetched) { store(making, fetched); },
            [this, making](const caf::error& error) { failed(making, from_caf(error)); });
}

void CopyKeeper::store(const Making& making, const FetchedState& fetched) {
  if (!making_ || making_->number != making.number) return;
  if (const Status good = fits(fetched.state, making.copy); !good)
    return failed(making, good.error());
  context_.self
      ->request(context_.deps.checkpointer, writer_.limit(fetched.state.size()), copy_atom::value,
                stage_key(making.copy.stage.value()), making.copy.step.value(), fetched.state)
      .then([this, making, fetched] { made(making, fetched); },
            [this, making](const caf::error& error) { failed(making, from_caf(error)); });
}

void CopyKeeper::made(const Making& making, const FetchedState& fetched) {
  if (!making_ || making_->number != making.number) return;
  making_.reset();
  failed_in_a_row_ = 0;
  const auto took = records::seconds_as_millis(context_.now_s() - making.began_s);
  context_.deps.events->record(making.copy.stage.value(),
                               static_cast<int64_t>(making.copy.step.value()),
                               records::CopyMade{fetched.source, fetched.state.size(), took});
  list();  // then the coordinator hears of it
}

void CopyKeeper::failed(const Making& making, const Error& why) {
  if (!making_ || making_->number != making.number) return;
  making_.reset();
  if (context_.phase.leaves()) return;
  const double pause_s = kPause_s * static_cast<double>(1u << std::min(failed_in_a_row_++, 10u));
  not_before_s_ = context_.now_s() + std::min(pause_s, kLongestPause_s);
  context_.deps.events->record(making.copy.stage.value(),
                               static_cast<int64_t>(making.copy.step.value()),
                               records::CopyFailed{why});
}

// -- those that are there

void CopyKeeper::forget_newer(Step applied) {
  const auto newer = [applied](const StoredCopy& copy) { return copy.step > applied; };
  std::set<Stage> stages;
  for (const StoredCopy& copy : copies_)
    if (newer(copy)) stages.insert(copy.stage);
  if (making_ && newer(making_->copy)) {  // it may be on its way to the disk
    stages.insert(making_->copy.stage);
    making_.reset();
  }
  for (const Stage stage : stages)
    caf::anon_send(context_.deps.checkpointer, forget_newer_atom::value, stage_key(stage.value()),
                   applied.value());
  erase_if(copies_, newer);
}

std::vector<std::string> CopyKeeper::streams() const {
  const auto& deps = context_.deps;
  std::vector<std::string> streams;
  if (!deps.copies.keeps) return streams;
  for (Stage stage; stage.value() < deps.num_stages; ++stage)
    if (mine(stage)) streams.push_back(stage_key(stage.value()));
  return streams;
}

void CopyKeeper::leave_line() {
  if (!context_.deps.copies.keeps) return;
  making_.reset();
  copies_.clear();
}

void CopyKeeper::spoiled(Stage stage, Step step) {
  const auto bad = [=](const StoredCopy& copy) { return copy.stage == stage && copy.step == step; };
  if (erase_if(copies_, bad) == 0) return;
  context_.host->register_peer();
}

void CopyKeeper::drop(Stage stage) {
  if (!mine(stage)) return;
  caf::anon_send(context_.deps.checkpointer, forget_newer_atom::value, stage_key(stage.value()),
                 uint64_t{0});
  const auto of_it = [stage](const StoredCopy& copy) { return copy.stage == stage; };
  erase_if(copies_, of_it);
}

// -- what others hear

void CopyKeeper::describe_to(proto::RegisterPeer& message) const {
  message.set_keeps_copies(context_.deps.copies.keeps);
  for (const StoredCopy& copy : copies_) {
    auto& one = *message.add_copies();
    one.set_stage(copy.stage.value());
    one.set_step(copy.step.value());
    one.set_history(copy.history.value());
  }
}

std::string CopyKeeper::describe() const {
  std::string text;
  for (const StoredCopy& copy : copies_)
    text +=
        fmt::format("{} of stage {} step {}", text.empty() ? "copies" : ",", copy.stage, copy.step);
  if (making_)
    text += fmt::format("{} step {} of stage {} is being copied", text.empty() ? "" : ";",
                        making_->copy.step, making_->copy.stage);
  return text;
}

}  // namespace swarm::actors
