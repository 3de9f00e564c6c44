/// Whole swarms of real processes under random kills and pauses: every sample counts once, which
/// `swarm audit` and `swarm verify` prove, and they see it when it does not.
#include <boost/test/unit_test.hpp>
#include <fstream>
#include <set>
#include <string>

#include "tests/system/swarm_process.h"

namespace swarm::testing {
namespace {

/// A run of tiny.toml to its end.
struct EndedRun {
  explicit EndedRun(const std::vector<std::string>& settings)
      : process(arguments(folder.path(), settings), folder.path() + "/output.txt"),
        run(newest_run(folder.path())) {
    const int code = process.wait(std::chrono::seconds(150));
    BOOST_REQUIRE_MESSAGE(code == 0, "exit code " << code << "; output:\n" << process.output());
  }

  static std::vector<std::string> arguments(const std::string& folder,
                                            const std::vector<std::string>& settings) {
    std::vector<std::string> out = {"run",   tiny_config(),         "--set", "run.folder=" + folder,
                                    "--set", "checkpoint.keep=1000"};
    for (const auto& setting : settings) {
      out.emplace_back("--set");
      out.push_back(setting);
    }
    return out;
  }

  struct Answer {
    int code = -1;
    std::string output;
  };
  Answer ask(const std::vector<std::string>& command) {
    const std::string file = folder.path() + "/answer-" + std::to_string(++answers) + ".txt";
    Process tool(command, file);
    Answer answer;
    answer.code = tool.wait();
    answer.output = tool.output();
    return answer;
  }
  Answer verify() { return ask({"verify", run.path()}); }
  Json audit() {
    const Answer answer = ask({"audit", run.path(), "--json"});
    Json json = Json::parse(answer.output, nullptr, false);
    BOOST_REQUIRE_MESSAGE(json.is_object(), answer.output);
    BOOST_TEST(answer.code == (json.value("passed", false) ? 0 : 1));
    return json;
  }

  TemporaryFolder folder;
  Process process;
  RunFolder run;
  int answers = 0;
};

void check_exact(EndedRun& ended) {
  const Json audit = ended.audit();
  BOOST_TEST(audit.value("passed", false), audit.dump(2));
  const auto verified = ended.verify();
  BOOST_TEST(verified.code == 0, verified.output);
}

BOOST_AUTO_TEST_SUITE(Chaos)

BOOST_AUTO_TEST_CASE(every_sample_counts_once_under_random_kills_and_pauses) {
  EndedRun ended({"training.steps=400", "chaos.kill_every_s=1.5", "chaos.restart_after_s=0.5",
                  "chaos.settle_s=2", "chaos.pause_every_s=2", "chaos.pause_for_s=0.7",
                  "run.stall_limit_s=60"});
  check_exact(ended);
  const Json audit = ended.audit();
  BOOST_TEST_MESSAGE(audit.dump(2));
  BOOST_TEST(audit.value("steps", 0) == 400);
  BOOST_TEST(audit.value("samples", 0) == 400 * 16);
  BOOST_TEST(audit.value("kills", 0) > 0);
  BOOST_TEST(audit.value("crashes", 0) == 0);
  BOOST_TEST(ended.run.events("replicas_differ").empty());
}

BOOST_AUTO_TEST_CASE(every_sample_counts_once_under_cuts_and_full_disks) {
  EndedRun ended({"training.steps=600", "chaos.every_s=2", "chaos.kinds=[\"cut\", \"full_disk\"]",
                  "chaos.cut_for_s=1.8", "chaos.full_disk_for_s=1", "chaos.settle_s=0",
                  "links.silence_limit_ms=1000", "links.heartbeat_every_ms=250",
                  "checkpoint.every_steps=5", "run.stall_limit_s=60", "run.restarts=3"});
  check_exact(ended);
  std::set<std::string> actions;
  for (const auto& event : ended.run.events("chaos")) actions.insert(event.value("action", ""));
  for (const char* action : {"cut", "heal", "full_disk", "free_disk"})
    BOOST_TEST(actions.count(action) == 1u, action);
  BOOST_TEST(ended.run.events("replicas_differ").empty());
}

BOOST_AUTO_TEST_CASE(a_lost_gradient_and_a_doctored_record_are_seen) {
  EndedRun ended({"training.steps=20", "checkpoint.every_steps=5", "faults.drop_gradient=7:1"});
  BOOST_TEST(ended.audit().value("passed", false));  // the records know nothing of it
  const auto verified = ended.verify();
  BOOST_TEST(verified.code == 1, verified.output);
  for (const char* line : {"steps 0 to 5: ", "steps 5 to 10: ", "steps 10 to 15: "}) {
    const size_t found = verified.output.find(line);
    BOOST_REQUIRE_MESSAGE(found != std::string::npos, verified.output);
    const std::string rest =
        verified.output.substr(found, verified.output.find('\n', found) - found);
    const bool beyond = rest.find("BEYOND") != std::string::npos;
    BOOST_TEST(beyond == (std::string(line) == "steps 5 to 10: "), verified.output);
  }
  auto lines = ended.run.lines("audit.jsonl");
  bool doctored = false;
  for (auto& line : lines) {
    if (doctored || line.value("kind", "") != "closed" || line["stages"].empty()) continue;
    auto& members = line["stages"][0]["members"];
    const size_t giver = members[0]["slots"].empty() ? 1 : 0;
    auto& taker = members[giver == 0 ? members.size() - 1 : 0];
    for (const char* list : {"slots", "attempts"}) {
      const auto& first = members[giver][list][0];  // a run begins with its first number
      taker[list].push_back(first.is_array() ? first[0] : first);
    }
    doctored = true;
  }
  BOOST_REQUIRE(doctored);
  std::ofstream file(ended.run.path() + "/audit.jsonl");
  for (const auto& line : lines) file << line.dump() << "\n";
  file.close();
  const Json audit = ended.audit();
  BOOST_TEST(!audit.value("passed", true));
  BOOST_TEST(audit.dump().find("is counted twice") != std::string::npos, audit.dump(2));
}

BOOST_AUTO_TEST_CASE(a_slot_that_is_not_finite_is_left_out_by_all_and_by_the_replay) {
  EndedRun ended({"training.steps=20", "checkpoint.every_steps=5", "faults.non_finite=6:2:1"});
  check_exact(ended);
  const Json audit = ended.audit();
  BOOST_TEST(audit.value("skipped", 0) == 1);
  BOOST_TEST(audit.value("samples", 0) == 20 * 16 - 4);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace swarm::testing
