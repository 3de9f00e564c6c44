// What codecs of averages take from a peer: given back in its next rounds, kept with its snapshots, dropped
// with its state.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tensor/core/residual_format.h"
#include "tests/support/sim_swarm.h"

namespace swarm {
namespace {

using namespace std::chrono_literals;

/// Two stages of three peers each, whose averages travel in eight bits.
struct Lossy : testing::SimSwarm {
  const std::vector<std::string> peers{"a0", "b0", "c0", "a1", "b1", "c1"};

  explicit Lossy(bool error_feedback = true,
                 actors::TrainingMode mode = actors::TrainingMode::kSync) {
    num_stages = 2;
    training.mode = mode;
    if (training.asynchronous()) training.sync_every = training.batch;
    training.steps = 12;
    checkpoint.keep = 3;
    averager_options.codec = tensor::Codec::kInt8Linear;
    averager_options.error_feedback = error_feedback;
    for (const auto& name : peers) add_peer(name, stage_of(name));
    add_trainer("trainer");
  }
  static int stage_of(const std::string& name) { return name[1] - '0'; }

  /// Steps of what lies on the peer's disk.
  std::set<uint64_t> stored(const std::string& name, const std::string& stream) const {
    std::set<uint64_t> steps;
    const auto& streams = disks.at(name)->durable();
    const auto found = streams.find(stream + std::to_string(stage_of(name)));
    if (found != streams.end())
      for (const auto& [step, value] : found->second) steps.insert(step);
    return steps;
  }
  std::vector<records::ResidualLost> lost() const {
    std::vector<records::ResidualLost> all;
    for (const auto& event : events->events)
      if (const auto one = event.as<records::ResidualLost>()) all.push_back(*one);
    return all;
  }
  size_t not_found() const {
    const auto all = lost();
    return static_cast<size_t>(std::count_if(all.begin(), all.end(), [](const auto& one) {
      return one.reason.find("not_found") != std::string::npos;
    }));
  }
  /// Replicas had the same bits after each step.
  void check_replicas() const {
    std::map<std::pair<uint32_t, uint64_t>, std::set<uint64_t>> checksums;
    for (const auto& line : events->committed_steps)
      checksums[{line.stage, line.step}].insert(line.checksum);
    BOOST_TEST(checksums.size() >= training.steps);
    for (const auto& [where, found] : checksums)
      BOOST_TEST(found.size() == 1u, "stage " << where.first << ", step " << where.second);
  }
  /// So that a whole step lies between two deaths and the next snapshots.
  bool closes(uint64_t step) {
    return system.advance_until(
        [this, step] { return !events->steps.empty() && events->steps.back().step >= step; }, 600s,
        1ms);
  }
};

/// Of one peer a stage: nothing is encoded.
struct LossyAlone : testing::SimSwarm {
  LossyAlone() {
    num_stages = 2;
    training.steps = 12;
    averager_options.codec = tensor::Codec::kInt8Linear;
    add_peer("a0", 0);
    add_peer("a1", 1);
    add_trainer("trainer");
  }
};

struct WithoutFeedback : Lossy {
  WithoutFeedback() : Lossy(false) {}
};

struct InPeriods : Lossy {
  InPeriods() : Lossy(true, actors::TrainingMode::kAsync) {}
};

BOOST_AUTO_TEST_SUITE(LossyAverages)

BOOST_FIXTURE_TEST_CASE(replicas_stay_equal_and_each_snapshot_has_its_residuals, Lossy) {
  BOOST_REQUIRE(run_to_end());
  check_replicas();
  BOOST_TEST(lost().empty());
  for (const auto& name : peers) {
    auto snapshots = stored(name, "stage/");
    snapshots.erase(0);  // before the first average
    BOOST_TEST(snapshots.size() >= 2u);
    BOOST_TEST(stored(name, "residual/") == snapshots, boost::test_tools::per_element());
  }
}

BOOST_FIXTURE_TEST_CASE(they_come_back_with_the_snapshot, Lossy) {
  BOOST_REQUIRE(closes(7));
  for (const auto& name : peers) kill(name);
  kill("trainer");
  events->events.clear();
  events->committed_steps.clear();  // some are done again
  for (const auto& name : peers) start(name);
  start("trainer");
  BOOST_REQUIRE(run_to_end());
  check_replicas();
  BOOST_TEST(events->count("restored") == 6u);
  BOOST_TEST(not_found() == 0u);
  // They are other nodes now, in another order, and have means of parts that are others' now.
  BOOST_TEST(!lost().empty());
}

BOOST_FIXTURE_TEST_CASE(a_snapshot_without_them_is_told_of, Lossy) {
  BOOST_REQUIRE(closes(7));
  for (const auto& name : peers) kill(name);
  kill("trainer");
  events->committed_steps.clear();
  disks.at("b1")->drop_newer("residual/1", 0);
  disks.at("b1")->sync(disks.at("b1")->changes());
  for (const auto& name : peers) start(name);
  start("trainer");
  BOOST_REQUIRE(run_to_end());
  check_replicas();
  BOOST_TEST(not_found() == 1u);
}

BOOST_FIXTURE_TEST_CASE(with_another_part_what_was_lost_of_its_means_is_told_of, Lossy) {
  BOOST_REQUIRE(closes(3));
  kill("c0");
  BOOST_REQUIRE(run_to_end());
  check_replicas();
  BOOST_REQUIRE(!lost().empty());
  for (const auto& one : lost()) {
    BOOST_TEST(one.contribution == 0);
    BOOST_TEST(one.mean > 0);
  }
}

BOOST_FIXTURE_TEST_CASE(who_takes_the_state_of_others_begins_with_none, Lossy) {
  BOOST_REQUIRE(closes(3));
  pause("b0");
  BOOST_REQUIRE(closes(6));
  resume("b0");
  BOOST_REQUIRE(run_to_end());
  check_replicas();
  bool dropped = false;
  for (const auto& one : lost()) dropped |= one.contribution > 0 && one.mean > 0;
  BOOST_TEST(dropped);
}

BOOST_FIXTURE_TEST_CASE(without_feedback_nothing_is_kept, WithoutFeedback) {
  BOOST_REQUIRE(run_to_end());
  check_replicas();
  BOOST_TEST(lost().empty());
  for (const auto& name : peers) BOOST_TEST(stored(name, "residual/").empty());
}

BOOST_FIXTURE_TEST_CASE(what_an_earlier_process_kept_goes_if_nothing_is_given_back, Lossy) {
  BOOST_REQUIRE(closes(7));
  BOOST_TEST(!stored("a0", "residual/").empty());
  kill("a0");
  averager_options.error_feedback = false;
  start("a0");
  BOOST_REQUIRE(run_to_end());
  BOOST_TEST(stored("a0", "residual/").empty());
}

BOOST_FIXTURE_TEST_CASE(who_has_lost_nothing_misses_nothing_when_it_comes_back, LossyAlone) {
  BOOST_REQUIRE(run_to_step(7));
  for (const auto* name : {"a0", "a1"}) kill(name);
  for (const auto* name : {"a0", "a1"}) start(name);
  BOOST_REQUIRE(run_to_end());
  BOOST_TEST(events->count("restored") == 2u);
  BOOST_TEST(events->count("residual_lost") == 0u);
}

BOOST_FIXTURE_TEST_CASE(what_others_may_have_counted_is_not_given_twice, InPeriods) {
  BOOST_REQUIRE(closes(3));
  // Numbers arrive, means do not.
  net.set_filter([](const NodeId&, const ActorId&, const actors::Mail& mail) {
    return mail.kind == proto::KIND_AVERAGE_PART ? sim::Fate::kDrop : sim::Fate::kDeliver;
  });
  BOOST_REQUIRE(
      system.advance_until([this] { return events->count("round_failed") > 0; }, 600s, 1ms));
  net.set_filter({});
  BOOST_REQUIRE(run_to_end());
  const auto all = lost();
  const auto counted = std::count_if(all.begin(), all.end(), [](const auto& one) {
    return one.contribution > 0 && one.reason == "a round that others may have counted";
  });
  BOOST_TEST(counted > 0);
}

BOOST_FIXTURE_TEST_CASE(in_periods_they_are_kept_as_well, InPeriods) {
  BOOST_REQUIRE(run_to_end());
  BOOST_TEST(lost().empty());
  for (const auto& name : peers) BOOST_TEST(!stored(name, "residual/").empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace swarm
