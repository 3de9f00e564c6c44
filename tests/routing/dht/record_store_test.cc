#include "routing/dht/record_store.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <set>

#include "tests/support/ids.h"

using namespace swarm;
using namespace swarm::routing;
using swarm::testing::node;

BOOST_AUTO_TEST_SUITE(RecordStoreTest)

BOOST_AUTO_TEST_CASE(newer_versions_replace_older_ones) {
  RecordStore store;
  BOOST_TEST(store.store(node(1), {"a", "one", 5, 100}, 0));
  BOOST_TEST(!store.store(node(1), {"a", "old", 4, 100}, 0));
  BOOST_TEST(store.store(node(1), {"b", "two", 1, 100}, 0));
  BOOST_TEST(store.store(node(1), {"a", "new", 6, 90}, 0));
  auto found = store.find(node(1), 1);
  BOOST_REQUIRE_EQUAL(found.size(), 2u);
  BOOST_TEST(found[0].value == "new");
  BOOST_TEST(found[1].value == "two");
  BOOST_TEST(store.size() == 2u);
  BOOST_TEST(store.find(node(2), 1).empty());
}

BOOST_AUTO_TEST_CASE(a_repeat_never_shortens_a_life) {
  RecordStore store;
  store.store(node(1), {"a", "x", 1, 100}, 0);
  BOOST_TEST(store.store(node(1), {"a", "x", 1, 50}, 0));
  BOOST_TEST(store.find(node(1), 99).size() == 1u);
}

BOOST_AUTO_TEST_CASE(records_die_and_their_place_is_taken) {
  RecordStore::Options options;
  options.max_records = 2;
  RecordStore store(options);
  BOOST_TEST(store.store(node(1), {"a", "", 9, 10}, 0));
  BOOST_TEST(store.store(node(1), {"b", "", 1, 20}, 0));
  BOOST_TEST(!store.store(node(1), {"c", "", 1, 20}, 5));
  BOOST_TEST(store.find(node(1), 10).size() == 1u);
  BOOST_TEST(store.page({}, {10}).keys.size() == 1u);
  BOOST_TEST(store.store(node(1), {"c", "", 1, 20}, 10));
  BOOST_TEST(!store.store(node(2), {"x", "", 1, 11}, 11));
  store.expire(20);
  BOOST_TEST(store.size() == 0u);
}

