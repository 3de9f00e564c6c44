// Keys whose values are the rows of a table.
#include <boost/test/unit_test.hpp>

#include "config/experiment.h"

namespace swarm::config {
namespace {

ExperimentResult parse(const std::string& override_text) {
  return parse_experiment("[data]\ntrain = [\"text\"]\n", "x.toml", {override_text});
}

struct TableKey {
  const char* key;
  std::vector<std::string> names;
};

const std::vector<TableKey>& table_keys() {
  static const std::vector<TableKey> keys = {
      {"model.kind", tensor::model_names()},       {"optimizer.kind", tensor::optimizer_names()},
      {"wire.activations", tensor::codec_names()}, {"wire.gradients", tensor::codec_names()},
      {"wire.averaging", tensor::codec_names()},   {"checkpoint.store", storage::store_names()},
  };
  return keys;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(Tables)

BOOST_AUTO_TEST_CASE(every_row_of_a_table_can_be_chosen_by_its_name) {
  for (const TableKey& table : table_keys()) {
    for (const std::string& name : table.names) {
      const auto result = parse(table.key + ("=" + name));
      BOOST_REQUIRE_MESSAGE(result.ok(), result.text());
      BOOST_TEST(to_toml(*result.experiment).find(" = \"" + name + "\"\n") != std::string::npos);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_name_without_a_row_is_one_error_that_lists_the_rows) {
  for (const TableKey& table : table_keys()) {
    const auto result = parse(table.key + std::string("=zip"));
    BOOST_REQUIRE_EQUAL(result.errors.size(), 1u);
    const std::string text = result.errors[0].text();
    BOOST_TEST(text.find(table.key) != std::string::npos);
    for (const std::string& name : table.names)
      BOOST_TEST(text.find('"' + name + '"') != std::string::npos);
  }
}

BOOST_AUTO_TEST_CASE(runs_older_than_the_choice_of_a_model_keep_their_fingerprint) {
  const auto plain = parse_experiment("[data]\ntrain = [\"text\"]\n", "x.toml", {});
  BOOST_REQUIRE(plain.ok());
  const auto named = parse("model.kind=gpt");
  BOOST_REQUIRE(named.ok());
  BOOST_TEST(fingerprint(*named.experiment) == fingerprint(*plain.experiment));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace swarm::config
