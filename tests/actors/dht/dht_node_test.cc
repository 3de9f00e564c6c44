#include "actors/dht/dht_node.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <caf/actor_system.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/exit_reason.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>
#include <caf/stateful_actor.hpp>
#include <map>
#include <optional>
#include <set>

#include "actors/net/errors.h"
#include "apps/sim/deterministic_system.h"
#include "apps/sim/network.h"
#include "common/names.h"

namespace swarm::actors {
namespace {

using namespace std::chrono_literals;
using sim::DeterministicSystem;
using sim::FakeNetwork;

NodeId id_of(uint64_t n) {  // spread over the key space, equal in every run
  NodeId id = routing::dht_key("test node " + std::to_string(n));
  return id;
}

/// Some DHT nodes on a fake network; node 0 is the one the others join through.
struct Swarm {
  DeterministicSystem system;
  FakeNetwork network{*system};
  std::map<uint64_t, caf::actor> nodes;
  DhtOptions options;

  ~Swarm() {
    for (auto& [n, node] : nodes) caf::anon_send_exit(node, caf::exit_reason::user_shutdown);
    nodes.clear();
    system.run();
    network.shut_down();
    system.run();
  }
  caf::actor add(uint64_t n, std::vector<Endpoint> join) {
    auto links = network.add(id_of(n));
    DhtDeps deps{id_of(n), network.endpoint(id_of(n)), links, options, "run", std::move(join)};
    nodes[n] = spawn_dht_node(*system, deps);
    system.run();
    return nodes[n];
  }
  void add_many(uint64_t count) {
    add(0, {});
    for (uint64_t n = 1; n < count; ++n) {
      add(n, {network.endpoint(id_of(0))});
      system.advance(10ms);
    }
    system.advance(500ms);
  }
  void kill(uint64_t n) {
    network.kill(id_of(n));
    caf::anon_send_exit(nodes[n], caf::exit_reason::kill);
    nodes.erase(n);
    system.run();
  }
  template <class T, class... Ts>
  std::optional<T> ask(uint64_t n, std::chrono::milliseconds limit, Ts... args) {
    caf::scoped_actor self{*system};
    auto request = self->request(nodes[n], caf::infinite, args...);
    system.advance(limit);
    std::optional<T> answer;
    request.receive([&](T& value) { answer = value; }, [](const caf::error&) {});
    return answer;
  }
  ErrorCode store(uint64_t n, const std::string& name, DhtRecordLocal record,
                  std::chrono::milliseconds limit = 20ms) {
    caf::scoped_actor self{*system};
    auto request = self->request(nodes[n], caf::infinite, dht_store_atom::value, name, record);
    system.advance(limit);
    ErrorCode code = ErrorCode::kInternal;
    request.receive([&] { code = ErrorCode::kNone; },
                    [&](const caf::error& error) { code = from_caf(error).code; });
    return code;
  }
  DhtRecords get(uint64_t n, const std::string& name, std::chrono::milliseconds limit = 20ms) {
    auto records = ask<DhtRecords>(n, limit, dht_get_atom::value, name);
    BOOST_REQUIRE(records.has_value());
    return *records;
  }
};

BOOST_AUTO_TEST_SUITE(dht_node)

BOOST_AUTO_TEST_CASE(a_node_alone_stores_and_finds) {
  Swarm swarm;
  swarm.add(0, {});
  BOOST_TEST(int(swarm.store(0, "stage/0", {"me", "value", 1, 4'000ms})) == int(ErrorCode::kNone));
  auto records = swarm.get(0, "stage/0");
  BOOST_REQUIRE_EQUAL(records.size(), 1u);
  BOOST_TEST(records[0].value == "value");
  BOOST_TEST(swarm.get(0, "stage/1").empty());
}

BOOST_AUTO_TEST_CASE(two_nodes_find_each_others_records_at_once) {
  Swarm swarm;
  swarm.add_many(2);
  swarm.store(0, "stage/0", {"a", "from zero", 1, 4'000ms});
  swarm.store(1, "stage/0", {"b", "from one", 1, 4'000ms});
  for (uint64_t n : {0, 1}) {
    auto records = swarm.get(n, "stage/0");
    BOOST_REQUIRE_EQUAL(records.size(), 2u);
    BOOST_TEST(records[0].value == "from zero");
    BOOST_TEST(records[1].value == "from one");
  }
}

BOOST_AUTO_TEST_CASE(what_was_stored_before_joining_is_found_after_it) {
  Swarm swarm;
  swarm.add(0, {});
  swarm.store(0, "coordinator", {"c", "term 1", 1, 60'000ms});
  swarm.add(1, {swarm.network.endpoint(id_of(0))});
  swarm.system.advance(50ms);
  swarm.kill(0);  // only what was handed over is left
  BOOST_TEST(swarm.get(1, "coordinator", 3'000ms).size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_record_vanishes_after_its_time_to_live) {
  Swarm swarm;
  swarm.add_many(3);
  swarm.store(1, "stage/0", {"a", "x", 1, 4'000ms});
  swarm.system.advance(3'900ms);
  BOOST_TEST(swarm.get(2, "stage/0").size() == 1u);
  swarm.system.advance(200ms);
  BOOST_TEST(swarm.get(2, "stage/0").empty());
}

BOOST_AUTO_TEST_CASE(the_highest_version_wins_on_every_node) {
  Swarm swarm;
  swarm.add_many(4);
  swarm.store(1, "coordinator", {"c", "new", 2, 4'000ms});
  swarm.store(2, "coordinator", {"c", "old", 1, 4'000ms});
  for (uint64_t n = 0; n < 4; ++n) {
    auto records = swarm.get(n, "coordinator");
    BOOST_REQUIRE_EQUAL(records.size(), 1u);
    BOOST_TEST(records[0].value == "new");
    BOOST_TEST(records[0].version == 2u);
  }
}

BOOST_AUTO_TEST_CASE(a_join_is_retried_until_the_first_node_is_up) {
  Swarm swarm;
  Endpoint later{"127.0.0.1", 9'999};
  swarm.add(1, {later});
  swarm.system.advance(5'000ms);
  BOOST_TEST(!swarm.ask<DhtStatus>(1, 1ms, dht_status_atom::value)->joined);
  auto links = swarm.network.add(id_of(0), "", later.port);
  swarm.nodes[0] = spawn_dht_node(*swarm.system, {id_of(0), later, links, {}, "run", {}});
  swarm.system.advance(2'500ms);
  BOOST_TEST(swarm.ask<DhtStatus>(1, 1ms, dht_status_atom::value)->joined);
}

BOOST_AUTO_TEST_CASE(thirty_nodes_find_a_record_from_any_and_after_deaths) {
  Swarm swarm;
  swarm.add_many(30);
  swarm.store(7, "stage/3", {"seven", "here", 1, 600'000ms}, 100ms);
  for (uint64_t n = 0; n < 30; ++n) BOOST_TEST(swarm.get(n, "stage/3", 50ms).size() == 1u);
  for (uint64_t n : {0, 3, 7, 11, 19, 23}) swarm.kill(n);
  for (auto n : {1, 5, 13, 29}) BOOST_TEST(swarm.get(n, "stage/3", 11'000ms).size() == 1u);
  swarm.add(100, {swarm.network.endpoint(id_of(1))});
  swarm.system.advance(300ms);
  BOOST_TEST(swarm.get(100, "stage/3", 100ms).size() == 1u);
  auto status = swarm.ask<DhtStatus>(1, 1ms, dht_status_atom::value);
  BOOST_TEST(status->contacts.size() >= 8u);
  for (auto& contact : status->contacts) BOOST_TEST((contact.id != id_of(7)));
}

BOOST_AUTO_TEST_CASE(a_frozen_node_delays_a_get_by_one_timeout_only) {
  Swarm swarm;
  swarm.add_many(4);
  swarm.store(1, "stage/0", {"a", "x", 1, 60'000ms});
  swarm.network.silence(id_of(2));
  BOOST_TEST(swarm.get(3, "stage/0", 1'100ms).size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_writer_looks_up_only_when_the_nearest_may_have_changed) {
  Swarm swarm;
  swarm.add_many(20);
  size_t finds = 0, stores = 0;
  swarm.network.set_filter([&](const NodeId&, const ActorId&, const Mail& mail) {
    finds += mail.kind == proto::KIND_DHT_FIND ? 1 : 0;
    stores += mail.kind == proto::KIND_DHT_STORE ? 1 : 0;
    return sim::Fate::kDeliver;
  });
  auto announce = [&](uint64_t version) {
    finds = stores = 0;
    BOOST_TEST(int(swarm.store(7, "stage/3", {"seven", "here", version, 4'000ms})) ==
               int(ErrorCode::kNone));
  };
  announce(1);
  BOOST_TEST(finds >= 8u);
  const size_t replicas = stores;
  BOOST_TEST(replicas >= 7u);
  announce(2);
  BOOST_TEST(finds == 0u);
  BOOST_TEST(stores == replicas);
  const auto key = routing::dht_key("run/stage/3");
  auto distance = [&](uint64_t n) { return routing::xor_distance(id_of(n), key); };
  NodeId nearest = distance(0);
  for (uint64_t n = 1; n < 20; ++n) nearest = std::min(nearest, distance(n));
  uint64_t newcomer = 100;
  while (nearest < distance(newcomer)) ++newcomer;
  swarm.add(newcomer, {swarm.network.endpoint(id_of(7))});
  swarm.system.advance(300ms);
  announce(3);
  BOOST_TEST(finds >= 8u);
  swarm.kill(newcomer);
  announce(4);
  BOOST_TEST(finds >= 8u);
  BOOST_TEST(swarm.get(5, "stage/3")[0].version == 4u);
}

BOOST_AUTO_TEST_CASE(a_reader_asks_few_where_something_is_known_and_all_k_otherwise) {
  Swarm swarm;
  swarm.add_many(30);
  swarm.store(7, "stage/3", {"seven", "here", 1, 60'000ms}, 100ms);
  size_t finds = 0;
  swarm.network.set_filter([&](const NodeId&, const ActorId&, const Mail& mail) {
    finds += mail.kind == proto::KIND_DHT_FIND ? 1 : 0;
    return sim::Fate::kDeliver;
  });
  auto read_by_all = [&](const std::string& name, size_t records) {
    finds = 0;
    for (uint64_t n = 0; n < 30; ++n) BOOST_TEST(swarm.get(n, name).size() == records);
    return finds;
  };
  const size_t known = read_by_all("stage/3", 1), unknown = read_by_all("stage/4", 0);
  BOOST_TEST(known >= 28u * 3);
  BOOST_TEST(unknown >= 30u * 8);
  BOOST_TEST(known * 4 < unknown * 3);
}

BOOST_AUTO_TEST_CASE(who_reads_again_asks_the_same_few_nodes_in_a_swarm_of_any_size) {
  for (const uint64_t nodes : {10, 40}) {
    Swarm swarm;
    swarm.add_many(nodes);
    swarm.store(7, "stage/3", {"seven", "here", 1, 60'000ms}, 100ms);
    size_t finds = 0;
    swarm.network.set_filter([&](const NodeId&, const ActorId&, const Mail& mail) {
      finds += mail.kind == proto::KIND_DHT_FIND ? 1 : 0;
      return sim::Fate::kDeliver;
    });
    for (uint64_t n = 0; n < nodes; ++n) {
      swarm.get(n, "stage/3");
      finds = 0;
      BOOST_TEST(swarm.get(n, "stage/3").size() == 1u);
      BOOST_TEST(finds <= 3u);
      finds = 0;
      auto some = swarm.ask<DhtRecords>(n, 20ms, dht_sample_atom::value, std::string("stage/3"),
                                        uint32_t{8});
      BOOST_TEST((some && some->size() == 1u));
      BOOST_TEST(finds <= 1u);
    }
  }
}

BOOST_AUTO_TEST_CASE(who_reads_finds_the_record_when_those_it_asked_before_have_died) {
  Swarm swarm;
  swarm.add_many(20);
  swarm.store(7, "stage/3", {"seven", "here", 1, 60'000ms}, 100ms);
  swarm.get(5, "stage/3");
  const auto key = routing::dht_key("run/stage/3");
  std::map<NodeId, uint64_t> by_distance;
  for (uint64_t n = 0; n < 20; ++n)
    if (n != 5 && n != 7) by_distance[routing::xor_distance(id_of(n), key)] = n;
  auto nearest = by_distance.begin();
  for (int dead = 0; dead < 3; ++dead, ++nearest) swarm.kill(nearest->second);
  BOOST_TEST(swarm.get(5, "stage/3", 2'000ms).size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_sample_is_as_large_as_was_asked_for_and_stays_the_same) {
  Swarm swarm;
  swarm.add_many(12);
  for (int peer = 0; peer < 40; ++peer)
    swarm.store(1, "stage/0", {"peer " + std::to_string(peer), "x", 1, 60'000ms});
  auto sample = [&](uint64_t n) {
    auto some =
        swarm.ask<DhtRecords>(n, 20ms, dht_sample_atom::value, std::string("stage/0"), uint32_t{8});
    std::set<std::string> subkeys;
    for (const auto& record : some.value_or(DhtRecords{})) subkeys.insert(record.subkey);
    return subkeys;
  };
  sample(3);  // looks the key up: the answers of several nodes together
  const auto first = sample(3);
  BOOST_TEST(first.size() == 8u);
  for (int again = 0; again < 4; ++again) BOOST_TEST((sample(3) == first));
  sample(4);
  BOOST_TEST((sample(4) != first));
}

BOOST_AUTO_TEST_CASE(islands_grow_together_at_a_refresh) {
  Swarm swarm;
  swarm.add(0, {});
  Endpoint late{"127.0.0.1", 9'999};
  swarm.add(1, {swarm.network.endpoint(id_of(0)), late});
  auto links = swarm.network.add(id_of(2), "", late.port);
  swarm.nodes[2] = spawn_dht_node(*swarm.system, {id_of(2), late, links, {}, "run", {}});
  swarm.system.advance(16'000ms);
  swarm.store(2, "stage/0", {"a", "x", 1, 4'000ms});
  BOOST_TEST(swarm.get(0, "stage/0").size() == 1u);
}

BOOST_AUTO_TEST_CASE(malformed_requests_are_refused) {
  Swarm swarm;
  auto node = swarm.add(0, {});
  proto::DhtFind find;
  find.set_key("short");
  proto::DhtStore store;
  store.set_key(std::string(16, 'k'));
  for (int i = 0; i < 2'000; ++i) store.add_records()->set_subkey("s");
  for (auto& mail : {make_mail(find), make_mail(store), make_mail(proto::Echo{})}) {
    caf::scoped_actor self{*swarm.system};
    auto request = self->request(node, caf::infinite, mail);
    swarm.system.run();
    ErrorCode code = ErrorCode::kNone;
    request.receive([](Mail&) {}, [&](const caf::error& e) { code = from_caf(e).code; });
    BOOST_TEST(int(code) == int(ErrorCode::kInvalidArgument));
  }
  BOOST_TEST(int(swarm.store(0, "x", {"", "v", 1, 1'000ms})) == int(ErrorCode::kInvalidArgument));
  BOOST_TEST(int(swarm.store(0, "x", {"a", std::string(5'000, 'v'), 1, 1'000ms})) ==
             int(ErrorCode::kInvalidArgument));
}

/// What somebody who reads at node 2 gets when that node's actor ends meanwhile.
ErrorCode answer_to_reader_at_end(Swarm& swarm) {
  caf::scoped_actor self{*swarm.system};
  auto request =
      self->request(swarm.nodes[2], caf::infinite, dht_get_atom::value, std::string("stage/0"));
  swarm.system.run();
  caf::anon_send_exit(swarm.nodes[2], caf::exit_reason::user_shutdown);
  swarm.system.run();
  ErrorCode code = ErrorCode::kNone;
  request.receive([](DhtRecords&) {}, [&](const caf::error& e) { code = from_caf(e).code; });
  return code;
}

BOOST_AUTO_TEST_CASE(ending_the_actor_answers_who_reads_again) {
  Swarm swarm;
  swarm.add_many(3);
  swarm.store(0, "stage/0", {"a", "x", 1, 60'000ms});
  BOOST_TEST(swarm.get(2, "stage/0").size() == 1u);
  swarm.network.silence(id_of(1));
  BOOST_TEST(int(answer_to_reader_at_end(swarm)) == int(ErrorCode::kShuttingDown));
}

BOOST_AUTO_TEST_CASE(ending_the_actor_answers_what_is_pending) {
  Swarm swarm;
  swarm.add_many(3);
  swarm.network.silence(id_of(1));
  BOOST_TEST(int(answer_to_reader_at_end(swarm)) == int(ErrorCode::kShuttingDown));
}

BOOST_AUTO_TEST_CASE(nobody_stores_or_asks_in_anothers_name) {
  Swarm swarm;
  swarm.add_many(2);
  const auto key = routing::dht_key("run/stage/0");
  proto::DhtStore store;
  store.mutable_sender()->set_node_id(id_of(7).raw());
  store.mutable_sender()->set_endpoint("10.0.0.1:1");
  store.set_key(key.raw());
  Mail mail = make_mail(store);
  mail.from = id_of(8);
  BOOST_TEST(!swarm.ask<Mail>(0, 20ms, mail).has_value());
  proto::DhtFind find;
  *find.mutable_sender() = store.sender();
  find.set_key(key.raw());
  mail = make_mail(find);
  mail.from = id_of(8);
  BOOST_TEST(!swarm.ask<Mail>(0, 20ms, mail).has_value());
}

/// Mail of strangers, 500 records under keys of their own or `bytes` of one key.
void store_as_strangers(Swarm& swarm, uint64_t node, size_t keys, size_t value_bytes) {
  for (size_t i = 0; i < keys; ++i) {
    proto::DhtStore store;
    store.set_key(routing::dht_key("junk " + std::to_string(value_bytes > 0 ? 0 : i)).raw());
    auto& record = *store.add_records();
    record.set_subkey("junk " + std::to_string(i));
    record.set_value(std::string(value_bytes, 'x'));
    record.set_version(1);
    record.set_ttl_ms(3'600'000);
    Mail mail = make_mail(store);
    mail.from = id_of(1'000 + i / 500);
    caf::anon_send(swarm.nodes[node], mail);
  }
  swarm.system.run();
}

// Each newcomer got them all, and each neighbour every 15 s.
BOOST_AUTO_TEST_CASE(many_records_of_strangers_make_no_node_send_without_end) {
  Swarm swarm;
  swarm.add_many(3);
  store_as_strangers(swarm, 0, 5'000, 0);
  swarm.store(0, "stage/0", {"a", "x", 1, 600'000ms});
  BOOST_TEST(swarm.ask<DhtStatus>(0, 1ms, dht_status_atom::value)->records == 5'001u);
  size_t stores = 0;
  swarm.network.set_filter([&](const NodeId& from, const ActorId&, const Mail& mail) {
    stores += mail.kind == proto::KIND_DHT_STORE && from == id_of(0) ? 1 : 0;
    return sim::Fate::kDeliver;
  });
  swarm.add(4, {swarm.network.endpoint(id_of(0))});
  swarm.system.advance(50ms);
  BOOST_TEST(stores > 200u);
  BOOST_TEST(stores <= 256u);
  stores = 0;
  swarm.system.advance(15'000ms);
  BOOST_TEST(stores > 3 * 200u);
  BOOST_TEST(stores <= 3 * 256u);
}

// Their records live an hour: training stood still until then.
BOOST_AUTO_TEST_CASE(a_sample_of_a_key_that_strangers_filled_has_the_peers_in_it) {
  Swarm swarm;
  swarm.add_many(12);
  for (size_t i = 0; i < 600; ++i) {
    proto::DhtStore store;
    store.set_key(routing::dht_key("run/stage/0").raw());
    auto& record = *store.add_records();
    const NodeId from = id_of(1'000 + i % 200);
    record.set_subkey(i < 200 ? subkey_of(from) : "junk " + std::to_string(i));
    record.set_version(1);
    record.set_ttl_ms(3'600'000);
    Mail mail = make_mail(store);
    mail.from = from;
    for (uint64_t n = 0; n < 12; ++n) caf::anon_send(swarm.nodes[n], mail);
  }
  swarm.system.run();
  const auto announce = [&](uint64_t version) {
    for (uint64_t n : {1, 2, 3})
      swarm.store(n, "stage/0", {subkey_of(id_of(n)), "peer", version, 4'000ms});
  };
  announce(1);
  swarm.kill(0);
  for (uint64_t version = 2; version < 20; ++version) {
    announce(version);
    swarm.system.advance(940ms);
  }
  for (uint64_t n = 1; n < 12; ++n) {
    const auto records =
        swarm.ask<DhtRecords>(n, 500ms, dht_sample_atom::value, std::string("stage/0"), 32u);
    BOOST_REQUIRE(records.has_value());
    const auto peers = std::count_if(records->begin(), records->end(),
                                     [](const auto& one) { return one.value == "peer"; });
    BOOST_TEST(peers == 3);
    announce(20 + n);
  }
}

BOOST_AUTO_TEST_CASE(who_reads_much_again_and_again_is_told_to_wait) {
  Swarm swarm;
  swarm.add_many(2);
  store_as_strangers(swarm, 0, 500, 4'000);
  proto::DhtFind find;
  find.set_key(routing::dht_key("junk 0").raw());
  const auto answered = [&](uint64_t asker) {
    Mail mail = make_mail(find);
    mail.from = id_of(asker);
    int answers = 0;
    for (int i = 0; i < 40; ++i) answers += swarm.ask<Mail>(0, 0ms, mail).has_value() ? 1 : 0;
    return answers;
  };
  const int first = answered(2'000);
  BOOST_TEST(first >= 8);  // half a MiB each
  BOOST_TEST(first <= 10);
  BOOST_TEST(answered(2'000) == 0);
  BOOST_TEST(answered(2'001) == first);
  swarm.system.advance(10'000ms);
  BOOST_TEST(answered(2'000) == first);
}

/// Of stage 0: what node 1 never wrote, of the highest version.
proto::DhtStore forged_store() {
  proto::DhtStore store;
  store.set_key(routing::dht_key("run/stage/0").raw());
  auto& record = *store.add_records();
  record.set_subkey(subkey_of(id_of(1)));
  record.set_value("forged");
  record.set_version(~uint64_t{0});
  record.set_ttl_ms(60'000);
  return store;
}

BOOST_AUTO_TEST_CASE(a_forged_record_does_not_replace_a_nodes_own) {
  Swarm swarm;
  swarm.add_many(2);
  swarm.store(1, "stage/0", {subkey_of(id_of(1)), "own", 3, 4'000ms});
  const proto::DhtStore store = forged_store();
  for (uint64_t n : {0, 1}) {
    Mail mail = make_mail(store);
    mail.from = id_of(8);
    BOOST_TEST(swarm.ask<Mail>(n, 20ms, mail).has_value());
  }
  for (uint64_t n : {0, 1}) {
    const auto records = swarm.get(n, "stage/0");
    BOOST_REQUIRE_EQUAL(records.size(), 1u);
    BOOST_TEST(records[0].value == "own");
  }
}

// One of the sources has it from a stranger only: its version hid the copies of all others at every reader.
BOOST_AUTO_TEST_CASE(a_forged_version_at_one_source_hides_no_record_from_its_writer) {
  Swarm swarm;
  swarm.add_many(5);
  swarm.network.set_filter([](const NodeId& from, const ActorId& to, const Mail& mail) {
    const bool apart = from == id_of(1) && to.node == id_of(2);
    return apart && mail.kind == proto::KIND_DHT_STORE ? sim::Fate::kDrop : sim::Fate::kDeliver;
  });
  proto::DhtStore store = forged_store();
  store.mutable_records(0)->set_first_hand(true);  // of stores nobody believes it
  Mail mail = make_mail(store);
  mail.from = id_of(8);
  BOOST_TEST(swarm.ask<Mail>(2, 20ms, mail).has_value());
  BOOST_TEST(swarm.get(2, "stage/0")[0].value == "forged");
  BOOST_TEST(!swarm.get(2, "stage/0")[0].first_hand);
  swarm.store(1, "stage/0", {subkey_of(id_of(1)), "own", 3, 4'000ms});
  for (uint64_t n = 0; n < 5; ++n) {
    const auto records = swarm.get(n, "stage/0");
    BOOST_REQUIRE_EQUAL(records.size(), 1u);
    BOOST_TEST(records[0].value == "own", "node " << n);
    BOOST_TEST(records[0].first_hand);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace swarm::actors
