#include "routing/steps/microbatch_desk.h"

#include <boost/test/unit_test.hpp>

using namespace swarm;
using namespace swarm::routing;

namespace {

using Desk = MicrobatchDesk<int>;
constexpr uint64_t kAll = ~uint64_t{0};

MicrobatchKey key(uint32_t slot, uint64_t step = 0, uint64_t attempt = 1) {
  return {Step(step), Slot(slot), Attempt(attempt)};
}

struct SmallDesk : Desk {
  SmallDesk() : Desk(3) {}
  void come(const MicrobatchKey& key, double now_s = 0) { admit(key, now_s, /*budget_s=*/10, 0); }
  /// "f1" or "b1": pass and slot; "" when nothing is due.
  std::string next_job(uint64_t newest_step = kAll) {
    auto job = next(Step(newest_step));
    if (!job) return "";
    return (job->backward ? "b" : "f") + std::to_string(job->key.slot.value());
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(MicrobatchDeskTest)

BOOST_FIXTURE_TEST_CASE(first_come_first_served, SmallDesk) {
  come(key(7));
  come(key(2));
  BOOST_TEST(next_job() == "f7");
  BOOST_TEST(next_job() == "f2");
  BOOST_TEST(next_job() == "");
}

BOOST_FIXTURE_TEST_CASE(backward_goes_before_forward, SmallDesk) {
  come(key(1));
  BOOST_TEST(next_job() == "f1");
  sent_on(key(1));
  come(key(2));
  came_back(key(1));
  BOOST_TEST(next_job() == "b1");
  BOOST_TEST(next_job() == "f2");
}

// All residents counted: the first stage was always the fullest.
BOOST_FIXTURE_TEST_CASE(what_waits_for_the_next_stage_is_no_work_in_hand, SmallDesk) {
  for (uint32_t slot = 0; slot < 3; ++slot) come(key(slot));
  BOOST_TEST(in_hand() == 3u);
  BOOST_TEST(next_job() == "f0");
  BOOST_TEST(in_hand() == 3u);
  sent_on(key(0));
  BOOST_TEST(in_hand() == 2u);
  came_back(key(0));
  BOOST_TEST(in_hand() == 3u);
  BOOST_TEST(next_job() == "b0");
  BOOST_TEST(take(key(0)).has_value());
  BOOST_TEST(in_hand() == 2u);
}

BOOST_FIXTURE_TEST_CASE(a_place_is_free_again_only_after_the_answer, SmallDesk) {
  for (uint32_t slot = 0; slot < 3; ++slot) come(key(slot));
  BOOST_TEST(full());
  BOOST_TEST(next_job() == "f0");
  sent_on(key(0));
  BOOST_TEST(full());
  BOOST_TEST(take(key(0)).has_value());
  BOOST_TEST(!full());
  BOOST_TEST(!take(key(0)).has_value());
}

BOOST_AUTO_TEST_CASE(places_are_bounded_by_bytes_too_and_the_first_is_always_taken) {
  Desk desk(/*places=*/10, /*max_bytes=*/100);
  BOOST_TEST(!desk.full(1'000));
  desk.admit(key(0), 0, 10, 0, 1'000);
  BOOST_TEST(desk.full(1));
  desk.take(key(0));
  BOOST_TEST(desk.bytes() == 0u);
  desk.admit(key(1), 0, 10, 0, 60);
  BOOST_TEST(!desk.full(40));
  BOOST_TEST(desk.full(41));
  desk.admit(key(2), 0, 10, 0, 40);
  BOOST_TEST(desk.bytes() == 100u);
  BOOST_TEST(desk.full(1));
  BOOST_TEST(!desk.full(0));
  desk.take(key(1));
  BOOST_TEST(!desk.full(60));
}

BOOST_FIXTURE_TEST_CASE(the_next_step_waits_and_keeps_its_place, SmallDesk) {
  come(key(1, /*step=*/6));
  come(key(2, /*step=*/5));
  BOOST_TEST(next_job(/*newest_step=*/5) == "f2");
  BOOST_TEST(next_job(5) == "");
  come(key(3, 6));
  BOOST_TEST(next_job(6) == "f1");
  BOOST_TEST(next_job(6) == "f3");
}

// Answered (cancelled, say) while queued and sent again: it was computed at its old place in the
// queue, or twice.
BOOST_FIXTURE_TEST_CASE(a_microbatch_that_comes_again_queues_anew_and_once, SmallDesk) {
  come(key(1));
  come(key(2));
  BOOST_TEST(take(key(1)).has_value());
  come(key(1));
  BOOST_TEST(queued_forward() == 2u);
  BOOST_TEST(next_job() == "f2");
  BOOST_TEST(next_job() == "f1");
  BOOST_TEST(next_job() == "");
}

// The peer stopped serving while it computed, served again, and the same attempt was sent again: the
// end of the old computation is not the new one's.
BOOST_FIXTURE_TEST_CASE(a_microbatch_that_comes_again_is_not_taken_for_the_one_that_computes,
                        SmallDesk) {
  come(key(1));
  BOOST_TEST(next_job() == "f1");
  BOOST_TEST(take(key(1)).has_value());
  come(key(1));
  BOOST_TEST(computed(key(1)) == nullptr);
  BOOST_TEST(next_job() == "f1");
  BOOST_TEST(computed(key(1)) != nullptr);
}

BOOST_FIXTURE_TEST_CASE(what_was_answered_in_the_backward_queue_is_not_computed, SmallDesk) {
  come(key(1));
  BOOST_TEST(next_job() == "f1");
  sent_on(key(1));
  came_back(key(1));
  BOOST_TEST(take(key(1)).has_value());
  BOOST_TEST(next_job() == "");
}

BOOST_FIXTURE_TEST_CASE(what_computes_is_only_marked_as_cancelled, SmallDesk) {
  come(key(1));
  come(key(2));
  BOOST_TEST(next_job() == "f1");
  BOOST_TEST(!cancel(key(1)));
  BOOST_TEST(find(key(1))->cancelled);
  BOOST_TEST(cancel(key(2)));
  BOOST_TEST(!cancel(key(3)));
}

BOOST_FIXTURE_TEST_CASE(nobody_waits_after_the_budget_but_what_computes_is_finished, SmallDesk) {
  come(key(1), /*now_s=*/0);
  come(key(2), 0);
  come(key(3), 5);
  BOOST_TEST(next_job() == "f1");
  BOOST_TEST(late(/*now_s=*/11, /*grace_s=*/1).empty());
  auto gone = late(11.5, 1);
  BOOST_REQUIRE(gone.size() == 1u);
  BOOST_TEST(gone[0].slot == Slot(2));
}

BOOST_FIXTURE_TEST_CASE(earlier_steps_are_found_whatever_they_do, SmallDesk) {
  come(key(1, 4));
  come(key(2, 4));
  come(key(3, 5));
  BOOST_TEST(next_job() == "f1");
  BOOST_TEST(before(Step(5)).size() == 2u);
  BOOST_TEST(before(Step(kAll)).size() == 3u);
}

BOOST_FIXTURE_TEST_CASE(another_attempt_is_another_microbatch, SmallDesk) {
  come(key(1, 0, /*attempt=*/1));
  BOOST_TEST(find(key(1, 0, 2)) == nullptr);
  come(key(1, 0, 2));
  BOOST_TEST(size() == 2u);
}

BOOST_AUTO_TEST_SUITE_END()
