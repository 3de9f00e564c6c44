// Who gets a place, and how much a few bytes may stand for.
#include "actors/net/links/places.h"

#include <boost/test/unit_test.hpp>

#include "actors/net/links/head_rule.h"
#include "actors/net/links/serving.h"
#include "swarm/train.pb.h"
#include "tests/support/sessions.h"

using namespace swarm;
using namespace swarm::actors;
using namespace swarm::actors::links;
using namespace std::chrono_literals;

namespace {

const TimePoint kStart = TimePoint{} + 1h;

struct Door {
  Door() {
    options->node_id.bytes[0] = 1;
    options->node_name = "node1";
    options->max_pending_hellos = 16;
  }
  bool comes(const std::string& from) {
    if (!has_place({conns, nodes, proven}, *options, from)) return false;
    conns[++last].remote = from;
    conns[last].session = std::make_unique<Session>(options, false, budget, kStart, from, nullptr);
    return true;
  }
  int come(const std::string& host, int tries) {
    int in = 0;
    for (int i = 0; i < tries; ++i) in += comes(host + ":" + std::to_string(1'000 + i)) ? 1 : 0;
    return in;
  }
  std::shared_ptr<LinksOptions> options = std::make_shared<LinksOptions>();
  std::shared_ptr<ReceiveBudget> budget = std::make_shared<ReceiveBudget>(1 << 20, nullptr);
  NodeTable nodes{options->node_id};
  ProvenHosts proven;
  Conns conns;
  ConnId last = 0;
};

proto::CloseStep members(int count, size_t node_bytes) {
  proto::CloseStep close;
  for (int i = 0; i < count; ++i) close.add_members()->set_node_id(std::string(node_bytes, 'x'));
  return close;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(PlacesTest)

// 22 connections a second kept everybody out.
BOOST_AUTO_TEST_CASE(one_address_takes_half_of_the_places_before_the_hello) {
  Door door;
  BOOST_TEST(door.come("10.6.6.6", 100) == 8);
  BOOST_TEST(door.come("10.0.0.1", 2) == 2);
}

BOOST_AUTO_TEST_CASE(many_addresses_leave_places_for_nodes_that_are_known) {
  Door door;
  NodeInfo info;
  info.id.bytes[0] = 2;
  info.endpoint = {"10.0.0.2", 7000};
  door.nodes.up(info, {}, 1'000, kStart);
  door.nodes.lost(info.id, 1'000, kStart);
  int in = 0;
  for (int i = 0; i < 200; ++i) in += door.come("10.6.6." + std::to_string(i), 1);
  BOOST_TEST(in == 12);
  BOOST_TEST(door.come("10.0.0.2", 4) == 4);
}

// Whoever said that it listens somewhere, or told of nodes, took the places that were kept.
BOOST_AUTO_TEST_CASE(where_there_is_a_key_places_are_kept_for_whoever_has_proven_it) {
  Door door;
  door.options->key = std::string(LinksOptions::kKeyBytes, 'k');
  door.proven.add("10.0.0.2");
  for (uint8_t n = 0; n < 200; ++n) {
    NodeId stranger;
    stranger.bytes = {9, n};
    door.nodes.told(stranger, {"10.6.6." + std::to_string(n), 7000}, kStart);
  }
  int in = 0;
  for (int i = 0; i < 200; ++i) in += door.come("10.6.6." + std::to_string(i), 1);
  BOOST_TEST(in == 12);
  BOOST_TEST(door.come("10.0.0.2", 4) == 4);  // gone for an hour: nodes has forgotten it
}

BOOST_AUTO_TEST_CASE(
    a_quarter_of_all_connections_is_kept_too_and_members_take_nothing_of_the_rest) {
  Door door;
  door.options->key = std::string(LinksOptions::kKeyBytes, 'k');
  door.options->max_pending_hellos = 100'000;
  door.proven.add("10.0.0.2");
  const size_t all = door.options->most_connections();
  size_t in = 0;
  for (size_t i = 0; i < all; ++i)
    in += static_cast<size_t>(door.come("host" + std::to_string(i), 1));
  BOOST_TEST(in == all - all / 4);
  BOOST_TEST(door.come("10.0.0.2", 4) == 4);
  for (auto& entry : door.conns) entry.second.proven = true;
  BOOST_TEST(door.come("one more", 1) == 1);
}

BOOST_AUTO_TEST_CASE(the_newest_hosts_that_have_proven_the_key_are_remembered) {
  ProvenHosts proven;
  for (size_t i = 0; i <= ProvenHosts::kMost; ++i) {
    proven.add("10.0.0." + std::to_string(i));
    proven.add("10.0.0.0");
  }
  BOOST_TEST(proven.has("10.0.0.0"));
  BOOST_TEST(!proven.has("10.0.0.1"));
  BOOST_TEST(proven.has("10.0.0.2"));
}

BOOST_AUTO_TEST_CASE(on_one_machine_all_places_are_everybodys) {
  Door door;
  BOOST_TEST(door.come("127.0.0.1", 100) == 16);
}

BOOST_AUTO_TEST_CASE(ports_and_brackets_make_no_other_host) {
  BOOST_TEST(host_of("10.0.0.1:7000") == "10.0.0.1");
  BOOST_TEST(host_of("[fe80::1]:7000") == "fe80::1");
  BOOST_TEST(host_of("[::ffff:10.0.0.1]:7000") == "10.0.0.1");
  BOOST_TEST(host_of("localhost:1") == "127.0.0.1");
  BOOST_TEST(host_of("") == "");
}

BOOST_AUTO_TEST_CASE(only_kinds_with_lists_have_long_heads) {
  BOOST_TEST(head_limit(proto::KIND_COMMIT_STEP, 1 << 20) == kSmallHeadBytes);
  BOOST_TEST(head_limit(proto::KIND_AVERAGE_PART, 1 << 20) == kSmallHeadBytes);
  BOOST_TEST(head_limit(proto::KIND_FORWARD, 1 << 20) == 1u << 20);
  BOOST_TEST(head_limit(proto::KIND_VOTER_PROMISE, 1 << 20) == kSmallHeadBytes);
  BOOST_TEST(head_limit(proto::KIND_VOTER_STORE, 1 << 20) == 1u << 20);  // lists of names
  BOOST_TEST(head_limit(proto::KIND_COMMIT_STEP, 1 << 10) == 1u << 10);
  BOOST_TEST(head_limit(9'999, 1 << 20) == kSmallHeadBytes);
}

// 1 MiB of empty members was parsed into 40 MB.
BOOST_AUTO_TEST_CASE(empty_messages_by_the_thousand_are_not_parsed) {
  const auto& type = *proto::CloseStep::descriptor();
  BOOST_TEST(is_lean(type, members(20'000, 16).SerializeAsString()));
  BOOST_TEST(is_lean(type, members(900, 0).SerializeAsString()));
  BOOST_TEST(!is_lean(type, members(500'000, 0).SerializeAsString()));
  proto::LeaseReply nested;
  auto& slot = *nested.add_slots();
  for (int i = 0; i < 100'000; ++i) slot.add_avoid();
  BOOST_TEST(!is_lean(*proto::LeaseReply::descriptor(), nested.SerializeAsString()));
  std::string unknown;
  for (int i = 0; i < 100'000; ++i) unknown += "\x78\x01";  // field 15, a varint
  BOOST_TEST(!is_lean(*proto::CommitStep::descriptor(), unknown));
  proto::CloseStep slots;
  for (uint32_t i = 0; i < 300'000; ++i) slots.add_counted_slots(i);
  BOOST_TEST(is_lean(type, slots.SerializeAsString()));
  BOOST_TEST(is_lean(type, std::string(100'000, '\xff')));  // it does not parse
}

BOOST_AUTO_TEST_CASE(what_waits_for_an_answer_is_counted_by_its_bytes) {
  Serving serving;
  BOOST_TEST(serving.add(1, Serving::kMostBytes));
  BOOST_TEST(!serving.add(1, 1));
  BOOST_TEST(!serving.too_many());
  BOOST_TEST(serving.add(2, 1));
  BOOST_TEST(serving.too_many());
  BOOST_TEST(serving.take(1));
  BOOST_TEST(!serving.take(1));
  BOOST_TEST(!serving.too_many());
}

BOOST_AUTO_TEST_SUITE_END()
