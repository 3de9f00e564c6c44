#include "actors/coordinator/relocation_mail.h"

#include <fmt/format.h>

#include <utility>
#include <variant>

#include "actors/net/log.h"
#include "common/printable.h"
#include "records/catalogue.h"

namespace swarm::actors {
namespace {

using std::chrono::milliseconds;
using Verdict = routing::Verdict;

/// Of who has left or waits for a stage, until it registers again.
constexpr milliseconds kRetry{500};
/// Of a mover that has a part in what is under way: the moment without is short.
constexpr milliseconds kAskAgain{50};
/// Of one whose node ends and that has not finished yet.
constexpr milliseconds kHasTime{200};

Verdict wait(uint64_t order, const std::string& reason) {
  Verdict verdict = routing::wait_verdict(kRetry, reason);
  verdict.order = order;
  return verdict;
}

std::string text_of(const std::string& peer, const routing::PlacementOrder& order) {
  const std::string from = order.from ? fmt::format(" from stage {}", *order.from) : "";
  return fmt::format("{} moves{} to stage {} ({}): about {:.0f} s", peer, from, order.to,
                     to_string(order.why), order.cost_s);
}

}  // namespace

RelocationMail::RelocationMail(caf::event_based_actor* self, StageSearch search,
                               routing::Relocation relocation, routing::Roster& roster,
                               const routing::Schedule& schedule, CoordinatorRecords& records,
                               Hooks hooks)
    : self_(self),
      search_(std::move(search)),
      relocation_(std::move(relocation)),
      leavers_(roster),
      roster_(roster),
      schedule_(schedule),
      records_(records),
      hooks_(std::move(hooks)) {}

bool RelocationMail::over() const {
  const auto& frame = schedule_.frame();
  return !gathers() && frame.nothing_to_train();
}

void RelocationMail::begin(Term term) {
  term_ = term;
  leavers_.clear();
  relocation_.begin(term, now());
  write_notes();
}

void RelocationMail::end() {
  relocation_.end(now());
  leavers_.clear();
  write_notes();
}

// -- registrations

std::optional<Verdict> RelocationMail::aside(const Registration& registration) {
  const PeerId& id = registration.address.id;
  relocation_.comes_back(id, registration.work, now());
  if (const uint64_t order = relocation_.left_by(id)) return wait(order, "it has left its stage");
  if (!registration.wants_stage) return std::nullopt;
  if (over()) return wait(0, "training is over");
  for (const PeerId& before : roster_.predecessors(id))
    hooks_.gone(before, "it serves no stage any more");
  const auto told = relocation_.wants_stage(id, registration.address.node_name,
                                            registration.report.link.down, now());
  write_notes();
  Verdict verdict = wait(told.number, "no stage is known to need it yet");
  if (told.number == 0) return verdict;
  verdict.kind = Verdict::Kind::kMove;
  verdict.move_to = told.to;
  verdict.reason = fmt::format("stage {} needs it most", told.to);
  return verdict;
}

/// Whose sum is to be dropped, or who does not serve, hears that first. While the swarm gathers nobody serves.
void RelocationMail::registered(const Registration& registration, Verdict& verdict) {
  const auto told = relocation_.registered(registration.address.id, registration.work, now());
  write_notes();
  if (over()) return;  // it serves on
  verdict.order = told.number;
  const bool serves =
      verdict.kind == Verdict::Kind::kServe && verdict.keep_held && !registration.report.learns();
  const bool idle = told.conscript && verdict.kind == Verdict::Kind::kWait && gathers();
  if (told.number == 0 || told.shown || !(serves || idle)) return;
  verdict.kind = Verdict::Kind::kMove;
  verdict.move_to = told.to;
  verdict.reason = fmt::format("it is to serve stage {}", told.to);
}

void RelocationMail::leaves(const PeerId& id) {
  relocation_.leaves(id, now());
  write_notes();
}

void RelocationMail::lost(const NodeId& node) {
  relocation_.lost(node, now());
  leavers_.lost(node);
  write_notes();
}

void RelocationMail::look() {
  if (over()) return;
  relocation_.look(schedule_.frame().is_open(), now());
  write_notes();
}

void RelocationMail::levy() {
  if (conscription().ever()) search_.look(roster_.unknown_stages());
  relocation_.levy(facts(), now());
  write_notes();
}

routing::Levy RelocationMail::facts() const {
  routing::Levy facts = hooks_.levy();
  facts.announced = search_.found();
  return facts;
}

// -- mail

caf::result<Mail> RelocationMail::take(const Mail& mail) {
  if (mail.kind == proto::KIND_MAY_LEAVE) return may_leave(mail);
  proto::PlacementReply reply;
  if (mail.kind == proto::KIND_MOVE_PEER) {
    const auto& message = mail.as<proto::MovePeer>();
    const auto peer = printable(message.peer(), kMaxReason);
    const auto order = relocation_.send(peer, Stage(message.stage()), now());
    write_notes();
    if (!order) return to_caf(order.error());
    reply.add_lines(text_of(peer, *order));
    return make_mail(std::move(reply));
  }
  const auto decision = relocation_.rebalance(now());
  write_notes();
  if (!decision) return to_caf(decision.error());
  for (const auto& order : decision->orders)
    reply.add_lines(text_of(relocation_.name_of(order.peer), order));
  if (decision->hold != routing::PlacementHold::kNone || decision->orders.empty())
    reply.add_lines(fmt::format("nobody{} moves: {}", decision->orders.empty() ? "" : " more",
                                to_string(decision->hold)));
  return make_mail(std::move(reply));
}

caf::result<Mail> RelocationMail::may_leave(const Mail& mail) {
  using Kind = routing::LeaveAnswer::Kind;
  const auto& message = mail.as<proto::MayLeave>();
  auto mover = sender_of(mail, message.peer());
  if (!mover) return to_caf(mover.error());
  if (message.ends()) return may_end(mover->id, message);
  const auto levy = gathers() ? std::make_optional(facts()) : std::nullopt;
  const auto answer = relocation_.may_leave(mover->id, message.order(), Term(message.term()),
                                            schedule_, now(), levy);
  write_notes();
  proto::MayLeaveReply reply;
  reply.set_term(term_.value());
  reply.set_yes(answer.kind == Kind::kYes || answer.kind == Kind::kAgain);
  if (answer.kind == Kind::kLater) reply.set_retry_after_ms(kAskAgain.count());
  reply.set_reason(answer.reason);
  if (answer.kind == Kind::kYes) {
    if (auto* peer = roster_.find(mover->id)) peer->leaves = true;  // it is no failure
    hooks_.gone(mover->id, "it leaves for another stage");
  }
  return make_mail(std::move(reply));
}

caf::result<Mail> RelocationMail::may_end(const PeerId& id, const proto::MayLeave& message) {
  const bool idle = message.idle();
  auto answer = leavers_.ask(id, idle, schedule_, now());
  const bool waits_no_longer = message.goes() && !answer.go;
  if (waits_no_longer) {
    leavers_.goes(id);
    answer = {true, "it waits no longer", {}, false};
  }
  proto::MayLeaveReply reply;
  reply.set_term(term_.value());
  reply.set_yes(answer.go);
  reply.set_finished(answer.finished);
  reply.set_reason(answer.reason);
  reply.set_retry_after_ms((idle ? kAskAgain : kHasTime).count());
  reply.set_remaining_ms(
      static_cast<uint64_t>(std::chrono::duration_cast<milliseconds>(answer.remaining).count()));
  if (answer.go)
    (waits_no_longer ? hooks_.gone : hooks_.left)(id, "its node leaves: " + answer.reason);
  return make_mail(std::move(reply));
}

// -- events

void RelocationMail::write_notes() {
  for (const auto& note : relocation_.take_notes())
    std::visit([this](const auto& one) { write(one); }, note);
}

void RelocationMail::write(const routing::MoveOrdered& note) {
  const auto& order = note.order;
  records::PeerMoves event;
  event.peer = note.peer;
  event.why = to_string(order.why);
  event.order = note.number;
  if (order.from) event.from = order.from->value();
  event.from_load = order.from_load;
  event.from_after = order.from_after;
  event.to_load = order.to_load;
  event.to_after = order.to_after;
  event.from_peers = order.from_peers;
  event.to_peers = order.to_peers;
  event.cost_s = order.cost_s;
  event.gain_s = order.gain_s;
  if (order.step) event.copy_step = order.step->value();
  records_.record(step(), event, order.to);
}

void RelocationMail::write(const routing::MoveDone& note) {
  const std::chrono::duration<double> took = note.took;
  records_.record(step(), records::MoveDone{note.peer, took.count(), note.bytes}, note.to);
}

void RelocationMail::write(const routing::MoveGivenUp& note) {
  records_.record(step(), records::MoveGivenUp{note.peer, note.reason}, note.to);
}

void RelocationMail::write(const routing::MovesHeld& note) {
  records_.record(step(), records::PlacementHolds{to_string(note.hold)});
}

void RelocationMail::write(const routing::ConscriptionHeld& note) {
  log_warn(fmt::format("event=conscription_holds stage={} why={} missing=\"{}\"", note.stage,
                       to_string(note.hold), note.missing));
  records_.record(step(), records::ConscriptionHolds{to_string(note.hold), note.missing},
                  note.stage);
}

}  // namespace swarm::actors
