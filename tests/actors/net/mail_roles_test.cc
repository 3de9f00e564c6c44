/// Who may send mail of which kind.
#include "actors/net/mail_roles.h"

#include <boost/test/unit_test.hpp>
#include <set>
#include <string>

#include "actors/net/mail.h"

using namespace swarm::actors;
using namespace swarm::actors::links;
namespace proto = swarm::proto;

BOOST_AUTO_TEST_SUITE(MailRoles)

BOOST_AUTO_TEST_CASE(every_kind_has_a_row) {
  for (const MailKind& row : mail_kinds()) BOOST_TEST(senders_of(row.kind) != 0u, row.name);
  for (const uint32_t unknown : {0u, 9u, 999u, 0xffffffffu}) BOOST_TEST(senders_of(unknown) == 0u);
}

BOOST_AUTO_TEST_CASE(a_tool_without_the_key_reads_and_no_more) {
  std::set<std::string> taken;
  for (const MailKind& row : mail_kinds())
    if (row.reply != proto::KIND_UNSPECIFIED && no_right(row.kind, kTool, true).empty())
      taken.insert(row.name);
  const std::set<std::string> reads = {"swarm_status", "console", "echo"};
  BOOST_TEST(taken == reads, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(the_key_adds_what_takes_weights_or_acts) {
  for (const auto kind : {proto::KIND_CONSOLE_ORDER, proto::KIND_LIST_RECORDS,
                          proto::KIND_READ_RECORD, proto::KIND_COLLECTED}) {
    BOOST_TEST(!no_right(kind, kTool, true).empty());
    BOOST_TEST(no_right(kind, kTool | kOperator, true).empty());
    BOOST_TEST(!no_right(kind, kNode | kPeer | kTrainer | kCoordinator, true).empty());
  }
  BOOST_TEST(!no_right(proto::KIND_COMMIT_STEP, kTool | kOperator, true).empty());
}

BOOST_AUTO_TEST_CASE(each_role_sends_its_own_kinds) {
  BOOST_TEST(no_right(proto::KIND_LEASE, kNode | kTrainer, true).empty());
  BOOST_TEST(!no_right(proto::KIND_LEASE, kNode | kPeer, true).empty());
  BOOST_TEST(no_right(proto::KIND_COMMIT_STEP, kNode | kCoordinator, true).empty());
  BOOST_TEST(!no_right(proto::KIND_COMMIT_STEP, kNode | kPeer, true).empty());
  BOOST_TEST(no_right(proto::KIND_AVERAGE_PART, kNode | kPeer, true).empty());
  BOOST_TEST(!no_right(proto::KIND_AVERAGE_PART, kNode | kTrainer, true).empty());
  BOOST_TEST(no_right(proto::KIND_DHT_STORE, kNode, true).empty());
  for (const MailKind& row : mail_kinds()) BOOST_TEST(!no_right(row.kind, 0, true).empty());
}

BOOST_AUTO_TEST_CASE(voters_are_asked_by_those_that_coordinate) {
  for (const auto kind : {proto::KIND_VOTER_PROMISE, proto::KIND_VOTER_STORE,
                          proto::KIND_VOTER_LEARN, proto::KIND_VOTER_VOTE}) {
    BOOST_TEST(no_right(kind, kNode | kCoordinator, true).empty());
    BOOST_TEST(!no_right(kind, kNode | kPeer | kTrainer, true).empty());
    BOOST_TEST(!no_right(kind, kTool | kOperator, true).empty());
  }
}

BOOST_AUTO_TEST_CASE(who_says_it_is_a_node_stops_no_other) {
  const uint32_t said = kNode | kPeer | kTrainer | kCoordinator;
  BOOST_TEST(!no_right(proto::KIND_STOP_NODE, said, true).empty());
  BOOST_TEST(no_right(proto::KIND_STOP_NODE, said | kOperator, true).empty());
  BOOST_TEST(!no_right(proto::KIND_GO_ON, said, true).empty());
  BOOST_TEST(no_right(proto::KIND_GO_ON, said | kOperator, true).empty());
  BOOST_TEST(!no_right(proto::KIND_SAVE_CHECKPOINT, kNode | kPeer | kTrainer, true).empty());
  BOOST_TEST(no_right(proto::KIND_SAVE_CHECKPOINT, kNode | kPeer | kOperator, true).empty());
  BOOST_TEST(no_right(proto::KIND_SAVE_CHECKPOINT, kNode | kCoordinator, true).empty());
}

BOOST_AUTO_TEST_CASE(a_refusal_says_what_to_do) {
  const auto has = [](const std::string& text, const char* words) {
    return text.find(words) != std::string::npos;
  };
  BOOST_TEST(has(no_right(proto::KIND_READ_RECORD, kTool, true), "--key"));
  BOOST_TEST(has(no_right(proto::KIND_READ_RECORD, kTool, false), "started without one"));
  const auto stop = no_right(proto::KIND_STOP_NODE, kNode | kPeer, true);
  BOOST_TEST(has(stop, "a node that serves stages, which has not proven the run's key"), stop);
  BOOST_TEST(has(stop, "--key"), stop);
  BOOST_TEST(has(no_right(proto::KIND_LEASE, kNode | kPeer, true),
                 "lease is not taken from a node that serves stages"));
}

BOOST_AUTO_TEST_SUITE_END()
