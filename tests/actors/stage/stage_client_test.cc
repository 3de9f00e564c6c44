#include "actors/stage/stage_client.h"

#include <boost/test/unit_test.hpp>
#include <caf/send.hpp>
#include <caf/stateful_actor.hpp>
#include <limits>

#include "actors/net/errors.h"
#include "actors/net/local.h"
#include "apps/sim/deterministic_system.h"
#include "common/names.h"
#include "swarm/dht.pb.h"
#include "tests/support/ids.h"

using namespace swarm;
using namespace swarm::actors;
using namespace std::chrono_literals;
using swarm::testing::node;
using swarm::testing::peer;

namespace {

struct OwnerState {
  std::unique_ptr<StageClient> client;
};
using Owner = caf::stateful_actor<OwnerState>;

/// A client of stage 1 whose DHT says what the test puts into `records`, and whose peers answer
/// what the test puts into `answers`.
struct Client {
  std::vector<DhtRecordLocal> records;
  std::map<PeerId, Error> answers;  // a peer without one replies
  std::map<PeerId, proto::ForwardReply> replies;
  proto::ForwardRequest last;
  std::vector<std::chrono::milliseconds> budgets;  // of the requests, as the peers see them
  bool keeps = false;                              // peers answer when the test says so: `kept`
  std::vector<caf::response_promise> kept;
  std::vector<PeerId> asked;
  NodeId listens;  // at every address
  std::shared_ptr<MemoryEventLog> events = std::make_shared<MemoryEventLog>();
  sim::DeterministicSystem system;
  StageClientDeps deps;
  StageClient* client = nullptr;
  caf::actor owner;
  caf::event_based_actor* asked_actor = nullptr;

