#include "actors/averager.h"

#include <boost/test/unit_test.hpp>
#include <caf/all.hpp>
#include <cstring>
#include <memory>
#include <optional>
#include <random>

#include "actors/errors.h"
#include "actors/local.h"
#include "tensor/flat.h"
#include "tests/support/deterministic_system.h"
#include "tests/support/fake_links.h"

namespace swarm::actors {
namespace {

using namespace std::chrono_literals;
using test::DeterministicSystem;
using test::FakeNetwork;
using test::Fate;

NodeId id_of(uint8_t n) {
  NodeId id;
  id.bytes[0] = static_cast<uint8_t>(n + 1);
  return id;
}

Buffer floats(const std::vector<float>& values) {
  return Buffer::from_string(
      {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)});
}

std::vector<float> values_of(const Buffer& buffer) {
  std::vector<float> values(buffer.size() / sizeof(float));
  std::memcpy(values.data(), buffer.data(), buffer.size());
  return values;
}

template <class T>
struct Outcome {
  std::optional<T> value;
  ErrorCode code = ErrorCode::kNone;
  std::string detail;
};

/// A request under way; answer() must be called when it has been answered.
template <class T>
class Ask {
 public:
  template <class... Ts>
  Ask(caf::actor_system& system, const caf::actor& target, Ts... args) : self_(system) {
    receive_ = [request =
                    std::make_shared<decltype(self_->request(target, caf::infinite, args...))>(
                        self_->request(target, caf::infinite, args...))](Outcome<T>& out) {
      request->receive([&](T& value) { out.value = std::move(value); },
                       [&](const caf::error& e) {
                         auto error = from_caf(e);
                         out.code = error.code;
                         out.detail = error.detail;
                       });
    };
  }
  bool answered() { return self_->has_next_message(); }
  Outcome<T> answer() {
    BOOST_REQUIRE(answered());
    Outcome<T> out;
    receive_(out);
    return out;
  }

 private:
  caf::scoped_actor self_;
  std::function<void(Outcome<T>&)> receive_;
};

struct World {
  DeterministicSystem system;
  FakeNetwork network{*system};
  std::vector<caf::actor> averagers;
  std::vector<caf::actor> others;

  ~World() {
    for (auto& one : averagers) caf::anon_send_exit(one, caf::exit_reason::user_shutdown);
    for (auto& one : others) caf::anon_send_exit(one, caf::exit_reason::user_shutdown);
    averagers.clear();
    others.clear();
    system.run();
    network.shut_down();
    system.run();
  }
  static AveragerOptions small_chunks() {
    AveragerOptions options;
    options.chunk_elements = 32;
    options.chunks_in_flight = 2;
    options.state_chunk_bytes = 100;
    options.state_chunks_in_flight = 2;
    return options;
  }
  AveragerDeps deps(uint8_t n, const AveragerOptions& options) {
    AveragerDeps deps;
    deps.id = {id_of(n), "averager.0"};
    deps.links = network.add(id_of(n));
    deps.options = options;
    deps.detached = false;
    return deps;
  }
  void add(AveragerDeps deps) {
    averagers.push_back(spawn_averager(*system, std::move(deps)));
    system.run();
  }
  void add_many(uint8_t count, const AveragerOptions& options = small_chunks()) {
    for (uint8_t n = 0; n < count; ++n) add(deps(n, options));
  }
  AverageMember member(uint8_t n, uint64_t samples = 0) {
    return {{id_of(n), "averager.0"}, network.endpoint(id_of(n)), samples};
  }
  std::string describe(size_t n) {
    Ask<std::string> ask(*system, averagers[n], describe_atom::value);
    system.run();
    return *ask.answer().value;
  }
};

/// A round over random gradients.
struct Round {
  World& world;
  uint64_t n;
  std::vector<uint64_t> samples;
  std::vector<std::vector<float>> sums;
  uint64_t id = 1, total = 0;

