#include "actors/state/state_transfer.h"

#include <boost/test/unit_test.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/exit_reason.hpp>
#include <caf/send.hpp>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <utility>

#include "actors/state/checkpointer.h"
#include "apps/sim/disk.h"
#include "tensor/core/flat.h"
#include "tests/support/averagers.h"

namespace swarm::actors {
namespace {

using namespace std::chrono_literals;
using sim::Fate;
using testing::Ask;
using testing::id_of;

constexpr const char* kName = "state.0";

using Spoiled = std::set<std::pair<uint32_t, uint64_t>>;

/// The part of a stage server that matters here.
caf::behavior fake_stage(caf::event_based_actor*, std::shared_ptr<FrozenState> state,
                         Spoiled* spoiled) {
  return {[=](freeze_atom) -> caf::result<FrozenState> {
            if (state->state.empty()) return to_caf(ErrorCode::kNotReady, "restoring");
            return *state;
          },
          [=](spoiled_atom, uint32_t stage, uint64_t step) {
            spoiled->insert({stage, step});
          }};
}

/// Offers `state` under the digest of other bytes.
caf::behavior liar(caf::event_based_actor*, Buffer state, Step step, uint64_t digest,
                   uint64_t size) {
  return {[=](const Mail& mail) -> caf::result<Mail> {
    if (mail.kind == proto::KIND_STATE_INFO) {
      proto::StateInfoReply reply;
      reply.set_handle(1);
      reply.set_step(step.value());
      reply.set_digest(digest);
      reply.set_size_bytes(size);
      return make_mail(reply);
    }
    const auto& chunk = mail.as<proto::StateChunk>();
    return make_mail(proto::StateChunkReply{}, state.slice(chunk.offset(), chunk.size_bytes()));
  }};
}

class MapStore : public storage::CheckpointStore {
 public:
  std::map<std::pair<std::string, uint64_t>, Buffer> values;
  Status put(const storage::CheckpointKey& key, const Buffer& value, uint32_t) override {
    values[{key.stream, key.step}] = value;
    return {};
  }
  Status put_or_replace(const storage::CheckpointKey& key, const Buffer& value,
                        uint32_t keep) override {
    return put(key, value, keep);
  }
  Result<Buffer> get(const storage::CheckpointKey& key) const override {
    auto it = values.find({key.stream, key.step});
    if (it == values.end()) return Error{ErrorCode::kNotFound, "no snapshot"};
    return it->second;
  }
  Result<std::vector<uint64_t>> steps(const std::string&) const override {
    return std::vector<uint64_t>{};
  }
  Status drop_newer(const std::string&, uint64_t) override { return {}; }
  Status pin(const std::string&, uint64_t) override { return {}; }
  Status set_aside(const std::vector<storage::CheckpointKey>&, const std::string&,
                   const std::vector<storage::CheckpointKey>&) override {
    return {};
  }
  Status keep_aside(const std::vector<storage::CheckpointKey>&) override { return {}; }
  Status drop_before(const std::vector<std::string>&) override { return {}; }
  Result<std::vector<std::string>> streams() const override { return std::vector<std::string>{}; }
};

std::string pattern(size_t size, int seed) {
  std::string bytes(size, 0);
  std::mt19937 random(static_cast<unsigned>(seed));
  for (auto& b : bytes) b = static_cast<char>(random());
  return bytes;
}

/// Peers with a state each; number 0 has none and fetches. Node n has the id id_of(n) and the
/// state transfer "state.0".
struct StateWorld {
  sim::DeterministicSystem system;
  sim::FakeNetwork network{*system};
  std::vector<caf::actor> transfers, others;
  std::shared_ptr<sim::Disk> disk;  ///< Of node 0, if it keeps what it fetches.
  std::vector<std::shared_ptr<FrozenState>> states;
  Spoiled spoiled;             ///< Copies that could not be read.
  double cap_bytes_per_s = 0;  ///< Of nodes that are added from now on, as is
  std::chrono::milliseconds ttl = StateTransferOptions().ttl;

