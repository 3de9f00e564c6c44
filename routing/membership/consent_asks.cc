// Consent: what each voter is asked next.
#include <utility>

#include "routing/membership/consent.h"

namespace swarm::routing {
namespace {

VoterAsk ask_to_store(VoterAsk asks, const Configuration& from, const Configuration& to) {
  asks.what = VoterAsk::What::kStore;
  asks.decided = from;
  asks.next = to;
  return asks;
}

std::optional<VoterAsk> ask_of_change(VoterAsk asks, const std::optional<Change>& change,
                                      const std::string& voter) {
  if (!change || change->stored.count(voter) != 0) return std::nullopt;
  return ask_to_store(std::move(asks), change->from, change->to);
}

/// More than half have been asked and answered since it was seen to lose: what is given up does not come back, and the
/// links to those who would go on may have gone silent just now.
bool confirmed(const Voters& list, const Attendance& attendance, const std::optional<Time>& since) {
  const Count heard = count(list, attendance.heard_since(since.value_or(Time::max())));
  return heard.of == 0 || heard.most();
}

}  // namespace

std::optional<VoterAsk> Consent::next_ask(const std::string& node,
                                          const Attendance::Node& voter) const {
  VoterAsk asks;
  asks.node = node;
  asks.process = voter.process;
  asks.ballot = ballot_;
  if (state_ == State::kOff) return std::nullopt;
  const auto agreed = [this] { return reigns() ? !lacks() : ruling_.kind == Ruling::Kind::kGoOn; };
  if (voter.stand == Stand::kLoses && agreed() &&
      confirmed(configuration().voters, attendance_, voter.loses_since)) {
    asks.what = VoterAsk::What::kGiveUp;
    asks.voter = voter.voter;
    asks.decided = configuration();
    return asks;
  }
  if (voter.follows != Term()) return std::nullopt;
  if (voter.voter.empty())
    return asks;  // what it has is looked at before anything is stored over it
  if (state_ == State::kAsks && answers_.count(node) == 0) return asks;
  if (voter.stand != Stand::kOurs) return std::nullopt;
  const bool silent = losers_since_ && voter.heard < *losers_since_;
  // First those who lose give their line up, whoever decided that: once a change holds only the rule counts.
  if (state_ != State::kReigns)
    return silent ? asks : ask_of_change(std::move(asks), change_, voter.voter);
  auto work = ask_of_reign(asks, voter);
  return !work && silent ? std::move(asks) : std::move(work);
}

std::optional<VoterAsk> Consent::ask_of_reign(VoterAsk asks, const Attendance::Node& voter) const {
  const Configuration& decided = assembly_->configuration();
  if (const auto& change = assembly_->change())
    return ask_of_change(std::move(asks), change, voter.voter);
  if (decided.voters.count(voter.voter) == 0) return std::nullopt;
  if (voter.knows < decided.number && voter.stored < decided.number)
    return ask_to_store(std::move(asks), before_, decided);
  if (voter.knows < decided.number) {
    asks.what = VoterAsk::What::kLearn;
    asks.decided = decided;
    return asks;
  }
  if (!votes_wanted_ || assembly_->has_vote(voter.voter)) return std::nullopt;
  asks.what = VoterAsk::What::kVote;
  asks.number = decided.number;
  asks.place = assembly_->place();
  return asks;
}

}  // namespace swarm::routing
