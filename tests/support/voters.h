/// Nodes with votes and a coordinator that asks them, without mail.
#pragma once

#include <boost/test/unit_test.hpp>
#include <map>
#include <set>
#include <string>

#include "routing/membership/consent.h"

namespace swarm::testing {

inline NodeId process_of(const std::string& node, uint8_t life = 0) {
  NodeId id;
  id.bytes[0] = static_cast<uint8_t>(node.front());
  id.bytes[1] = life;
  return id;
}

inline routing::Place at(uint64_t step) { return {Step(step), routing::History()}; }

/// Nodes whose voters outlive their processes, as disks do.
struct VotersOfSwarm {
  std::map<std::string, routing::Voter> voters;
  std::set<std::string> away;  ///< Nothing reaches them.
  std::set<std::string> mute;  ///< They take what they are asked; the answer is lost.
  routing::Time now = std::chrono::seconds(100);

  explicit VotersOfSwarm(const std::string& names) {
    for (const char name : names) add(std::string(1, name));
  }
  void add(const std::string& name) {
    voters.emplace(name, routing::Voter(name, std::nullopt, {}));
  }
  void restart(const std::string& name) {
    const routing::VoterRecord record = voters.at(name).record();
    voters.erase(name);
    voters.emplace(name, routing::Voter(name, record, {}));
  }

  /// The node goes on with an empty one.
  void lose_disk(const std::string& name) {
    routing::VoterRecord empty;
    empty.disk = "new";
    voters.erase(name);
    voters.emplace(name, routing::Voter(name, empty, {}));
  }

  Result<routing::VoterReply> reach(const routing::VoterAsk& ask) {
    if (away.count(ask.node) != 0) return Error{ErrorCode::kLinkLost, "away"};
    routing::Voter& voter = voters.at(ask.node);
    Status taken;
    using What = routing::VoterAsk::What;
    if (ask.what == What::kPromise) taken = voter.promise(ask.ballot);
    if (ask.what == What::kStore) taken = voter.store(ask.ballot, ask.decided, ask.next);
    if (ask.what == What::kLearn) taken = voter.learn(ask.ballot, ask.decided);
    if (ask.what == What::kGiveUp) taken = voter.give_up(ask.voter, ask.decided);
    if (ask.what == What::kVote) {
      taken = voter.apply(ask.ballot, ask.number, ask.place);
      if (taken.ok()) taken = voter.vote(ask.ballot, ask.number, ask.place.step);
    }
    if (mute.count(ask.node) != 0) return Error{ErrorCode::kPeerTimeout, "no answer"};
    return routing::VoterReply{taken.ok(), voter.answer()};
  }

  /// Until nothing more is asked; how often something was.
  int talk(routing::Consent& consent) {
    int asked = 0;
    for (auto asks = consent.due(now); !asks.empty(); asks = consent.due(now))
      for (const routing::VoterAsk& ask : asks) {
        ++asked;
        consent.answered(ask, reach(ask), now);
      }
    return asked;
  }
  void pass(routing::Consent& consent, routing::Time time) {
    now += time;
    talk(consent);
  }
};

inline void come(routing::Consent& consent, const std::string& names) {
  for (const char name : names) {
    consent.came(std::string(1, name), process_of(std::string(1, name)));
    consent.attendance().takes_part(process_of(std::string(1, name)));
  }
}

inline void leave(routing::Consent& consent, VotersOfSwarm& swarm, const std::string& names) {
  for (const char name : names) {
    swarm.away.insert(std::string(1, name));
    consent.attendance().gone(process_of(std::string(1, name)));
  }
}

inline routing::Ballot ballot(uint64_t term) { return {Term(term), process_of("z")}; }

/// It leads `names` from `step` on.
inline void lead(routing::Consent& consent, VotersOfSwarm& swarm, const std::string& names,
                 uint64_t step = 0, uint64_t term = 1) {
  come(consent, names);
  consent.begin(ballot(term));
  swarm.talk(consent);
  BOOST_REQUIRE_EQUAL(consent.waits_for(), "");
  consent.open(at(step), swarm.now);
  swarm.talk(consent);
  BOOST_REQUIRE(consent.open(at(step), swarm.now));
}

inline void commit(routing::Consent& consent, VotersOfSwarm& swarm, uint64_t step) {
  consent.want_votes(Step(step));
  swarm.talk(consent);
  BOOST_REQUIRE(consent.may_commit(Step(step)));
  consent.commit(routing::History(), swarm.now);
  swarm.talk(consent);
}

inline std::string list(const routing::Consent& consent) {
  std::string text;
  for (const auto& voter : consent.configuration().voters) text += voter;
  return text;
}

}  // namespace swarm::testing
