// A node id is new at each start of a process: what is kept by id must end, however many are met.
#include <malloc.h>

#include <boost/test/unit_test.hpp>
#include <functional>
#include <map>
#include <string>

#include "routing/dht/record_store.h"
#include "routing/dht/routing_table.h"
#include "routing/membership/attendance.h"
#include "routing/membership/dead_records.h"
#include "routing/membership/latecomers.h"
#include "routing/membership/office.h"
#include "routing/membership/roster.h"
#include "routing/membership/strikes.h"
#include "routing/wiring/peer_choice.h"
#include "tests/support/ids.h"

namespace swarm::routing {
namespace {

using namespace std::chrono_literals;
using testing::node;
using testing::peer;

constexpr uint32_t kMany = 100'000;
constexpr size_t kMostBytes = 2u << 20;  ///< More than one of them takes; all stay below 10 MiB.

/// Calls `meet(1)`, `meet(2)` ...: few bytes of the heap are left of them.
void check_forgets(const char* what, const std::function<void(uint32_t)>& meet) {
  const size_t before = ::mallinfo2().uordblks;
  for (uint32_t i = 1; i <= kMany; ++i) meet(i);
  const size_t after = ::mallinfo2().uordblks;
  BOOST_TEST(after < before + kMostBytes, what << " keeps " << after - before << " bytes");
}

BOOST_AUTO_TEST_SUITE(ManyProcessesTest)

BOOST_AUTO_TEST_CASE(memory_is_seen_to_grow_where_nothing_is_forgotten) {
  std::map<NodeId, std::string> all;
  const size_t before = ::mallinfo2().uordblks;
  for (uint32_t i = 0; i < kMany; ++i) all[node(i)] = "x";
  if (before > 0)  // some sanitizers have a heap of their own
    BOOST_TEST(::mallinfo2().uordblks > before + kMostBytes);
}

BOOST_AUTO_TEST_CASE(estimates_of_peers_end_though_late_answers_bring_them_back) {
  PeerEstimates estimates{PeerEstimatesOptions{}};
  check_forgets("PeerEstimates", [&](uint32_t i) {
    estimates.announced(peer(i), 1);
    estimates.observe(peer(i), 0.5, 1);
    estimates.forget(peer(i));
    estimates.observe_timeout(peer(i), 5, 1);
    estimates.ban(peer(i), 1);
  });
  estimates.observe(peer(7), 0.25, 1);
  BOOST_TEST(estimates.seconds_per_sample(peer(7)) == 0.25);
}

BOOST_AUTO_TEST_CASE(a_peer_in_use_keeps_its_estimate_among_many_others) {
  PeerEstimates estimates{PeerEstimatesOptions{}};
  for (uint32_t i = 1; i <= kMany; ++i) {
    if (i % 100 == 1) estimates.observe(peer(0), 0.25, 1);
    estimates.ban(peer(i), 1);
  }
  BOOST_TEST(estimates.seconds_per_sample(peer(0)) == 0.25);
  BOOST_TEST(estimates.banned(peer(kMany)));
}

BOOST_AUTO_TEST_CASE(the_choice_of_peers_forgets_who_is_forgotten) {
  PeerChoice choice(PeerEstimatesOptions{}, WiringCost::kResponse, 1);
  check_forgets("PeerChoice", [&](uint32_t i) {
    choice.announced(peer(i), 1);
    choice.add(peer(i));
    Tries tries;
    const auto picked = choice.pick(tries, 1, i);
    choice.forget(peer(i));
    choice.timed_out(*picked, 1, 0.5);
    choice.ended(*picked, 1);
  });
}

BOOST_AUTO_TEST_CASE(who_leads_and_who_is_dead_is_forgotten) {
  Office office({node(0), 1s}, 0s, 1);
  DeadRecords dead(60);
  check_forgets("Office and DeadRecords", [&](uint32_t i) {
    const Time now = std::chrono::seconds(i);
    const std::vector<Candidate> candidates = {{node(i), Term(1), i % 2 == 0, 1}};
    office.heard(candidates, now);
    office.decide(candidates, now);
    if (i % 3 == 0) office.unreachable(node(i), now);
    if (i % 3 == 1) office.link_down(node(i), now);
    dead.died(Term(i), node(i), 1, i);
    dead.expire(i);
  });
  BOOST_TEST(office.remembered() < 100u);
  BOOST_TEST(dead.size() < 100u);
}

BOOST_AUTO_TEST_CASE(members_that_came_and_went_are_forgotten) {
  Roster roster(4);
  Attendance attendance;
  Latecomers latecomers;
  Strikes strikes;
  NodeTraffic traffic;
  check_forgets("membership", [&](uint32_t i) {
    const std::string name = "node" + std::to_string(i);
    const Time now = std::chrono::seconds(i) * 10;
    roster.report(peer(i), Stage(i % 4), name, PeerReport{});
    roster.add_trainer(peer(i, "trainer"));
    attendance.came(name, node(i));
    latecomers.sent_back(peer(i), 1s, now);
    strikes.strike(name, Strikes::Kind::kSilent, now);
    traffic.report(node(i), {1, 2, 3});
    attendance.gone(node(i));
    roster.remove(peer(i));
    roster.remove_trainer(peer(i, "trainer"));
    traffic.forget(node(i));
  });
}

BOOST_AUTO_TEST_CASE(the_dht_knows_few_of_those_it_has_met) {
  RoutingTable table(node(0), 20);
  RecordStore store;
  const DhtKey key{};
  check_forgets("the DHT", [&](uint32_t i) {
    table.seen({node(i), {"10.0.0.1", 7}}, i);
    StoredRecord record;
    record.subkey = node(i).hex();
    record.value = "x";
    record.version = 1;
    record.expires_s = i + 60;
    store.store(key, record, i);
    if (i % 10 == 0) store.expire(i);
  });
  BOOST_TEST(store.size() < 100u);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace swarm::routing
