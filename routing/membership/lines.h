/// Lines of history (docs/one_history.md): a part that is forced to go on without more than half begins one
/// of its own. Where several meet one of them stays, and the voters of the others give theirs up.
///
/// Pure. Within a line a voter forgets nothing; who leaves one for another that has forked off it keeps its
/// name, and counts for the one before no more; any other change of line makes it another voter.
#pragma once

#include <optional>
#include <vector>

#include "routing/membership/configuration.h"
#include "routing/membership/voter.h"

namespace swarm::routing {

/// What voters say of one line.
struct Line {
  const Configuration* newest;  ///< Belongs to the caller.
  Voters voters;                ///< Who is of it.
  Step reached{};               ///< The farthest that they say to be, in `newest`.
};
using Lines = std::vector<Line>;

/// These voters, at `mark`, know that `decided` holds; it outlives `lines`.
void add(Lines& lines, const Configuration& decided, const Voters& voters,
         const std::optional<Mark>& mark);
Lines lines_of(const std::vector<VoterAnswer>& answers);

/// The line to go on with, of one at least. First those that more than half of their newest list are here
/// of; then those that more than half may be of, as voters have left the others. Of these none that forked
/// off one that has gone on since, none off which another one forked where it has not; then the fewest
/// forks, the most voters here, the lower ballot where they parted.
const Line& going_on(const Lines& lines);

/// How who knows `has` stands to the line of `decided`, which is among `lines`.
enum class Stand {
  kOurs,   ///< It is of that line, or may join it as it is.
  kLoses,  ///< Its line is to be given up.
  kApart,  ///< Its line would stay if enough of it were here: it keeps what it has, and waits.
};
Stand stand(const Configuration& has, const Configuration& decided, const Lines& lines);

}  // namespace swarm::routing
