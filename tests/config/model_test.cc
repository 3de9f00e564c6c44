// Boundaries and repeats of the section [model], and the large model that both are for.
#include <boost/test/unit_test.hpp>
#include <fstream>
#include <iterator>

#include "config/experiment.h"
#include "tensor/core/architecture.h"
#include "tensor/core/memory_options.h"
#include "tests/support/minimal_experiment.h"

namespace swarm::config {

using testing::minimal_with;
using testing::parse_minimal;

namespace {

ConfigError only(const std::vector<std::string>& overrides) {
  auto result = parse_minimal(overrides);
  BOOST_REQUIRE_EQUAL(result.errors.size(), 1u);
  return result.errors[0];
}

}  // namespace

BOOST_AUTO_TEST_SUITE(ModelSection)

BOOST_AUTO_TEST_CASE(boundaries_and_repeats_can_be_set) {
  const auto plain = minimal_with({}).base.model;
  BOOST_TEST((plain.boundary == tensor::Boundary::kNone));
  BOOST_TEST(plain.repeats == 1);
  const auto model =
      minimal_with({"model.boundary=maxout", "model.boundary_factor=4", "model.repeats=16"});
  BOOST_TEST((model.base.model.boundary == tensor::Boundary::kMaxout));
  BOOST_TEST(model.base.model.boundary_factor == 4);
  BOOST_TEST(model.base.model.repeats == 16);
  BOOST_TEST(to_toml(model).find("boundary = \"maxout\"\n") != std::string::npos);
  BOOST_TEST((minimal_with({"model.boundary=bottleneck"}).base.model.boundary ==
              tensor::Boundary::kBottleneck));
}

BOOST_AUTO_TEST_CASE(what_does_not_go_together_is_one_error_with_its_key) {
  BOOST_TEST(only({"model.boundary=narrow"}).key == "model.boundary");
  BOOST_TEST(only({"model.boundary_factor=8"}).key == "model.boundary_factor");
  BOOST_TEST(only({"model.repeats=0"}).key == "model.repeats");
  const auto three = only({"model.boundary=maxout", "model.boundary_factor=3"});
  BOOST_TEST(three.key == "model.boundary_factor");
  BOOST_TEST(three.message == "must be 2 or 4 (got 3)");
  const auto odd =
      only({"model.boundary=maxout", "model.boundary_factor=4", "model.width=30", "model.heads=3"});
  BOOST_TEST(odd.key == "model.width");
  minimal_with(
      {"model.boundary=maxout", "model.boundary_factor=2", "model.width=30", "model.heads=3"});
  minimal_with({"model.boundary_factor=3"});  // there are none
}

BOOST_AUTO_TEST_CASE(they_are_of_the_fingerprint_where_they_are_not_the_defaults) {
  const std::string old = "e487647df82ac4ccb2bfbef3c51eb6ba";  // as in optimizer_test.cc
  BOOST_TEST(older_fingerprint(minimal_with({})) == old);
  BOOST_TEST(older_fingerprint(minimal_with({"model.boundary=none", "model.repeats=1"})) == old);
  const std::string base = fingerprint(minimal_with({}));
  for (const char* other : {"model.boundary=maxout", "model.boundary=bottleneck",
                            "model.boundary_factor=4", "model.repeats=2"})
    BOOST_TEST(fingerprint(minimal_with({other})) != base, other);
}

// Windows of 1,024 tokens, 64 a microbatch, width 8: 2 MiB, or 512 KiB with f = 4.
BOOST_AUTO_TEST_CASE(limits_follow_the_bytes_of_the_boundary) {
  const std::vector<std::string> sizes = {"model.sequence=1024",
                                          "model.heads=1",
                                          "model.width=8",
                                          "model.ffn=8",
                                          "training.batch=64",
                                          "training.microbatch=64",
                                          "pipeline.stages=2",
                                          "pipeline.backward=recompute",
                                          "training.validation_samples=64",
                                          "links.receive_budget_bytes=1048576"};
  auto with = [&](const std::vector<std::string>& more) {
    auto all = sizes;
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  BOOST_TEST(only(sizes).key == "links.receive_budget_bytes");
  minimal_with(with({"model.boundary=maxout", "model.boundary_factor=4"}));
  BOOST_TEST(only(with({"model.boundary=maxout", "model.boundary_factor=2"})).key ==
             "links.receive_budget_bytes");
}

BOOST_AUTO_TEST_CASE(the_shared_model_has_a_billion_parameters_and_does_the_work_of_13) {
  std::string text;
  for (std::string prefix; text.empty() && prefix.size() < 40; prefix += "../") {
    std::ifstream file(prefix + "config/shared_1b.toml");
    text.assign(std::istreambuf_iterator<char>(file), {});
  }
  auto loaded = parse_experiment(text, "shared_1b.toml", {});
  BOOST_REQUIRE_MESSAGE(loaded.ok(), loaded.text());
  const auto& base = loaded.experiment->base;
  BOOST_TEST(base.model.width == 4096);
  BOOST_TEST(base.model.ffn == 16384);
  BOOST_TEST(base.model.repeats == 16);
  BOOST_TEST((base.optimizer.kind == tensor::OptimizerKind::kLamb));
  BOOST_TEST((base.optimizer.schedule == tensor::Schedule::kLinear));
  uint64_t parameters = 0;
  for (int32_t stage = 0; stage < 4; ++stage)
    parameters += tensor::stage_parameters(base.model, stage, base.num_stages);
  BOOST_TEST(double(parameters) == 1.01e9, boost::test_tools::tolerance(0.005));
  auto unshared = base.model;
  unshared.layers *= unshared.repeats;
  unshared.repeats = 1;
  BOOST_TEST(double(tensor::layout_size(tensor::model_layout(unshared))) == 13.1e9,
             boost::test_tools::tolerance(0.005));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace swarm::config