  Round(World& w, uint64_t elements, std::vector<uint64_t> member_samples)
      : world(w), n(elements), samples(std::move(member_samples)) {
    std::mt19937 random(7);
    std::normal_distribution<float> normal;
    for (auto count : samples) {
      std::vector<float> sum(count > 0 ? n : 0);
      for (auto& x : sum) x = normal(random) * static_cast<float>(count);
      sums.push_back(sum);
      total += count;
    }
  }
  AverageRound spec(uint32_t self) const {
    AverageRound round;
    round.round = id;
    for (size_t i = 0; i < samples.size(); ++i)
      round.members.push_back(world.member(static_cast<uint8_t>(i), samples[i]));
    round.self = self;
    round.gradient = floats(sums[self]);
    round.n = n;
    round.total_samples = total;
    return round;
  }
  std::unique_ptr<Ask<AverageResult>> start(uint32_t self) const {
    return std::make_unique<Ask<AverageResult>>(*world.system, world.averagers[self],
                                                average_atom::value, spec(self));
  }
  std::vector<Outcome<AverageResult>> run() const {
    std::vector<std::unique_ptr<Ask<AverageResult>>> asks;
    for (uint32_t i = 0; i < samples.size(); ++i) asks.push_back(start(i));
    world.system.run();
    std::vector<Outcome<AverageResult>> outcomes;
    for (auto& ask : asks) outcomes.push_back(ask->answer());
    return outcomes;
  }
  double worst_error(const Buffer& mean) const {
    auto got = values_of(mean);
    double worst = 0;
    for (uint64_t e = 0; e < n; ++e) {
      double sum = 0;
      for (auto& one : sums) sum += one.empty() ? 0.0 : one[e];
      worst = std::max(worst, std::abs(sum / static_cast<double>(total) - got[e]));
    }
    return worst;
  }
};

BOOST_AUTO_TEST_SUITE(averager)

BOOST_AUTO_TEST_CASE(members_of_any_number_and_codec_get_the_same_bits_of_the_mean) {
  for (const auto& [codec, tolerance] :
       std::vector<std::pair<std::string, double>>{{"none", 1e-5}, {"fp16", 1e-2}, {"bf16", 1e-1}})
    for (auto samples : std::vector<std::vector<uint64_t>>{
             {5}, {3, 9}, {1, 2, 3}, {0, 4, 7}, {8, 0}, {0, 0, 6}, {2, 5, 1, 9}, {0, 3, 0, 3}}) {
      World world;
      auto options = World::small_chunks();
      options.codec = codec;
      world.add_many(static_cast<uint8_t>(samples.size()), options);
      Round round(world, 1'003, samples);
      auto outcomes = round.run();
      BOOST_REQUIRE(outcomes[0].value);
      auto& first = *outcomes[0].value;
      BOOST_TEST(round.worst_error(first.mean) < tolerance);
      BOOST_TEST(first.digest == tensor::digest(first.mean.data(), first.mean.size()));
      BOOST_TEST(first.squared_norm > 0);
      for (auto& outcome : outcomes) {
        BOOST_REQUIRE(outcome.value);
        BOOST_TEST((outcome.value->mean.view() == first.mean.view()));
        BOOST_TEST(outcome.value->squared_norm == first.squared_norm);
        BOOST_TEST(outcome.value->digest == first.digest);
      }
    }
}

BOOST_AUTO_TEST_CASE(vectors_smaller_than_the_number_of_members_are_averaged) {
  World world;
  world.add_many(4);
  for (uint64_t n : {1, 3}) {
    Round round(world, n, {1, 2, 0, 4});
    round.id = n;
    for (auto& outcome : round.run()) {
      BOOST_REQUIRE(outcome.value);
      BOOST_TEST(round.worst_error(outcome.value->mean) < 1e-5);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_member_that_dies_in_the_round_fails_it_everywhere_and_nothing_is_left) {
  for (int deaths_at : {0, 1, 7, 20, 60}) {
    World world;
    world.add_many(3);
    Round round(world, 3'000, {1, 1, 1});
    int mails = 0;
    world.network.set_filter([&](const NodeId& from, const ActorId&, const Mail&) {
      return from == id_of(2) && mails++ >= deaths_at ? Fate::kDrop : Fate::kDeliver;
    });
    std::vector<std::unique_ptr<Ask<AverageResult>>> asks;
    std::vector<Buffer> gradients;
    for (uint32_t i = 0; i < 3; ++i) asks.push_back(round.start(i));
    world.system.run();
    world.network.kill(id_of(2));
    world.system.run();
    for (uint32_t i = 0; i < 2; ++i) {
      auto outcome = asks[i]->answer();
      BOOST_TEST(!outcome.value);
      BOOST_TEST((outcome.code == ErrorCode::kLinkLost || outcome.code == ErrorCode::kCancelled),
                 outcome.detail);
      BOOST_TEST(world.describe(i).find("idle") != std::string::npos);
      BOOST_TEST(world.describe(i).find("early parts 0 (0 bytes)") != std::string::npos);
    }
    world.network.set_filter(nullptr);
    Round again(world, 3'000, {1, 1});
    again.id = 2;
    for (auto& outcome : again.run()) {
      BOOST_REQUIRE(outcome.value);
      BOOST_TEST(again.worst_error(outcome.value->mean) < 1e-5);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_failed_round_lets_go_of_the_gradient) {
  World world;
  world.add_many(2);
  Round round(world, 500, {1, 1});
  auto spec = round.spec(0);
  std::weak_ptr<const void> memory = spec.gradient.owner();
  {
    Ask<AverageResult> ask(*world.system, world.averagers[0], average_atom::value, spec);
    spec = {};
    world.system.run();
    BOOST_TEST(!memory.expired());
    world.network.kill(id_of(1));
    world.system.run();
    BOOST_TEST(int(ask.answer().code) == int(ErrorCode::kLinkLost));
  }
  world.system.advance(60s);
  BOOST_TEST(memory.expired());
}

BOOST_AUTO_TEST_CASE(a_late_start_is_waited_for) {
  World world;
  world.add_many(3);
  Round round(world, 2'000, {1, 2, 3});
  auto first = round.start(0);
  auto second = round.start(1);
  world.system.advance(1500ms);
  BOOST_TEST(!first->answered());
  auto third = round.start(2);
  world.system.advance(200ms);
  auto outcome = first->answer();
  BOOST_REQUIRE(outcome.value);
  BOOST_TEST(round.worst_error(outcome.value->mean) < 1e-5);
  BOOST_TEST(second->answer().value->digest == outcome.value->digest);
  BOOST_TEST(third->answer().value->digest == outcome.value->digest);
}

BOOST_AUTO_TEST_CASE(a_member_that_never_starts_ends_the_round_at_its_deadline) {
  World world;
  world.add_many(2);
  Round round(world, 200, {1, 1});
  auto ask = round.start(0);
  world.system.advance(2'900ms);
  BOOST_TEST(!ask->answered());
  world.system.advance(200ms);
  auto outcome = ask->answer();
  BOOST_TEST(int(outcome.code) == int(ErrorCode::kPeerTimeout));
  BOOST_TEST(world.describe(1).find("early parts 0 (0 bytes)") != std::string::npos);
  auto late = round.start(1);  // must not hang either
  world.system.advance(4s);
  BOOST_TEST(int(late->answer().code) == int(ErrorCode::kStaleStep));
}

BOOST_AUTO_TEST_CASE(abandoning_answers_both_sides_and_makes_late_parts_stale) {
  World world;
  world.add_many(2);
  Round round(world, 2'000, {1, 1});
  auto ask = round.start(0);
  world.system.run();
  caf::anon_send(world.averagers[0], abandon_atom::value, uint64_t{1});
  world.system.run();
  BOOST_TEST(int(ask->answer().code) == int(ErrorCode::kCancelled));
  auto other = round.start(1);
  world.system.run();
  BOOST_TEST(int(other->answer().code) == int(ErrorCode::kStaleStep));
  auto again = round.start(0);
  world.system.run();
  BOOST_TEST(int(again->answer().code) == int(ErrorCode::kStaleStep));
}

BOOST_AUTO_TEST_CASE(too_many_early_parts_are_refused_and_sent_again) {
  World world;
  world.add(world.deps(0, World::small_chunks()));
  auto tight = world.deps(1, World::small_chunks());
  tight.max_held_bytes = 700;  // one part
  world.add(tight);
  Round round(world, 2'000, {1, 1});
  auto first = round.start(0);
  world.system.advance(500ms);
  auto second = round.start(1);
  world.system.advance(100ms);
  BOOST_TEST(round.worst_error(first->answer().value->mean) < 1e-5);
  BOOST_TEST(bool(second->answer().value));
}

BOOST_AUTO_TEST_CASE(malformed_parts_are_refused_and_do_no_harm) {
  World world;
  world.add_many(2);
  Round round(world, 640, {1, 1});  // parts of 320, ten chunks of 32
  auto ask = round.start(0);
  world.system.run();
  auto send = [&](uint32_t sender, uint64_t offset, int64_t count, size_t bytes, bool chunk) {
    proto::AveragePart part;
    part.set_round(1);
    part.set_sender(sender);
    part.set_offset(offset);
    if (chunk) {
      part.mutable_chunk()->set_dtype(proto::DTYPE_FLOAT32);
      part.mutable_chunk()->set_codec(proto::CODEC_NONE);
      part.mutable_chunk()->add_shape(count);
    }
    Ask<Mail> one(*world.system, world.averagers[0],
                  make_mail(part, Buffer::from_string(std::string(bytes, 'x'))));
    world.system.run();
    return one.answer().code;
  };
  BOOST_TEST(int(send(0, 0, 32, 128, true)) == int(ErrorCode::kInvalidArgument));    // from itself
  BOOST_TEST(int(send(9, 0, 32, 128, true)) == int(ErrorCode::kInvalidArgument));    // nobody
  BOOST_TEST(int(send(1, 5, 32, 128, true)) == int(ErrorCode::kInvalidArgument));    // between
  BOOST_TEST(int(send(1, 320, 32, 128, true)) == int(ErrorCode::kInvalidArgument));  // not mine
  BOOST_TEST(int(send(1, ~0ull, 32, 128, true)) == int(ErrorCode::kInvalidArgument));
  BOOST_TEST(int(send(1, 0, 16, 64, true)) == int(ErrorCode::kShapeMismatch));
  BOOST_TEST(int(send(1, 0, 32, 100, true)) == int(ErrorCode::kShapeMismatch));
  BOOST_TEST(int(send(1, 0, -4, 128, true)) != int(ErrorCode::kNone));
  BOOST_TEST(int(send(1, 0, 0, 0, false)) == int(ErrorCode::kShapeMismatch));
  auto other = round.start(1);
  world.system.run();
  BOOST_TEST(round.worst_error(ask->answer().value->mean) < 1e-5);
  BOOST_TEST(bool(other->answer().value));
}

BOOST_AUTO_TEST_CASE(a_part_sent_again_after_the_round_is_answered_from_the_result) {
  World world;
  world.add_many(2);
  Round round(world, 640, {1, 1});
  auto outcomes = round.run();
  proto::AveragePart part;
  part.set_round(1);
  part.set_sender(1);
  part.set_offset(32);
  auto chunk = floats(std::vector<float>(32, 1e9f));
  part.mutable_chunk()->set_dtype(proto::DTYPE_FLOAT32);
  part.mutable_chunk()->set_codec(proto::CODEC_NONE);
  part.mutable_chunk()->add_shape(32);
  Ask<Mail> ask(*world.system, world.averagers[0], make_mail(part, chunk));
  world.system.run();
  auto reply = ask.answer();
  BOOST_REQUIRE(reply.value);
  BOOST_TEST((reply.value->body.view() == outcomes[0].value->mean.slice(128, 128).view()));
}

BOOST_AUTO_TEST_CASE(bad_rounds_are_refused) {
  World world;
  world.add_many(2);
  Round round(world, 100, {1, 1});
  auto refused = [&](AverageRound spec) {
    Ask<AverageResult> ask(*world.system, world.averagers[0], average_atom::value, spec);
    world.system.run();
    return ask.answer().code;
  };
  auto spec = round.spec(0);
  spec.self = 2;
  BOOST_TEST(int(refused(spec)) == int(ErrorCode::kInvalidArgument));
  spec = round.spec(0);
  spec.gradient = floats({1, 2, 3});
  BOOST_TEST(int(refused(spec)) == int(ErrorCode::kShapeMismatch));
  spec = round.spec(0);
  spec.total_samples = 0;
  BOOST_TEST(int(refused(spec)) == int(ErrorCode::kInvalidArgument));
  spec = round.spec(0);
  spec.members.clear();
  BOOST_TEST(int(refused(spec)) == int(ErrorCode::kInvalidArgument));
  spec = round.spec(0);
  spec.members[1] = spec.members[0];
  BOOST_TEST(int(refused(spec)) == int(ErrorCode::kInvalidArgument));
}

BOOST_AUTO_TEST_CASE(ending_the_actor_answers_the_round) {
  World world;
  world.add_many(2);
  Round round(world, 100, {1, 1});
  auto ask = round.start(0);
  world.system.run();
  caf::anon_send_exit(world.averagers[0], caf::exit_reason::user_shutdown);
  world.system.run();
  BOOST_TEST(int(ask->answer().code) == int(ErrorCode::kShuttingDown));
}

BOOST_AUTO_TEST_SUITE_END()

// ---- state --------------------------------------------------------------------------------

/// The part of a stage server that matters here.
caf::behavior fake_stage(caf::event_based_actor*, std::shared_ptr<FrozenState> state) {
  return {[=](freeze_atom) -> caf::result<FrozenState> {
    if (state->state.empty()) return to_caf(ErrorCode::kNotReady, "restoring");
    return *state;
  }};
}

/// Offers `state` under the digest of other bytes.
caf::behavior liar(caf::event_based_actor*, Buffer state, uint64_t step, uint64_t digest,
                   uint64_t size) {
  return {[=](const Mail& mail) -> caf::result<Mail> {
    if (mail.kind == proto::KIND_STATE_INFO) {
      proto::StateInfoReply reply;
      reply.set_handle(1);
      reply.set_step(step);
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
  Result<Buffer> get(const storage::CheckpointKey& key) const override {
    auto it = values.find({key.stream, key.step});
    if (it == values.end()) return Error{ErrorCode::kNotFound, "no snapshot"};
    return it->second;
  }
  Result<std::vector<uint64_t>> steps(const std::string&) const override {
    return std::vector<uint64_t>{};
  }
  Status drop_newer(const std::string&, uint64_t) override { return {}; }
  Result<std::vector<std::string>> streams() const override { return std::vector<std::string>{}; }
};

std::string pattern(size_t size, int seed) {
  std::string bytes(size, 0);
  std::mt19937 random(static_cast<unsigned>(seed));
  for (auto& b : bytes) b = static_cast<char>(random());
  return bytes;
}

/// Peers with a state each; number 0 has none and fetches.
struct StateWorld : World {
  std::vector<std::shared_ptr<FrozenState>> states;
  void add_peer(const std::string& bytes, uint64_t step,
                std::shared_ptr<storage::CheckpointStore> store = nullptr) {
    auto state = std::make_shared<FrozenState>();
    if (!bytes.empty()) *state = {Buffer::from_string(bytes), step};
    states.push_back(state);
    auto stage = system->spawn(fake_stage, state);
    others.push_back(stage);
    auto d = deps(static_cast<uint8_t>(averagers.size()), small_chunks());
    d.store = std::move(store);
    add(std::move(d));
    caf::anon_send(averagers.back(), set_stage_atom::value, stage);
    system.run();
  }
  void add_liar(uint8_t n, const std::string& bytes, uint64_t step, uint64_t digest,
                uint64_t size) {
    auto links = network.add(id_of(n));
    others.push_back(system->spawn(liar, Buffer::from_string(bytes), step, digest, size));
    caf::anon_send(links, register_atom::value, std::string("averager.0"), others.back());
    system.run();
  }
  std::unique_ptr<Ask<FetchedState>> fetch(std::vector<uint8_t> from,
                                           std::optional<uint64_t> exact = {},
                                           uint64_t max_bytes = 1'000'000) {
    FetchState fetch;
    fetch.exact_step = exact;
    fetch.max_bytes = max_bytes;
    for (auto n : from) fetch.sources.push_back(member(n));
    return std::make_unique<Ask<FetchedState>>(*system, averagers[0], fetch_atom::value, fetch);
  }
};

BOOST_AUTO_TEST_SUITE(state_transfer)

BOOST_AUTO_TEST_CASE(equal_states_are_read_from_all_sources) {
  StateWorld world;
  world.add_peer("", 0);
  const auto bytes = pattern(4'567, 1);
  world.add_peer(bytes, 12);
  world.add_peer(bytes, 12);
  world.add_peer(pattern(4'567, 2), 11);  // behind
  auto ask = world.fetch({1, 2, 3});
  world.system.run();
  auto outcome = ask->answer();
  BOOST_REQUIRE(outcome.value);
  BOOST_TEST((outcome.value->state.view() == bytes));
  BOOST_TEST(outcome.value->step == 12u);
  auto& source = outcome.value->source;
  BOOST_TEST(source.find(ActorId{id_of(1), "averager.0"}.brief()) != std::string::npos);
  BOOST_TEST(source.find(ActorId{id_of(2), "averager.0"}.brief()) != std::string::npos);
  BOOST_TEST(source.find(ActorId{id_of(3), "averager.0"}.brief()) == std::string::npos);
  BOOST_TEST(world.describe(0).find("no fetch") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_source_that_dies_is_replaced_by_the_others) {
  StateWorld world;
  world.add_peer("", 0);
  const auto bytes = pattern(5'000, 1);
  for (int i = 0; i < 2; ++i) world.add_peer(bytes, 3);
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
  world.add_peer("", 0);
  const auto bytes = pattern(5'000, 1);
  world.add_peer(bytes, 3);
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
  world.add_peer("", 0);
  const auto bytes = pattern(3'000, 1);
  const auto digest = tensor::digest(bytes.data(), bytes.size());
  world.add_liar(5, pattern(3'000, 9), 8, digest, 3'000);
  world.add_peer(bytes, 8);
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
  world.add_peer("", 0);
  world.add_liar(5, "x", 8, 1, 1ull << 60);
  auto ask = world.fetch({5});
  world.system.advance(5s);
  auto outcome = ask->answer();
  BOOST_TEST(int(outcome.code) == int(ErrorCode::kCorruptCheckpoint));
  BOOST_TEST(outcome.detail.find("1152921504606846976") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(an_exact_step_comes_from_the_store_or_from_memory) {
  StateWorld world;
  world.add_peer("", 0);
  auto store = std::make_shared<MapStore>();
  const auto old = pattern(700, 4), newest = pattern(700, 5);
  BOOST_TEST(store->put({"stage/0", 5}, Buffer::from_string(old), 3).ok());
  world.add_peer(newest, 9, store);
  auto five = world.fetch({1}, 5);
  auto nine = world.fetch({1}, 9);
  auto seven = world.fetch({1}, 7);
  world.system.advance(3s);
  BOOST_TEST((five->answer().value->state.view() == old));
  BOOST_TEST((nine->answer().value->state.view() == newest));
  auto none = seven->answer();
  BOOST_TEST(int(none.code) == int(ErrorCode::kNotFound));
  BOOST_TEST(none.detail.find("step 9") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_source_without_state_or_without_life_is_named_in_the_error) {
  StateWorld world;
  world.add_peer("", 0);
  world.add_peer("", 0);
  world.add_peer(pattern(100, 1), 1);
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
  world.add_peer("", 0);
  world.add_peer(pattern(700, 5), 9);
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

BOOST_AUTO_TEST_CASE(ranges_outside_the_state_are_refused) {
  StateWorld world;
  world.add_peer(pattern(700, 5), 9);
  proto::StateInfo info;
  Ask<Mail> ask(*world.system, world.averagers[0], make_mail(info));
  world.system.run();
  auto reply = ask.answer();
  BOOST_REQUIRE(reply.value);
  const auto handle = reply.value->as<proto::StateInfoReply>().handle();
  auto read = [&](uint64_t h, uint64_t offset, uint32_t size) {
    proto::StateChunk chunk;
    chunk.set_handle(h);
    chunk.set_offset(offset);
    chunk.set_size_bytes(size);
    Ask<Mail> one(*world.system, world.averagers[0], make_mail(chunk));
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

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace swarm::actors
