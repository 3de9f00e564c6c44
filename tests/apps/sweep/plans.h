/// Plans from text, for the tests of sweeps.
#pragma once

#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "apps/sweep/sweep_file.h"

namespace swarm::sweep {

inline const std::string kBase =
    "[data]\ntrain=[\"x\"]\n[[nodes]]\nname=\"a\"\nstages=[0]\ntrainer=true\n";
inline const std::string kSweep = "[sweep]\nbase = \"base.toml\"\n";

inline LoadBase base(const std::string& text) {
  return [text](const std::string& path, const std::vector<std::string>& overrides) {
    return config::parse_experiment(text, path, overrides);
  };
}

inline PlanResult parse(const std::string& text) {
  return parse_plan(text, "dir/lr.toml", base(kBase));
}

inline Plan good(const std::string& text) {
  auto result = parse(text);
  BOOST_REQUIRE_MESSAGE(result.ok(), result.text());
  return *result.plan;
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace swarm::sweep
