/// What a donor answers to a learner.
#include <boost/test/unit_test.hpp>
#include <caf/send.hpp>
#include <memory>
#include <numeric>
#include <vector>

#include "actors/net/local.h"
#include "actors/state/state_transfer.h"
#include "tensor/core/flat.h"
#include "tests/support/averagers.h"

namespace swarm::actors {
namespace {

using routing::StateLabel;
using testing::Ask;
using testing::id_of;
using What = proto::StateRangeReply;

constexpr uint64_t kElements = 100;

Buffer numbers(float first) {
  std::vector<float> values(kElements);
  std::iota(values.begin(), values.end(), first);
  return Buffer::from_string(
      std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)));
}

/// The part of a stage server that matters here: a state of `label`, its range spells its place. Its device
/// is busy for so long.
caf::behavior fake_stage(caf::event_based_actor* self, std::shared_ptr<StateLabel> label,
                         std::shared_ptr<std::chrono::seconds> busy) {
  return {[=](range_atom, uint64_t first, uint64_t count) -> caf::result<RangeOfState> {
            if (first + count > kElements) return to_caf(ErrorCode::kInvalidArgument, "outside");
            const RangeOfState range{
                *label, {label->step.value(), 1}, numbers(0).slice(first * 4, count * 4)};
            if (busy->count() == 0) return range;
            auto promise = self->make_response_promise<RangeOfState>();
            self->delayed_send(self, *busy, run_later_atom::value,
                               LocalTask([=]() mutable { promise.deliver(range); }));
            return promise;
          },
          [](run_later_atom, const LocalTask& task) { task(); }};
}

struct Donor {
  sim::DeterministicSystem system;
  sim::FakeNetwork network{*system};
  std::shared_ptr<StateLabel> label = std::make_shared<StateLabel>(StateLabel{Step(7), 70});
  std::shared_ptr<std::chrono::seconds> busy = std::make_shared<std::chrono::seconds>(0);
  caf::actor stage, transfer;