  ~StateWorld() {
    for (auto* list : {&transfers, &others}) {
      for (auto& one : *list) caf::anon_send_exit(one, caf::exit_reason::user_shutdown);
      list->clear();
    }
    system.run();
    network.shut_down();
    system.run();
  }
  void add_peer(const std::string& bytes, Step step,
                std::shared_ptr<storage::CheckpointStore> store = nullptr) {
    auto state = std::make_shared<FrozenState>();
    if (!bytes.empty()) *state = {Buffer::from_string(bytes), step};
    states.push_back(state);
    auto stage = system->spawn(fake_stage, state, &spoiled);
    others.push_back(stage);
    const NodeId node = id_of(static_cast<uint8_t>(transfers.size()));
    transfers.push_back(spawn(node, network.add(node), std::move(store)));
    caf::anon_send(transfers.back(), set_stage_atom::value, stage);
    system.run();
  }
  caf::actor spawn(const NodeId& node, const caf::actor& links,
                   std::shared_ptr<storage::CheckpointStore> store) {
    StateTransferDeps deps;
    deps.id = {node, kName};
    deps.links = links;
    deps.options.chunk_bytes = 100;
    deps.options.chunks_in_flight = 2;
    deps.options.state_bytes_per_s = cap_bytes_per_s;
    deps.options.ttl = ttl;
    deps.store = std::move(store);
    deps.detached = false;
    if (disk && transfers.empty()) {
      const auto kept = std::make_shared<sim::DiskStore>(disk, /*sync_at_once=*/true);
      others.push_back(spawn_checkpointer(*system, kept, 3, /*detached=*/false));
      deps.keeper = {others.back(), "run", "abc"};
    }
    return spawn_state_transfer(*system, std::move(deps));
  }
  void add_liar(uint8_t n, const std::string& bytes, Step step, uint64_t digest, uint64_t size) {
    auto links = network.add(id_of(n));
    others.push_back(system->spawn(liar, Buffer::from_string(bytes), step, digest, size));
    caf::anon_send(links, register_atom::value, std::string(kName), others.back());
    system.run();
  }
  std::string describe(size_t n) {
    Ask<std::string> ask(*system, transfers[n], describe_atom::value);
    system.run();
    return *ask.answer().value;
  }
  static std::string name_of(uint8_t n) { return "node-" + std::to_string(n); }
  std::unique_ptr<Ask<FetchedState>> fetch(std::vector<uint8_t> from,
                                           std::optional<Step> exact = {},
                                           uint64_t max_bytes = 1'000'000, Stage stage = {},
                                           size_t by = 0) {
    FetchState fetch;
    fetch.stage = stage;
    fetch.exact_step = exact;
    fetch.max_bytes = max_bytes;
    for (auto n : from)
      fetch.sources.push_back({{id_of(n), kName}, network.endpoint(id_of(n)), name_of(n)});
    return std::make_unique<Ask<FetchedState>>(*system, transfers[by], fetch_atom::value, fetch);
  }
};

BOOST_AUTO_TEST_SUITE(state_transfer)

BOOST_AUTO_TEST_CASE(equal_states_are_read_from_all_sources) {
  StateWorld world;
  world.add_peer("", Step(0));
  const auto bytes = pattern(4'567, 1);
  world.add_peer(bytes, Step(12));
  world.add_peer(bytes, Step(12));
  world.add_peer(pattern(4'567, 2), Step(11));  // behind
  auto ask = world.fetch({1, 2, 3});
  world.system.run();
  auto outcome = ask->answer();
  BOOST_REQUIRE(outcome.value);
  BOOST_TEST((outcome.value->state.view() == bytes));
  BOOST_TEST(outcome.value->step == Step(12));
  BOOST_TEST(outcome.value->source == "node-1, node-2");
  BOOST_TEST(world.describe(0).find("no fetch") != std::string::npos);
}

// Only learners kept to it: a state that was fetched while the others trained (asynchronous mode) took all of the link.
BOOST_AUTO_TEST_CASE(a_live_state_comes_no_faster_than_the_cap_and_an_exact_one_does) {
  StateWorld world;
  world.cap_bytes_per_s = 1'000;
  world.add_peer("", Step(0));
  const auto bytes = pattern(5'000, 1);
  for (int i = 0; i < 2; ++i) world.add_peer(bytes, Step(3));
  auto exact = world.fetch({1, 2}, Step(3));
  world.system.advance(100ms);
  BOOST_TEST(exact->answered());
  auto live = world.fetch({1, 2});
  world.system.advance(4'800ms);
  BOOST_TEST(!live->answered());
  BOOST_TEST(world.describe(0).find("fetching step 3: 0.0 of 0.0 MB (9") != std::string::npos);
  world.system.advance(300ms);
  auto outcome = live->answer();
  BOOST_REQUIRE(outcome.value);
  BOOST_TEST((outcome.value->state.view() == bytes));
}

// The source dropped its frozen state between two chunks, and the download began anew for ever.
BOOST_AUTO_TEST_CASE(a_cap_below_a_chunk_in_the_life_of_a_frozen_state_does_not_stop_a_download) {
  StateWorld world;
  world.cap_bytes_per_s = 40;
  world.ttl = 2s;
  world.add_peer("", Step(0));
  const auto bytes = pattern(1'000, 1);
  world.add_peer(bytes, Step(3));
  auto ask = world.fetch({1});
  world.system.advance(30s);
  auto outcome = ask->answer();
  BOOST_REQUIRE(outcome.value);
  BOOST_TEST((outcome.value->state.view() == bytes));
}

BOOST_AUTO_TEST_CASE(a_source_that_dies_is_replaced_by_the_others) {
  StateWorld world;
  world.add_peer("", Step(0));
  const auto bytes = pattern(5'000, 1);
  for (int i = 0; i < 2; ++i) world.add_peer(bytes, Step(3));
  int chunks = 0;
  world.network.set_filter([&](const NodeId&, const ActorId& to, const Mail& mail) {
    return mail.kind == proto::KIND_STATE_CHUNK && to.node == id_of(1) && ++chunks > 5
               ? Fate::kLinkLost
               : Fate::kDeliver;
  });
  auto ask = world.fetch({1, 2});
  world.system.run();
  auto outcome = ask->answer();
  BOOST_REQUIRE(outcome.value);
  BOOST_TEST((outcome.value->state.view() == bytes));
  BOOST_TEST(chunks > 5);
}

BOOST_AUTO_TEST_CASE(a_download_resumes_after_its_only_source_failed_for_a_moment) {
  StateWorld world;
  world.add_peer("", Step(0));
  const auto bytes = pattern(5'000, 1);
  world.add_peer(bytes, Step(3));
  int chunks = 0;
  world.network.set_filter([&](const NodeId&, const ActorId&, const Mail& mail) {
    if (mail.kind != proto::KIND_STATE_CHUNK) return Fate::kDeliver;
    ++chunks;
    return chunks == 20 || chunks == 21 ? Fate::kLinkLost : Fate::kDeliver;
  });
  auto ask = world.fetch({1});
  world.system.advance(1s);
  auto outcome = ask->answer();
  BOOST_REQUIRE(outcome.value);
  BOOST_TEST((outcome.value->state.view() == bytes));
  BOOST_TEST(chunks == 52);  // 50 and the two that failed: nothing was read twice
}

BOOST_AUTO_TEST_CASE(wrong_bytes_are_found_out_and_an_honest_source_is_used) {
  StateWorld world;
  world.add_peer("", Step(0));
  const auto bytes = pattern(3'000, 1);
  const auto digest = tensor::digest(bytes.data(), bytes.size());
  world.add_liar(5, pattern(3'000, 9), Step(8), digest, 3'000);
  world.add_peer(bytes, Step(8));
  auto ask = world.fetch({5, 1});
  world.system.advance(2s);
  auto outcome = ask->answer();
  BOOST_REQUIRE(outcome.value);
  BOOST_TEST((outcome.value->state.view() == bytes));
  auto alone = world.fetch({5});
  world.system.advance(2s);
  BOOST_TEST(int(alone->answer().code) == int(ErrorCode::kCorruptCheckpoint));
}

BOOST_AUTO_TEST_CASE(an_offer_that_cannot_be_right_takes_no_memory) {
  StateWorld world;
  world.add_peer("", Step(0));
  world.add_liar(5, "x", Step(8), 1, 1ull << 60);
  auto ask = world.fetch({5});
  world.system.advance(5s);
  auto outcome = ask->answer();
  BOOST_TEST(int(outcome.code) == int(ErrorCode::kCorruptCheckpoint));
  BOOST_TEST(outcome.detail.find("1152921504606846976") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(an_exact_step_comes_from_the_store_or_from_memory) {
  StateWorld world;
  world.add_peer("", Step(0));
  auto store = std::make_shared<MapStore>();
  const auto old = pattern(700, 4), newest = pattern(700, 5);
  BOOST_TEST(store->put({"stage/0", 5}, Buffer::from_string(old), 3).ok());
  world.add_peer(newest, Step(9), store);
  auto five = world.fetch({1}, Step(5));
  auto nine = world.fetch({1}, Step(9));
  auto seven = world.fetch({1}, Step(7));
  world.system.advance(3s);
  BOOST_TEST((five->answer().value->state.view() == old));
  BOOST_TEST((nine->answer().value->state.view() == newest));
  auto none = seven->answer();
  BOOST_TEST(int(none.code) == int(ErrorCode::kNotFound));
  BOOST_TEST(none.detail.find("step 9") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_copy_of_another_stages_snapshot_is_handed_out_and_told_if_it_is_gone) {
  StateWorld world;
  world.add_peer("", Step(0));
  auto store = std::make_shared<MapStore>();
  const auto copied = pattern(700, 4);
  BOOST_TEST(store->put({"stage/2", 5}, Buffer::from_string(copied), 3).ok());
  world.add_peer(pattern(700, 5), Step(5), store);  // of stage 0
  auto five = world.fetch({1}, Step(5), 1'000'000, Stage(2));
  auto newest = world.fetch({1}, {}, 1'000'000, Stage(2));
  auto six = world.fetch({1}, Step(6), 1'000'000, Stage(2));
  world.system.advance(60s);
  const auto copy = five->answer();
  BOOST_REQUIRE(copy.value);
  BOOST_TEST((copy.value->state.view() == copied));
  BOOST_TEST(int(newest->answer().code) == int(ErrorCode::kNotFound));
  BOOST_TEST(int(six->answer().code) == int(ErrorCode::kNotFound));
  BOOST_TEST(world.spoiled.count({2, 6}) == 1u);
  BOOST_TEST(world.spoiled.count({2, 5}) == 0u);
}

BOOST_AUTO_TEST_CASE(a_source_without_state_or_without_life_is_named_in_the_error) {
  StateWorld world;
  world.add_peer("", Step(0));
  world.add_peer("", Step(0));
  world.add_peer(pattern(100, 1), Step(1));
  world.network.kill(id_of(2));
  auto ask = world.fetch({1, 2});
  world.system.advance(20s);
  auto outcome = ask->answer();
  BOOST_TEST(int(outcome.code) == int(ErrorCode::kLinkLost));
  BOOST_TEST(outcome.detail.find("restoring") != std::string::npos);
  BOOST_TEST(outcome.detail.find("link_lost") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_frozen_copy_nobody_reads_is_dropped) {
  StateWorld world;
  world.add_peer("", Step(0));
  world.add_peer(pattern(700, 5), Step(9));
  std::weak_ptr<const void> memory = world.states[1]->state.owner();
  auto ask = world.fetch({1});
  world.system.run();
  BOOST_TEST(bool(ask->answer().value));
  *world.states[1] = {};
  world.system.advance(29s);
  BOOST_TEST(!memory.expired());
  world.system.advance(2s);
  BOOST_TEST(memory.expired());
  BOOST_TEST(world.describe(1).find("no frozen state") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_state_that_went_on_under_its_number_is_given_as_it_is_now) {
  StateWorld world;
  world.add_peer("", Step(0));
  const auto earlier = pattern(700, 5), later = pattern(700, 6);
  world.add_peer(earlier, Step(9));
  auto first = world.fetch({1});
  world.system.advance(2s);
  BOOST_TEST((first->answer().value->state.view() == earlier));
  *world.states[1] = {Buffer::from_string(later), Step(9)};
  auto second = world.fetch({1});
  world.system.advance(2s);
  BOOST_TEST((second->answer().value->state.view() == later));
}

// Each question made another copy and threw away one that was being read, whose reader asked again: nobody ever came to
// the end.
BOOST_AUTO_TEST_CASE(
    those_who_read_a_state_that_goes_on_are_not_disturbed_by_others_who_ask_for_it) {
  StateWorld world;
  world.cap_bytes_per_s = 100;
  world.add_peer("", Step(0));
  world.add_peer(pattern(700, 1), Step(9));
  for (int i = 0; i < 2; ++i) world.add_peer("", Step(0));
  int seed = 1;
  const auto pass = [&world, &seed] {
    world.system.advance(1s);
    *world.states[1] = {Buffer::from_string(pattern(700, ++seed)), Step(9)};
  };
  auto first = world.fetch({1});
  pass();
  auto second = world.fetch({1}, {}, 1'000'000, {}, 2);
  pass();
  auto third = world.fetch({1}, {}, 1'000'000, {}, 3);
  for (int i = 0; i < 12; ++i) pass();
  BOOST_TEST(bool(first->answer().value));
  BOOST_TEST(bool(second->answer().value));
  BOOST_TEST((third->answer().code == ErrorCode::kOverloaded));
  auto again = world.fetch({1}, {}, 1'000'000, {}, 3);
  for (int i = 0; i < 12; ++i) pass();
  BOOST_TEST(bool(again->answer().value));
}

BOOST_AUTO_TEST_CASE(ranges_outside_the_state_are_refused) {
  StateWorld world;
  world.add_peer(pattern(700, 5), Step(9));
  proto::StateInfo info;
  Ask<Mail> ask(*world.system, world.transfers[0], make_mail(info));
  world.system.run();
  auto reply = ask.answer();
  BOOST_REQUIRE(reply.value);
  const auto handle = reply.value->as<proto::StateInfoReply>().handle();
  auto read = [&](uint64_t h, uint64_t offset, uint32_t size) {
    proto::StateChunk chunk;
    chunk.set_handle(h);
    chunk.set_offset(offset);
    chunk.set_size_bytes(size);
    Ask<Mail> one(*world.system, world.transfers[0], make_mail(chunk));
    world.system.run();
    return one.answer().code;
  };
  BOOST_TEST(int(read(handle, 600, 100)) == int(ErrorCode::kNone));
  BOOST_TEST(int(read(handle, 600, 101)) == int(ErrorCode::kInvalidArgument));
  BOOST_TEST(int(read(handle, ~0ull, 2)) == int(ErrorCode::kInvalidArgument));
  BOOST_TEST(int(read(handle, 0, 0)) == int(ErrorCode::kInvalidArgument));
  BOOST_TEST(int(read(handle, 0, 5u << 20)) == int(ErrorCode::kInvalidArgument));
  BOOST_TEST(int(read(handle + 1, 0, 10)) == int(ErrorCode::kNotFound));
}

/// Node 0 fetches a snapshot of 200 chunks, 0.1 s each, from node 1, and is killed half-way.
struct KilledWorld {
  std::string bytes = pattern(20'000, 3);
  std::shared_ptr<sim::Disk> disk = std::make_shared<sim::Disk>();
  int chunks = 0;

  std::optional<FetchedState> fetch(std::chrono::seconds limit,
                                    std::optional<Step> exact = Step(5)) {
    StateWorld world;
    world.disk = disk;
    sim::NetworkModel model;
    model.min_delay = model.max_delay = 100ms;
    world.network.set_model(model, 1);
    world.add_peer("", Step(0));
    auto store = std::make_shared<MapStore>();
    BOOST_TEST(store->put({"stage/0", 5}, Buffer::from_string(bytes), 3).ok());
    world.add_peer(bytes, Step(5), store);
    chunks = 0;
    world.network.set_filter([this](const NodeId&, const ActorId&, const Mail& mail) {
      chunks += mail.kind == proto::KIND_STATE_CHUNK ? 1 : 0;
      return Fate::kDeliver;
    });
    auto ask = world.fetch({1}, exact);
    world.system.advance(limit);
    if (!ask->answered()) return std::nullopt;
    return ask->answer().value;
  }
  size_t blocks() const {
    const auto found = disk->content().find("learned/0/whole");
    return found == disk->content().end() ? 0 : found->second.size();
  }
};

// It began anew.
BOOST_FIXTURE_TEST_CASE(a_download_from_a_snapshot_survives_its_process, KilledWorld) {
  BOOST_TEST(!fetch(14s).has_value());
  BOOST_TEST(blocks() > 10u);
  const auto state = fetch(60s);
  BOOST_REQUIRE(state.has_value());
  BOOST_TEST((state->state.view() == bytes));
  BOOST_TEST(state->kept_bytes > 8'000u);
  BOOST_TEST(chunks < 120);
  BOOST_TEST(blocks() == 0u);
}

BOOST_FIXTURE_TEST_CASE(what_was_kept_of_other_bytes_is_not_used, KilledWorld) {
  BOOST_TEST(!fetch(14s).has_value());
  bytes = pattern(20'000, 4);
  const auto state = fetch(60s);
  BOOST_REQUIRE(state.has_value());
  BOOST_TEST((state->state.view() == bytes));
  BOOST_TEST(state->kept_bytes == 0u);
  BOOST_TEST(chunks == 200);
}

BOOST_FIXTURE_TEST_CASE(a_block_that_is_damaged_is_fetched_again, KilledWorld) {
  BOOST_TEST(!fetch(14s).has_value());
  sim::DiskStore store(disk, /*sync_at_once=*/true);
  const auto numbers = store.steps("learned/0/whole").value();
  for (const uint64_t number : numbers) {
    std::string block(store.get({"learned/0/whole", number})->view());
    block[block.size() - 7] ^= 1;
    BOOST_REQUIRE(
        store.put_or_replace({"learned/0/whole", number}, Buffer::from_string(block), 999));
  }
  const auto state = fetch(60s);
  BOOST_REQUIRE(state.has_value());
  BOOST_TEST((state->state.view() == bytes));
  BOOST_TEST(state->kept_bytes == 0u);
}

BOOST_FIXTURE_TEST_CASE(of_a_live_state_nothing_is_kept, KilledWorld) {
  BOOST_TEST(!fetch(14s, {}).has_value());
  BOOST_TEST(blocks() == 0u);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace swarm::actors
