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

/// Errors: kRefused.
Status within_jump(const Configuration& decided, const Configuration& known) {
  if (!jumps(decided.number, known.number)) return {};
  return Error{ErrorCode::kRefused,
               fmt::format("configuration {} is too far above {}", decided.number, known.number)};
}

}  // namespace

bool VoterRecord::learn(const Configuration& holds) {
  if (!may_take(holds, decided)) return false;
  decided = holds;
  proposal.reset();  // its number is that of `decided` or lower, or its line is left for good
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
  std::string disk = record_.disk;
  if (record_.given_up > 0) disk += fmt::format(".{}", record_.given_up);
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
  const bool forks = next.line() != decided.line();
  if (forks && !(next.forced() && next.line() == ballot &&
                 fork_between(decided, next) == &next.forks.back()))
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("configuration {} is of no line that follows", next.number)};
  const Configuration& own = record_.decided;
  if (Status near = within_jump(decided, own); !near) return near;
  if (own.line() == decided.line() ? decided.number < own.number : !may_take(decided, own))
    return Error{ErrorCode::kStaleTerm, fmt::format("configuration {} holds already, {} is over",
                                                    own.number, next.number)};
  learn(decided);
  record_.promised = ballot;
  if (!forks) record_.proposal = Proposal{ballot, next};
  return {};
}

bool Voter::learn(const Configuration& decided) {
  if (!record_.learn(decided)) return false;
  if (decided.voters.count(answer().voter) != 0) record_.forsaken = false;
  return true;
}

Status Voter::learn(const Ballot& ballot, const Configuration& decided) {
  if (ballot < record_.promised) return stale(ballot, record_.promised);
  if (Status near = within_jump(decided, record_.decided); !near) return near;
  learn(decided);
  return {};
}

Status Voter::give_up(const std::string& voter, const Configuration& decided) {
  if (Status near = within_jump(decided, record_.decided); !near) return near;
  if (answer().voter != voter || decided.line() == record_.decided.line())
    return Error{ErrorCode::kStaleTerm, voter + " has given up its line already"};
  record_ = {Ballot(), decided, std::nullopt, record_.disk, record_.given_up + 1, true};
  remembers_ = false;
  mark_.reset();
  return {};
}

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
