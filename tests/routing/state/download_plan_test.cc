#include "routing/state/download_plan.h"

#include <boost/test/unit_test.hpp>
#include <set>

#include "tests/support/ids.h"

using namespace swarm;
using namespace swarm::routing;
using Kind = DownloadOrder::Kind;

namespace {

constexpr uint64_t kChunk = 100;

DownloadPlanOptions options(std::optional<Step> exact = {}) {
  return {exact, /*max_bytes=*/10'000, kChunk, /*chunks_in_flight=*/2};
}

DownloadPlan plan_of(size_t sources, std::optional<Step> exact = {}) {
  static const std::vector<std::string> kNames{"a", "b", "c", "d"};
  return {{kNames.begin(), kNames.begin() + static_cast<long>(sources)}, options(exact)};
}

const Error kGone{ErrorCode::kLinkLost, "gone"};
const Error kNone{ErrorCode::kNotFound, "nothing here"};

std::vector<size_t> sources(const DownloadPlan::Orders& orders, Kind kind) {
  std::vector<size_t> out;
  for (const auto& order : orders)
    if (order.kind == kind) out.push_back(order.source);
  return out;
}

const DownloadOrder* find(const DownloadPlan::Orders& orders, Kind kind) {
  for (const auto& order : orders)
    if (order.kind == kind) return &order;
  return nullptr;
}

/// Answers reads, the oldest first, until no more are ordered; returns what else was ordered.
struct Reader {
  DownloadPlan& plan;
  std::vector<DownloadOrder> pending{};
  DownloadPlan::Orders others{};
  std::set<uint64_t> offsets{};
  size_t reads = 0;

  void take(const DownloadPlan::Orders& orders) {
    for (const auto& order : orders)
      (order.kind == Kind::kRead ? pending : others).push_back(order);
  }
  bool step() {
    if (pending.empty()) return false;
    const auto order = pending.front();
    pending.erase(pending.begin());
    offsets.insert(order.read.offset);
    ++reads;
    take(plan.received(order.source, order.read));
    return true;
  }
  void finish() {
    while (step()) {
    }
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(DownloadPlanTest)

BOOST_AUTO_TEST_CASE(every_source_is_asked_first) {
  auto plan = plan_of(3);
  const auto orders = plan.start();
  BOOST_TEST(sources(orders, Kind::kAsk) == (std::vector<size_t>{0, 1, 2}),
             boost::test_tools::per_element());
  BOOST_TEST(orders.size() == 3u);
}

BOOST_AUTO_TEST_CASE(the_newest_step_wins_and_among_equals_the_bytes_that_most_offer) {
  auto plan = plan_of(4);
  plan.start();
  plan.offered(0, {Step(7), 1, 500});
  plan.offered(1, {Step(8), 2, 500});
  plan.offered(2, {Step(8), 3, 500});
  const auto orders = plan.offered(3, {Step(8), 3, 500});
  const auto* begin = find(orders, Kind::kBegin);
  BOOST_REQUIRE(begin != nullptr);
  BOOST_TEST((begin->offer == StateOffer{Step(8), 3, 500}));
  BOOST_TEST(sources(orders, Kind::kRead) == (std::vector<size_t>{2, 2, 3, 3}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(every_byte_is_read_once_and_then_verified) {
  auto plan = plan_of(2);
  plan.start();
  plan.offered(0, {Step(5), 1, 1'030});
  Reader reader{plan};
  reader.take(plan.offered(1, {Step(5), 1, 1'030}));
  reader.finish();
  BOOST_TEST(reader.reads == 11u);
  BOOST_TEST(reader.offsets.size() == 11u);
  BOOST_TEST(plan.supplied(0) + plan.supplied(1) == 1'030u);
  BOOST_REQUIRE(reader.others.size() == 2u);  // begin, verify
  BOOST_TEST((reader.others.back().kind == Kind::kVerify));
  BOOST_TEST(plan.verified(true).empty());
}

BOOST_AUTO_TEST_CASE(a_slow_source_is_not_waited_for_longer_than_a_second) {
  auto plan = plan_of(2);
  plan.start();
  const auto orders = plan.offered(0, {Step(5), 1, 100});
  const auto* wake = find(orders, Kind::kWake);
  BOOST_REQUIRE(wake != nullptr);
  BOOST_TEST(wake->pause.count() == 1'000);
  BOOST_TEST(find(plan.woken(wake->token), Kind::kRead) != nullptr);
}

BOOST_AUTO_TEST_CASE(a_late_offer_of_the_same_bytes_helps) {
  auto plan = plan_of(2);
  plan.start();
  const auto wake = *find(plan.offered(0, {Step(5), 1, 1'000}), Kind::kWake);
  plan.woken(wake.token);
  BOOST_TEST(
      sources(plan.offered(1, {Step(5), 1, 1'000}), Kind::kRead) == (std::vector<size_t>{1, 1}),
      boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(the_others_take_over_what_a_failed_source_was_asked_for) {
  auto plan = plan_of(2);
  plan.start();
  plan.offered(0, {Step(5), 1, 400});
  const auto orders = plan.offered(1, {Step(5), 1, 400});  // two reads each: all of it
  const auto reads = sources(orders, Kind::kRead).size();
  BOOST_TEST(reads == 4u);
  std::vector<DownloadRead> of_a, of_b;
  for (const auto& order : orders)
    if (order.kind == Kind::kRead) (order.source == 0 ? of_a : of_b).push_back(order.read);
  BOOST_TEST(plan.failed(0, of_a[0], kGone).empty());  // the other one is busy
  const auto next = plan.received(1, of_b[0]);
  BOOST_REQUIRE(sources(next, Kind::kRead).size() == 1u);
  BOOST_TEST(find(next, Kind::kRead)->source == 1u);
  BOOST_TEST(find(next, Kind::kRead)->read.offset == of_a[0].offset);
}

BOOST_AUTO_TEST_CASE(when_all_have_failed_reading_goes_on_where_it_stopped) {
  auto plan = plan_of(1);
  plan.start();
  Reader reader{plan};
  reader.take(plan.offered(0, {Step(5), 1, 1'000}));
  for (int i = 0; i < 6; ++i) reader.step();
  const auto lost = reader.pending;
  reader.pending.clear();
  plan.failed(0, lost[0].read, kGone);
  const auto orders = plan.failed(0, lost[1].read, kGone);
  const auto* wake = find(orders, Kind::kWake);
  BOOST_REQUIRE(wake != nullptr);
  BOOST_TEST(find(plan.woken(wake->token), Kind::kAsk) != nullptr);
  const auto again = plan.offered(0, {Step(5), 1, 1'000});
  BOOST_TEST(find(again, Kind::kBegin) == nullptr);  // the memory stays
  reader.take(again);
  reader.finish();
  BOOST_TEST(reader.reads == 10u);
  BOOST_TEST((reader.others.back().kind == Kind::kVerify));
}

BOOST_AUTO_TEST_CASE(another_state_is_begun_anew_and_late_answers_of_the_old_are_ignored) {
  auto plan = plan_of(1);
  plan.start();
  const auto first = plan.offered(0, {Step(5), 1, 200});
  const auto old = *find(first, Kind::kRead);
  plan.failed(0, old.read, kGone);
  const auto wake = *find(plan.failed(0, first.back().read, kGone), Kind::kWake);
  plan.woken(wake.token);
  const auto second = plan.offered(0, {Step(6), 2, 200});
  BOOST_TEST(find(second, Kind::kBegin) != nullptr);
  BOOST_TEST(!plan.awaits(old.read));
  BOOST_TEST(plan.received(0, old.read).empty());
  BOOST_TEST(plan.chunks_missing() == 2u);
}

BOOST_AUTO_TEST_CASE(after_three_attempts_without_a_byte_every_source_is_named) {
  auto plan = plan_of(2);
  plan.start();
  for (int attempt = 1; attempt <= 3; ++attempt) {
    plan.refused(0, kNone);
    const auto orders = plan.refused(1, kGone);
    const auto* wake = find(orders, Kind::kWake);
    BOOST_TEST((wake != nullptr) == (attempt < 3));
    if (wake != nullptr) {
      plan.woken(wake->token);
      continue;
    }
    const auto* over = find(orders, Kind::kGiveUp);
    BOOST_REQUIRE(over != nullptr);
    BOOST_TEST(over->error.code == ErrorCode::kLinkLost);
    BOOST_TEST(over->error.detail == "a: not_found: nothing here; b: link_lost: gone");
  }
}

BOOST_AUTO_TEST_CASE(what_nobody_has_is_given_up_at_once) {
  auto plan = plan_of(2, /*exact=*/Step(9));
  plan.start();
  plan.refused(0, kNone);
  const auto orders = plan.offered(1, {Step(8), 1, 100});
  BOOST_REQUIRE(find(orders, Kind::kGiveUp) != nullptr);
  BOOST_TEST(find(orders, Kind::kGiveUp)->error.code == ErrorCode::kNotFound);
  BOOST_TEST(plan.offered(0, {Step(9), 1, 100}).empty());  // it is over
}

BOOST_AUTO_TEST_CASE(an_offer_that_cannot_be_right_is_not_begun) {
  for (uint64_t size : {uint64_t{0}, uint64_t{10'001}, uint64_t{1} << 60}) {
    auto plan = plan_of(1);
    plan.start();
    const auto orders = plan.offered(0, {Step(5), 1, size});
    BOOST_TEST(find(orders, Kind::kBegin) == nullptr);
    BOOST_TEST(find(orders, Kind::kWake) != nullptr);  // asked again: it may have erred
  }
}

BOOST_AUTO_TEST_CASE(after_wrong_bytes_from_several_each_is_tried_alone_and_the_liar_banned) {
  auto plan = plan_of(2);
  plan.start();
  plan.offered(0, {Step(5), 1, 400});
  Reader reader{plan};
  reader.take(plan.offered(1, {Step(5), 1, 400}));
  reader.finish();
  const auto alone = plan.verified(false);
  BOOST_TEST(find(alone, Kind::kDistrust) == nullptr);  // nobody knows whose bytes were wrong
  BOOST_TEST(sources(alone, Kind::kRead) == (std::vector<size_t>{0, 0}),
             boost::test_tools::per_element());
  reader.take(alone);
  reader.finish();
  const auto other = plan.verified(false);
  BOOST_TEST(sources(other, Kind::kDistrust) == std::vector<size_t>{0},
             boost::test_tools::per_element());
  BOOST_TEST(sources(other, Kind::kRead) == (std::vector<size_t>{1, 1}),
             boost::test_tools::per_element());
  reader.take(other);
  reader.finish();
  BOOST_TEST(plan.verified(true).empty());
  BOOST_TEST(plan.supplied(1) == 400u);
}

BOOST_AUTO_TEST_CASE(wrong_bytes_of_the_only_source_are_the_end) {
  auto plan = plan_of(1);
  plan.start();
  Reader reader{plan};
  reader.take(plan.offered(0, {Step(5), 1, 100}));
  reader.finish();
  const auto orders = plan.verified(false);
  BOOST_REQUIRE(find(orders, Kind::kGiveUp) != nullptr);
  BOOST_TEST(find(orders, Kind::kGiveUp)->error.code == ErrorCode::kCorruptCheckpoint);
}

BOOST_AUTO_TEST_CASE(what_the_disk_has_is_asked_of_nobody) {
  auto plan = plan_of(1);
  plan.start();
  Reader reader{plan};
  reader.take(plan.offered(0, {Step(5), 1, 1'030}));  // chunks 0 and 1 are asked for
  plan.expect(0, 1'030);
  DownloadPlan::Orders orders;
  BOOST_TEST(!plan.found(0, 200, orders));  // on their way
  BOOST_TEST(plan.found(200, 400, orders));
  BOOST_TEST(orders.empty());
  BOOST_TEST(!plan.found(200, 400, orders));
  BOOST_TEST(plan.chunks_missing() == 7u);
  BOOST_TEST(reader.step());
  BOOST_TEST(reader.pending.back().read.offset ==
             1'000u);  // from the end: the disk comes from the front
  reader.finish();
  BOOST_TEST(reader.reads == 7u);
  BOOST_TEST((reader.others.back().kind == Kind::kVerify));
}

BOOST_AUTO_TEST_CASE(what_is_all_on_the_disk_is_verified_too) {
  auto plan = plan_of(1);
  plan.start();
  Reader reader{plan};
  reader.take(plan.offered(0, {Step(5), 1, 400}));
  plan.expect(200, 200);
  DownloadPlan::Orders orders;
  BOOST_TEST(plan.found(200, 200, orders));
  reader.finish();
  BOOST_TEST(reader.reads == 2u);
  BOOST_TEST((reader.others.back().kind == Kind::kVerify));
  // It was wrong: all of it is read anew.
  reader.others.clear();
  reader.take(plan.verified(false));
  BOOST_TEST((reader.others.front().kind == Kind::kDistrust));
}

BOOST_AUTO_TEST_SUITE_END()
