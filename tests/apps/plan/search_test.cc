/// What the planner proposes for given machines.
#include "apps/plan/search.h"

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>

#include "apps/plan/plan_text.h"
#include "apps/plan/stage_work.h"

namespace swarm::plan {
namespace {

const auto kClose = boost::test_tools::tolerance(1e-6);

PlanInput small(uint32_t machines) {
  PlanInput input;
  input.job.model.layers = 8;
  input.job.model.sequence = 128;
  input.job.batch = 128;
  Device device;
  device.name = "machine";
  device.count = machines;
  device.flops_per_s = 1e11;
  device.price_per_hour = 0.1;
  input.devices.push_back(device);
  return input;
}

double best(const PlanInput& input) {
  const auto found = search(input);
  BOOST_REQUIRE(!found.plans.empty());
  return found.plans.front().tokens_per_s;
}

BOOST_AUTO_TEST_SUITE(planner_search)

BOOST_AUTO_TEST_CASE(operations_of_a_model_are_counted_by_hand) {
  tensor::ModelOptions model;
  model.layers = 2;
  model.width = 10;
  model.ffn = 40;
  model.sequence = 4;
  model.vocabulary = 300;
  // queries, keys, values and output; both sides of the ffn; scores and their sums; the head
  const double block = 2 * 4 * 100 + 2 * 2 * 400 + 2 * 2 * 4 * 10;
  BOOST_TEST(block_flops(model) == block);
  BOOST_TEST(flops_per_token(model) == 3 * (2 * block + 2 * 10 * 300));
}

BOOST_AUTO_TEST_CASE(a_stage_in_the_middle_sends_activations_and_gradients) {
  Job job = small(1).job;
  job.backward = tensor::BackwardPolicy::kRecompute;
  const auto works = stage_work(job, parameters(job.model, 4), 2, tensor::Codec::kFp16);
  const double body = 2 * 128 * 256 * 2;
  BOOST_TEST(works[0].up_bytes == body);
  BOOST_TEST(works[1].up_bytes == 2 * body);
  BOOST_TEST(works[3].up_bytes == body);
  const double tokens = 2 * 128;
  BOOST_TEST(works[1].flops == 4 * 2 * tokens * block_flops(job.model), kClose);
  // The last one does nothing twice of the last block.
  BOOST_TEST(works[3].flops == tokens * (7 * block_flops(job.model) + 3 * 2 * 256 * 256), kClose);
}

BOOST_AUTO_TEST_CASE(boundaries_send_less_and_cost_their_linear_layers) {
  Job job = small(1).job;
  auto works = [&] { return stage_work(job, parameters(job.model, 4), 2, tensor::Codec::kFp16); };
  const auto plain = works();
  job.model.boundary_factor = 4;
  job.model.boundary = tensor::Boundary::kMaxout;
  const auto maxout = works();
  job.model.boundary = tensor::Boundary::kBottleneck;
  const auto bottleneck = works();
  const double linear = 3 * (2 * 128) * 2.0 * 256 * 64;
  const double widens[] = {0, 1, 1, 1}, narrows[] = {1, 1, 1, 0};
  for (size_t stage = 0; stage < 4; ++stage) {
    BOOST_TEST(maxout[stage].up_bytes == plain[stage].up_bytes / 4);
    BOOST_TEST(bottleneck[stage].down_bytes == plain[stage].down_bytes / 4);
    BOOST_TEST(maxout[stage].flops == plain[stage].flops + widens[stage] * linear, kClose);
    BOOST_TEST(
        bottleneck[stage].flops == plain[stage].flops + (widens[stage] + narrows[stage]) * linear,
        kClose);
  }
  const auto one = stage_work(job, parameters(job.model, 1), 2, tensor::Codec::kFp16);
  job.model.boundary = tensor::Boundary::kNone;
  BOOST_TEST(stage_work(job, parameters(job.model, 1), 2, tensor::Codec::kFp16)[0].flops ==
             one[0].flops);
}

BOOST_AUTO_TEST_CASE(repeats_cost_work_and_no_parameters) {
  Job job = small(1).job;
  const auto plain = stage_work(job, parameters(job.model, 4), 2, tensor::Codec::kNone);
  job.model.repeats = 16;
  const auto shared = stage_work(job, parameters(job.model, 4), 2, tensor::Codec::kNone);
  BOOST_TEST(shared[1].flops == 16 * plain[1].flops, kClose);
  BOOST_TEST(shared[1].averaged_bytes == plain[1].averaged_bytes);
  BOOST_TEST(shared[1].up_bytes == plain[1].up_bytes);
  BOOST_TEST(flops_per_token(job.model) == 3 * (8 * 16 * block_flops(job.model) + 2 * 256 * 256),
             kClose);
}

BOOST_AUTO_TEST_CASE(machines_are_dealt_out_so_that_sums_are_even) {
  const Rates rates = {{4, 1}, {4, 1}};
  const Deal dealt = deal(rates, {1, 4}, {0, 1});
  BOOST_TEST(dealt[0][0] == 1u);
  BOOST_TEST(dealt[0][1] == 0u);
  BOOST_TEST(dealt[1][1] == 4u);
  BOOST_TEST(deal({{1}, {0}}, {5}, {0}).empty());  // nobody has the memory for the second
}

BOOST_AUTO_TEST_CASE(many_equal_machines_are_dealt_out_evenly) {
  const Deal dealt = deal(Rates(7, {1.0}), {400}, {0});
  uint32_t all = 0;
  for (const auto& stage : dealt) {
    BOOST_TEST(stage[0] >= 57u);
    BOOST_TEST(stage[0] <= 58u);
    all += stage[0];
  }
  BOOST_TEST(all == 400u);
}

BOOST_AUTO_TEST_CASE(more_bandwidth_is_never_slower) {
  for (const Mode mode : {Mode::kSync, Mode::kDelayed, Mode::kAsync, Mode::kBackground}) {
    double before = 0;
    for (double rate = 1e5; rate < 1e9; rate *= 3) {
      PlanInput input = small(12);
      input.job.mode = mode;
      input.devices[0].up_bytes_per_s = input.devices[0].down_bytes_per_s = rate;
      const double now = best(input);
      BOOST_TEST(now >= before * (1 - 1e-9));
      before = now;
    }
  }
}

BOOST_AUTO_TEST_CASE(more_machines_are_never_slower) {
  for (const Mode mode : {Mode::kSync, Mode::kBackground}) {
    double before = 0;
    for (uint32_t machines = 1; machines <= 18; ++machines) {
      PlanInput input = small(machines);
      input.job.mode = mode;
      input.devices[0].up_bytes_per_s = 1e6;  // averages are expensive: not all are taken
      const double now = best(input);
      BOOST_TEST(now >= before * (1 - 1e-9));
      before = now;
    }
  }
}

BOOST_AUTO_TEST_CASE(a_model_that_does_not_fit_is_cut_until_it_does) {
  PlanInput input = small(8);
  input.search.microbatch = {1};
  const auto whole = stage_work(input.job, parameters(input.job.model, 1), 1, tensor::Codec::kNone);
  input.devices[0].memory_bytes = whole[0].fixed_bytes;  // no room for a microbatch
  for (const Plan& plan : search(input).plans) {
    BOOST_TEST(plan.choice.deal.size() > 1);
    BOOST_TEST(plan.memory_bytes <= input.devices[0].memory_bytes * (1 + 1e-9));
  }
  input.devices[0].memory_bytes = 1e6;
  const auto none = search(input);
  BOOST_TEST(none.plans.empty());
  BOOST_TEST(none.least_memory_bytes > 171e6);
  BOOST_TEST(plan_text(input, none, 10).find("at least 0.2 GB") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(more_in_flight_than_memory_has_room_for_is_no_choice) {
  PlanInput input = small(8);
  input.search.stages = {4};
  input.search.microbatch = {8};
  input.search.in_flight = {4, 1'000'000};
  for (const Plan& plan : search(input).plans) BOOST_TEST(plan.choice.in_flight == 4u);
}

BOOST_AUTO_TEST_CASE(machines_too_small_for_a_stage_are_left_out) {
  PlanInput input = small(4);
  input.search.stages = {2};
  Device tiny = input.devices[0];
  tiny.name = "tiny";
  tiny.memory_bytes = 1e7;
  input.devices.push_back(tiny);
  for (const Plan& plan : search(input).plans) BOOST_TEST(plan.peers <= 4u);
}

BOOST_AUTO_TEST_CASE(money_is_price_over_tokens_and_what_is_sent) {
  PlanInput input = small(4);
  input.search.stages = {2};
  input.job.mode = Mode::kBackground;
  input.search.codecs = {tensor::Codec::kNone};
  const Plan free = search(input).plans.front();
  BOOST_TEST(free.money_per_hour == 0.1 * free.peers, kClose);
  BOOST_TEST(free.money_per_token() * free.tokens_per_s * 3600 == free.money_per_hour, kClose);
  input.devices[0].price_per_gb_sent = 0.08;
  const auto dear = evaluate(input.job, input.devices, free.choice);
  BOOST_REQUIRE(dear);
  // Each byte that a peer receives was sent by one.
  const double sent_per_s = free.bytes_per_token / 2 * free.tokens_per_s * 2;
  BOOST_TEST(dear->money_per_hour - free.money_per_hour == sent_per_s * 3600 / 1e9 * 0.08, kClose);
}

BOOST_AUTO_TEST_CASE(of_equal_plans_the_one_with_fewer_peers_comes_first) {
  Plan a, b;
  a.tokens_per_s = b.tokens_per_s = 100;
  a.peers = 4;
  b.peers = 5;
  BOOST_TEST(better(a, b, Goal::kTokens));
  BOOST_TEST(!better(b, a, Goal::kTokens));
  BOOST_TEST(!better(a, a, Goal::kTokens));
  a.money_per_hour = 2;
  b.money_per_hour = 1;
  BOOST_TEST(better(b, a, Goal::kTokens));
  b.tokens_per_s = 60;
  BOOST_TEST(better(a, b, Goal::kTokens));
  BOOST_TEST(better(b, a, Goal::kMoney));
}

BOOST_AUTO_TEST_CASE(fewest_machines_that_equal_the_reference_are_named) {
  PlanInput input = small(12);
  input.devices[0].up_bytes_per_s = input.devices[0].down_bytes_per_s = 1e12;
  input.devices[0].rtt_s = 0;
  input.reference = Reference{"big", 1, 2e11, 10};
  const auto found = search(input);
  BOOST_REQUIRE(found.equal);
  BOOST_TEST(found.equal->peers >= 2u);
  BOOST_TEST(found.equal->peers <= 4u);
  BOOST_TEST(found.equal->tokens_per_s >= tokens_per_s(*input.reference, input.job.model));
}

BOOST_AUTO_TEST_CASE(answers_in_words_and_in_json_have_the_same_figures) {
  PlanInput input = small(12);
  input.job.tokens = 1e9;
  input.reference = Reference{"big", 1, 2e12, 100};
  const auto found = search(input);
  const auto text = plan_text(input, found, 3);
  for (const char* part : {"stages", "1e+09 tokens: ", "big: ", "10^9 tokens cost ", "the saving"})
    BOOST_TEST(text.find(part) != std::string::npos, part << " in " << text);
  const auto json = nlohmann::json::parse(plan_json(input, found, 3));
  BOOST_TEST(json["plans"].size() == 3u);
  BOOST_TEST(json["plans"][0]["tokens_per_s"].get<double>() == found.plans[0].tokens_per_s);
  BOOST_TEST(json["plans"][0]["devices"].size() == found.plans[0].choice.deal.size());
  BOOST_TEST(json["tokens_per_s_without_network"].get<double>() >= found.plans[0].tokens_per_s);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace swarm::plan
