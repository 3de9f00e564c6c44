#include "routing/dht/record_sample.h"

#include <boost/test/unit_test.hpp>
#include <map>
#include <set>

#include "tests/support/ids.h"

using namespace swarm;
using namespace swarm::routing;
using swarm::testing::node;

namespace {

std::vector<StoredRecord> records(size_t count) {
  std::vector<StoredRecord> out;
  for (size_t i = 0; i < count; ++i) out.push_back({"peer " + std::to_string(i), "value", 1, 10});
  return out;
}

std::set<std::string> chosen(uint32_t reader, size_t count, size_t most) {
  std::set<std::string> subkeys;
  for (const auto& record : sample_for(node(reader), records(count), most, 0))
    subkeys.insert(record.subkey);
  return subkeys;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(RecordSample)

BOOST_AUTO_TEST_CASE(few_records_come_whole) {
  BOOST_TEST(chosen(1, 5, 8).size() == 5u);
  BOOST_TEST(chosen(1, 50, 0).size() == 50u);
}

BOOST_AUTO_TEST_CASE(a_reader_gets_the_same_ones_as_long_as_they_live) {
  const auto before = chosen(1, 100, 8);
  BOOST_TEST(before.size() == 8u);
  BOOST_TEST((chosen(1, 100, 8) == before));
  const auto after = chosen(1, 101, 8);  // one more: it may take one place, no other moves
  size_t kept = 0;
  for (const auto& subkey : after) kept += before.count(subkey);
  BOOST_TEST(kept >= 7u);
}

BOOST_AUTO_TEST_CASE(over_many_readers_each_record_is_chosen_about_equally_often) {
  constexpr uint32_t kReaders = 2'000;
  std::map<std::string, int> times;
  for (uint32_t reader = 1; reader <= kReaders; ++reader)
    for (const auto& subkey : chosen(reader, 50, 10)) ++times[subkey];
  BOOST_TEST(times.size() == 50u);
  for (const auto& [subkey, count] : times)  // 400 expected, 18 the standard deviation
    BOOST_TEST((count > 310 && count < 490), subkey << ": " << count);
}

// Four peers among `others`; whether every one of many readers gets them all.
bool all_get_the_peers(std::vector<StoredRecord> all, double since_s = 0) {
  for (uint32_t peer = 1; peer <= 4; ++peer) {
    StoredRecord own{"peer " + std::to_string(peer), "", 1, 10, /*first_hand=*/true, node(peer)};
    own.given_s = 100;
    all.push_back(own);
  }
  for (uint32_t reader = 1; reader <= 200; ++reader) {
    size_t peers = 0;
    for (const auto& record : sample_for(node(reader), all, 32, since_s))
      peers += record.subkey.compare(0, 5, "peer ") == 0 ? 1 : 0;
    if (peers != 4) return false;
  }
  return true;
}

// `count` of strangers, by as many or by one.
std::vector<StoredRecord> of_strangers(uint32_t count, bool first_hand, bool by_one) {
  std::vector<StoredRecord> out;
  for (uint32_t i = 0; i < count; ++i)
    out.push_back({"stranger " + std::to_string(i), "", 1, 3'600, first_hand,
                   node(by_one ? 1'000 : 1'000 + i)});
  return out;
}

// An open swarm stood still for an hour: its readers got samples without a peer in them.
BOOST_AUTO_TEST_CASE(what_strangers_left_under_a_key_hides_no_peer) {
  BOOST_TEST(all_get_the_peers(of_strangers(600, false, false)));     // under any subkeys
  BOOST_TEST(all_get_the_peers(of_strangers(200, true, false), 85));  // of themselves, and left
  BOOST_TEST(all_get_the_peers(of_strangers(600, true, true)));       // one that repeats many
}

BOOST_AUTO_TEST_CASE(nodes_that_repeat_their_own_share_the_places_whoever_they_are) {
  const auto all = of_strangers(50, true, false);
  std::map<std::string, int> times;
  for (uint32_t reader = 1; reader <= 2'000; ++reader)
    for (const auto& record : sample_for(node(reader), all, 10, 0)) ++times[record.subkey];
  BOOST_TEST(times.size() == 50u);
  for (const auto& [subkey, count] : times)
    BOOST_TEST((count > 310 && count < 490), subkey << ": " << count);
}

BOOST_AUTO_TEST_CASE(the_places_that_are_left_go_to_the_rest) {
  auto all = of_strangers(100, false, true);
  for (const auto& record : of_strangers(40, true, true)) all.push_back(record);
  BOOST_TEST(sample_for(node(1), all, 32, 0).size() == 32u);
  std::set<std::string> seen;  // a node's second and third record, too
  for (uint32_t reader = 1; reader <= 2'000; ++reader)
    for (const auto& record : sample_for(node(reader), all, 32, 0))
      if (record.first_hand) seen.insert(record.subkey);
  BOOST_TEST(seen.size() == 40u);
}

BOOST_AUTO_TEST_SUITE_END()