  Donor() {
    stage = system->spawn(fake_stage, label, busy);
    StateTransferDeps deps;
    deps.id = {id_of(0), "state.0"};
    deps.links = network.add(id_of(0));
    deps.stage = Stage(1);
    deps.detached = false;
    deps.stage_server = stage;
    transfer = spawn_state_transfer(*system, std::move(deps));
    system.run();
  }
  ~Donor() {
    for (auto* one : {&transfer, &stage})
      caf::anon_send_exit(*one, caf::exit_reason::user_shutdown);
    transfer = stage = nullptr;
    system.run();
    network.shut_down();
    system.run();
  }
  void stands() {
    caf::anon_send(transfer, stands_atom::value, StandsAt{*label});
    system.run();
  }
  /// The stage makes an update.
  void update() {
    routing::AppliedMean mean;
    mean.before = *label;
    *label = {label->step + 1, label->checksum + 10, label->history + 1};
    mean.after = *label;
    mean.round = Round(label->step.value());
    mean.clip_scale = 0.25;
    mean.factors = {1.5f, 0.5f};
    mean.mean = numbers(static_cast<float>(1'000 * label->step.value()));
    caf::anon_send(transfer, applied_atom::value, std::move(mean));
    system.run();
  }
  testing::Outcome<Mail> ask(std::optional<StateLabel> held, uint64_t first = 10,
                             uint64_t count = 5, uint32_t stage_number = 1) {
    proto::StateRange request;
    request.set_stage(stage_number);
    request.set_first(first);
    request.set_count(count);
    request.set_holds(held.has_value());
    if (held) request.set_step(held->step.value());
    if (held) request.set_checksum(held->checksum);
    if (held) request.set_history(held->history.value());
    Ask<Mail> asked(*system, transfer, make_mail(request));
    system.run();
    return asked.answer();
  }
  /// The answer's kind, after what every answer must be.
  What::What what(std::optional<StateLabel> held) {
    const auto outcome = ask(held);
    BOOST_REQUIRE(outcome.value);
    const auto& head = outcome.value->as<proto::StateRangeReply>();
    const Buffer& body = outcome.value->body;
    BOOST_TEST(head.payload_digest() == tensor::digest(body.data(), body.size()));
    BOOST_TEST(head.newest_step() == label->step.value());
    BOOST_TEST(head.newest_checksum() == label->checksum);
    return head.what();
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(RangeUploads, Donor)

BOOST_AUTO_TEST_CASE(before_it_has_a_state_a_donor_says_so) {
  BOOST_TEST((ask({}).code == ErrorCode::kNotReady));
  stands();
  BOOST_TEST(what({}) == What::WHAT_STATE);
  caf::anon_send(transfer, stands_atom::value, StandsAt{});
  system.run();
  BOOST_TEST((ask({}).code == ErrorCode::kNotReady));
}

BOOST_AUTO_TEST_CASE(a_missing_range_is_given_as_it_is_now) {
  stands();
  const auto outcome = ask({});
  BOOST_REQUIRE(outcome.value);
  const auto& head = outcome.value->as<proto::StateRangeReply>();
  BOOST_TEST(head.step() == 7u);
  BOOST_TEST(head.checksum() == 70u);
  BOOST_TEST(head.updates() == 7u);
  BOOST_TEST((outcome.value->body.view() == numbers(0).slice(40, 20).view()));
}

// A minute was all, whatever a microbatch takes the device. And who asks for less leaves the device its job.
BOOST_AUTO_TEST_CASE(a_range_may_wait_long_for_the_device_and_keeps_its_place_until_then) {
  stands();
  *busy = std::chrono::seconds(90);
  proto::StateRange request;
  request.set_stage(1);
  request.set_count(5);
  std::vector<std::unique_ptr<Ask<Mail>>> asked;
  for (int i = 0; i < 257; ++i)
    asked.push_back(std::make_unique<Ask<Mail>>(
        *system, transfer, make_mail(request, {}, std::chrono::milliseconds(1))));
  system.advance(std::chrono::seconds(80));
  BOOST_TEST((asked.back()->answer().code == ErrorCode::kOverloaded));
  system.advance(std::chrono::seconds(20));
  BOOST_TEST(asked.front()->answer().value.has_value());
}

BOOST_AUTO_TEST_CASE(a_range_is_brought_on_by_the_mean_of_the_update_after_its_label) {
  stands();
  const StateLabel held = *label;
  BOOST_TEST(what(held) == What::WHAT_NOTHING);  // and from now on means are kept
  update();
  update();
  const auto outcome = ask(held);
  BOOST_REQUIRE(outcome.value);
  const auto& head = outcome.value->as<proto::StateRangeReply>();
  BOOST_TEST(head.what() == What::WHAT_MEAN);
  BOOST_TEST(head.step() == 8u);
  BOOST_TEST(head.checksum() == 80u);
  BOOST_TEST(head.history() == 1u);
  BOOST_TEST(head.newest_step() == 9u);
  BOOST_TEST(head.clip_scale() == 0.25);
  BOOST_REQUIRE(head.factors_size() == 2);
  BOOST_TEST(head.factors(1) == 0.5f);
  BOOST_TEST(head.round() == 8u);
  BOOST_TEST((outcome.value->body.view() == numbers(8'000).slice(40, 20).view()));
}

BOOST_AUTO_TEST_CASE(equal_bits_of_another_history_are_given_anew) {
  label->history = routing::History(5);
  stands();
  StateLabel held = *label;
  BOOST_TEST(what(held) == What::WHAT_NOTHING);
  held.history = routing::History(6);
  const auto outcome = ask(held);
  BOOST_REQUIRE(outcome.value);
  const auto& head = outcome.value->as<proto::StateRangeReply>();
  BOOST_TEST(head.what() == What::WHAT_STATE);
  BOOST_TEST(head.history() == 5u);
  BOOST_TEST(head.newest_history() == 5u);
}

BOOST_AUTO_TEST_CASE(a_range_that_no_kept_mean_leads_on_from_is_given_anew) {
  stands();
  const StateLabel held = *label;
  what(held);
  for (int i = 0; i < 3; ++i) update();
  BOOST_TEST(what(held) == What::WHAT_MEAN);
  update();
  BOOST_TEST(what(held) == What::WHAT_STATE);                     // too old
  BOOST_TEST(what(StateLabel{Step(9), 91}) == What::WHAT_STATE);  // of another history
  BOOST_TEST(what(StateLabel{label->step, 1}) == What::WHAT_STATE);
  BOOST_TEST(what(StateLabel{label->step + 1, 1}) == What::WHAT_NOTHING);
  stands();  // its own state was replaced
  BOOST_TEST(what(StateLabel{Step(10), 100}) == What::WHAT_STATE);
}

BOOST_AUTO_TEST_CASE(without_learners_no_mean_is_kept) {
  stands();
  const StateLabel held = *label;
  update();
  BOOST_TEST(what(held) == What::WHAT_STATE);
}

BOOST_AUTO_TEST_CASE(what_makes_no_sense_is_refused) {
  stands();
  const StateLabel held = *label;
  what(held);
  update();
  BOOST_TEST((ask({}, 0, 5, /*stage=*/0).code == ErrorCode::kNotFound));
  BOOST_TEST((ask({}, 0, 0).code == ErrorCode::kInvalidArgument));
  BOOST_TEST((ask({}, 0, kMaxRangeElements + 1).code == ErrorCode::kInvalidArgument));
  BOOST_TEST((ask({}, 98, 5).code == ErrorCode::kInvalidArgument));
  BOOST_TEST((ask(held, 98, 5).code == ErrorCode::kInvalidArgument));
  BOOST_TEST((ask(held, ~uint64_t{0}, 5).code == ErrorCode::kInvalidArgument));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace swarm::actors
