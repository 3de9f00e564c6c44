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
  for (const auto& record : sample_for(node(reader), records(count), most))
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

BOOST_AUTO_TEST_SUITE_END()
