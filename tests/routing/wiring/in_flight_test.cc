#include "routing/wiring/in_flight.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <queue>
#include <vector>

#include "common/mix.h"

using namespace swarm;
using routing::InFlight;

namespace {

/// A whole round of microbatches, each `took_s`, `waited_s` of them in queues.
void round(InFlight& limit, double took_s, double waited_s) {
  const uint64_t in = limit.sent(limit.limit());
  for (uint32_t i = std::max(limit.limit(), 4u); i > 0; --i) limit.came_back(in, took_s, waited_s);
}

/// Stages one after the other, each with servers that take the longest waiting; a way to go after
/// each. Trainers send the next microbatch as soon as their limit allows. A budget that is used up
/// ends a microbatch wherever it is, as a peer's desk does: what is served then was served for nothing.
struct Line {
  struct Stage {
    int servers = 1;
    double each_s = 1;
    std::vector<double> free_s = {};
  };
  struct Event {
    double at_s = 0;
    size_t trainer = 0, stage = 0;
    uint64_t round = 0;
    double began_s = 0, waited_s = 0;
    uint64_t number = 0;
    bool late = false;
    bool operator<(const Event& other) const {
      return at_s != other.at_s ? at_s > other.at_s : number > other.number;
    }
  };

  std::vector<Stage> stages;
  std::vector<InFlight> trainers;
  double way_s = 0;
  double spread = 0;  // of a server's time, both ways
  double budget_s = std::numeric_limits<double>::infinity();
  bool tells_late = true;
  std::vector<double> own_way_s = {};  // of each trainer, there and back
  SplitMix64 random{1};
  std::priority_queue<Event> events = {};
  std::vector<uint32_t> under_way = {};
  std::vector<uint64_t> done_of = {};  // of each trainer
  uint64_t numbers = 0, done = 0;
  double now_s = 0, waited_s = 0, took_s = 0;

