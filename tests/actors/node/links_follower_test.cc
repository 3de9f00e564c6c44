#include "actors/node/links_follower.h"

#include <boost/test/unit_test.hpp>
#include <caf/event_based_actor.hpp>
#include <deque>

#include "actors/net/links/links.h"
#include "apps/sim/deterministic_system.h"
#include "records/catalogue.h"

using namespace std::chrono_literals;
using namespace swarm;
using namespace swarm::actors;

namespace {

using News = std::optional<Result<ShapeOptions>>;

struct Followed {
  Followed() {
    links = system.own(system->spawn([got = got](caf::event_based_actor*) -> caf::behavior {
      return {[got](shape_atom, const ShapeOptions& shape) { got->push_back(shape); }};
    }));
    auto poll = [this]() -> News {
      ++polls;
      if (news.empty()) return std::nullopt;
      auto first = news.front();
      news.pop_front();
      return first;
    };
    follower = system.own(spawn_links_follower(*system, {links, events, poll, false}));
  }

  sim::DeterministicSystem system;
  std::shared_ptr<MemoryEventLog> events = std::make_shared<MemoryEventLog>();
  std::shared_ptr<std::vector<ShapeOptions>> got = std::make_shared<std::vector<ShapeOptions>>();
  std::deque<News> news;
  int polls = 0;
  caf::actor links, follower;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(LinksFollower)

BOOST_AUTO_TEST_CASE(it_looks_ten_times_a_second_and_hands_over_what_is_new) {
  Followed followed;
  followed.news.push_back(Result<ShapeOptions>(ShapeOptions{{1e6, 0, 0.1, 0}, {}}));
  followed.system.run();
  BOOST_REQUIRE(followed.got->size() == 1u);
  BOOST_TEST((*followed.got)[0].node.link_delay_s == 0.1);
  followed.system.advance(1s);
  BOOST_TEST(followed.polls == 11);
  BOOST_TEST(followed.got->size() == 1u);
  BOOST_TEST(followed.events->count("links_shaped") == 1u);
}

BOOST_AUTO_TEST_CASE(a_fault_is_told_and_changes_nothing) {
  Followed followed;
  followed.news.push_back(
      Result<ShapeOptions>(Error{ErrorCode::kInvalidArgument, "links.toml:3:1: what is wrong", 0}));
  followed.system.advance(1s);
  BOOST_TEST(followed.got->empty());
  BOOST_REQUIRE(followed.events->count("links_file_refused") == 1u);
  BOOST_TEST(followed.events->events[0].reason() == "links.toml:3:1: what is wrong");
  followed.news.push_back(Result<ShapeOptions>(ShapeOptions{}));
  followed.system.advance(100ms);
  BOOST_TEST(followed.got->size() == 1u);
}

BOOST_AUTO_TEST_SUITE_END()
