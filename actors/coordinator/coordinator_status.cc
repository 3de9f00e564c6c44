// Coordinator: what people ask it.
#include <fmt/format.h>

#include "actors/coordinator/coordinator_state.h"

namespace swarm::actors {

using routing::Frame;

namespace {

/// By Stands.
constexpr const char* kStands[] = {"standby", "minority", "gathering", "open", "finished"};

/// As of its last registration, which comes every second.
std::string device_text(const routing::DeviceReport& device) {
  const auto seconds = [](routing::Time time) {
    return std::chrono::duration<double>(time).count();
  };
  std::string text = "no job done yet";
  if (device.since_job)
    text = fmt::format("last job done {:.1f} s ago", seconds(*device.since_job));
  if (device.job > routing::Time(0))
    text += fmt::format(", at one for {:.1f} s", seconds(device.job));
  return text + (device.hangs() ? ", hangs" : "");
}

}  // namespace

Step CoordinatorState::step() const {
  return gathering_->planned_step().value_or(schedule_->frame().open.step);
}

LeaseCounter::Stamp CoordinatorState::stamp() const {
  return {office_->office().term(), step(), schedule_->frame().over, text_.text()};
}

CoordinatorState::Stands CoordinatorState::stands() const {
  if (!active()) return Stands::kStandby;
  const auto at = schedule_->frame().phase;
  if (at == Frame::Phase::kFinished) return Stands::kFinished;
  if (consent_.minority(now())) return Stands::kMinority;
  return at == Frame::Phase::kOpen ? Stands::kOpen : Stands::kGathering;
}

proto::SwarmStatusReply CoordinatorState::status() const {
  proto::SwarmStatusReply reply;
  reply.set_term(office_->office().term().value());
  reply.set_step(step().value());
  const Stands at = stands();
  const std::string& missing = moves_->conscription().missing();
  const std::string untaken = missing.empty() ? "" : "; nobody takes it over: " + missing;
  std::string phase = kStands[static_cast<int>(at)];
  if (at == Stands::kGathering) phase += ": " + gathering_->waiting_for() + untaken;
  if (at == Stands::kMinority) phase += ": " + consent_.minority(now())->text();
  reply.set_phase(phase);
  reply.set_open(at == Stands::kOpen);
  if (const auto loss = records_->last_loss()) reply.set_last_loss(*loss);
  reply.set_tokens_per_s(records_->tokens_per_second());
  reply.set_max_steps(deps_.training.steps);
  if (const auto durable = roster_->newest_everywhere()) reply.set_durable_step(durable->value());
  *reply.mutable_coordinator() = to_proto(deps_.id, deps_.endpoint, deps_.node_name);
  if (const auto& ledger = schedule_->frame().open.ledger) {
    reply.set_slots_total(deps_.training.batch / deps_.training.microbatch);
    reply.set_slots_leased(ledger->slots_leased());
    reply.set_slots_done(ledger->slots_done());
  }
  for (const auto& [id, peer] : roster_->peers()) {
    auto* one = reply.add_peers();
    *one->mutable_peer() = book_.to_proto(id);
    one->set_stage(peer.stage.value());
    one->set_step(peer.step.value());
    one->set_checksum(peer.checksum);
    one->set_checksum_step(peer.checksum_step.value_or(peer.step).value());
    one->set_learned_bytes(peer.learned_bytes);
    one->set_state_bytes(peer.state_bytes);
    one->set_needs_bytes_per_s(peer.needs_bytes_per_s);
    one->set_has_bytes_per_s(peer.has_bytes_per_s);
    one->set_failed_saves(peer.saves.failed);
    one->set_save_error(peer.saves.error);
    const auto& readers = schedule_->frame().readers;
    one->set_reads(readers.reads(id));
    if (!readers.reads(id)) continue;
    const auto worth = readers.worth(id).value_or(routing::Readers::Worth());
    one->set_costs_s(worth.costs_s);
    one->set_brings_samples(worth.slots * deps_.training.microbatch);
  }
  return reply;
}

std::string CoordinatorState::describe() const {
  static const char* const kAt[] = {"filling", "averaging", "averaged"};
  const Frame& frame = schedule_->frame();
  std::string text = fmt::format("coordinator {} of {}: {}, term {}, step {}\n", deps_.id.brief(),
                                 deps_.node_name, kStands[static_cast<int>(stands())],
                                 routing::term_number(office_->office().term()), step());
  if (stands() == Stands::kGathering)
    text +=
        fmt::format("gathering because {}; {}\n", gathering_->reason(), gathering_->waiting_for());
  text += fmt::format("peers {}, trainers {}, leases waiting {}\n", roster_->peers().size(),
                      roster_->num_trainers(), leases_->waiting());
  for (const auto& [id, peer] : roster_->peers()) {
    if (peer.learns())
      text += fmt::format("{} learns stage {}: {} %\n", peer.node_name, peer.stage,
                          100 * peer.learned_bytes / peer.state_bytes);
    text +=
        fmt::format("{} of stage {}: {}\n", peer.node_name, peer.stage, device_text(peer.device));
  }
  if (frame.open.ledger)
    text +=
        fmt::format("slots leased {}, done {}, attempts {}\n", frame.open.ledger->slots_leased(),
                    frame.open.ledger->slots_done(), frame.open.ledger->attempts());
  text += consent_.describe();
  if (schedule_->applied() != frame.open.step)
    text += fmt::format("step {} is averaged meanwhile\n", schedule_->applied());
  for (Stage stage; stage.value() < frame.open.stages.size(); ++stage) {
    const routing::StageRound& one = frame.open.stages[stage.value()];
    text +=
        fmt::format("stage {}: {}, round {}\n", stage, kAt[static_cast<int>(one.at)], one.round);
  }
  return text;
}

}  // namespace swarm::actors
