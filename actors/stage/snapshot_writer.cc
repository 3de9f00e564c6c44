#include "actors/stage/snapshot_writer.h"

#include <fmt/format.h>

#include <caf/send.hpp>
#include <chrono>
#include <memory>
#include <utility>

#include "actors/net/local.h"
#include "actors/net/requests.h"
#include "actors/stage/residuals.h"
#include "actors/state/checkpointer.h"
#include "actors/state/mirror.h"

namespace swarm::actors {

using std::chrono::milliseconds;

namespace {
/// Assumed of a disk until it has shown more [bytes/s].
constexpr double kSlowDisk = 20e6;
}  // namespace

SnapshotWriter::SnapshotWriter(StageContext& context, std::function<void(Frozen)> freeze)
    : context_(context),
      freeze_(std::move(freeze)),
      disk_(kSlowDisk, context.deps.options.disk_limit) {}

milliseconds SnapshotWriter::limit(uint64_t bytes) const {
  return std::chrono::duration_cast<milliseconds>(disk_.limit(bytes));
}

milliseconds SnapshotWriter::some_times(uint64_t bytes) const {
  return std::chrono::duration_cast<milliseconds>(disk_.some_times(bytes));
}

void SnapshotWriter::save(Step step, bool changes, Done done) {
  changes_ = changes;
  carry_out(line_.ask(step, changes, std::move(done)));
}

void SnapshotWriter::carry_out(Line::Todo todo) {
  if (todo.write) write(*todo.write);
  if (!todo.freeze) return;
  freeze_([this](Result<FrozenState> frozen) {
    const Step step = frozen ? frozen->step : Step();
    carry_out(line_.frozen(step, std::move(frozen)));
  });
}

/// Waited for without end, since the disk is not free before; who asked waits no longer than the
/// limit.
void SnapshotWriter::write(const FrozenState& frozen) {
  const uint64_t bytes = frozen.state.size();
  writing_ = ++writes_;
  watch(writing_, limit(bytes));
  context_.self
      ->request(context_.deps.checkpointer, caf::infinite, save_atom::value, context_.stream(),
                frozen.step.value(), frozen.state,
                /*replace=*/changes_ || snapshots_.is_spoiled(frozen.step),
                /*spare_one=*/context_.phase.leaves())
      .then(
          [this, frozen, began_s = context_.now_s(), lines = lines_left_](uint64_t) {
            save_residuals(context_, frozen, [this, frozen, began_s, lines] {
              writing_ = 0;
              if (lines == lines_left_) snapshots_.saved(frozen.step, frozen.history);
              written(frozen, context_.now_s() - began_s);
              carry_out(line_.written({}));
            });
          },
          [this](const caf::error& error) {
            writing_ = 0;
            const Error why = from_caf(error);
            failed(why);
            carry_out(line_.written(why));
          });
}

void SnapshotWriter::watch(uint64_t write, milliseconds limit) {
  LocalTask task([this, write, limit] {
    if (writing_ != write) return;
    const Error slow{ErrorCode::kPeerTimeout,
                     fmt::format("the disk has taken a snapshot for {} s and is not done",
                                 std::chrono::duration_cast<std::chrono::seconds>(limit).count())};
    failed(slow);
    line_.give_up(slow);
  });
  context_.self->delayed_send(context_.self, limit, run_later_atom::value, std::move(task));
}

void SnapshotWriter::written(const FrozenState& frozen, double took_s) {
  const std::chrono::duration<double> took(took_s);
  const Step step = frozen.step;
  disk_.took(frozen.state.size(), std::chrono::duration_cast<routing::Time>(took));
  failed_in_a_row_ = 0;
  last_error_.clear();
  context_.deps.events->record(context_.deps.stage.value(), static_cast<int64_t>(step.value()),
                               records::Checkpointed{records::seconds_as_millis(took_s)});
  pin();  // it may be the one that was named while it was written
  if (context_.deps.mirror) caf::anon_send(context_.deps.mirror, mirror_atom::value);
  list();
  context_.host->register_peer();  // the coordinator waits for it before the next one
}

void SnapshotWriter::failed(const Error& why) {
  ++failed_in_a_row_;
  last_error_ = to_string(why);
  context_.record(records::CheckpointFailed{why});
  context_.host->register_peer();
}

void SnapshotWriter::keep(Term speaker, const KeepStep& keep) {
  if (kept_.heard(speaker, keep)) pin();
}

/// What is kept and forgotten together.
std::vector<std::string> SnapshotWriter::streams() const {
  std::vector<std::string> all{context_.stream()};
  if (context_.deps.feeds_errors_back) all.push_back(residual_key(context_.deps.stage));
  return all;
}

void SnapshotWriter::pin() const {
  if (!kept_.step()) return;
  for (const std::string& stream : streams())
    caf::anon_send(context_.deps.checkpointer, pin_atom::value, stream, kept_.step()->value());
}

void SnapshotWriter::list(const std::function<void()>& then) {
  context_.self
      ->request(context_.deps.checkpointer, context_.deps.options.disk_limit, list_atom::value,
                context_.stream())
      .then(
          [this, list = ++lists_, then](const std::vector<uint64_t>& steps) {
            listed(list, std::vector<Step>(steps.begin(), steps.end()), then);
          },
          [this, then](const caf::error& error) {
            context_.record(records::CheckpointFailed{from_caf(error)});
            then();
          });
}

/// What an earlier process wrote says in its head of which history it is. Nothing is offered before
/// that is known. A list that was asked for before another one may be older than what was done in between.
void SnapshotWriter::listed(uint64_t list, const std::vector<Step>& steps,
                            const std::function<void()>& then) {
  if (list != lists_) return then();
  const auto untold = snapshots_.untold(steps);
  if (!untold) {
    snapshots_.listed(steps);
    return then();
  }
  const auto told = [this, list, steps, then, step = *untold](uint64_t history) {
    if (list == lists_) snapshots_.told(step, routing::History(history));
    listed(list, steps, then);
  };
  context_.self
      ->request(context_.deps.checkpointer, context_.deps.options.disk_limit, history_atom::value,
                context_.stream(), untold->value())
      .then(told, [told](const caf::error&) { told(0); });
}

void SnapshotWriter::forget_newer(Step applied) {
  line_.forget_newer(applied);
  snapshots_.forget_newer(applied);
  for (const std::string& stream : streams())
    caf::anon_send(context_.deps.checkpointer, forget_newer_atom::value, stream, applied.value());
  list();
}

void SnapshotWriter::leave_line() {
  line_.forget_newer(Step());
  snapshots_ = {};
  ++lists_;  // none that is under way counts
  ++lines_left_;
}

void SnapshotWriter::left_line(const std::function<void()>& then) {
  pin();  // it may be what was taken back
  const auto own =
      std::make_shared<uint64_t>();  // a write that ends meanwhile asks for another list
  list([this, own, then] { *own == lists_ ? then() : left_line(then); });
  *own = lists_;
}

void SnapshotWriter::describe_to(proto::RegisterPeer& message) const {
  for (Step step : snapshots_.readable()) {
    message.add_snapshots(step.value());
    message.add_snapshot_histories(snapshots_.history(step).value());
  }
  message.set_failed_saves(failed_in_a_row_);
  message.set_save_error(last_error_);
}

std::string SnapshotWriter::describe() const {
  std::string text = "snapshots";
  for (Step step : snapshots_.all()) text += fmt::format(" {}", step);
  if (kept_.step()) text += fmt::format(", kept for all stages {}", *kept_.step());
  if (failed_in_a_row_ > 0)
    text += fmt::format(", the last {} failed: {}", failed_in_a_row_, last_error_);
  return text;
}

}  // namespace swarm::actors
