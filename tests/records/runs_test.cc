#include "records/runs.h"

#include <boost/test/unit_test.hpp>

#include "records/audit.h"

namespace swarm::records {
namespace {

using Numbers = std::vector<uint64_t>;

std::string packed(const Numbers& numbers, const Numbers& beside = {}) {
  return to_json(Value{pack_runs(numbers, beside)});
}

BOOST_AUTO_TEST_SUITE(RunsTest)

BOOST_AUTO_TEST_CASE(numbers_that_follow_one_another_are_one_run) {
  BOOST_TEST(packed({}) == "[]");
  BOOST_TEST(packed({5}) == "[5]");
  BOOST_TEST(packed({0, 1, 2, 3, 9, 11, 12}) == "[[0,4],9,[11,2]]");
  BOOST_TEST(packed({3, 3, 2}) == "[3,3,2]");  // nothing is lost of what should not be
}

BOOST_AUTO_TEST_CASE(attempts_run_on_with_their_slots) {
  const Numbers slots = {0, 1, 4, 9, 10};
  BOOST_TEST(packed({101, 102, 105, 110, 111}, slots) == "[[101,5]]");
  BOOST_TEST(packed({101, 102, 130, 110, 111}, slots) == "[[101,2],130,[110,2]]");
}

BOOST_AUTO_TEST_CASE(what_was_packed_comes_back) {
  const Numbers big = {~uint64_t{0}, 0, 7, 8, 9}, slots = {2, 3, 5, 4, 4};
  for (const Numbers& beside : {Numbers{}, slots, Numbers{1, 2}})
    for (const Numbers& numbers : {big, slots, Numbers{}}) {
      Numbers back;
      BOOST_REQUIRE(unpack_runs(Value{pack_runs(numbers, beside)}, beside, back) == nullptr);
      BOOST_TEST(back == numbers, boost::test_tools::per_element());
    }
}

BOOST_AUTO_TEST_CASE(no_line_unpacks_to_more_than_a_step_can_have) {
  for (const char* bad : {"[[0,4000000000]]", "[[0,1048576],[0,1]]", "[[0,0]]", "[[0]]",
                          "[[0,1,2]]", "[-1]", "[\"0\"]", "7", "[[0.5,2]]"}) {
    const auto object = parse_object(std::string("{\"x\":") + bad + "}");
    Numbers numbers;
    BOOST_TEST(unpack_runs(*find(*object, "x"), {}, numbers) != nullptr, bad);
    BOOST_TEST(numbers.empty());
  }
}

BOOST_AUTO_TEST_CASE(an_audit_line_has_runs_and_reads_back) {
  CommittedStep done;
  done.held.slots = {0, 1, 2, 8, 9};
  done.held.attempts = {1, 2, 3, 9, 10};
  const std::string line = to_json(AuditLine{done, 1.5, "n"});
  BOOST_TEST(line.find("\"slots\":[[0,3],[8,2]],\"attempts\":[[1,5]]") != line.npos, line);
  const auto back = parse_audit_line(line);
  BOOST_REQUIRE(back.ok());
  const auto& held = std::get<CommittedStep>(back->record).held;
  BOOST_TEST(held.slots == done.held.slots, boost::test_tools::per_element());
  BOOST_TEST(held.attempts == done.held.attempts, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace swarm::records
