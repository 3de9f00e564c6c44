// Coordinator, records: metrics and audit of a closed step, the comparison of its replicas.
#include <cstdio>
#include <limits>

#include "actors/coordinator/coordinator_state.h"
#include "actors/net/log.h"

namespace swarm::actors {
void CoordinatorState::write_audit(const ClosingStep& closing) const {
  ClosedStep closed;
  closed.step = closing.step;
  closed.term = term_;
  closed.computed_on = closing.computed_on;
  closed.slots = deps_.training.batch / deps_.training.microbatch;
  closed.microbatch = deps_.training.microbatch;
  closed.samples = closing.ledger->counted_slots() * closed.microbatch;
  closed.first_sample = closing.step * deps_.training.batch;
  closed.attempts = closing.ledger->attempts();
  closed.skipped = closing.ledger->skipped();
  for (const auto& stage : closing.stages)
    closed.stages.push_back({stage.round, stage.digest.value_or(0), stage.members});
  deps_.events->closed(closed);
}

/// Invariant I2: replicas of a stage at the same step are bit-identical.
void CoordinatorState::check_replicas(uint32_t stage, uint64_t step) {
  std::optional<uint64_t> checksum;
  size_t replicas = 0;
  for (const auto& [id, peer] : peers_) {
    if (peer.stage != stage || !peer.serving) continue;
    if (peer.commit_pending || peer.checksum_step != step) return;  // not all have answered
    ++replicas;
    if (checksum && *checksum != peer.checksum) {
      record(records::ReplicasDiffer{{records::Hex{*checksum}, records::Hex{peer.checksum}}},
             stage);
      log_error("event=replicas_differ stage=" + std::to_string(stage) +
                " step=" + std::to_string(step));
      return;
    }
    checksum = peer.checksum;
  }
  if (replicas > 0)
    deps_.events->record(stage, static_cast<int64_t>(step),
                         records::ReplicasEqual{{*checksum}, replicas});
}

void CoordinatorState::write_metrics(const ClosingStep& closing, double gradient_norm) {
  StepMetrics line;
  line.step = closing.step;
  line.seconds = std::chrono::duration<double>(closing.closed_at - closing.opened_at).count();
  bool trained = closing.step < deps_.training.steps;
  uint64_t step_tokens = uint64_t{deps_.training.batch} * static_cast<uint64_t>(deps_.sequence);
  line.train_loss =
      trained ? closing.ledger->train_loss() : std::numeric_limits<double>::quiet_NaN();
  line.tokens = (closing.step + (trained ? 1 : 0)) * step_tokens;
  if (trained && line.seconds > 0)
    line.tokens_per_second = static_cast<double>(step_tokens) / line.seconds;
  line.live_peers = live_peers();
  line.validation_loss = closing.ledger->validation_loss();
  line.slots = trained ? deps_.training.batch / deps_.training.microbatch : 0;
  line.attempts = closing.ledger->attempts();
  line.term = term_;
  line.gradient_norm = gradient_norm;
  std::array<uint64_t, kTrafficClasses> sent{};
  auto add = [&sent](const std::vector<uint64_t>& bytes) {
    for (size_t i = 0; i < sent.size() && i < bytes.size(); ++i) sent[i] += bytes[i];
  };
  for (const auto& [id, peer] : peers_) add(peer.bytes_sent);
  for (const auto& [id, bytes] : trainers_) add(bytes);
  for (size_t i = 0; i < sent.size(); ++i)  // a lost node takes its counters with it
    line.bytes_sent[i] = sent[i] > bytes_before_[i] ? sent[i] - bytes_before_[i] : 0;
  bytes_before_ = sent;
  for (const Staleness& stage : staleness_)
    line.staleness.push_back({stage.histogram, stage.mean(), stage.max});
  staleness_.clear();
  deps_.events->metrics(line);
  if (trained) {
    last_loss_ = line.train_loss;
    tokens_per_second_ = line.tokens_per_second;
  }
}

}  // namespace swarm::actors
