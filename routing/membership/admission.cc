#include "routing/membership/admission.h"

#include <fmt/format.h>

#include <algorithm>

#include "routing/membership/replicas.h"

namespace swarm::routing {
namespace {

using std::chrono::milliseconds;
using Then = Admission::Then;

bool stored(const PeerFacts& peer, Step step) {
  return std::count(peer.snapshots.begin(), peer.snapshots.end(), step) != 0;
}

/// It has trained where this coordinator was not heard. If every stage has such a peer their
/// history is the longer one; they may register one after the other.
Admission admit_one_ahead(const PeerId& id, const Roster& roster, const Whereabouts& where,
                          Time now) {
  const PeerFacts& peer = roster.peers().at(id);
  const std::string reason = fmt::format("it is ahead, at step {}", peer.step);
  const auto longer = longer_history(roster.supplies(), roster.num_stages(), where.applied);
  if (longer && where.longer_may_lead)
    return {wait_verdict(milliseconds(100), reason), Then::kGather,
            fmt::format("others have trained on to step {}", *longer)};
  if (now - peer.ahead_since.value_or(now) > where.patience)
    return {fetch_verdict(id, roster, where, fmt::format("alone with step {}", peer.step)),
            Then::kIsAhead};
  return {wait_verdict(milliseconds(100), reason), Then::kIsAhead};
}

/// It is not at the open step.
Admission admit_one_elsewhere(const PeerId& id, const Roster& roster, const Whereabouts& where,
                              Time now) {
  const PeerFacts& peer = roster.peers().at(id);
  const auto serving = roster.serving(peer.stage);
  const bool alone = std::all_of(serving.begin(), serving.end(),
                                 [&id](const PeerId& other) { return other == id; });
  if (!where.finished && alone)  // nobody to fetch from
    return {
        {}, Then::kGather, fmt::format("stage {} has no peer at step {}", peer.stage, where.step)};
  const bool ahead = peer.has_state && peer.step > where.applied;
  if (ahead && !where.finished) return admit_one_ahead(id, roster, where, now);
  const bool waits = peer.has_state && peer.step == where.applied && !peer.learns();
  if (where.step != where.applied && waits)  // it has no part in the update under way
    return {wait_verdict(milliseconds(100), "an update is under way"), Then::kLeaves};
  const std::string reason =
      peer.has_state ? fmt::format("behind, at step {}", peer.step) : "no state yet";
  return {fetch_verdict(id, roster, where, reason), Then::kLeaves};
}

/// Asynchronous: it was not believed, has fetched nothing since, and another one serves its stage.
bool is_wrong_in_period(const PeerId& id, const Roster& roster) {
  const PeerFacts& peer = roster.peers().at(id);
  if (peer.wrong_checksum == 0) return false;
  const auto others = roster.serving(peer.stage);
  const bool any =
      std::any_of(others.begin(), others.end(), [&id](const PeerId& other) { return other != id; });
  return any && (peer.checksum == 0 || peer.checksum == peer.wrong_checksum);
}

}  // namespace

bool is_wrong(const PeerId& id, const Roster& roster) {
  const PeerFacts& peer = roster.peers().at(id);
  if (peer.wrong_checksum == 0 || peer.checksum != peer.wrong_checksum) return false;
  return std::any_of(roster.peers().begin(), roster.peers().end(), [&](const auto& one) {
    const PeerFacts& other = one.second;
    return one.first != id && other.stage == peer.stage && other.reported && other.has_state &&
           other.step == peer.step && other.checksum != peer.checksum;
  });
}

Verdict wait_verdict(Time retry_after, const std::string& reason) {
  Verdict verdict;
  verdict.retry_after = retry_after;
  verdict.reason = reason;
  return verdict;
}

Verdict serve_verdict(Step step, Step open_step, const std::string& reason) {
  Verdict verdict;
  verdict.kind = Verdict::Kind::kServe;
  verdict.step = step;
  verdict.open_step = open_step;
  verdict.reason = reason;
  verdict.keep_held = true;
  return verdict;
}

Verdict fetch_verdict(const PeerId& id, const Roster& roster, const Whereabouts& where,
                      const std::string& reason) {
  const PeerFacts& peer = roster.peers().at(id);
  Verdict verdict = wait_verdict(milliseconds(200), reason);
  verdict.step = where.applied;
  for (const PeerId& source : roster.serving(peer.stage))
    if (source != id) verdict.sources.push_back(source);
  verdict.word = Replicas(roster).word_for(id, where.applied);
  if (!verdict.sources.empty())
    verdict.kind = Verdict::Kind::kFetch;
  else if (where.finished && stored(peer, where.step))
    verdict.kind = Verdict::Kind::kRestoreOwn;
  return verdict;
}

void takes_part(Attendance& attendance, const Roster& roster, const NodeId& node,
                uint32_t node_peers) {
  if (attendance.unheard(node)) return;
  const auto peers = roster.peers_of(node);
  const auto number = attendance.given_up(node);
  const bool is_back =
      node_peers <= peers.size() && std::all_of(peers.begin(), peers.end(), [&](const PeerId& id) {
        const PeerFacts& peer = roster.peers().at(id);
        return peer.serving && number && peer.line_left == *number &&
               peer.node_peers <= peers.size();
      });
  if (is_back || attendance.barred().count(node) == 0) attendance.takes_part(node);
}

std::set<PeerId> of_other_lines(const Attendance& attendance, const Roster& roster) {
  const std::set<NodeId> barred = attendance.barred();
  std::set<PeerId> peers;
  for (const auto& [id, peer] : roster.peers()) {
    const auto number = attendance.given_up(id.node);
    const bool has_left = number && peer.line_left == *number && !attendance.loses(id.node) &&
                          !attendance.apart(&id.node);
    if (attendance.unheard(id.node) || (barred.count(id.node) != 0 && !has_left)) peers.insert(id);
  }
  return peers;
}

std::optional<Verdict> held_back(const PeerId& id, const Attendance& attendance,
                                 const Roster& roster, bool agreed) {
  if (attendance.apart(&id.node))
    return wait_verdict(milliseconds(500),
                        "its line of history stays once more than half of it is here");
  if (attendance.loses(id.node))
    return wait_verdict(milliseconds(100), "its node gives its line of history up");
  if (attendance.unheard(id.node))
    return wait_verdict(milliseconds(50), "its node has not said yet of which history it is");
  const auto number = attendance.given_up(id.node);
  if (!number || !agreed || roster.peers().at(id).line_left == *number) return std::nullopt;
  Verdict verdict =
      wait_verdict(milliseconds(100), "it sets aside what it has of a line that was given up");
  verdict.line_left =
      LineLeft{*number, places_of(roster.supplies(), of_other_lines(attendance, roster))};
  return verdict;
}

ConfigurationNumber told_fork(const PeerId& id, ConfigurationNumber forked_in,
                              const Verdict& verdict, const Attendance& attendance,
                              const Roster& roster) {
  if (forked_in == ConfigurationNumber() || verdict.line_left) return forked_in;  // nearly always
  const bool of_another = of_other_lines(attendance, roster).count(id) != 0;
  return of_another ? ConfigurationNumber() : forked_in;
}

std::optional<Verdict> held_before_fork(const PeerId& id, ConfigurationNumber forked_in,
                                        const Roster& roster) {
  if (forked_in == ConfigurationNumber() || roster.peers().at(id).kept_before == forked_in)
    return std::nullopt;
  return wait_verdict(milliseconds(50), "it keeps aside what it had before the history forked");
}

Admission admit_at_step(const PeerId& id, const Roster& roster, const Whereabouts& where,
                        Time now) {
  const PeerFacts& peer = roster.peers().at(id);
  const bool at_step = peer.has_state && peer.step == where.applied;
  // It has begun a step that the swarm gave up: it has the state, and drops what it computed ahead.
  const bool opened_ahead = at_step && !peer.serving && !peer.commit_pending &&
                            where.step == where.applied && peer.open_step > where.step;
  const bool there = opened_ahead || (at_step && peer.open_step == where.step);
  if (!there && !peer.commit_pending) return admit_one_elsewhere(id, roster, where, now);
  // It computed the open step ahead, on the parameters before an update that the others have by now.
  if (!at_step && where.step == where.applied && peer.open_step >= where.step)
    return {wait_verdict(milliseconds(50), "its update is under way")};
  const bool member = peer.serving || peer.commit_pending;
  if (!member && !goes_with(peer.history, where.history))
    return {fetch_verdict(id, roster, where, kOtherHistory)};
  if (!member) {
    const Bits bits = Replicas(roster).compare(id);
    if (bits == Bits::kOther) {
      const bool same_updates = peer.history != History() && peer.history == where.history;
      return {fetch_verdict(id, roster, where, kOtherBits),
              same_updates ? Then::kDiffers : Then::kNothing};
    }
    if (bits == Bits::kNotKnown)
      return {wait_verdict(milliseconds(50), "its replicas apply an update")};
  }
  const std::string reason = fmt::format("at step {}", peer.step);
  const Step open_step = opened_ahead ? where.step : peer.open_step;
  return {serve_verdict(peer.step, open_step, reason), member ? Then::kStays : Then::kEnters};
}

Admission admit_at_period(const PeerId& id, const Roster& roster, const Whereabouts& where) {
  const PeerFacts& peer = roster.peers().at(id);
  const uint64_t lag = where.finished ? 0 : 1;
  const bool fetched = !where.finished && peer.fetch_from && peer.step + 1 >= *peer.fetch_from;
  const bool near = peer.has_state && (peer.step + lag >= where.step || fetched);
  bool serving = peer.serving && peer.has_state;  // it may have had to give it up
  if (!serving && is_wrong_in_period(id, roster))
    return {fetch_verdict(id, roster, where, "what it had was not believed"), Then::kFetches};
  if (where.finished && !near) {  // if others have not missed the last averaging, it has
    const auto members = roster.serving(peer.stage);
    serving &= std::none_of(members.begin(), members.end(), [&](const PeerId& other) {
      return roster.peers().at(other).step >= where.step;
    });
  }
  if (where.finished && near && !serving) {
    const Bits bits = Replicas(roster).compare(id);
    if (bits == Bits::kOther)
      return {fetch_verdict(id, roster, where, "it has missed the last averaging")};
    if (bits == Bits::kNotKnown)
      return {wait_verdict(milliseconds(100), "its replicas have not reported yet")};
  }
  if (!near && !serving) {
    const std::string reason =
        peer.has_state ? fmt::format("behind, at period {}", peer.step) : "no state yet";
    return {fetch_verdict(id, roster, where, reason), Then::kFetches};
  }
  return {serve_verdict(where.step, where.step, fmt::format("at period {}", where.step)),
          serving ? Then::kStays : Then::kEnters};
}

}  // namespace swarm::routing
