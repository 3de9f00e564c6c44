#include "routing/membership/departure.h"

#include <algorithm>

namespace swarm::routing {
namespace {

using Kind = StageRound::Kind;

bool averaged(const StageRound& round, const PeerId& id) {
  const auto member = round.answers.find(id);
  return member != round.answers.end() && member->second == Kind::kAveraged;
}

/// Somebody else has what was averaged, and serves on.
bool is_kept(const StageRound& round, const PeerId& without, const Roster& roster) {
  return std::any_of(round.answers.begin(), round.answers.end(), [&](const auto& answer) {
    const PeerFacts* peer = roster.find(answer.first);
    return answer.first != without && answer.second == Kind::kAveraged && peer != nullptr &&
           peer->serving;
  });
}

}  // namespace

std::optional<Round> leaves_after(const Frame& frame, Stage stage) {
  if (!frame.is_open() || !frame.options.averages_updates) return std::nullopt;
  return frame.open.stages[stage.value()].round;
}

Departure departure(const Schedule& schedule, const PeerId& id, const PeerFacts& peer,
                    std::optional<Round> asked_in) {
  using At = StageRound::At;
  const Frame& frame = schedule.frame();
  if (frame.phase == Frame::Phase::kClosed) return Departure::kGathers;
  if (!frame.is_open() || frame.nothing_to_train()) return Departure::kOver;
  if (peer.commit_pending) return Departure::kHasPart;
  if (!peer.serving) return Departure::kServesNot;
  const StageRound& round = frame.open.stages[peer.stage.value()];
  if (asked_in) {
    const bool over = round.at == At::kFilling && round.round > *asked_in;
    const Roster& roster = frame.roster;
    const bool may = over && averaged(round, id) && is_kept(round, id, roster);
    return may ? Departure::kMay : Departure::kHasPart;
  }
  if (schedule.applied() != frame.open.step) return Departure::kHasPart;  // an update waits
  const bool takes_part = round.answers.count(id) > 0;
  if (takes_part && round.at != At::kFilling) return Departure::kHasPart;
  const auto& ledger = frame.open.ledger;
  const bool holds = ledger && ledger->counted(peer.stage).count(id) > 0;
  return holds ? Departure::kHasPart : Departure::kMay;
}

}  // namespace swarm::routing