  Client() {
    deps.stage = Stage(1);
    deps.num_stages = 2;
    deps.events = events;
    deps.dht = system.own(system->spawn([this]() -> caf::behavior {
      return {[this](dht_sample_atom, const std::string&, uint32_t) { return records; }};
    }));
    deps.links = system.own(system->spawn([this](caf::event_based_actor* self) -> caf::behavior {
      return {[this](connect_atom, const Endpoint&) {
                NodeInfo info;
                info.id = listens;
                return info;
              },
              [this, self](resolve_atom, const ActorId& id, const Endpoint&) {
                return system.own(
                    self->spawn([this, id](caf::event_based_actor* peer) -> caf::behavior {
                      return {[this, id, peer](const Mail& mail) {
                        asked_actor = peer;
                        return answer(id, mail);
                      }};
                    }));
              }};
    }));
  }
  void start() {
    owner = system.own(system->spawn([this](Owner* self) -> caf::behavior {
      deps.self = self;
      self->state.client = std::make_unique<StageClient>(deps);
      client = self->state.client.get();
      return {[](run_later_atom, const LocalTask& task) { task(); }};
    }));
    system.run();
  }
  caf::result<Mail> answer(const PeerId& id, const Mail& mail) {
    if (mail.kind != proto::KIND_FORWARD) return make_mail(proto::Ack());
    asked.push_back(id);
    last = mail.as<proto::ForwardRequest>();
    budgets.push_back(mail.budget);
    if (keeps) {
      kept.push_back(asked_actor->make_response_promise());
      return kept.back();
    }
    if (auto error = answers.find(id); error != answers.end()) return to_caf(error->second);
    return make_mail(replies[id]);
  }
  /// `count` microbatches of one sample, one after the other; how many each peer got.
  std::map<PeerId, int> send(int count) {
    proto::ForwardRequest head;
    head.set_samples(1);
    asked.clear();
    for (int i = 0; i < count; ++i)
      act([&] { client->send(head, {}, 10s, [](const Result<StageClient::Outcome>&) {}); });
    std::map<PeerId, int> shares;
    for (const PeerId& id : asked) ++shares[id];
    return shares;
  }
  void announce(const PeerId& id, uint64_t version,
                const std::string& endpoint = "127.0.0.1:7000") {
    proto::PeerRecord record;
    record.set_node_id(id.node.raw());
    record.set_actor(id.actor);
    record.set_endpoint(endpoint);
    record.set_stage(1);
    for (auto it = records.begin(); it != records.end();)
      it = it->subkey == subkey_of(id) ? records.erase(it) : std::next(it);
    records.push_back({subkey_of(id), record.SerializeAsString(), version, 4s});
  }
  /// In the owner's own thread, as its handlers would.
  void act(std::function<void()> work) {
    caf::anon_send(owner, run_later_atom::value, LocalTask(std::move(work)));
    system.run();
  }
  void refresh() {
    act([this] { client->tick(); });
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(StageClientTest)

// Without time left it failed at once: the sender's resident was gone before send() had returned.
BOOST_FIXTURE_TEST_CASE(the_outcome_never_comes_before_send_has_returned, Client) {
  start();
  bool returned = false, early = false;
  std::optional<ErrorCode> outcome;
  act([&] {
    client->send({}, {}, 0ms, [&](Result<StageClient::Outcome> result) {
      early = !returned;
      outcome = result.code();
    });
    returned = true;
  });
  system.advance(1ms);
  BOOST_REQUIRE(outcome.has_value());
  BOOST_TEST(!early);
  BOOST_TEST(*outcome == ErrorCode::kNoLivePeer);
  BOOST_TEST(client->in_flight() == 0u);
}

BOOST_FIXTURE_TEST_CASE(a_peer_whose_record_names_its_host_is_none, Client) {
  announce(peer(1), 1);
  announce(peer(2), 1, "far.example:7000");
  start();
  refresh();
  BOOST_TEST(client->live_peers() == 1u);
}

BOOST_FIXTURE_TEST_CASE(who_has_taken_its_announcement_back_gets_nothing_new, Client) {
  announce(peer(1), 1);
  announce(peer(2), 1);
  start();
  refresh();
  BOOST_TEST(client->live_peers() == 2u);
  records[0] = {subkey_of(peer(1)), "", 2, 4s};
  refresh();
  BOOST_TEST(client->live_peers() == 1u);
  BOOST_TEST(send(10)[peer(2)] == 10);
  announce(peer(1), 1);  // as a node of the table that has missed it says
  refresh();
  BOOST_TEST(client->live_peers() == 1u);
}

// A forged version of 2^64 - 1 stood before all that the peer said from then on.
BOOST_FIXTURE_TEST_CASE(what_a_peer_says_itself_stands_before_what_others_pass_on, Client) {
  const auto itself = [&](uint32_t n, uint64_t version) {
    announce(peer(n), version);
    records.back().first_hand = true;
  };
  itself(1, 5);
  announce(peer(2), ~uint64_t{0});
  start();
  refresh();
  BOOST_TEST(client->live_peers() == 2u);
  records = {{subkey_of(peer(1)), "", ~uint64_t{0}, 4s}, {subkey_of(peer(2)), "", 3, 4s, true}};
  refresh();
  BOOST_TEST(client->live_peers() == 1u);
  BOOST_TEST(send(10)[peer(1)] == 10);
  records = {{subkey_of(peer(1)), "", 6, 4s, true}};
  refresh();
  BOOST_TEST(client->live_peers() == 0u);
}

// It was out of reach when a stranger had announced it, and would have stayed so for good.
BOOST_FIXTURE_TEST_CASE(who_is_lost_comes_back_with_a_version_of_its_own, Client) {
  listens = peer(1).node;
  announce(peer(1), ~uint64_t{0});
  start();
  refresh();
  act([this] { client->node_down(peer(1).node); });
  BOOST_TEST(client->live_peers() == 0u);
  announce(peer(1), 2);
  records.back().first_hand = true;
  refresh();
  BOOST_TEST(client->live_peers() == 1u);
}

BOOST_FIXTURE_TEST_CASE(all_refuse_and_the_shortest_hint_is_waited_for, Client) {
  for (uint32_t i = 1; i <= 3; ++i) announce(peer(i), 1);
  answers[peer(1)] = {ErrorCode::kOverloaded, "", 300};
  answers[peer(2)] = {ErrorCode::kOverloaded, "", 20};
  answers[peer(3)] = {ErrorCode::kOverloaded, "", 900};
  start();
  refresh();
  act([&] { client->send({}, {}, 10s, [](const Result<StageClient::Outcome>&) {}); });
  BOOST_TEST(asked.size() == 3u);
  system.advance(19ms);
  BOOST_TEST(asked.size() == 3u);
  answers.clear();
  system.advance(2ms);
  BOOST_TEST(asked.size() == 4u);
  BOOST_TEST(client->in_flight() == 0u);
}

// 15 seconds were written into the code: with rarer announcements peers came and went.
BOOST_FIXTURE_TEST_CASE(rare_announcements_are_no_silence, Client) {
  DhtOptions dht;
  dht.announce_every = 60s;
  dht.announce_ttl = 90s;
  deps.silent_after = dht.silent_after();
  announce(peer(1), 1);
  start();
  refresh();
  BOOST_TEST(client->live_peers() == 1u);
  system.advance(80s);
  refresh();
  BOOST_TEST(client->live_peers() == 1u);
  system.advance(dht.silent_after());
  records.clear();
  refresh();
  BOOST_TEST(client->live_peers() == 0u);
}

// Medians were over the long dead too.
BOOST_FIXTURE_TEST_CASE(a_peer_that_is_gone_says_nothing_about_newcomers, Client) {
  deps.estimates.initial_seconds_per_sample = 0.5;
  announce(peer(1), 1);
  start();
  refresh();
  proto::ForwardRequest head;
  head.set_samples(1);
  act([&] { client->send(head, {}, 10s, [](const Result<StageClient::Outcome>&) {}); });
  BOOST_TEST(asked.size() == 1u);
  records.clear();
  system.advance(deps.silent_after + 1s);
  refresh();
  announce(peer(2), 1);
  refresh();
  BOOST_TEST(client->describe().find("seconds_per_sample=0.5 ") != std::string::npos,
             client->describe());
}

// The share followed the compute that a peer told of itself: links were not seen.
BOOST_FIXTURE_TEST_CASE(a_slow_link_lowers_a_peers_share, Client) {
  for (uint32_t i = 1; i <= 2; ++i) {
    announce(peer(i), 1);
    replies[peer(i)].set_compute_s(0.01f);
  }
  replies[peer(1)].set_uplink_s(0.09f);
  deps.node = node(9);
  start();
  refresh();
  auto shares = send(100);
  BOOST_TEST(shares[peer(1)] <= 12);
  BOOST_TEST(last.asker() == node(9).raw());
  BOOST_TEST(client->describe().find("slowest=uplink") != std::string::npos, client->describe());
}

BOOST_FIXTURE_TEST_CASE(the_way_there_counts_at_the_rate_of_the_own_link, Client) {
  LinkRates rates;
  rates.slow_pairs[node(1)] = 10;  // bytes/s
  deps.rates = &rates;
  for (uint32_t i = 1; i <= 2; ++i) {
    announce(peer(i), 1);
    replies[peer(i)].set_compute_s(0.01f);
  }
  start();
  refresh();
  BOOST_TEST(send(100)[peer(1)] <= 12);
}

BOOST_FIXTURE_TEST_CASE(compute_alone_does_not_see_links, Client) {
  deps.wiring.cost = routing::WiringCost::kCompute;
  for (uint32_t i = 1; i <= 2; ++i) {
    announce(peer(i), 1);
    replies[peer(i)].set_compute_s(0.01f);
  }
  replies[peer(1)].set_uplink_s(0.09f);
  start();
  refresh();
  BOOST_TEST(send(100)[peer(1)] == 50);
}

BOOST_FIXTURE_TEST_CASE(figures_that_cannot_be_change_nothing, Client) {
  for (uint32_t i = 1; i <= 2; ++i) {
    announce(peer(i), 1);
    replies[peer(i)].set_compute_s(0.01f);
  }
  start();
  refresh();
  send(20);
  auto& lie = replies[peer(1)];
  lie.set_compute_s(-1);
  lie.set_uplink_s(std::numeric_limits<float>::quiet_NaN());
  lie.set_downlink_s(std::numeric_limits<float>::infinity());
  lie.set_pair_s(1e20f);
  auto shares = send(100);
  BOOST_TEST(shares[peer(1)] >= 49);
  BOOST_TEST(shares[peer(2)] >= 49);
}

// 30 s for the first ones and 120 s at most, whatever they weigh: 16 x 64 MiB over 100 Mb/s take 172 s.
BOOST_FIXTURE_TEST_CASE(a_request_has_as_long_as_its_bytes_and_those_before_it, Client) {
  announce(peer(1), 1);
  keeps = true;
  deps.boundary_bytes_per_sample = 64'000'000;
  start();
  refresh();
  proto::ForwardRequest head;
  head.set_samples(1);
  auto send_one = [&] {
    const auto budget = std::max<std::chrono::milliseconds>(120s, client->patience(1));
    client->send(head, {}, budget, [](const Result<StageClient::Outcome>&) {});
  };
  for (int i = 0; i < 16; ++i) act(send_one);
  BOOST_REQUIRE(budgets.size() == 16u);
  BOOST_TEST((budgets.front() >= 128s));      // twice, at 1 MB/s
  BOOST_TEST((budgets.back() >= 15 * 128s));  // behind 15 others
  for (size_t i = 0; i < 16; ++i) {  // one every 10 s: what is sent then has what 16 of these take
    system.advance(10s);
    act([&, i] { kept[i].deliver(make_mail(proto::ForwardReply())); });
    act(send_one);
    if (i == 0) BOOST_TEST(events->count("slow_way") == 0u);  // one wait is no pace
  }
  BOOST_TEST(client->in_flight() == 16u);
  BOOST_TEST(asked.size() == 32u);  // nobody was asked again
  BOOST_TEST((budgets.back() >= 3 * 160s));
  BOOST_TEST((budgets.back() <= 3 * 170s));
  BOOST_TEST(events->count("rerouted") == 0u);
  BOOST_TEST(events->count("slow_way") == 1u);
  act([&] { client->cancel_all(); });
}

BOOST_FIXTURE_TEST_CASE(small_bodies_are_waited_for_as_before, Client) {
  announce(peer(1), 1);
  deps.boundary_bytes_per_sample = 100'000;
  start();
  refresh();
  send(4);
  BOOST_TEST((budgets.front() == 10s));  // the caller's
  act([&] {
    proto::ForwardRequest head;
    head.set_samples(1);
    client->send(head, {}, 120s, [](const Result<StageClient::Outcome>&) {});
  });
  BOOST_TEST((budgets.back() <= 3s));  // estimates.min_deadline_s
  BOOST_TEST(events->count("slow_way") == 0u);
}

BOOST_FIXTURE_TEST_CASE(what_is_given_up_is_no_longer_unfinished, Client) {
  announce(peer(1), 1);
  answers[peer(1)] = {ErrorCode::kStaleStep, ""};
  start();
  refresh();
  send(5);
  BOOST_TEST(client->describe().find("unfinished=0") != std::string::npos, client->describe());
  answers[peer(1)] = {ErrorCode::kOverloaded, "", 500};
  uint64_t id = 0;
  act([&] { id = client->send({}, {}, 10s, [](const Result<StageClient::Outcome>&) {}); });
  act([&] { client->cancel(id); });
  BOOST_TEST(client->describe().find("unfinished=0") != std::string::npos, client->describe());
}

BOOST_AUTO_TEST_SUITE_END()
