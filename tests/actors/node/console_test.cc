#include "actors/node/console.h"

#include <boost/test/unit_test.hpp>
#include <caf/scoped_actor.hpp>
#include <fstream>
#include <iterator>
#include <sstream>

#include "actors/net/requests.h"
#include "actors/node/console_commands.h"
#include "actors/node/node_supervisor.h"
#include "tests/support/sim_swarm.h"

using namespace std::chrono_literals;
using namespace swarm;

namespace {

/// A running swarm with a console on a trainer's node.
struct WithConsole : testing::SimSwarm {
  caf::actor console;
  records::LostLines lost_lines = std::make_shared<std::atomic<uint64_t>>(0);
  std::vector<std::string> ends;  // what supervisors were told
  WithConsole() {
    training.steps = 1'000;
    num_stages = 2;
    for (int stage = 0; stage < 2; ++stage)
      for (const char* replica : {"a", "b"})
        add_peer("stage" + std::to_string(stage) + replica, stage);
    add_trainer("trainer-a");
    auto& node = nodes["trainer-a"];
    actors::ConsoleDeps deps;
    deps.node = node.id;
    deps.node_name = "trainer-a";
    deps.dht_options = dht_options;
    deps.links = net.links(node.id);
    deps.dht = node.actors[0];
    deps.supervisor = add_supervisor("trainer-a");
    deps.lost_lines = lost_lines;
    add_supervisor("stage0a");
    console = actors::spawn_console(*system, deps);
    node.actors.push_back(console);
    run_to_step(3);
  }

  caf::actor add_supervisor(const std::string& name) {
    auto& node = nodes[name];
    actors::NodeSupervisorDeps deps;
    deps.links = net.links(node.id);
    deps.events = events;
    deps.kill_process = [this, name] { ends.push_back("kill " + name); };
    deps.stop_process = [this, name](bool) { ends.push_back("drain " + name); };
    node.actors.push_back(actors::spawn_node_supervisor(*system, std::move(deps)));
    return node.actors.back();
  }

