#include "actors/coordinator/coordinator_mail.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <utility>

#include "actors/net/links/socket.h"
#include "common/names.h"
#include "common/printable.h"
#include "routing/membership/term.h"
#include "swarm/dht.pb.h"

namespace swarm::actors {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kCommitBudget{60'000};
constexpr uint64_t kBeyondEnd = 16;  // steps or periods that may be open when training ends
constexpr uint64_t kMostSaveMs = 2ull * 3'600'000;  // whatever a peer says
constexpr uint64_t kMostJobMs = 24ull * 3'600'000;  // likewise
constexpr size_t kMostErrorBytes = 256;             // likewise

routing::CommitAnswer answer_of(const proto::CommitStepReply& reply) {
  return {Step(reply.step()), reply.checksum(), reply.changed_at_rest(),
          routing::History(reply.history())};
}

proto::RegisterPeerReply::Verdict verdict_of(routing::Verdict::Kind kind) {
  using Kind = routing::Verdict::Kind;
  switch (kind) {
    case Kind::kServe:
      return proto::RegisterPeerReply::VERDICT_SERVE;
    case Kind::kFetch:
      return proto::RegisterPeerReply::VERDICT_FETCH;
    case Kind::kRestoreOwn:
      return proto::RegisterPeerReply::VERDICT_RESTORE;
    case Kind::kInitialise:
      return proto::RegisterPeerReply::VERDICT_INITIALIZE;
    case Kind::kMove:
      return proto::RegisterPeerReply::VERDICT_MOVE;
    case Kind::kWait:
      break;
  }
  return proto::RegisterPeerReply::VERDICT_WAIT;
}

/// Errors: kInvalidArgument.
Result<routing::LedgerHop> read_hop(const proto::RouteHop& hop) {
  auto peer = from_proto(hop.peer());
  if (!peer) return peer.error();
  return routing::LedgerHop{Stage(hop.stage()), peer->id, hop.held(), Attempt(hop.attempt())};
}

routing::RoundFailure read_failure(const proto::RoundFailure& message) {
  return {{message.unreached().begin(), message.unreached().end()},
          {ErrorCode::kCancelled, printable(message.reason(), kMaxReason)},
          message.link(),
          {message.not_finite().begin(), message.not_finite().end()},
          message.late()};
}

routing::DeviceReport read_device(const proto::RegisterPeer& message) {
  const auto time = [](uint64_t ms) { return milliseconds(std::min(ms, kMostJobMs)); };
  routing::DeviceReport device{time(message.job_ms()), time(message.usual_job_ms()), {}};
  if (message.has_since_job_ms()) device.since_job = time(message.since_job_ms());
  return device;
}

routing::PeerReport read_report(const proto::RegisterPeer& message) {
  routing::PeerReport report;
  report.has_state = message.has_state();
  report.step = Step(message.step());
  report.open_step = Step(message.open_step());
  for (uint64_t step : message.snapshots()) report.snapshots.push_back(Step(step));
  report.history = routing::History(message.history());
  const auto known = std::min(message.snapshots_size(), message.snapshot_histories_size());
  for (int i = 0; i < known; ++i)
    report.snapshot_histories[Step(message.snapshots(i))] =
        routing::History(message.snapshot_histories(i));
  for (const auto& held : message.held()) {
    report.held.emplace_back(Slot(held.slot()), Attempt(held.attempt()));
    if (held.samples() > 0)
      report.losses.push_back({Slot(held.slot()), held.loss_sum(), held.samples()});
  }
  report.has_average = message.has_average();
  report.round = Round(message.round());
  report.last_gradient_norm = message.last_gradient_norm();
  for (const uint64_t round : message.commit_rounds()) report.commit_rounds.emplace_back(round);
  report.state_came = message.state_came();
  report.changed_at_rest = message.changed_at_rest();
  report.checksum = message.checksum();
  report.swarm_peers = message.swarm_peers();
  report.learned_bytes = message.learned_bytes();
  report.state_bytes = message.state_bytes();
  report.needs_bytes_per_s = message.needs_bytes_per_s();
  report.has_bytes_per_s = message.has_bytes_per_s();
  report.saves.limit = milliseconds(std::min<uint64_t>(message.save_limit_ms(), kMostSaveMs));
  report.link = {routing::checked_rate(message.up_bytes_per_s()),
                 routing::checked_rate(message.down_bytes_per_s())};
  report.average_bytes = message.average_bytes();
  report.device = read_device(message);
  report.saves.failed = message.failed_saves();
  report.saves.error = printable(message.save_error(), kMostErrorBytes);
  report.keeps_copies = message.keeps_copies();
  for (const auto& copy : message.copies())
    report.copies.push_back(
        {Stage(copy.stage()), Step(copy.step()), routing::History(copy.history())});
  report.line_left = message.line_left();
  report.kept_before = routing::ConfigurationNumber(message.kept_before());
  report.node_peers = message.node_peers();
  return report;
}

routing::WorkReport read_work(const proto::RegisterPeer& message) {
  return {message.running(),  message.queued(),   message.done_per_s(),
          message.may_move(), message.moves_by(), Term(message.moves_term())};
}

}  // namespace

// -- taken

Result<Registration> read_registration(const proto::RegisterPeer& message, const RunBounds& run) {
  auto address = from_proto(message.peer());
  if (!address) return address.error();
  const uint32_t stage = message.wants_stage() ? 0 : message.stage();
  if (stage >= run.stages)
    return Error{ErrorCode::kInvalidArgument,
                 "there are " + std::to_string(run.stages) + " stages"};
  uint64_t newest = std::max(message.step(), message.open_step());
  for (uint64_t step : message.snapshots()) newest = std::max(newest, step);
  for (const auto& copy : message.copies()) {
    if (copy.stage() >= run.stages)
      return Error{ErrorCode::kInvalidArgument, "a copy of a stage that does not exist"};
    newest = std::max(newest, copy.step());
  }
  if (newest > run.steps + kBeyondEnd)
    return Error{ErrorCode::kRefused,
                 fmt::format("register_peer: step {} of a run of {} steps", newest, run.steps)};
  if (const Term term(message.foreign_term()); !routing::is_term(term))
    return Error{ErrorCode::kRefused, "register_peer: the foreign term is none"};
  return Registration{
      *address,           Stage(stage),         Term(message.foreign_term()), read_report(message),
      read_work(message), message.wants_stage()};
}

Result<routing::SlotReport> read_slot_done(const proto::SlotDone& message) {
  using What = routing::SlotReport::What;
  routing::SlotReport report;
  report.step = Step(message.step());
  report.slot = Slot(message.slot());
  report.attempt = Attempt(message.attempt());
  report.loss_sum = message.loss_sum();
  report.samples = message.samples();
  report.why = printable(message.error(), kMaxReason);
  if (message.failed()) {
    report.what = message.has_non_finite() ? What::kNonFinite : What::kFailed;
    if (!message.has_non_finite()) return report;
    auto where = read_hop(message.non_finite());
    if (!where) return where.error();
    report.where = *where;
    return report;
  }
  for (const auto& one : message.route()) {
    auto hop = read_hop(one);
    if (!hop) return hop.error();
    report.route.push_back(std::move(*hop));
  }
  return report;
}

Result<routing::CommitAnswer> read_commit(const Result<Mail>& reply) {
  if (!reply) return reply.error();
  return answer_of(reply->as<proto::CommitStepReply>());
}

Result<routing::CloseAnswer> read_close(const Result<Mail>& reply) {
  if (!reply) return reply.error();
  const auto& head = reply->as<proto::CloseStepReply>();
  routing::CloseAnswer answer{head.holds_more(), head.squared_norm(), head.digest(), {}, {}, {}};
  if (head.has_committed()) answer.committed = answer_of(head.committed());
  if (head.has_failure()) answer.failed = read_failure(head.failure());
  if (head.has_brought()) {
    answer.brought.emplace().gave_back = head.brought().gave_back();
    for (const uint32_t slot : head.brought().order()) answer.brought->order.emplace_back(slot);
  }
  return answer;
}

Result<routing::PeriodAnswer> read_period(const Result<Mail>& reply) {
  if (!reply) return reply.error();
  const auto& head = reply->as<proto::EndPeriodReply>();
  routing::PeriodAnswer answer{head.checksum(), head.round_s(), head.stall_s(), {}, head.digest()};
  if (head.has_failure()) answer.failed = read_failure(head.failure());
  return answer;
}

std::optional<KnownCandidate> read_record(const DhtRecordLocal& record) {
  proto::CoordinatorRecord one;
  if (!one.ParseFromString(record.value)) return std::nullopt;
  auto node = NodeId::from_bytes(one.node_id());
  auto endpoint = links::told_endpoint(one.endpoint());
  if (!node || !endpoint || !writes(*node, record.subkey)) return std::nullopt;
  const bool led = Term(one.term()) != Term() && one.active();
  if (!routing::is_term(Term(one.term())) || (led && !routing::is_of(Term(one.term()), *node)))
    return std::nullopt;
  return KnownCandidate{
      {*node, Term(one.term()), one.active(), record.version, one.yields(), one.vain()}, *endpoint};
}

// -- sent

Mail write_verdict(const routing::Verdict& verdict, const PeerBook& book, const SwarmWord& swarm,
                   const RunText& text) {
  proto::RegisterPeerReply reply;
  reply.set_verdict(verdict_of(verdict.kind));
  reply.set_reason(verdict.reason);
  reply.set_step(verdict.step.value());
  reply.set_open_step(verdict.open_step.value());
  reply.set_keep_held(verdict.keep_held);
  reply.set_exact(verdict.exact);
  const auto pause = std::chrono::duration_cast<milliseconds>(verdict.retry_after);
  reply.set_retry_after_ms(static_cast<uint32_t>(pause.count()));
  for (const PeerId& source : verdict.sources) *reply.add_sources() = book.to_proto(source);
  if (verdict.word) {
    reply.set_checksum(verdict.word->checksum);
    reply.set_history(verdict.word->history.value());
  }
  reply.set_term(swarm.term.value());
  reply.set_min_attempt(swarm.min_attempt.value());
  reply.set_peers(swarm.peers);
  reply.set_forked_in(swarm.forked_in.value());
  reply.set_barred(swarm.barred);
  if (text.known()) *reply.mutable_text() = to_proto(text);
  if (verdict.keep) *reply.mutable_keep() = to_proto(*verdict.keep);
  reply.set_order(verdict.order);
  reply.set_move_to(verdict.move_to.value());
  reply.set_from_copies(verdict.from_copies);
  for (const routing::CopyOrder& order : verdict.copies.make) {
    auto& copy = *reply.add_copies();
    copy.set_stage(order.stage.value());
    copy.set_step(order.step.value());
    copy.set_history(order.history.value());
    for (const PeerId& source : order.sources) *copy.add_sources() = book.to_proto(source);
  }
  for (const Stage stage : verdict.copies.drop) reply.add_spare_copies(stage.value());
  if (verdict.line_left) {
    auto& left = *reply.mutable_line_left();
    left.set_number(verdict.line_left->number);
    for (const auto& [step, history] : verdict.line_left->shared) {
      left.add_steps(step.value());
      left.add_histories(history.value());
    }
  }
  return make_mail(std::move(reply));
}

Mail write_leases(const routing::Leases& leases, Term term, Step step, bool over,
                  const RunText& text) {
  proto::LeaseReply reply;
  reply.set_term(term.value());
  reply.set_step((leases.slots.empty() ? step : leases.step).value());
  reply.set_finished(over);
  reply.set_step_waits(leases.step_waits);
  if (text.known()) *reply.mutable_text() = to_proto(text);
  for (const auto& [lease, avoid] : leases.slots) {
    auto* slot = reply.add_slots();
    slot->set_slot(lease.slot.value());
    slot->set_attempt(lease.attempt.value());
    slot->set_needs(lease.needs);
    slot->set_validation(lease.validation);
    for (const auto& hop : avoid) {
      auto* one = slot->add_avoid();
      one->set_stage(hop.stage.value());
      *one->mutable_peer() = to_proto(hop.peer, Endpoint{}, "");
    }
  }
  return make_mail(std::move(reply));
}

proto::CommitStep commit_message(const routing::orders::CommitStep& order, Term term) {
  proto::CommitStep commit;
  commit.set_term(term.value());
  commit.set_step(order.step.value());
  commit.set_round(order.round.value());
  commit.set_gradient_norm(order.gradient_norm);
  commit.set_save_checkpoint(order.save);
  if (order.keep) *commit.mutable_keep() = to_proto(*order.keep);
  commit.set_history(order.after.value());
  for (const Round round : order.rounds) commit.add_rounds(round.value());
  return commit;
}

Mail write_abandon(const routing::orders::AbandonRound& order, Term term) {
  proto::CloseStep message;
  message.set_term(term.value());
  message.set_step(order.step.value());
  message.set_round(order.round.value());
  return make_mail(std::move(message));
}

Mail write_commit(const routing::orders::CommitStep& order, Term term) {
  return make_mail(commit_message(order, term), {}, kCommitBudget);
}

Mail write_end_period(const routing::orders::EndPeriod& order, const PeerBook& book, Term term,
                      const RunText& text) {
  proto::EndPeriod message;
  if (text.known()) *message.mutable_text() = to_proto(text);
  message.set_term(term.value());
  message.set_period(order.period.value());
  message.set_save_checkpoint(order.save);
  if (order.keep) *message.mutable_keep() = to_proto(*order.keep);
  message.set_blocking(order.blocking);
  message.set_round(order.round.value());
  if (order.round != Round()) {
    for (const PeerId& id : order.members) *message.add_members() = book.to_proto(id);
    write_relays(order.relays, *message.mutable_relays());
    write_part_weights(order.part_weights, *message.mutable_part_weights());
    message.set_most_samples(order.most_samples);
  }
  return make_mail(std::move(message), {}, kRoundBudget);
}

void write_relays(const std::vector<routing::Relay>& relays,
                  google::protobuf::RepeatedPtrField<proto::PartRelay>& out) {
  for (const routing::Relay& relay : relays) {
    proto::PartRelay& one = *out.Add();
    one.set_a(relay.a);
    one.set_b(relay.b);
    one.set_via(relay.via);
  }
}

void write_part_weights(const std::vector<uint32_t>& weights,
                        google::protobuf::RepeatedField<uint32_t>& out) {
  const bool equal =
      std::adjacent_find(weights.begin(), weights.end(), std::not_equal_to<>()) == weights.end();
  if (!equal) out.Add(weights.begin(), weights.end());
}

Mail write_restore(Term term, Step step, const std::string& reason) {
  proto::Restore message;
  message.set_term(term.value());
  message.set_step(step.value());
  message.set_reason(reason);
  return make_mail(std::move(message));
}

}  // namespace swarm::actors
