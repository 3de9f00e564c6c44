// The launcher's part that merges what the nodes write into the run's own files.
#include "apps/launch/full_disk.h"
#include "apps/launch/launcher.h"
#include "apps/launch/timeline.h"
#include "records/files.h"
#include "records/segments.h"

namespace swarm::launch {

/// The merged files say what earlier runs did; nodes' files are read again and known lines skipped. What
/// was cut or full is so no more, as who was killed starts again.
void Launcher::load_history() {
  for (const char* name : {"/events.jsonl", "/metrics.jsonl", "/audit.jsonl"})
    if (auto done = records::drop_torn_end(options_.folder + name); !done)
      fail(to_string(done.error()));
  // A damaged piece ends the run: what it held would be merged again, and counted twice.
  const auto each = [this](const std::string& name, const LineTail::Take& take) {
    return LineTail(options_.folder + name, kMaxAuditLine).each(take);
  };
  const auto read = [&](const std::string& name, const LineTail::Take& take) {
    const Status done = each(name, take);
    if (!done && done.code() != ErrorCode::kNotFound) fail(to_string(done.error()));
  };
  read("/events.jsonl", [this](const std::string& line) { state_.take_event(line); });
  read("/metrics.jsonl", [this](const std::string& line) { state_.take_metrics(line); });
  read("/audit.jsonl", [this](const std::string& line) { audit_.remember(line); });
  for (auto& node : nodes_)
    static_cast<void>(
        each("/nodes/" + node->spec.name + "/audit.jsonl",
             [&](const std::string& line) { audit_.look_at(node->spec.name, line); }));
  for (auto& node : nodes_) static_cast<void>(set_disk_full(node->folder, false));
  if (uses(experiment_, config::TimelineAction::kCut))
    if (auto done = links_.cut("*", false); !done) fail(to_string(done.error()));
  for (const char* name : {"/events.jsonl", "/metrics.jsonl"})
    if (records::lost_its_beginning(options_.folder + name)) state_.nothing_new_before_known();
  steps_before_ = state_.steps_closed();
  state_.resumed();
  record("run", records::RunResumed{state_.steps_closed()});
}

void Launcher::poll_files() {
  for (auto& node : nodes_) {
    static_cast<void>(node->metrics.each([this](const std::string& line) { merge_metrics(line); }));
    static_cast<void>(node->events.each([this](const std::string& line) { merge_event(line); }));
    merge_audit(*node);
  }
  if (const double now_s = seconds_since_start(); outputs_.due(now_s))
    for (const auto& node : nodes_)
      outputs_.keep_small(node->folder + "/output.txt", most_bytes(experiment_.base), now_s);
  const uint64_t lost = merged_.lost();
  if (lost == 0) return;
  record("run", records::LinesLost{lost});
  merged_.told_lost();
}

void Launcher::merge_metrics(const std::string& line) {
  if (!state_.take_metrics(line)) return;
  static_cast<void>(merged_.append("metrics.jsonl", line));
  if (options_.on_progress) options_.on_progress(state_.progress());
  const auto metrics = records::parse_metrics(line);
  if (!metrics || !experiment_.run.tensorboard || tensorboard_broken_) return;
  const Status done = tensorboard_.append(*metrics);
  if (done) return;
  tensorboard_broken_ = true;  // nothing that a run should end for
  record("run", records::TensorboardFailed{done.error()});
}

void Launcher::merge_audit(Node& node) {
  const Status read = node.audit.each([&](const std::string& line) {
    const auto verdict = audit_.take(node.spec.name, line);
    if (verdict == AuditPlaces::Verdict::kDamaged)
      record(node.spec.name, records::AuditLineDamaged{node.folder + "/audit.jsonl", line.size()});
    if (verdict != AuditPlaces::Verdict::kNew) return;
    const auto written = merged_.append("audit.jsonl", line);
    if (!written) audit_.stop();
    if (!written && !over_) fail("cannot merge the audit: " + to_string(written.error()));
    if (!written) return;
    if (const auto refusal = merged_.take_refusal("audit.jsonl"))
      record("run", records::AuditFoldRefused{*refusal});
  });
  if (read.code() == ErrorCode::kCorruptCheckpoint)
    record(node.spec.name, records::AuditLineDamaged{read.error().detail, 0});
}

/// A process died in the middle of a line: without an end, the next process's first line would be
/// lost with it. Call while none of the node's processes runs.
void Launcher::end_torn_lines(Node& node) {
  poll_files();
  const std::pair<const LineTail*, const char*> files[] = {
      {&node.events, "events"}, {&node.metrics, "metrics"}, {&node.audit, "audit"}};
  for (const auto& [tail, name] : files)
    if (tail->unfinished())
      static_cast<void>(records::append_line(node.folder + "/" + name + ".jsonl", ""));
}

void Launcher::merge_event(const std::string& line) {
  if (!state_.take_event(line)) return;
  static_cast<void>(merged_.append("events.jsonl", line));
  const auto event = records::parse_event(line);
  const auto* info = event ? records::info_of(event->name) : nullptr;
  if (info != nullptr && info->remarkable() && options_.on_event) options_.on_event(*event);
}

}  // namespace swarm::launch
