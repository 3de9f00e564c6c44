#include "actors/stage/microbatch.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <utility>
#include <vector>

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
  times.came_back(15, 3'000, 0.5);
  times.queued(15);
  times.begun(15.25);
  times.computed(1);
  LinkRates rates;
  rates.send = 1e3;
  rates.receive = 2e3;
  rates.slow_pairs[testing::node(4)] = 100;
  rates.queued_bytes = 2'000;
  rates.queued_to[testing::node(4)] = 300 + 1'000;  // and one like this reply
  proto::ForwardReply reply;
  times.tell(reply, 1'000, testing::node(4).raw(), rates);
  BOOST_TEST(reply.compute_s() == 1.5f);
  BOOST_TEST(reply.queue_s() == 4.25f);  // and 300 bytes before the reply, at 100 bytes/s
  BOOST_TEST(reply.downstream_s() == 3.0f);
  BOOST_TEST(reply.uplink_s() == 6.0f);
  BOOST_TEST(reply.downlink_s() == 2.0f);
  BOOST_TEST(reply.pair_s() == 10.0f);
  BOOST_TEST(reply.waited_s() == 4.75f);  // and at later stages
  proto::ForwardReply elsewhere;
  times.tell(elsewhere, 1'000, "nobody", {});
  BOOST_TEST(elsewhere.uplink_s() == 0);
  BOOST_TEST(elsewhere.pair_s() == 0);
  BOOST_TEST(elsewhere.waited_s() == 1.75f);
}

BOOST_AUTO_TEST_CASE(the_longer_of_a_nodes_and_a_pairs_queue_is_waited_for) {
  const NodeId slow = testing::node(1), other = testing::node(2);
  LinkRates rates;
  BOOST_TEST(rates.wait_s(slow) == 0);
  rates.queued_bytes = 3'000;
  rates.queued_to[slow] = 1'000;
  BOOST_TEST(rates.wait_s(slow) == 0);  // nothing holds them up, as far as is known
  rates.send = 1'000;
  BOOST_TEST(rates.wait_s(slow) == 3);
  rates.slow_pairs[slow] = 100;
  BOOST_TEST(rates.wait_s(slow) == 10);
  BOOST_TEST(rates.wait_s(other) == 3);
}

BOOST_AUTO_TEST_CASE(what_is_told_of_waiting_is_no_longer_than_the_whole) {
  proto::ForwardReply reply;
  for (const auto& [told, counts] : std::vector<std::pair<float, double>>{
           {0.5f, 0.5}, {3.0f, 2.0}, {-1.0f, 0.0}, {std::nanf(""), 0.0}, {HUGE_VALF, 0.0}}) {
    reply.set_waited_s(told);
    BOOST_TEST(told_waited_s(reply, 2) == counts);
  }
}

// Who does not say how long it waited in all was taken to have waited nowhere.
BOOST_AUTO_TEST_CASE(no_less_waiting_counts_than_in_the_peers_own_queues) {
  proto::ForwardReply reply;
  reply.set_queue_s(1.5f);
  for (const float told : {0.0f, -1.0f, std::nanf(""), HUGE_VALF, 1.0f}) {
    reply.set_waited_s(told);
    BOOST_TEST(told_waited_s(reply, 2) == 1.5);
  }
  reply.set_queue_s(std::nanf(""));
  BOOST_TEST(told_waited_s(reply, 2) == 1);
}

BOOST_AUTO_TEST_CASE(what_passed_at_the_peer_is_all_but_the_way) {
  proto::ForwardReply reply;
  BOOST_TEST(told_inside_s(reply, 9) == 0);
  reply.set_compute_s(1);
  reply.set_queue_s(2);
  reply.set_downstream_s(4);
  BOOST_TEST(told_inside_s(reply, 9) == 7);
  BOOST_TEST(told_inside_s(reply, 5) == 5);  // it cannot be longer than the whole
  reply.set_queue_s(-1);
  reply.set_downstream_s(HUGE_VALF);
  BOOST_TEST(told_inside_s(reply, 9) == 1);
}

// What was stuck on one slow pair was charged to everybody.
BOOST_AUTO_TEST_CASE(what_waits_for_a_slow_pair_holds_up_nobody_else) {
  LinksStats stats;
  stats.send_bytes_per_s = 1'000;
  stats.links.resize(2);
  stats.links[0].node.id = testing::node(1);
  stats.links[0].queued_work_bytes = 5'000;
  stats.links[0].busy_bytes_per_s = 100;
  stats.links[1].node.id = testing::node(2);
  stats.links[1].queued_work_bytes = 2'000;
  const LinkRates rates = link_rates(stats);
  BOOST_TEST(rates.wait_s(testing::node(1)) == 50);
  BOOST_TEST(rates.wait_s(testing::node(2)) == 2);
}

// An answer from the cache came in no time, and the way to the peer counted as none from then on.
BOOST_AUTO_TEST_CASE(an_answer_faster_than_what_was_done_for_it_says_nothing_of_the_way) {
  proto::ForwardReply reply;
  reply.set_compute_s(1);
  reply.set_queue_s(0.5f);
  reply.set_downstream_s(2);
  const auto took = occupancy_of(reply, 0, 0);
  BOOST_TEST(away_s(reply, took, 3.75).value() == 0.25);
  BOOST_TEST(away_s(reply, took, 3.5).value() == 0);
  BOOST_TEST(!away_s(reply, took, 0.1).has_value());
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
