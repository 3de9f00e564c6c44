#include "actors/voter/voter_mail.h"

#include <boost/test/unit_test.hpp>
#include <functional>
#include <vector>

#include "routing/membership/term.h"
#include "tests/support/ids.h"

namespace swarm::actors {
namespace {

routing::Ballot ballot(uint64_t term, uint32_t number) {
  return {Term(term), testing::node(number)};
}

routing::VoterAnswer full_answer() {
  routing::VoterAnswer answer;
  answer.voter = "a#12";
  answer.record.disk = "12";
  answer.record.promised = ballot(9, 1);
  auto& decided = answer.record.decided;
  decided = {routing::ConfigurationNumber(3), {"a", "b"}, {Step(7), routing::History(77)}};
  decided.fork(ballot(7, 2));
  answer.record.proposal = routing::Proposal{ballot(8, 2), decided};
  auto& next = answer.record.proposal->next;
  next.number = routing::ConfigurationNumber(4);
  next.voters = {"b"};
  next.gone_back = false;
  answer.record.forsaken = true;
  answer.remembers = true;
  answer.mark =
      routing::Mark{routing::ConfigurationNumber(3), {Step(8), routing::History(88)}, true};
  return answer;
}

bool refused(const proto::Configuration& message) {
  return from_proto(message).code() == ErrorCode::kInvalidArgument;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(VoterMail)

BOOST_AUTO_TEST_CASE(an_answer_is_read_back_as_it_was_written) {
  const auto answer = full_answer();
  const auto message = write_voter(answer, Error{ErrorCode::kStaleStep, "elsewhere"});
  BOOST_TEST(!message.taken());
  BOOST_TEST(message.reason() == "elsewhere");
  const auto read = read_voter(message);
  BOOST_REQUIRE(read.ok());
  BOOST_TEST(read->voter == "a#12");
  BOOST_TEST((read->record.promised == answer.record.promised));
  BOOST_TEST((read->record.decided == answer.record.decided));
  BOOST_REQUIRE(read->record.proposal.has_value());
  BOOST_TEST((read->record.proposal->ballot == ballot(8, 2)));
  BOOST_TEST((read->record.proposal->next == answer.record.proposal->next));
  BOOST_TEST(read->record.forsaken);
  BOOST_TEST(read->remembers);
  BOOST_REQUIRE(read->mark.has_value());
  BOOST_TEST((read->mark->number == answer.mark->number));
  BOOST_TEST((read->mark->place == answer.mark->place));
  BOOST_TEST(read->mark->voted);
}

// With 400 nodes each answer had 16 KB of names that the asker knew, at each step.
BOOST_AUTO_TEST_CASE(a_configuration_that_the_asker_has_is_left_out) {
  const auto answer = full_answer();
  const auto& decided = answer.record.decided;
  const auto message = write_voter(answer, {}, digest_of(decided));
  BOOST_TEST(!message.has_decided());
  const auto read = read_voter(message, decided);
  BOOST_REQUIRE(read.ok());
  BOOST_TEST((read->record.decided == decided));
  BOOST_TEST(read->record.proposal.has_value());
  auto other = decided;
  for (const auto& change : std::vector<std::function<void()>>{
           [&] { ++other.number; }, [&] { other.voters.insert("z#9"); },
           [&] { other.base.step = other.base.step + 1; }, [&] { other.gone_back = true; },
           [&] { other.forks.clear(); }}) {
    other = decided;
    change();
    BOOST_TEST((other == decided || write_voter(answer, {}, digest_of(other)).has_decided()));
    BOOST_TEST((other == decided) == (digest_of(other) == digest_of(decided)));
  }
  // What its neighbour keeps is not what the asker has, so a proposal must follow on the asker's.
  other = decided;
  ++other.number;
  BOOST_TEST((read_voter(message, other).code() == ErrorCode::kInvalidArgument));
}

BOOST_AUTO_TEST_CASE(what_a_new_voter_has_not_is_absent) {
  routing::VoterAnswer answer;
  answer.voter = "a";
  const auto message = write_voter(answer, {});
  BOOST_TEST(message.taken());
  BOOST_TEST(!message.has_proposal());
  BOOST_TEST(!message.has_mark());
  const auto read = read_voter(message);
  BOOST_REQUIRE(read.ok());
  BOOST_TEST(!read->mark.has_value());
}

BOOST_AUTO_TEST_CASE(a_configuration_that_cannot_be_is_refused) {
  const auto good = to_proto(full_answer().record.decided);
  BOOST_TEST(!refused(good));
  auto message = good;
  message.add_voters("a#2");
  BOOST_TEST(refused(message));  // twice
  message = good;
  message.add_voters("no/name");
  BOOST_TEST(refused(message));
  message = good;
  message.add_voters("c#");
  BOOST_TEST(refused(message));
  message = good;
  message.set_number(~uint64_t{0});
  BOOST_TEST(refused(message));
  message = good;
  message.clear_voters();
  BOOST_TEST(refused(message));
  message.set_number(0);
  message.clear_forks();
  BOOST_TEST(!refused(message));
  for (int i = 0; i < kMostVoters; ++i) message.add_voters("node-" + std::to_string(i));
  BOOST_TEST(!refused(message));
  message.add_voters("one-more");
  BOOST_TEST(refused(message));
}

BOOST_AUTO_TEST_CASE(forks_that_cannot_be_are_refused) {
  const auto good = to_proto(full_answer().record.decided);
  BOOST_TEST((from_proto(good).value() == full_answer().record.decided));
  auto message = good;
  message.mutable_forks(0)->set_number(4);  // beyond its configuration
  BOOST_TEST(refused(message));
  message.mutable_forks(0)->set_number(0);
  BOOST_TEST(refused(message));
  message = good;
  *message.mutable_forks(0)->mutable_ballot() = to_proto(routing::Ballot());
  BOOST_TEST(refused(message));
  message = good;
  *message.add_forks() = good.forks(0);  // out of order
  BOOST_TEST(refused(message));
  message = good;
  message.set_number(100);
  for (uint64_t number = 4; message.forks_size() < static_cast<int>(routing::kMostForks);
       ++number) {
    *message.add_forks() = good.forks(0);
    message.mutable_forks(message.forks_size() - 1)->set_number(number);
  }
  BOOST_TEST(!refused(message));
  *message.add_forks() = good.forks(0);
  message.mutable_forks(message.forks_size() - 1)->set_number(90);
  BOOST_TEST(refused(message));
}

BOOST_AUTO_TEST_CASE(a_ballot_has_a_term_and_a_node) {
  auto message = to_proto(ballot(9, 1));
  BOOST_TEST((from_proto(message).value() == ballot(9, 1)));
  message.set_term(uint64_t{1} << routing::kTermBits);
  BOOST_TEST((from_proto(message).code() == ErrorCode::kInvalidArgument));
  message.set_term(9);
  message.set_node_id("short");
  BOOST_TEST((from_proto(message).code() == ErrorCode::kInvalidArgument));
}

BOOST_AUTO_TEST_CASE(an_answer_that_no_voter_gives_is_refused) {
  const auto good = write_voter(full_answer(), {});
  auto message = good;
  message.set_voter("");
  BOOST_TEST((read_voter(message).code() == ErrorCode::kInvalidArgument));
  message = good;
  message.clear_promised();
  BOOST_TEST((read_voter(message).code() == ErrorCode::kInvalidArgument));
  message = good;
  message.clear_proposal_ballot();
  BOOST_TEST((read_voter(message).code() == ErrorCode::kInvalidArgument));
  message = good;
  message.mutable_proposal()->set_number(5);
  BOOST_TEST((read_voter(message).code() == ErrorCode::kInvalidArgument));
  message = good;
  message.mutable_proposal()->clear_forks();
  BOOST_TEST((read_voter(message).code() == ErrorCode::kInvalidArgument));
}

BOOST_AUTO_TEST_CASE(a_record_is_read_back_and_one_of_another_version_is_not) {
  auto record = full_answer().record;
  record.given_up = 2;
  const auto bytes = write_voter_record(record);
  const auto read = read_voter_record(bytes);
  BOOST_REQUIRE(read.ok());
  BOOST_TEST(write_voter_record(*read) == bytes);
  BOOST_TEST(read->disk == "12");
  BOOST_TEST(read->given_up == 2u);
  BOOST_TEST(read->forsaken);
  BOOST_TEST((read->proposal->next == record.proposal->next));
  proto::VoterRecord message;
  BOOST_REQUIRE(message.ParseFromString(bytes));
  message.set_format_version(message.format_version() + 1);
  const auto later = read_voter_record(message.SerializeAsString());
  BOOST_TEST((later.code() == ErrorCode::kInvalidArgument));
  BOOST_REQUIRE(message.ParseFromString(bytes));
  message.clear_disk();
  const auto nameless = read_voter_record(message.SerializeAsString());
  BOOST_TEST((nameless.code() == ErrorCode::kInvalidArgument));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace swarm::actors
