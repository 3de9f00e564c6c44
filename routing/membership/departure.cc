#include "routing/membership/departure.h"

namespace swarm::routing {

Departure departure(const Schedule& schedule, const PeerId& id, const PeerFacts& peer,
                    std::optional<Round> asked_in) {
  using At = StageRound::At;
  const Frame& frame = schedule.frame();
  if (frame.phase == Frame::Phase::kClosed) return Departure::kGathers;
  if (!frame.is_open() || frame.nothing_to_train()) return Departure::kOver;
  if (peer.commit_pending) return Departure::kHasPart;
  if (!peer.serving) return Departure::kMay;
  const StageRound& round = frame.open.stages[peer.stage.value()];
  const auto member = round.answers.find(id);
  const bool takes_part = member != round.answers.end();
  if (asked_in) {
    const bool averaged = takes_part && round.at == At::kFilling && round.round > *asked_in &&
                          member->second == StageRound::Kind::kAveraged;
    return averaged ? Departure::kMay : Departure::kHasPart;
  }
  if (schedule.applied() != frame.open.step) return Departure::kHasPart;  // an update waits
  if (takes_part && round.at != At::kFilling) return Departure::kHasPart;
  const auto& ledger = frame.open.ledger;
  const bool holds = ledger && ledger->counted(peer.stage).count(id) > 0;
  return holds ? Departure::kHasPart : Departure::kMay;
}

}  // namespace swarm::routing
