// The section [optimizer] of an experiment file.
#include <boost/test/unit_test.hpp>

#include "config/experiment.h"
#include "tests/support/minimal_experiment.h"

namespace swarm::config {

using testing::minimal_with;
using testing::parse_minimal;

BOOST_AUTO_TEST_SUITE(OptimizerSection)

BOOST_AUTO_TEST_CASE(the_papers_nag_can_be_set) {
  const auto adamw = minimal_with({});
  BOOST_TEST((adamw.base.optimizer.kind == tensor::OptimizerKind::kAdamw));
  const auto nag =
      minimal_with({"optimizer.kind=nag", "optimizer.beta1=0.99", "optimizer.beta2=0.999",
                    "optimizer.momentum_decay=0.008", "optimizer.weight_decay=0.01"});
  BOOST_TEST((nag.base.optimizer.kind == tensor::OptimizerKind::kNag));
  BOOST_TEST(nag.base.optimizer.momentum_decay == 0.008);
  BOOST_TEST(to_toml(nag).find("kind = \"nag\"\n") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(the_papers_lamb_with_linear_decay_can_be_set) {
  const auto lamb = minimal_with({"optimizer.kind=lamb", "optimizer.schedule=linear",
                                  "optimizer.warmup_steps=3125", "training.steps=15000"});
  BOOST_TEST((lamb.base.optimizer.kind == tensor::OptimizerKind::kLamb));
  BOOST_TEST((lamb.base.optimizer.schedule == tensor::Schedule::kLinear));
  BOOST_TEST(lamb.base.optimizer.total_steps == 15000);  // of the run, unless the file says another
  BOOST_TEST(minimal_with({"optimizer.schedule=linear", "optimizer.total_steps=77"})
                 .base.optimizer.total_steps == 77);
  BOOST_TEST(minimal_with({}).base.optimizer.total_steps == 0);
}

BOOST_AUTO_TEST_CASE(a_bad_value_is_one_error_with_its_key) {
  for (const char* bad : {"optimizer.kind=adam", "optimizer.kind=3", "optimizer.momentum_decay=-1",
                          "optimizer.momentum_decay=nan", "optimizer.momentum_decay=high"}) {
    const auto result = parse_minimal({bad});
    BOOST_TEST_CONTEXT(bad) {
      BOOST_REQUIRE_EQUAL(result.errors.size(), 1u);
      const std::string key = std::string(bad).substr(0, std::string(bad).find('='));
      BOOST_TEST(result.errors[0].text().find(key) != std::string::npos);
    }
  }
}

BOOST_AUTO_TEST_CASE(runs_older_than_nag_keep_their_fingerprint) {
  const std::string old = "e487647df82ac4ccb2bfbef3c51eb6ba";  // written before optimizer.kind was
  BOOST_TEST(older_fingerprint(minimal_with({})) == old);
  BOOST_TEST(older_fingerprint(minimal_with({"optimizer.kind=adamw"})) == old);
  BOOST_TEST(older_fingerprint(minimal_with({"optimizer.kind=nag"})) != old);
  BOOST_TEST(older_fingerprint(minimal_with({"optimizer.momentum_decay=0.005"})) != old);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace swarm::config
