#include "routing/membership/lines.h"

#include <algorithm>
#include <iterator>

namespace swarm::routing {
namespace {

using Refs = std::vector<const Line*>;

bool forked_off(const Line& one, const Line& from) {
  return fork_between(*from.newest, *one.newest) != nullptr;
}

/// Its voters know a configuration of the other one's number or a later one, or a place beyond its base.
bool gone_on(const Line& line, const Line& fork) {
  const Fork& since = *fork_between(*line.newest, *fork.newest);
  return line.newest->number >= since.number || line.reached > since.base.step;
}

/// Who counts for a list of this line: it is of it, or of one that leads to it and has not gone on since.
Count present(const Line& line, const Lines& lines) {
  Voters there;
  for (const Line& one : lines)
    if (&one == &line || (forked_off(line, one) && !gone_on(one, line)))
      there.insert(one.voters.begin(), one.voters.end());
  return count(line.newest->voters, there);
}

/// A voter on a list is this one, or has become it: it gave up the line of the list, or one before.
bool has_become(const std::string& listed, const std::string& now) {
  return now == listed ||
         (disk_of(now) == disk_of(listed) && lines_given_up(now) > lines_given_up(listed));
}

/// More than half of its list may be of it.
bool lives(const Line& line, const Lines& lines) {
  const Voters& list = line.newest->voters;
  const auto has_left = [&](const std::string& listed) {
    return std::any_of(lines.begin(), lines.end(), [&](const Line& one) {
      return &one != &line && !forked_off(line, one) &&
             std::any_of(one.voters.begin(), one.voters.end(),
                         [&](const std::string& now) { return has_become(listed, now); });
    });
  };
  const auto left = std::count_if(list.begin(), list.end(), has_left);
  return 2 * (list.size() - static_cast<size_t>(left)) > list.size();
}

/// Of two that have forked apart this one stays.
bool stays(const Line* a, const Line* b) {
  const auto &x = a->newest->forks, &y = b->newest->forks;
  if (x.size() != y.size()) return x.size() < y.size();
  if (a->voters.size() != b->voters.size()) return a->voters.size() > b->voters.size();
  return std::lexicographical_compare(
      x.begin(), x.end(), y.begin(), y.end(),
      [](const Fork& one, const Fork& other) { return one.ballot < other.ballot; });
}

/// Those that hold; all if none does.
template <class Holds>
Refs those(const Refs& lines, const Holds& holds) {
  Refs found;
  std::copy_if(lines.begin(), lines.end(), std::back_inserter(found),
               [&holds](const Line* one) { return holds(*one); });
  return found.empty() ? lines : found;
}

const Line& staying(const Refs& lines) {
  const Refs few = those(lines, [&lines](const Line& one) {
    return std::none_of(lines.begin(), lines.end(), [&one](const Line* from) {
      return forked_off(one, *from) && gone_on(*from, one);
    });
  });
  const Refs last = those(few, [&few](const Line& one) {
    return std::none_of(few.begin(), few.end(),
                        [&one](const Line* fork) { return forked_off(*fork, one); });
  });
  return **std::min_element(last.begin(), last.end(), stays);
}

}  // namespace

void add(Lines& lines, const Configuration& decided, const Voters& voters,
         const std::optional<Mark>& mark) {
  auto line = std::find_if(lines.begin(), lines.end(), [&decided](const Line& one) {
    return one.newest->line() == decided.line();
  });
  if (line == lines.end()) line = lines.insert(lines.end(), Line{&decided, {}});
  line->voters.insert(voters.begin(), voters.end());
  if (line->newest->number < decided.number) {
    line->newest = &decided;
    line->reached = Step();
  }
  if (mark && mark->number == line->newest->number)
    line->reached = std::max(line->reached, mark->place.step);
}

Lines lines_of(const std::vector<VoterAnswer>& answers) {
  Lines lines;
  for (const VoterAnswer& one : answers) add(lines, one.record.decided, {one.voter}, one.mark);
  return lines;
}

const Line& going_on(const Lines& lines) {
  if (lines.size() == 1) return lines.front();
  Refs all;
  for (const Line& one : lines) all.push_back(&one);
  const Refs enough = those(all, [&](const Line& one) { return present(one, lines).most(); });
  return staying(those(enough, [&](const Line& one) { return lives(one, lines); }));
}

Stand stand(const Configuration& has, const Configuration& decided, const Lines& lines) {
  if (has.line() == decided.line()) return Stand::kOurs;
  Refs two;
  for (const Line& one : lines)
    if (one.newest->line() == has.line() || one.newest->line() == decided.line())
      two.push_back(&one);
  const Line& one = staying(those(two, [&](const Line& line) { return lives(line, lines); }));
  if (one.newest->line() != decided.line()) return Stand::kApart;
  return may_take(decided, has) ? Stand::kOurs : Stand::kLoses;
}

}  // namespace swarm::routing
