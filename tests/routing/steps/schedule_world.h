/// A swarm of plain values around one Schedule: peers that answer as told, trainers that carry what
/// they lease. No actors, no mail.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/strong_id.h"
#include "routing/steps/schedule.h"
#include "tests/routing/steps/orders_in.h"
#include "tests/support/ids.h"

namespace swarm::testing {

/// Two stages with two peers each: 1 and 2 serve stage 0, 3 and 4 serve stage 1. A step has four
/// slots of two samples; the run has ten steps; every second one is saved.
template <class Kind>
struct ScheduleWorld {
  routing::Roster roster{2};
  routing::Time now = std::chrono::seconds(1'000);
  Kind schedule;

  explicit ScheduleWorld(routing::ScheduleOptions options = standard())
      : schedule(options, roster) {
    for (uint32_t n : {1u, 2u, 3u, 4u}) add(n);
  }

  static routing::ScheduleOptions standard() {
    routing::ScheduleOptions options;
    options.steps = 10;
    options.slots = 4;
    options.microbatch = 2;
    options.validation_slots = 1;
    options.save.every_steps = 2;
    options.save.steps = 10;
    options.ahead_patience = std::chrono::seconds(3);
    return options;
  }
  routing::History history;                      ///< That open() says.
  std::map<PeerId, routing::BroughtIn> brought;  ///< What members tell of it.

  static Stage stage_of(uint32_t n) { return Stage(n <= 2 ? 0 : 1); }

  routing::PeerFacts& facts(uint32_t n) { return roster.peers().at(peer(n)); }
  routing::PeerFacts& add(uint32_t n, uint64_t step = 0) {
    routing::PeerReport report;
    report.has_state = true;
    report.step = report.open_step = Step(step);
    report.checksum = 7;
    roster.report(peer(n), stage_of(n), "n" + std::to_string(n), report);
    facts(n).reachable = facts(n).serving = true;
    return facts(n);
  }
  void all_at(uint64_t step) {
    for (auto& [id, peer] : roster.peers()) peer.step = peer.open_step = Step(step);
  }
  routing::Orders open(uint64_t step, uint64_t gathering = 1) {
    return schedule.open(Step(step), history, {Term(3), gathering}, now);
  }
  routing::Orders tick(routing::Time later = std::chrono::milliseconds(100)) {
    return schedule.tick(now += later);
  }

  /// Leases what there is and carries it all over peers 1 and 3.
  routing::Orders carry_all() {
    routing::Orders all;
    const auto leases = schedule.lease(peer(50, "trainer"), 64, 1e9);
    for (const auto& slot : leases.slots) append(all, carry(leases.step, slot.lease));
    return all;
  }
  routing::Orders carry(Step step, const routing::SlotLease& lease) {
    routing::SlotReport report;
    report.step = step;
    report.slot = lease.slot;
    report.attempt = lease.attempt;
    report.loss_sum = 2;
    report.samples = 2;
    for (uint32_t stage : {0u, 1u})
      report.route.push_back(
          {Stage(stage), peer(stage == 0 ? 1 : 3), !lease.validation, lease.attempt});
    auto orders = schedule.slot_reported(report, now);
    return orders ? *orders : routing::Orders{};
  }

  /// Every member that was asked to close has averaged.
  routing::Orders close_all(const routing::Orders& orders) {
    routing::Orders all;
    for (const auto& close : all_of<routing::orders::CloseStep>(orders))
      for (const auto& member : close.members) append(all, closed(close, member.peer));
    return all;
  }
  routing::Orders closed(const routing::orders::CloseStep& close, const PeerId& member,
                         uint64_t digest = 5) {
    routing::CloseAnswer answer{false, 9.0, digest, {}, {}};
    if (close.commit)
      answer.committed =
          routing::CommitAnswer{close.commit->step + 1, 8, false, close.commit->after};
    if (brought.count(member) != 0) answer.brought = brought.at(member);
    return schedule.close_answered({close.stage, close.round, close.step, member}, answer, now);
  }
  routing::Orders close_failed(const routing::orders::CloseStep& close, const PeerId& member,
                               ErrorCode code) {
    return schedule.close_answered({close.stage, close.round, close.step, member},
                                   Error{code, "a test"}, now);
  }
  /// `member` has waited in vain for the one at `place`, whose link lives.
  routing::Orders close_missed(const routing::orders::CloseStep& close, const PeerId& member,
                               uint32_t place) {
    routing::CloseAnswer answer;
    answer.failed = routing::RoundFailure{{place}, {ErrorCode::kPeerTimeout, "nothing"}, false};
    return schedule.close_answered({close.stage, close.round, close.step, member}, answer, now);
  }
  /// Members `a` and `b` (places in the list) tell that they could not reach each other, the others
  /// that the round was given up.
  routing::Orders close_unreached(const routing::orders::CloseStep& close, uint32_t a, uint32_t b,
                                  bool link = true) {
    routing::Orders all;
    for (const auto& [own, other] : {std::pair(a, b), std::pair(b, a)}) {
      routing::CloseAnswer answer;
      answer.failed = routing::RoundFailure{{other}, {ErrorCode::kCancelled, "no way"}, link};
      const routing::RoundMember member{close.stage, close.round, close.step,
                                        close.members.at(own).peer};
      append(all, schedule.close_answered(member, answer, now));
    }
    for (uint32_t place = 0; place < close.members.size(); ++place)
      if (place != a && place != b)
        append(all, close_failed(close, close.members[place].peer, ErrorCode::kCancelled));
    return all;
  }
  /// Everybody applies the update that was ordered.
  routing::Orders commit_all(const routing::Orders& orders) {
    routing::Orders all;
    for (const auto& commit : all_of<routing::orders::CommitStep>(orders))
      append(all,
             schedule.commit_answered(
                 commit.peer, routing::CommitAnswer{commit.step + 1, 8, false, commit.after}, now));
    return all;
  }
  routing::Orders lose(uint32_t n) {
    const bool was_serving = facts(n).serving;
    roster.remove(peer(n));
    return schedule.peer_lost(peer(n), stage_of(n), was_serving, now);
  }
  static void append(routing::Orders& all, const routing::Orders& more) {
    all.insert(all.end(), more.begin(), more.end());
  }
};

}  // namespace swarm::testing
