#include "actors/stage/microbatch.h"

#include <boost/test/unit_test.hpp>

#include "actors/stage/microbatch_times.h"
#include "tests/support/ids.h"

using namespace swarm;
using namespace swarm::actors;

namespace {

constexpr MicrobatchLimits kLimits{Stage(1), /*max_samples=*/4, /*sequence=*/3, /*slots=*/10};

proto::ForwardRequest request() {
  proto::ForwardRequest head;
  head.set_step(5);
  head.set_slot(9);
  head.set_attempt(uint64_t{1} << 40);
  head.set_needs(0b010);
  head.set_stage(1);
  head.set_samples(2);
  head.set_sequence(3);
  head.set_tokens(std::string(2 * 4 * 4, 't'));
  head.add_avoid()->set_stage(2);
  return head;
}

ErrorCode code_of(const proto::ForwardRequest& head) {
  return decode_microbatch(make_mail(head), kLimits).code();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(MicrobatchTest)

BOOST_AUTO_TEST_CASE(a_request_is_checked_whole) {
  BOOST_TEST(code_of(request()) == ErrorCode::kNone);
  auto other = [](auto change) {
    auto head = request();
    change(head);
    return code_of(head);
  };
  using Head = proto::ForwardRequest;
  BOOST_TEST(other([](Head& h) { h.set_stage(2); }) == ErrorCode::kInvalidArgument);
  BOOST_TEST(other([](Head& h) { h.set_samples(0); }) == ErrorCode::kShapeMismatch);
  BOOST_TEST(other([](Head& h) { h.set_samples(5); }) == ErrorCode::kShapeMismatch);
  BOOST_TEST(other([](Head& h) { h.set_sequence(4); }) == ErrorCode::kShapeMismatch);
  BOOST_TEST(other([](Head& h) { h.set_slot(10); }) == ErrorCode::kShapeMismatch);
  BOOST_TEST(other([](Head& h) { h.set_tokens("short"); }) == ErrorCode::kShapeMismatch);
}

BOOST_AUTO_TEST_CASE(only_what_this_stage_needs_is_added_and_no_validation) {
  BOOST_TEST(decode_microbatch(make_mail(request()), kLimits)->adds);
  auto of_others = request();
  of_others.set_needs(0b101);
  BOOST_TEST(!decode_microbatch(make_mail(of_others), kLimits)->adds);
  auto validation = request();
  validation.set_forward_only(true);
  BOOST_TEST(!decode_microbatch(make_mail(validation), kLimits)->adds);
}

BOOST_AUTO_TEST_CASE(tokens_are_not_copied_when_a_request_is_decoded) {
  const Mail mail = make_mail(request());
  const auto microbatch = decode_microbatch(mail, kLimits);
  BOOST_REQUIRE(microbatch.ok());
  const void* here = microbatch->input.tokens.data();
  BOOST_TEST(here == static_cast<const void*>(mail.as<proto::ForwardRequest>().tokens().data()));
}

BOOST_AUTO_TEST_CASE(the_next_stage_gets_all_but_the_activations_unchanged) {
  const auto microbatch = decode_microbatch(make_mail(request()), kLimits);
  BOOST_REQUIRE(microbatch.ok());
  tensor::EncodedTensor activations;
  activations.meta.add_shape(7);
  auto next = for_next_stage(*microbatch, activations);
  BOOST_TEST(next.activations().shape(0) == 7);
  next.clear_activations();
  next.set_stage(1);  // StageClient fills it in
  BOOST_TEST(next.SerializeAsString() == request().SerializeAsString());
}

BOOST_AUTO_TEST_CASE(a_reply_tells_where_the_time_went) {
  MicrobatchTimes times;
  times.received(1'000);
  times.queued(10);
  times.begun(11);
  times.computed(0.5);
  times.sent_on(12, 5'000);
  times.came_back(15, 3'000);
  times.queued(15);
  times.begun(15.25);
  times.computed(1);
  LinkRates rates{1e3, 2e3, {{testing::node(4), 100}}};
  proto::ForwardReply reply;
  times.tell(reply, 1'000, testing::node(4).raw(), rates);
  BOOST_TEST(reply.compute_s() == 1.5f);
  BOOST_TEST(reply.queue_s() == 1.25f);
  BOOST_TEST(reply.downstream_s() == 3.0f);
  BOOST_TEST(reply.uplink_s() == 6.0f);
  BOOST_TEST(reply.downlink_s() == 2.0f);
  BOOST_TEST(reply.pair_s() == 10.0f);
  proto::ForwardReply elsewhere;
  times.tell(elsewhere, 1'000, "nobody", {});
  BOOST_TEST(elsewhere.uplink_s() == 0);
  BOOST_TEST(elsewhere.pair_s() == 0);
}

BOOST_AUTO_TEST_CASE(the_slower_direction_of_a_pair_counts) {
  proto::ForwardReply reply;
  reply.set_compute_s(0.5f);
  reply.set_pair_s(2);
  BOOST_TEST(occupancy_of(reply, 1'000, 1'000).pair_s == 2);
  BOOST_TEST(occupancy_of(reply, 9'000, 1'000).pair_s == 9);
  BOOST_TEST(occupancy_of(reply, 9'000, 0).seconds() == 2);
}

BOOST_AUTO_TEST_SUITE_END()