  std::pair<std::string, bool> type(const std::string& line) {
    proto::ConsoleRequest request;
    request.set_line(line);
    return send(std::move(request));
  }
  /// The same from who has proven the run's key.
  std::pair<std::string, bool> order(const std::string& line,
                                     std::chrono::milliseconds patience = 1s) {
    proto::ConsoleOrder request;
    request.set_line(line);
    return send(std::move(request), patience);
  }
  template <class Message>
  std::pair<std::string, bool> send(Message request, std::chrono::milliseconds patience = 1s) {
    std::pair<std::string, bool> result{"", true};
    caf::scoped_actor self(*system);
    auto handle = self->request(console, caf::infinite, actors::make_mail(std::move(request)));
    system.advance(patience);
    handle.receive(
        [&](const actors::Mail& mail) {
          const auto& reply = mail.as<proto::ConsoleReply>();
          result = {reply.text(), reply.failed()};
        },
        [&](const caf::error& e) { result.first = to_string(actors::from_caf(e)); });
    return result;
  }
};

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(ConsoleTest)

BOOST_FIXTURE_TEST_CASE(stages_shows_equal_checksums_of_replicas, WithConsole) {
  auto [text, failed] = type("stages");
  BOOST_TEST_MESSAGE(text);
  BOOST_TEST(!failed);
  for (const char* name : {"stage0a", "stage0b", "stage1a", "stage1b"})
    BOOST_TEST(contains(text, name));
}

BOOST_FIXTURE_TEST_CASE(nodes_says_how_many_lines_the_disk_has_not_taken, WithConsole) {
  BOOST_TEST(!contains(type("nodes").first, "lost"));
  *lost_lines = 3;
  BOOST_TEST(contains(type("nodes").first, "\n3 lines of this node's events"), type("nodes").first);
}

BOOST_FIXTURE_TEST_CASE(the_coordinator_says_when_each_device_did_its_last_job, WithConsole) {
  const std::string text = describe(nodes["trainer-a"].actors.at(2));
  for (const char* name : {"stage0a", "stage1b"})
    BOOST_TEST(contains(text, name + std::string(" of stage ") + name[5] + ": last job done 0."),
               text);
  BOOST_TEST(!contains(text, "hangs"));
}

BOOST_FIXTURE_TEST_CASE(steps_and_announcements_are_readable, WithConsole) {
  BOOST_TEST(contains(type("steps").first, "term 1"));
  BOOST_TEST(contains(type("dht coordinator").first, "active, term 1"));
  BOOST_TEST(contains(type("dht stage/1").first, "stage1b"));
}

BOOST_FIXTURE_TEST_CASE(help_lists_every_command_by_its_first_word, WithConsole) {
  for (const char* line : {"help", ""}) {
    const auto [text, failed] = type(line);
    BOOST_TEST(!failed);
    std::istringstream lines(text);
    std::vector<std::string> listed, known;
    for (std::string one; std::getline(lines, one);) listed.push_back(one.substr(0, one.find(' ')));
    for (const auto& command : actors::console_commands()) known.emplace_back(command.name);
    BOOST_TEST(listed == known, boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(the_page_lists_every_command) {
  std::ifstream file(std::string(SWARM_SOURCE) + "/docs/console.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  for (const auto& command : actors::console_commands()) {
    const std::string argument = command.argument;
    const std::string row = std::string("| `") + command.name +
                            (argument.empty() ? "" : " " + argument) + "` | " + command.help +
                            " | " + (command.acts ? "yes |" : "|");
    BOOST_TEST(contains(page, row), "docs/console.md lacks: " << row);
  }
}

BOOST_FIXTURE_TEST_CASE(bad_lines_get_one_clear_error, WithConsole) {
  for (const char* line : {"frobnicate", "actor", "actor nobody", "kill", "kill nobody", "drain",
                           "drain nobody", "nodes extra", "dht stage/0 stage/1"}) {
    auto [text, failed] = type(line);
    BOOST_TEST(failed, line);
    BOOST_TEST(contains(text, "error: "), line);
  }
}

BOOST_FIXTURE_TEST_CASE(checkpoint_writes_a_snapshot_of_every_peer_now, WithConsole) {
  size_t before = events->count("checkpointed");
  BOOST_TEST(!order("checkpoint").second);
  BOOST_TEST(events->count("checkpointed") >= before + 4);
}

BOOST_FIXTURE_TEST_CASE(go_on_does_nothing_while_more_than_half_is_here, WithConsole) {
  const auto [text, failed] = order("go-on");
  BOOST_TEST(failed);
  BOOST_TEST(contains(text, "nothing waits: more than half of the swarm is here"), text);
  BOOST_TEST(contains(type("steps").first, ", open"));
}

BOOST_FIXTURE_TEST_CASE(placement_is_asked_and_says_why_nobody_moves, WithConsole) {
  BOOST_TEST(contains(order("rebalance").first, "nobody moves: "));
  // Nobody takes that for a coordinator that is gone: the next order is carried out at once.
  BOOST_TEST(contains(order("move nobody 1", 10ms).first, "no peer 'nobody'"));
  BOOST_TEST(contains(order("rebalance", 10ms).first, "nobody moves"));
  for (const char* line : {"move stage0a", "move stage0a one", "move stage0a 1 2"})
    BOOST_TEST(contains(order(line).first, "move PEER STAGE: "), line);
}

BOOST_FIXTURE_TEST_CASE(commands_that_act_need_the_runs_key, WithConsole) {
  for (const char* line : {"checkpoint", "go-on", "kill stage0a", "kill trainer-a", "drain stage0a",
                           "drain trainer-a", "rebalance", "move stage0a 1"}) {
    const auto [text, failed] = type(line);
    BOOST_TEST(failed, line);
    BOOST_TEST(contains(text, "needs the run's key"), text);
  }
  BOOST_TEST(contains(type("stages").first, "stage0a"));  // it lives
  BOOST_TEST(contains(order("stages").first, "stage0a"));
  BOOST_TEST(contains(order("kill nobody").first, "no link to a node 'nobody'"));
}

BOOST_FIXTURE_TEST_CASE(drain_tells_any_node_to_leave_in_order_and_kill_at_once, WithConsole) {
  const std::vector<std::string> lines = {"drain stage0a", "drain trainer-a", "kill stage0a",
                                          "kill trainer-a"};
  for (const auto& line : lines) {
    const auto [text, failed] = order(line);
    BOOST_TEST(!failed, text);
  }
  BOOST_TEST(ends == lines, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