  void fill(size_t trainer) {
    while (under_way[trainer] < trainers[trainer].limit()) {
      const uint64_t in = trainers[trainer].sent(++under_way[trainer]);
      events.push({now_s + own_way_s[trainer], trainer, 0, in, now_s, 0, ++numbers});
    }
  }
  void arrive(Event event) {
    if (event.late || event.stage == stages.size()) return back(event);
    const double ends_s = event.began_s + budget_s;
    Stage& stage = stages[event.stage];
    auto server = std::min_element(stage.free_s.begin(), stage.free_s.end());
    const double begin_s = std::max(*server, event.at_s);
    if (begin_s < ends_s) {
      const double takes_s = stage.each_s * (1 + spread * (2 * random.uniform() - 1));
      event.waited_s += begin_s - event.at_s;
      *server = begin_s + takes_s;
    }
    event.at_s = std::max(begin_s, *server) + way_s;
    event.late = event.at_s >= ends_s;
    if (event.late) event.at_s = ends_s;
    ++event.stage;
    event.number = ++numbers;
    events.push(event);
  }
  void back(const Event& event) {
    --under_way[event.trainer];
    const double whole_s = now_s - event.began_s;
    if (event.late) {
      if (tells_late) trainers[event.trainer].came_back(event.round, whole_s, whole_s);
      return fill(event.trainer);
    }
    ++done;
    ++done_of[event.trainer];
    took_s += whole_s;
    waited_s += event.waited_s;
    trainers[event.trainer].came_back(event.round, whole_s - own_way_s[event.trainer],
                                      event.waited_s);
    fill(event.trainer);
  }
  void run(double until_s) {
    if (under_way.empty()) {
      under_way.resize(trainers.size());
      own_way_s.resize(trainers.size());
      done_of.resize(trainers.size());
      for (Stage& stage : stages) stage.free_s.assign(static_cast<size_t>(stage.servers), 0.0);
      for (size_t t = 0; t < trainers.size(); ++t) fill(t);
    }
    while (!events.empty() && events.top().at_s < until_s) {
      const Event event = events.top();
      events.pop();
      now_s = event.at_s;
      arrive(event);
    }
    now_s = until_s;
  }
  void count() {
    done = 0;
    done_of.assign(trainers.size(), 0);
    waited_s = took_s = 0;
  }
  double capacity() const {
    double least = std::numeric_limits<double>::infinity();
    for (const Stage& stage : stages) least = std::min(least, stage.servers / stage.each_s);
    return least;
  }
};

/// The narrowest stage is busy and microbatches wait no longer than they need.
void check_line(Line line) {
  line.run(400);
  line.count();
  line.run(1'400);
  const double busy = static_cast<double>(line.done) / 1'000 / line.capacity();
  const double waiting = line.waited_s / line.took_s;
  BOOST_TEST(busy >= 0.95, "busy " << busy << ", waiting " << waiting);
  BOOST_TEST(waiting <= InFlight::kWaiting + 0.1, "waiting " << waiting << ", busy " << busy);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(InFlightTest)

BOOST_AUTO_TEST_CASE(a_number_that_was_asked_for_stays) {
  InFlight limit(3u);
  BOOST_TEST(!limit.automatic());
  for (int i = 0; i < 10; ++i) round(limit, 1, 0);
  BOOST_TEST(limit.limit() == 3u);
}

BOOST_AUTO_TEST_CASE(it_grows_while_nobody_waits) {
  InFlight limit(std::nullopt);
  const uint32_t first = limit.limit();
  round(limit, 1, 0);
  BOOST_TEST(limit.limit() == 2 * first);
  round(limit, 1, 0);
  BOOST_TEST(limit.limit() == 4 * first);
  for (int i = 0; i < 20; ++i) round(limit, 1, 0);
  BOOST_TEST(limit.limit() == InFlight::kMost);
}

BOOST_AUTO_TEST_CASE(it_shrinks_where_they_only_wait_and_one_is_always_under_way) {
  InFlight limit(std::nullopt);
  for (int i = 0; i < 20; ++i) round(limit, 1, 0.99);
  BOOST_TEST(limit.limit() == 1u);
  round(limit, 1, 0);
  BOOST_TEST(limit.limit() == 2u);
}

BOOST_AUTO_TEST_CASE(as_much_waiting_as_is_wanted_changes_nothing) {
  InFlight limit(std::nullopt);
  const uint32_t first = limit.limit();
  for (int i = 0; i < 10; ++i) round(limit, 1, InFlight::kWaiting);
  BOOST_TEST(limit.limit() == first);
  BOOST_TEST(limit.waiting() == InFlight::kWaiting, boost::test_tools::tolerance(1e-12));
}

// At the end of a step there is nothing to lease: few are under way, and none of them waits.
BOOST_AUTO_TEST_CASE(where_the_limit_was_not_reached_it_does_not_grow) {
  InFlight limit(std::nullopt);
  const uint32_t first = limit.limit();
  for (int i = 0; i < 100; ++i) limit.came_back(limit.sent(first - 1), 1, 0);
  BOOST_TEST(limit.limit() == first);
}

BOOST_AUTO_TEST_CASE(what_was_sent_before_the_last_change_says_nothing) {
  InFlight limit(std::nullopt);
  const uint64_t early = limit.sent(limit.limit());
  round(limit, 1, 0);
  const uint32_t now = limit.limit();
  for (int i = 0; i < 100; ++i) limit.came_back(early, 1, 0.99);
  BOOST_TEST(limit.limit() == now);
}

// Each look discarded them, so ways that take longer than a round were never counted.
BOOST_AUTO_TEST_CASE(what_is_under_way_counts_as_long_as_nothing_changes) {
  InFlight limit(std::nullopt);
  const uint32_t first = limit.limit();
  const uint64_t slow = limit.sent(first);
  for (int i = 0; i < 5; ++i) round(limit, 1, InFlight::kWaiting);
  for (uint32_t i = 0; i < first; ++i) limit.came_back(slow, 10, 8);
  BOOST_TEST(limit.limit() < first);
}

// Where all is late, a whole round takes longest to come back.
BOOST_AUTO_TEST_CASE(half_a_round_that_did_nothing_but_wait_is_enough) {
  InFlight limit(std::nullopt);
  round(limit, 1, 0);
  const uint32_t now = limit.limit();
  const uint64_t in = limit.sent(now);
  for (uint32_t i = 0; i < now / 2 - 1; ++i) limit.came_back(in, 120, 120);
  BOOST_TEST(limit.limit() == now);
  limit.came_back(in, 120, 120);
  BOOST_TEST(limit.limit() < now);
  const uint32_t less = limit.limit();
  const uint64_t next = limit.sent(less);
  for (uint32_t i = 0; i < less - 1; ++i) limit.came_back(next, 1, 0.8);  // no more than busy
  BOOST_TEST(limit.limit() == less);
}

BOOST_AUTO_TEST_CASE(figures_that_cannot_be_do_no_harm) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInf = std::numeric_limits<double>::infinity();
  InFlight limit(std::nullopt);
  const uint32_t first = limit.limit();
  for (const double took_s : {kNan, kInf, 0.0, -1.0})
    for (int i = 0; i < 20; ++i) limit.came_back(limit.sent(first), took_s, 0.5);
  BOOST_TEST(limit.limit() == first);
  round(limit, 1, kInf);  // all of it, at most
  BOOST_TEST(limit.waiting() == 1);
  round(limit, 1, kNan);
  BOOST_TEST(limit.waiting() == 0);
  round(limit, 1, -3);
  BOOST_TEST(limit.waiting() == 0);
}

// -- against queues: whatever the way, and however many share the swarm

BOOST_AUTO_TEST_CASE(the_narrowest_stage_is_busy_and_queues_are_short) {
  for (const double way_s : {0.0, 0.05, 0.5, 2.0})
    for (const size_t trainers : {1, 2, 5})
      for (const double spread : {0.0, 0.5}) {
        BOOST_TEST_INFO_SCOPE("way " << way_s << " s, trainers " << trainers << ", spread "
                                     << spread);
        Line line;
        line.stages = {{2, 0.5}, {2, 1.0}, {2, 0.4}, {2, 0.5}};
        line.trainers.assign(trainers, InFlight(std::nullopt));
        line.way_s = way_s;
        line.spread = spread;
        check_line(line);
      }
}

BOOST_AUTO_TEST_CASE(so_it_is_where_all_stages_are_equally_narrow) {
  for (const double way_s : {0.0, 0.25, 1.0})
    for (const size_t trainers : {1, 2}) {
      BOOST_TEST_INFO_SCOPE("way " << way_s << " s, trainers " << trainers);
      Line line;
      line.stages = {{2, 1.0}, {2, 1.0}, {2, 1.0}, {2, 1.0}};
      line.trainers.assign(trainers, InFlight(std::nullopt));
      line.way_s = way_s;
      line.spread = 0.25;
      check_line(line);
    }
}

// A way that becomes longer: what was enough no longer is.
BOOST_AUTO_TEST_CASE(it_follows_a_way_that_changes) {
  Line line;
  line.stages = {{2, 1.0}, {2, 1.0}};
  line.trainers.assign(2, InFlight(std::nullopt));
  line.run(200);
  const uint32_t near = line.trainers[0].limit();
  line.way_s = 5;
  line.run(1'000);
  const uint32_t far = line.trainers[0].limit();
  BOOST_TEST(far >= 2 * near, far << " far away, " << near << " near");
  line.way_s = 0;
  line.run(2'000);
  BOOST_TEST(line.trainers[0].limit() <= near + 1);
}

namespace {
/// 20 peers of the narrowest stage become one: what is under way would take longer than its budget.
Line collapsed(bool tells_late) {
  Line line;
  line.stages = {{20, 1.0}};
  line.trainers.assign(1, InFlight(std::nullopt));
  line.way_s = 6.5;
  line.budget_s = 120;
  line.tells_late = tells_late;
  line.run(400);
  line.stages[0].free_s.resize(1);
  line.run(1'600);
  line.count();
  line.run(2'600);
  return line;
}
}  // namespace

// Only what was done in time was told, so where nothing was, the limit stayed and nothing ever was again.
BOOST_AUTO_TEST_CASE(a_swarm_that_lost_most_of_its_peers_gets_out_of_its_queues) {
  BOOST_TEST(collapsed(/*tells_late=*/false).done == 0u);
  const Line line = collapsed(/*tells_late=*/true);
  BOOST_TEST(line.done >= 950u, line.done);
  BOOST_TEST(line.waited_s / line.took_s <= InFlight::kWaiting + 0.05, line.waited_s / line.took_s);
}

// The part waiting was taken of the whole time: whoever is far away thinks that nobody waits.
BOOST_AUTO_TEST_CASE(a_trainer_far_away_does_not_take_everything) {
  Line line;
  line.stages = {{2, 0.1}, {2, 0.1}};
  line.trainers.assign(2, InFlight(std::nullopt));
  line.own_way_s = {0, 5};
  line.run(1'000);
  line.count();
  line.run(2'000);
  const double waited_s = line.waited_s / static_cast<double>(line.done);
  BOOST_TEST(static_cast<double>(line.done) >= 0.95 * 20 * 1'000);
  BOOST_TEST(waited_s <= 0.65, waited_s);
}

BOOST_AUTO_TEST_SUITE_END()
