#include "apps/launch/audit_places.h"

#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "records/audit_fold.h"

namespace swarm::launch {
namespace {

using Verdict = AuditPlaces::Verdict;

std::string line_of(uint64_t step, const std::string& node = "a") {
  records::LoadedState load;
  load.node_name = node;
  load.step = step;
  return to_json(records::AuditLine{load, 100.0 + static_cast<double>(step), node});
}

std::vector<std::string> lines_of(uint64_t from, uint64_t to) {
  std::vector<std::string> out;
  for (; from < to; ++from) out.push_back(line_of(from));
  return out;
}

/// What of node a's file is new when the merged one holds `merged`.
std::vector<std::string> new_of(const std::vector<std::string>& merged,
                                const std::vector<std::string>& own) {
  AuditPlaces places;
  for (const auto& line : merged) places.remember(line);
  for (const auto& line : own) places.look_at("a", line);
  std::vector<std::string> out;
  for (const auto& line : own)
    if (places.take("a", line) == Verdict::kNew) out.push_back(line);
  return out;
}

std::string folded(const std::vector<std::string>& lines, const std::string& node) {
  records::AuditFold fold({});
  for (const auto& line : lines) BOOST_REQUIRE(fold.take(line).ok());
  return to_json(records::AuditLine{fold.result(1), 900, node});
}

BOOST_AUTO_TEST_SUITE(AuditPlacesTest)

BOOST_AUTO_TEST_CASE(lines_up_to_the_last_merged_one_are_not_new) {
  auto merged = lines_of(0, 5);
  merged.push_back(line_of(0, "b"));
  BOOST_TEST(new_of(merged, lines_of(0, 8)) == lines_of(5, 8), boost::test_tools::per_element());
  BOOST_TEST(new_of({}, lines_of(0, 8)) == lines_of(0, 8), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_line_written_twice_is_seen_twice) {
  const auto one = line_of(1);
  BOOST_TEST(new_of({line_of(0), one}, {line_of(0), one, one}) == std::vector<std::string>{one},
             boost::test_tools::per_element());
  BOOST_TEST(new_of({line_of(0), one, one}, {line_of(0), one, one}).empty());
}

BOOST_AUTO_TEST_CASE(the_place_is_known_when_merged_lines_are_folded) {
  auto merged = std::vector<std::string>{folded(lines_of(0, 5), "")};
  BOOST_TEST(new_of(merged, lines_of(0, 8)) == lines_of(5, 8), boost::test_tools::per_element());
  merged.push_back(line_of(5));
  BOOST_TEST(new_of(merged, lines_of(0, 8)) == lines_of(6, 8), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(what_a_node_folded_beyond_the_place_is_new_and_so_is_what_follows) {
  std::vector<std::string> own = {folded(lines_of(0, 6), "a"), line_of(6), line_of(7)};
  BOOST_TEST(new_of(lines_of(0, 5), own) == own, boost::test_tools::per_element());
  BOOST_TEST(new_of({own[0]}, own) == lines_of(6, 8), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(where_the_last_merged_line_cannot_be_read_time_decides) {
  BOOST_TEST(
      new_of(lines_of(0, 5), {line_of(0), line_of(3), line_of(5), line_of(6)}) == lines_of(5, 7),
      boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_torn_line_is_said_and_after_a_stop_nothing_is_new) {
  AuditPlaces places;
  BOOST_TEST((places.take("a", "{\"kind") == Verdict::kDamaged));
  places.stop();
  BOOST_TEST((places.take("a", line_of(0)) == Verdict::kMergedBefore));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace swarm::launch
