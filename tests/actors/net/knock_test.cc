/// Real sockets on port 0: what knocking at an address says.
#include "actors/net/links/knock.h"

#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <caf/actor_system.hpp>
#include <caf/scoped_actor.hpp>

#include "actors/net/links/socket.h"
#include "actors/net/system_config.h"

using namespace swarm;
using namespace swarm::actors;
using namespace std::chrono_literals;

namespace {

LinksOptions options(const std::string& name, const std::string& run) {
  LinksOptions options;
  options.node_id = NodeId::random();
  options.node_name = name;
  options.run_id = run;
  options.dial_timeout = 500ms;
  return options;
}

bool says(const Result<NodeInfo>& found, const std::string& text) {
  return !found && found.error().detail.find(text) != std::string::npos;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(Knocking)

BOOST_AUTO_TEST_CASE(a_node_says_who_it_is_whatever_run_it_is_of) {
  SystemConfig config;
  caf::actor_system system(config);
  const auto own = options("a", "run");
  auto started = spawn_tcp_links(system, own);
  BOOST_REQUIRE(started.ok());
  const auto found = links::knock(started->endpoint, options("b", "another run"));
  BOOST_REQUIRE_MESSAGE(found.ok(), (found.ok() ? "" : found.error().detail));
  BOOST_TEST((found->id == own.node_id));
  BOOST_TEST(found->name == "a");
  caf::scoped_actor self(system);
  caf::anon_send_exit(started->links, caf::exit_reason::user_shutdown);
  self->wait_for(started->links);
}

BOOST_AUTO_TEST_CASE(why_an_address_does_not_answer_is_said_in_the_systems_words) {
  Endpoint closed;
  auto listener = links::listen_on({"127.0.0.1", 0}, closed);
  BOOST_REQUIRE(listener.ok());
  BOOST_TEST(says(links::knock(closed, options("a", "run")), "no hello"));
  close(*listener);
  BOOST_TEST(says(links::knock(closed, options("a", "run")), "Connection refused"));
  BOOST_TEST(says(links::knock({"no such name", 1}, options("a", "run")),
                  "cannot resolve 'no such name'"));
}

BOOST_AUTO_TEST_SUITE_END()
