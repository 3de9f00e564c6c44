#include "actors/coordinator/coordinator_records.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>
#include <variant>

#include "actors/net/log.h"
#include "actors/net/traffic.h"
#include "records/catalogue.h"

namespace swarm::actors {
namespace {

namespace facts = routing::facts;

template <class Id>
std::vector<typename Id::Rep> numbers_of(const std::vector<Id>& ids) {
  std::vector<typename Id::Rep> out;
  for (Id id : ids) out.push_back(id.value());
  return out;
}

/// One call for each fact: which event says it.
struct FactWriter {
  CoordinatorRecords& out;
  const PeerBook& book;
  std::optional<Stage> stage;
  Step step;

  template <class Event>
  void record(const Event& event) const {
    out.record(step, event, stage);
  }
  void operator()(const facts::PeerAdmitted& f) const {
    record(records::PeerAdmitted{book.name(f.peer)});
  }
  void operator()(const facts::PeerLost& f) const {
    log_warn(fmt::format("event=lost stage={} peer={} reason=\"{}\"", stage.value(),
                         book.name(f.peer), f.reason));
    record(records::PeerLost{book.name(f.peer), f.reason});
  }
  void operator()(const facts::Recompute& f) const { record(records::Recompute{f.slots}); }
  void operator()(const facts::LeaseExpired& f) const {
    out.record(f.step, records::LeaseExpired{f.slot.value()}, stage);
  }
  void operator()(const facts::AttemptFailed& f) const {
    out.record(f.step, records::AttemptFailed{f.slot.value(), f.reason}, stage);
  }
  void operator()(const facts::SlotSkipped& f) const {
    log_warn(fmt::format("event=slot_skipped step={} slot={} peer={}", f.step, f.slot,
                         book.name(f.peer)));
    out.record(f.step, records::SlotSkipped{f.slot.value(), book.name(f.peer)}, stage);
  }
  void operator()(const facts::Diverged&) const {
    record(records::Diverged{
        fmt::format("every microbatch of step {} is not finite; begin anew with a lower "
                    "optimizer.learning_rate, or resume if a broken node was the reason",
                    step)});
  }
  void operator()(const facts::MemberFailed& f) const {
    record(records::MemberFailed{book.name(f.peer), f.error});
  }
  void operator()(const facts::SetAside& f) const {
    log_warn(fmt::format("event=set_aside stage={} peer={} from={}", stage.value(),
                         book.name(f.peer), book.name(f.from)));
    record(records::PeerSetAside{
        book.name(f.peer), f.retry_in,
        fmt::format(
            "it and {} cannot reach each other, and no third peer of their stage reaches both",
            book.name(f.from))});
  }
  void operator()(const facts::BecameReader& f) const {
    log_warn(fmt::format("event=became_reader stage={} peer={} costs_s={} samples={}",
                         stage.value(), book.name(f.peer), f.costs_s, f.samples));
    record(records::BecameReader{book.name(f.peer), f.costs_s, f.samples});
  }
  void operator()(const facts::PartsRelayed& f) const {
    record(records::PartsRelayed{book.name(f.a), book.name(f.b), book.name(f.via)});
  }
  void operator()(const facts::AveragesDiffer& f) const {
    record(records::AveragesDiffer{book.name(f.peer)});
  }
  void operator()(const facts::SumNotFinite& f) const {
    log_warn(fmt::format("event=sum_not_finite stage={} peer={} by={}", stage.value(),
                         book.name(f.peer), book.name(f.by)));
    record(records::SumNotFinite{book.name(f.peer), book.name(f.by), f.slots});
  }
  void operator()(const facts::PeerRests& f) const {
    log_warn(fmt::format("event=peer_rests stage={} peer={}", stage.value(), book.name(f.peer)));
    record(records::PeerRests{book.name(f.peer),
                              std::chrono::duration_cast<std::chrono::milliseconds>(f.rests),
                              f.reason});
  }
  void operator()(const facts::RestEnds& f) const { record(records::RestEnds{f.node, f.reason}); }
  void operator()(const facts::RunsPlain& f) const {
    log_warn(fmt::format("event=runs_plain until={}", f.until));
    record(records::RunsPlain{f.until.value()});
  }
  void operator()(const facts::StageAveraged& f) const {
    record(records::StageAveraged{f.peers, f.since_open, f.overlapped});
  }
  void operator()(const facts::MemberAveraged& f) const {
    record(records::MemberAveraged{book.name(f.peer), records::seconds_as_millis(f.took_s),
                                   records::seconds_as_millis(f.stalled_s)});
  }
  void operator()(const facts::AveragingSkipped& f) const {
    record(records::AveragingSkipped{f.reason});
  }
  void operator()(const facts::RoundAbandoned& f) const {
    record(records::RoundAbandoned{f.round.value()});
  }
  void operator()(const facts::CommitFailed& f) const {
    record(records::CommitFailed{book.name(f.peer), f.error});
  }
  void operator()(const facts::ReplicasCompared& f) const {
    records::ReplicasDiffer differ;
    for (uint64_t checksum : f.found.checksums) differ.checksums.push_back({checksum});
    if (differ.checksums.size() == 1)
      return record(records::ReplicasEqual{differ.checksums[0], f.found.replicas});
    log_error(fmt::format("event=replicas_differ stage={} step={}", stage.value(), step));
    record(differ);
  }
  void operator()(const facts::ReplicaReplaced& f) const {
    const auto& one = f.replica;
    const char* why = one.changed_at_rest
                          ? "it changed between two updates"
                          : "other replicas, or the one with the smaller id, differ";
    log_error(fmt::format("event=replica_replaced stage={} step={} peer={}", stage.value(), step,
                          book.name(one.peer)));
    record(records::ReplicaReplaced{book.name(one.peer), {one.checksum}, {f.right}, why});
  }
  void operator()(const facts::Recovered& f) const {
    std::optional<uint64_t> from_step;
    if (f.from_step) from_step = f.from_step->value();
    record(records::Recovered{from_step, f.present, f.before, f.reason});
  }
  void operator()(const facts::Minority& f) const {
    log_warn(fmt::format("event=minority step={} have={} of={}", step, f.have, f.of));
    record(records::Minority{f.number, f.have, f.of, f.missing});
  }
  void operator()(const facts::Quorum& f) const {
    record(records::Quorum{f.have, f.of, std::chrono::duration<double>(f.after).count()});
  }
  void operator()(const facts::ConfigurationHolds& f) const {
    std::optional<std::vector<std::string>> before;
    if (!f.lines_before.empty()) before = f.lines_before;
    record(records::ConfigurationHolds{f.number, f.voters, f.joined, f.left, f.gone_back, f.forced,
                                       f.line, before});
  }
  void operator()(const facts::CannotGoOn& f) const { record(records::CannotGoOn{f.error}); }
  void operator()(const facts::SaveFailed& f) const { record(records::CheckpointFailed{f.error}); }
  void operator()(const facts::Finished& f) const {
    records::RunFinished event{f.steps, f.validation_loss, {}};
    if (!f.not_durable.empty()) {
      event.not_durable = f.not_durable;
      log_error("event=not_durable reason=\"" + f.not_durable + "\"");
    }
    record(event);
  }
};

}  // namespace

void CoordinatorRecords::write(const routing::orders::Note& note) {
  std::visit(FactWriter{*this, book_, note.stage, note.step}, note.fact);
}

void CoordinatorRecords::write(const routing::orders::WriteAudit& line, Term term) {
  ClosedStep closed;
  closed.step = line.step.value();
  closed.term = term.value();
  closed.computed_on = line.computed_on.value();
  closed.slots = options_.batch / options_.microbatch;
  closed.microbatch = options_.microbatch;
  closed.samples = line.counted_slots * options_.microbatch;
  closed.first_sample = line.step.value() * options_.batch;
  closed.attempts = line.attempts;
  closed.skipped = numbers_of(line.skipped);
  closed.configuration = line.configuration;
  closed.history = line.after.value();
  for (const auto& stage : line.stages) {
    ClosedStep::Stage one{stage.round.value(), stage.digest, {}};
    for (const auto& share : stage.members) {
      one.members.push_back(
          {share.peer, share.node_name, numbers_of(share.slots), numbers_of(share.attempts)});
      const auto told = stage.brought.find(share.peer);
      if (told == stage.brought.end()) continue;
      one.members.back().brought =
          records::BroughtIn{numbers_of(told->second.order), told->second.gave_back};
      one.part_weights = stage.part_weights;
    }
    closed.stages.push_back(std::move(one));
  }
  events_->closed(closed);
}

void CoordinatorRecords::write(const routing::orders::WriteMetrics& from,
                               std::vector<records::LearnerProgress> learners, Term term) {
  const uint64_t step_tokens = options_.batch * options_.sequence;
  StepMetrics line;
  line.step = from.step.value();
  line.seconds = std::chrono::duration<double>(from.took).count();
  line.train_loss = from.train_loss;
  if (from.train_loss) line.tokens_per_second = token_rate_.closed(step_tokens, line.seconds);
  line.tokens = (from.step.value() + (from.train_loss ? 1 : 0)) * step_tokens;
  line.live_peers.assign(from.live_peers.begin(), from.live_peers.end());
  line.validation_loss = from.validation_loss;
  line.slots = from.slots;
  line.attempts = from.attempts;
  line.term = term.value();
  line.gradient_norm = from.gradient_norm;
  const auto sent = traffic_.since_last(kTrafficClasses);
  for (size_t i = 0; i < sent.size(); ++i) line.bytes_sent[i] = sent[i];
  if (options_.open_together > 1) staleness_.resize(options_.num_stages);  // asynchronous mode
  for (const Staleness& stage : staleness_) {
    line.staleness.emplace_back();
    if (!stage.histogram.empty())
      line.staleness.back() = StageStaleness{stage.histogram, stage.mean(), stage.max};
  }
  staleness_.clear();
  line.learners = std::move(learners);
  events_->metrics(line);
  if (!from.train_loss) return;
  last_loss_ = *line.train_loss;
  tokens_per_second_ = line.tokens_per_second.value_or(0);
}

void CoordinatorRecords::watch(Step step, uint32_t slots_done, routing::Time now) {
  const uint64_t bytes = traffic_.work_bytes();
  if (!progress_.look(step, slots_done, bytes, now)) return;
  record(step, records::StepGoesOn{slots_done, options_.batch / options_.microbatch, bytes});
}

void CoordinatorRecords::training_begins(Step step, size_t rivals) {
  if (std::exchange(said_alone_, true) || rivals > 0) return;
  log_warn("event=one_trainer reason=\"no other node could coordinate\"");
  record(step, records::OneTrainer{});
}

void CoordinatorRecords::snapshots_fail(const routing::PeerFacts& peer, Step step) {
  log_error(fmt::format("event=snapshots_fail stage={} peer={} failed={} reason=\"{}\"", peer.stage,
                        peer.node_name, peer.saves.failed, peer.saves.error));
  record(step, records::SnapshotsFail{peer.node_name, peer.saves.failed, peer.saves.error},
         peer.stage);
}

void CoordinatorRecords::add_staleness(Stage stage, const Staleness& staleness) {
  staleness_.resize(options_.num_stages);
  staleness_[stage.value()].merge(staleness);
}

std::vector<records::LearnerProgress> learners_of(const routing::Roster& roster) {
  std::vector<records::LearnerProgress> found;
  for (const auto& [id, peer] : roster.peers())
    if (peer.learns())
      found.push_back({peer.node_name, peer.stage.value(), peer.learned_bytes, peer.state_bytes,
                       peer.needs_bytes_per_s, peer.has_bytes_per_s});
  return found;
}

}  // namespace swarm::actors
