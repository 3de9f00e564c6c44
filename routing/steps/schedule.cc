#include "routing/steps/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/erase_if.h"

namespace swarm::routing {
namespace {

/// How often a peer that is set aside registers.
constexpr Time kAsideRetry = std::chrono::seconds(1);
constexpr Time kReaderRetry = std::chrono::milliseconds(100);

/// The last stage gave a loss that is not finite, and took the gradient into its sum nevertheless.
SlotReport without_loss(SlotReport report) {
  report.what = SlotReport::What::kFailed;
  report.why = "a loss that is not finite, of nobody";
  for (const LedgerHop& hop : report.route) {
    if (report.what == SlotReport::What::kNonFinite && hop.stage < report.where.stage) continue;
    report.what = SlotReport::What::kNonFinite;
    report.where = hop;
  }
  return report;
}

/// Has the means from the others, as one that learns: it is told to fetch the next step, which they do
/// not have yet.
std::optional<Verdict> learn_on(const PeerId& id, Frame& frame, Whereabouts where,
                                const std::string& reason) {
  PeerFacts& peer = frame.roster.peers().at(id);
  if (!frame.is_open() || frame.nothing_to_train()) return std::nullopt;
  if (peer.has_state && peer.step > where.applied) return std::nullopt;  // of a longer history
  peer.serving = false;
  peer.set_aside = true;
  if (peer.commit_pending)
    return wait_verdict(kReaderRetry, reason + "; an update is under way to it");
  if (peer.has_state && peer.step == where.applied) where.applied = where.applied + 1;
  return fetch_verdict(id, frame.roster, where, reason);
}

std::optional<Verdict> read_on(const PeerId& id, Frame& frame, const Whereabouts& where) {
  frame.readers.told(id, frame.roster.peers().at(id).link);
  if (!frame.readers.reads(id)) return std::nullopt;
  return learn_on(id, frame, where, "it reads");
}

/// Its node has to rest: it learns meanwhile, so that it has the state if the others are lost.
std::optional<Verdict> rest_on(const PeerId& id, Frame& frame, const Whereabouts& where) {
  const auto rest = frame.repairs.rests(id, frame);
  if (!rest) return std::nullopt;
  const std::string reason = "its node rests";
  const auto learns = frame.options.learns_on ? learn_on(id, frame, where, reason) : std::nullopt;
  return learns.value_or(wait_verdict(std::min(*rest, kAsideRetry), reason));
}

/// Who is not to serve now, whatever its state is.
std::optional<Verdict> refuse(const PeerId& id, Frame& frame, const Whereabouts& where) {
  if (const auto reads = read_on(id, frame, where)) return reads;
  if (const auto parted = frame.parted(id))
    return wait_verdict(std::min(parted->retry_in, kAsideRetry),
                        "it cannot reach another peer of its stage");
  if (frame.repairs.busy(id, frame))
    return wait_verdict(kAsideRetry, "its device does not finish its job");
  if (const auto rests = rest_on(id, frame, where)) return rests;
  if (frame.phase == Frame::Phase::kClosed)
    return wait_verdict(kAsideRetry, "the swarm gathers");  // its loss was one too many
  return std::nullopt;
}

}  // namespace

void Schedule::start(Time now) {
  frame_.now = now;
  frame_.orders.clear();
}

Orders Schedule::done() { return std::move(frame_.orders); }

Orders Schedule::open(Step step, History history, const Reign& reign, Time now) {
  start(now);
  frame_.history = history;
  frame_.reign = reign;
  frame_.saves.gone_back(step);
  for (auto& [id, peer] : frame_.roster.peers())  // who serves drops its newer snapshots
    erase_if(peer.snapshots, [step](Step stored) { return stored > step; });
  frame_.open.step = step;
  frame_.repairs.opened(frame_);
  begin(step);
  return done();
}

Orders Schedule::tick(Time now) {
  start(now);
  if (!frame_.is_open()) return done();
  const double now_s = std::chrono::duration<double>(now).count();
  for (StepLedger* ledger : ledgers())
    for (const SlotLease& lease : ledger->expire(now_s))
      frame_.note(facts::LeaseExpired{ledger->step(), lease.slot});
  frame_.repairs.tick(frame_);
  judge_rounds();
  if (!frame_.is_open()) return done();
  frame_.order(orders::ServeLeases{});
  advance();  // a peer that came back with what it holds may have filled its stage
  return done();
}

Orders Schedule::resume(const orders::Later& later, Time now) {
  using What = orders::Later::What;
  start(now);
  if (later.what == What::kSaveFinal) {
    frame_.save_final();
  } else if (frame_.is_open()) {
    if (later.what == What::kAdvance)
      advance();
    else
      round_due(later);
  }
  return done();
}

Orders Schedule::saved(const Status& status, Time now) {
  start(now);
  frame_.saved(status);
  return done();
}

// -- slots

std::vector<StepLedger*> Schedule::ledgers() {
  if (!frame_.open.ledger) return {};
  return {frame_.open.ledger.get()};
}

Leases Schedule::lease(const ActorId& trainer, uint32_t max_slots, double deadline_s) {
  if (!frame_.is_open()) return {};
  for (StepLedger* ledger : ledgers()) {
    Leases leases{ledger->step(), {}};
    for (const SlotLease& lease : ledger->lease(trainer, max_slots, deadline_s))
      leases.slots.push_back({lease, ledger->avoid(lease.slot)});
    if (!leases.slots.empty()) return leases;
  }
  return {};
}

size_t Schedule::trainer_lost(const ActorId& trainer, const CarriedSlots& but) {
  size_t ended = 0;
  for (StepLedger* ledger : ledgers()) ended += ledger->trainer_lost(trainer, but);
  return ended;
}

Result<Orders> Schedule::slot_reported(const SlotReport& report, Time now) {
  using What = SlotReport::What;
  start(now);
  const auto open = frame_.is_open() ? ledgers() : std::vector<StepLedger*>{};
  const auto found = std::find_if(open.begin(), open.end(), [&report](const StepLedger* one) {
    return one->step() == report.step;
  });
  if (found == open.end())
    return Error{frame_.is_open() && report.step > frame_.open.step ? ErrorCode::kNotReady
                                                                    : ErrorCode::kStaleStep,
                 fmt::format("step {} is not open", report.step)};
  StepLedger& ledger = **found;
  if (report.what == What::kCarries) {
    ledger.renew(report.slot, report.attempt, report.deadline_s);
    return done();
  }
  if (report.what == What::kCarried && report.samples > 0 && !std::isfinite(report.loss_sum))
    return slot_reported(without_loss(report), now);
  if (report.what == What::kFailed) {
    frame_.note(facts::AttemptFailed{report.step, report.slot, report.why});
    ledger.failed(report.slot, report.attempt);
  } else if (report.what == What::kNonFinite) {
    const auto verdict = ledger.non_finite(
        report.slot, report.attempt, report.where,
        frame_.roster.other_node_serves(report.where.stage, report.where.peer.node));
    if (verdict == NonFiniteVerdict::kSkipped) {
      frame_.note(facts::SlotSkipped{report.step, report.slot, report.where.peer});
      slot_was_skipped();
    }
  } else {
    auto route = report.route;
    for (LedgerHop& hop : route) hop.held = hop.held && counts(hop.peer);
    Status taken = ledger.done(report.slot, report.attempt, route, report.loss_sum, report.samples);
    if (!taken.ok()) return taken.error();
  }
  advance();
  frame_.order(orders::ServeLeases{});
  return done();
}

// -- peers

Verdict Schedule::admit(const PeerId& id, Orders& out, Time now) {
  using Then = Admission::Then;
  start(now);
  frame_.saves.look(frame_.roster, now);
  frame_.save_late(id);
  PeerFacts& peer = frame_.roster.peers().at(id);
  if (frame_.repairs.hangs(id, frame_)) member_lost(id, peer.stage);
  if (const auto refused = refuse(id, frame_, frame_.whereabouts(applied()))) {
    out = done();
    return *refused;
  }
  Admission admission = judge_admission(id);
  std::vector<PeerId> gone;
  if (admission.then == Then::kDiffers) gone = frame_.repairs.differs(frame_, id);
  if (!gone.empty()) admission = judge_admission(id);
  const Then then = admission.then;
  const bool ahead = then == Then::kIsAhead;
  if (!ahead) peer.ahead_since.reset();
  if (ahead && !peer.ahead_since) peer.ahead_since = now;
  if (ahead || then == Then::kLeaves || then == Then::kFetches || then == Then::kGather)
    peer.serving = false;
  if (then == Then::kFetches) peer.fetch_from = frame_.open.step;
  if (then == Then::kStays || then == Then::kEnters) peer.fetch_from.reset();
  if (then == Then::kEnters) {
    peer.serving = true;
    peer.wrong_checksum = 0;
    frame_.note(facts::PeerAdmitted{id}, peer.stage);
    admission.verdict.keep_held = enter(id);
  }
  const bool serves = then == Then::kStays || then == Then::kEnters;
  if (serves && std::exchange(peer.sum_refused, false)) {
    admission.verdict.keep_held = false;
    if (frame_.open.ledger) frame_.dropped(id);
  }
  for (const PeerId& other : gone)
    if (frame_.is_open()) member_lost(other, peer.stage);
  if (!gone.empty() && frame_.is_open() && frame_.roster.serving(peer.stage).empty())
    frame_.gather(fmt::format("the replicas of stage {} have other bits", peer.stage));
  if (then == Then::kGather) frame_.gather(admission.gather_reason);
  out = done();
  return admission.verdict;
}

Orders Schedule::vanishes(const PeerId& id, Time now) {
  start(now);
  const PeerFacts* peer = frame_.roster.find(id);
  if (frame_.is_open() && peer != nullptr && peer->serving)
    frame_.repairs.strike(frame_, id, Strikes::Kind::kLost, "it is lost again and again");
  return done();
}

Orders Schedule::peer_lost(const PeerId& id, Stage stage, bool was_serving, Time now) {
  start(now);
  if (!frame_.is_open() || !was_serving) return done();
  if (frame_.roster.serving(stage).empty())
    frame_.gather(fmt::format("stage {} has lost all its peers", stage));
  else
    member_lost(id, stage);
  return done();
}

const StageRound* Schedule::round(Stage stage, Round round) const {
  if (!frame_.is_open() || frame_.open.stages[stage.value()].round != round) return nullptr;
  return &frame_.open.stages[stage.value()];
}

}  // namespace swarm::routing
