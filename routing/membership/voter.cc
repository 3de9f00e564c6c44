#include "routing/membership/voter.h"

#include <fmt/format.h>

#include <utility>

namespace swarm::routing {
namespace {

Error stale(const Ballot& ballot, const Ballot& promised) {
  return {ErrorCode::kStaleTerm,
          fmt::format("term {} of node {} is over: term {} of node {} was answered", ballot.term,
                      ballot.node.brief(), promised.term, promised.node.brief())};
}

}  // namespace

bool VoterRecord::learn(const Configuration& holds) {
  if (holds.number <= decided.number) return false;
  decided = holds;
  proposal.reset();  // its number is that of `decided` or lower
  return true;
}

Voter::Voter(std::string node, std::optional<VoterRecord> stored, const Voters& file)
    : node_(std::move(node)) {
  if (stored)
    record_ = std::move(*stored);
  else
    record_.decided.voters = file;
}

VoterAnswer Voter::answer() const {
  const std::string& disk = record_.disk;
  return {disk.empty() ? node_ : node_ + '#' + disk, record_, remembers_, mark_};
}

Status Voter::promise(const Ballot& ballot) {
  if (ballot < record_.promised) return stale(ballot, record_.promised);
  record_.promised = ballot;
  return {};
}

Status Voter::store(const Ballot& ballot, const Configuration& decided, const Configuration& next) {
  if (ballot < record_.promised) return stale(ballot, record_.promised);
  if (next.number != decided.number + 1)
    return Error{ErrorCode::kInvalidArgument, fmt::format("configuration {} does not follow on {}",
                                                          next.number, decided.number)};
  if (decided.number < record_.decided.number)
    return Error{ErrorCode::kStaleTerm, fmt::format("configuration {} holds already, {} is over",
                                                    record_.decided.number, next.number)};
  learn(decided);
  record_.promised = ballot;
  record_.proposal = Proposal{ballot, next};
  return {};
}

bool Voter::learn(const Configuration& decided) { return record_.learn(decided); }

Status Voter::follows(const Ballot& ballot, ConfigurationNumber number) const {
  if (ballot != record_.promised) return stale(ballot, record_.promised);
  if (number < record_.decided.number || record_.proposal)
    return Error{ErrorCode::kStaleTerm,
                 fmt::format("configuration {} is over or changes: {} holds, and {}", number,
                             record_.decided.number,
                             record_.proposal ? "the next was asked for" : "none was asked for")};
  if (number > record_.decided.number)
    return Error{ErrorCode::kNotReady, fmt::format("configuration {} is not known here", number)};
  return {};
}

Status Voter::vote(const Ballot& ballot, ConfigurationNumber number, Step step) {
  if (Status here = follows(ballot, number); !here.ok()) return here;
  if (!mark_ || mark_->number != number || mark_->place.step != step)
    return Error{ErrorCode::kStaleStep, fmt::format("the voter is not at step {}", step)};
  mark_->voted = true;
  return {};
}

Status Voter::apply(const Ballot& ballot, ConfigurationNumber number, const Place& place) {
  if (Status here = follows(ballot, number); !here.ok()) return here;
  if (mark_ && mark_->number == number && place.step < mark_->place.step)
    return Error{ErrorCode::kStaleStep, fmt::format("the voter is at step {} already, not at {}",
                                                    mark_->place.step, place.step)};
  // A repeat of where it is says nothing new: a vote from there stands.
  if (!mark_ || mark_->number != number || mark_->place != place)
    mark_ = Mark{number, place, false};
  remembers_ = true;
  return {};
}

}  // namespace swarm::routing
