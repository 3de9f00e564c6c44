#include "routing/membership/quorum.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace swarm::routing {
namespace {

using Answers = std::vector<VoterAnswer>;

/// The change that follows on `decided` with the highest ballot: if any holds, it is this one.
std::optional<Proposal> newest_proposal(const Answers& answers, const Configuration& decided) {
  std::optional<Proposal> newest;
  for (const VoterAnswer& one : answers) {
    const auto& proposal = one.record.proposal;
    const bool follows = proposal && one.record.decided.line() == decided.line() &&
                         proposal->next.number == decided.number + 1;
    if (!follows) continue;
    if (!newest || newest->ballot < proposal->ballot) newest = proposal;
  }
  return newest;
}

/// Whether more than half of both lists may have stored `next`: who answers and does not show it has
/// not, and will not.
bool may_hold(const Answers& answers, const Voters& there, const Configuration& decided,
              const Configuration& next) {
  Voters without = there;
  for (const VoterAnswer& one : answers)
    if (one.record.proposal && one.record.proposal->next == next) without.erase(one.voter);
  const auto possible = [&without](const Voters& list) {
    return 2 * count(list, without).missing.size() > list.size();
  };
  return possible(decided.voters) && possible(next.voters);
}

/// Fills `newest`, `perhaps_more` and `perhaps_two`.
void find_newest(const Answers& answers, Ruling& ruling) {
  const Configuration& decided = ruling.decided;
  ruling.newest = decided.base;
  for (const VoterAnswer& one : answers)
    if (one.mark && one.mark->number == decided.number && one.mark->place.step > ruling.newest.step)
      ruling.newest = one.mark->place;
  Voters know, remember;  // who knows that it has not voted beyond it
  for (const VoterAnswer& one : answers) {
    const bool voted = one.mark && one.mark->number == decided.number && one.mark->voted &&
                       one.mark->place.step == ruling.newest.step;
    if (one.remembers) remember.insert(one.voter);
    if (one.remembers && !voted) know.insert(one.voter);
  }
  const auto perhaps = [&decided](const Voters& not_voted) {
    return 2 * count(decided.voters, not_voted).missing.size() > decided.voters.size();
  };
  ruling.perhaps_more = perhaps(know);
  ruling.perhaps_two = perhaps(remember);
}

/// Of one line, or of such as may join it.
Ruling judge(const Answers& answers, const Configuration& newest) {
  Ruling ruling;
  ruling.decided = newest;
  const Configuration& decided = ruling.decided;
  const auto proposal = newest_proposal(answers, decided);
  Voters there;
  for (const VoterAnswer& one : answers) there.insert(one.voter);
  if (decided.voters.empty() && !proposal) {
    ruling.kind = Ruling::Kind::kFound;
    return ruling;
  }
  ruling.count = count(decided.voters, there);
  if (!ruling.count.most() && !decided.voters.empty()) return ruling;
  if (proposal && may_hold(answers, there, decided, proposal->next)) {
    ruling.unfinished = proposal->next;
    ruling.count = count(proposal->next.voters, there);
    if (ruling.count.most()) ruling.kind = Ruling::Kind::kFinish;
    return ruling;
  }
  ruling.kind = Ruling::Kind::kGoOn;
  find_newest(answers, ruling);
  return ruling;
}

}  // namespace

Ruling judge(const Answers& answers) {
  if (answers.empty()) return {};
  const Lines lines = lines_of(answers);
  const Configuration& newest = *going_on(lines).newest;
  if (lines.size() == 1) return judge(answers, newest);
  Answers ours;
  std::map<std::string, Stand> elsewhere;
  for (const VoterAnswer& one : answers) {
    const Stand its = stand(one.record.decided, newest, lines);
    if (its == Stand::kOurs)
      ours.push_back(one);
    else
      elsewhere[one.voter] = its;
  }
  Ruling ruling = judge(ours, newest);
  ruling.elsewhere = std::move(elsewhere);
  return ruling;
}

Answers after(const Configuration& finished, Answers answers) {
  for (VoterAnswer& one : answers) one.record.learn(finished);
  return answers;
}

Configuration successor(const Ruling& ruling, const Voters& voters, const Place& base) {
  Configuration next;
  next.number = ruling.decided.number + 1;
  next.forks = ruling.decided.forks;
  next.voters = voters;
  next.base = base;
  const bool beyond = base.step > ruling.newest.step && next.forks.empty() &&
                      made_in(base.history, ruling.decided.number.value());
  next.gone_back = beyond ? ruling.perhaps_two : ruling.perhaps_more || base != ruling.newest;
  return next;
}

}  // namespace swarm::routing