BOOST_AUTO_TEST_CASE(all_records_together_take_so_much_memory_and_no_more) {
  RecordStore::Options options;
  options.max_bytes = 10'000;
  RecordStore store(options);
  const std::string large(4'000, 'x');
  BOOST_TEST(store.store(node(1), {"a", large, 1, 10}, 0));
  BOOST_TEST(store.store(node(1), {"b", large, 1, 20}, 0));
  BOOST_TEST(!store.store(node(2), {"c", large, 1, 20}, 1));
  BOOST_TEST(store.store(node(2), {"c", "", 1, 20}, 1));
  BOOST_TEST(!store.store(node(2), {"c", large, 2, 20}, 1));  // nor by growing
  BOOST_TEST(store.store(node(1), {"a", "", 2, 10}, 2));
  BOOST_TEST(store.store(node(2), {"c", large, 2, 20}, 3));
  store.expire(20);
  BOOST_TEST(store.store(node(1), {"a", large, 1, 40}, 21));
  BOOST_TEST(store.store(node(1), {"b", large, 1, 40}, 21));
  BOOST_TEST(!store.store(node(1), {"c", large, 1, 40}, 21));
}

BOOST_AUTO_TEST_CASE(what_is_dead_makes_room_for_longer_versions_too) {
  RecordStore::Options options;
  options.max_bytes = 10'000;
  RecordStore store(options);
  const std::string large(4'000, 'x');
  BOOST_TEST(store.store(node(1), {"a", large, 1, 10}, 0));
  BOOST_TEST(store.store(node(1), {"b", large, 1, 10}, 0));
  BOOST_TEST(store.store(node(2), {"c", "", 1, 100}, 0));
  BOOST_TEST(store.store(node(2), {"c", large, 2, 100}, 20));
}

BOOST_AUTO_TEST_CASE(an_expired_version_does_not_stand_in_the_way) {
  RecordStore store;
  store.store(node(1), {"a", "old", 9, 10}, 0);
  BOOST_TEST(store.store(node(1), {"a", "new", 1, 30}, 15));
  BOOST_TEST(store.find(node(1), 16).at(0).value == "new");
  BOOST_TEST(store.size() == 1u);
}

BOOST_AUTO_TEST_CASE(what_is_too_large_is_refused_and_what_lives_too_long_is_cut) {
  RecordStore store;
  BOOST_TEST(!store.store(node(1), {"a", std::string(4097, 'x'), 1, 10}, 0));
  BOOST_TEST(!store.store(node(1), {std::string(129, 'x'), "", 1, 10}, 0));
  BOOST_TEST(store.store(node(1), {"a", std::string(4096, 'x'), 1, 1e12}, 0));
  BOOST_TEST(store.find(node(1), 3599).size() == 1u);
  BOOST_TEST(store.find(node(1), 3600).empty());
}

// A forged version of 2^64 - 1 stood for an hour, and sent a swarm to another coordinator.
BOOST_AUTO_TEST_CASE(what_a_node_says_of_itself_stands_before_what_others_pass_on) {
  RecordStore store;
  const StoredRecord own{"a", "own", 5, 100, /*first_hand=*/true},
      forged{"a", "forged", ~0ull, 100};
  BOOST_TEST(store.store(node(1), own, 0));
  BOOST_TEST(!store.store(node(1), forged, 1));
  BOOST_TEST(store.find(node(1), 2).at(0).value == "own");
  BOOST_TEST(store.store(node(2), forged, 1));
  BOOST_TEST(store.store(node(2), own, 2));
  BOOST_TEST(store.find(node(2), 3).at(0).value == "own");
  BOOST_TEST(
      store.store(node(1), {"a", "passed on", 6, 300}, 101));  // nothing has come from it since
}

BOOST_AUTO_TEST_CASE(first_hand_stands_before_any_version_and_then_the_higher_one) {
  const StoredRecord own{"a", "own", 5, 100, /*first_hand=*/true}, later{"a", "own", 6, 100, true},
      forged{"a", "forged", ~0ull, 100}, passed{"a", "passed on", 4, 100};
  BOOST_TEST(stands_before(own, forged));
  BOOST_TEST(!stands_before(forged, own));
  BOOST_TEST(stands_before(later, own));
  BOOST_TEST(stands_before(forged, passed));
  BOOST_TEST(!stands_before(own, own));
}

StoredRecord given_by(uint32_t giver, const std::string& subkey, size_t bytes = 0) {
  return {subkey, std::string(bytes, 'x'), 1, 100, /*first_hand=*/false, node(giver)};
}

// One stranger's records were kept for an hour, and nobody else's.
BOOST_AUTO_TEST_CASE(who_gives_much_keeps_nobody_out_who_gives_little) {
  RecordStore store;
  for (uint32_t i = 0; i < 100'000; ++i)
    store.store(node(i), given_by(1, "a" + std::to_string(i), 1'000), 0);
  BOOST_TEST(store.size() < 20'000u);
  for (uint32_t giver = 2; giver < 100; ++giver)
    BOOST_TEST(store.store(node(giver), given_by(giver, "b", 200), 1));
  for (uint32_t i = 0; i < 1'000; ++i) store.store(node(i), given_by(1, "c", 1'000), 2);
  for (uint32_t giver = 2; giver < 100; ++giver) {
    const auto found = store.find(node(giver), 3);
    BOOST_TEST(
        std::any_of(found.begin(), found.end(), [](auto& one) { return one.subkey == "b"; }));
  }
}

// 128 records under the coordinator's key filled every answer.
BOOST_AUTO_TEST_CASE(all_that_is_kept_of_a_key_fits_one_answer_and_nobody_is_pushed_out_of_it) {
  RecordStore store;
  BOOST_TEST(store.store(node(1), given_by(9, "z", 200), 0));
  for (uint32_t i = 0; i < 10'000; ++i)
    store.store(node(1), given_by(1, "a" + std::to_string(i), 4'096), 0);
  BOOST_TEST(store.bytes(node(1)) <= 512u << 10);
  BOOST_TEST(store.store(node(1), given_by(8, "y", 200), 0));
  const auto found = store.find(node(1), 1);
  BOOST_REQUIRE(found.size() > 100u);
  BOOST_TEST(found[found.size() - 2].subkey == "y");
  BOOST_TEST(found.back().subkey == "z");
}

// A member that handed on a key full of junk could not announce itself there any more.
BOOST_AUTO_TEST_CASE(what_a_node_passes_on_keeps_its_own_record_out_of_no_key) {
  RecordStore store;
  for (uint32_t i = 0; i < 3'000; ++i)
    for (uint32_t giver : {1, 2})
      store.store(node(1), given_by(giver, std::to_string(giver) + " " + std::to_string(i), 200),
                  0);
  StoredRecord own = given_by(1, "own", 200);
  own.first_hand = true;
  for (int second = 1; second < 10; ++second) {
    own.expires_s = second + 4;
    ++own.version;
    BOOST_TEST(store.store(node(1), own, second));
  }
  const auto found = store.find(node(1), 12);
  const auto kept =
      std::find_if(found.begin(), found.end(), [](auto& one) { return one.subkey == "own"; });
  BOOST_REQUIRE((kept != found.end()));
  BOOST_TEST(kept->given_s == 9);
  BOOST_TEST(store.bytes(node(1)) <= 512u << 10);
}

BOOST_AUTO_TEST_CASE(a_page_is_bounded_and_pages_lead_round_all_keys) {
  RecordStore store;
  for (uint32_t i = 1; i <= 1'000; ++i) store.store(node(i), given_by(1, "a", 100), 0);
  std::set<DhtKey> seen;
  DhtKey after;
  for (int turn = 0; turn < 10; ++turn) {
    const auto page = store.page(after, {1, {}, 100});
    BOOST_TEST(page.keys.size() == 100u);
    for (const auto& [key, records] : page.keys) seen.insert(key);
    after = page.last;
  }
  BOOST_TEST(seen.size() == 1'000u);
  const RecordStore::PageWish few{1, {}, 1'000, 1'000};
  BOOST_TEST(store.page({}, few).keys.size() < 10u);
  const auto none = [](const DhtKey&) { return false; };
  BOOST_TEST((store.page(node(5), {1, none}).last != node(5)));  // it goes on all the same
  BOOST_TEST(store.page({}, {1, {}, 5'000, 1u << 30}).keys.size() == 1'000u);  // each once
  BOOST_TEST(store.page({}, {100}).keys.empty());
}

BOOST_AUTO_TEST_SUITE_END()
