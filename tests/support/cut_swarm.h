/// A swarm that was cut in two, both parts of which went on: without mail.
#pragma once

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <string>

#include "routing/membership/consent.h"
#include "tests/support/voters.h"

namespace swarm::testing {

/// Five that train to step 1, and are cut: "abc" goes on to step 3, and "de" is forced to, up to step 6.
struct Cut {
  VotersOfSwarm swarm{"abcde"};
  routing::Consent larger, smaller;

  Cut() {
    routing::Consent one;
    lead(one, swarm, "abcde");
    commit(one, swarm, 0);
    swarm.away = {"d", "e"};
    lead(larger, swarm, "abc", 1, 2);
    commit(larger, swarm, 1);
    commit(larger, swarm, 2);
    swarm.away = {"a", "b", "c"};
    come(smaller, "de");
    force(smaller, 3);
    open(smaller, 1);
    for (uint64_t step = 1; step < 6; ++step) commit(smaller, swarm, step);
    swarm.away.clear();
  }
  void force(routing::Consent& consent, uint64_t term) {
    consent.begin(ballot(term));
    swarm.talk(consent);
    swarm.pass(consent, std::chrono::seconds(6));
    BOOST_REQUIRE(consent.force(swarm.now));
    consent.begin(ballot(term + 1));
    swarm.talk(consent);
    BOOST_REQUIRE_EQUAL(consent.waits_for(), "");
  }
  /// Under a ballot above all before.
  void gather(routing::Consent& consent, const std::string& nodes) {
    come(consent, nodes);
    consent.begin(ballot(9));
    swarm.talk(consent);
  }
  void open(routing::Consent& consent, uint64_t step) {
    consent.open(at(step), swarm.now);
    swarm.talk(consent);
    BOOST_REQUIRE(consent.open(at(step), swarm.now));
  }
  uint64_t forks(const std::string& voter) const {
    return swarm.voters.at(voter).record().decided.forks.size();
  }
};

}  // namespace swarm::testing
