/// What a coordinator that gathers may do, given the voters' answers to its ballot
/// (docs/one_history.md): wait for more of them, finish a change of configuration that another one began, or go on.
///
/// Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "routing/membership/configuration.h"
#include "routing/membership/lines.h"
#include "routing/membership/voter.h"

namespace swarm::routing {

struct Ruling {
  enum class Kind {
    kFound,  ///< No node knows any configuration, nor is one in the file: whoever starts the run makes it.
    kWait,  ///< Too few answer: phase `minority`. `count` says who is missing, of `decided` or `unfinished`.
    kFinish,  ///< `unfinished` may hold already: have it stored as it is, under the own ballot.
    kGoOn,  ///< Make successor(): nothing that was committed is unknown but what `perhaps_more` says.
  };
  Kind kind = Kind::kWait;
  Configuration decided;     ///< The newest that holds, of the line that goes on.
  Configuration unfinished;  ///< With kFinish and, where it lacks answers, kWait.
  Count count;
  Place newest;  ///< With kGoOn: where the swarm has got, as far as the answers tell.
  /// With kGoOn: a commit beyond `newest` may count: it was voted for, or may have been by those that do
  /// not answer or have forgotten.
  bool perhaps_more = false;
  /// Likewise beyond the commit that leads on from `newest`: those that answer and remember have voted
  /// for none.
  bool perhaps_two = false;
  /// Voters of other lines than that of `decided`: they count for nothing. Never kOurs.
  std::map<std::string, Stand> elsewhere;
};

/// `answers`: of one ballot, all voters that promised it; one each.
Ruling judge(const std::vector<VoterAnswer>& answers);

/// The change that kFinish asked for holds now: what the answers would be after it, to be judged again.
std::vector<VoterAnswer> after(const Configuration& finished, std::vector<VoterAnswer> answers);

/// What to ask for after kGoOn: `voters` go on from `base`, which may be another place than ruling.newest.
/// Peers may show one beyond: what was committed there in this number follows on `newest`, and is kept.
/// (Ids name numbers, not lines: where one forked off, that is not to be told.)
Configuration successor(const Ruling& ruling, const Voters& voters, const Place& base);

}  // namespace swarm::routing
