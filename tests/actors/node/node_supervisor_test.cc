#include "actors/node/node_supervisor.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/exit_reason.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>

#include "actors/net/links/links.h"
#include "actors/net/local.h"
#include "actors/net/requests.h"
#include "apps/sim/deterministic_system.h"
#include "apps/sim/network.h"
#include "tests/support/ids.h"

using namespace std::chrono_literals;
using namespace swarm;

namespace {

using fail_atom = caf::atom_constant<caf::atom("fail")>;

caf::behavior play(caf::event_based_actor* self, std::string id, std::shared_ptr<int> drained) {
  return {
      [id](actors::describe_atom) { return "I am " + id; },
      [drained](actors::drain_atom) {
        ++*drained;
        return true;
      },
      [self](fail_atom) { self->quit(caf::exit_reason::unhandled_exception); },
  };
}

struct Supervised {
  sim::DeterministicSystem system;
  sim::FakeNetwork net{*system};
  NodeId id = testing::node(1);
  caf::actor links = net.add(id);
  caf::actor dht = system->spawn(play, "dht", std::make_shared<int>(0));
  std::shared_ptr<actors::MemoryEventLog> events = std::make_shared<actors::MemoryEventLog>();
  std::shared_ptr<int> drained = std::make_shared<int>(0);
  int spawned = 0;
  bool killed = false, stopped = false, failed = false;
  actors::RoleActors latest;
  caf::actor supervisor;

  Supervised() {
    actors::NodeSupervisorDeps deps;
    deps.links = links;
    deps.dht = dht;
    deps.events = events;
    deps.groups = {{{Role::kStage}, [this](uint32_t life) {
                      ++spawned;
                      latest.clear();
                      for (Role role : {Role::kStage, Role::kAverager}) {
                        const RoleName name{role, 0, life};
                        latest[name] = system->spawn(play, name.text(), drained);
                      }
                      return latest;
                    }}};
    deps.kill_process = [this] { killed = true; };
    deps.stop_process = [this](bool f) {
      stopped = true;
      failed = f;
    };
    supervisor = system.own(actors::spawn_node_supervisor(*system, std::move(deps)));
    system.run();
  }
  ~Supervised() {
    for (auto& [name, actor] : latest) caf::anon_send_exit(actor, caf::exit_reason::kill);
    caf::anon_send_exit(dht, caf::exit_reason::kill);
    net.shut_down();
    system.run();
  }
  std::string describe(const std::string& name) {
    std::string text;
    caf::scoped_actor self(*system);
    auto handle = self->request(supervisor, caf::infinite, actors::describe_atom::value, name);
    system.run();
    handle.receive([&](const std::string& t) { text = t; },
                   [&](const caf::error& e) { text = to_string(actors::from_caf(e).code); });
    return text;
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(NodeSupervisorTest)

// The process lived on: its node was there for `swarm run`, and for nobody else.
BOOST_FIXTURE_TEST_CASE(a_node_without_its_dht_ends_with_an_error, Supervised) {
  caf::anon_send(dht, fail_atom::value);
  system.run();
  BOOST_TEST(stopped);
  BOOST_TEST(failed);
  BOOST_TEST(events->count("actor_failed") == 1u);
}

BOOST_FIXTURE_TEST_CASE(a_node_without_its_links_ends_with_an_error, Supervised) {
  caf::anon_send_exit(links, caf::exit_reason::unhandled_exception);
  system.run();
  BOOST_TEST(stopped);
  BOOST_TEST(failed);
}

BOOST_FIXTURE_TEST_CASE(a_failed_role_comes_back_whole_under_a_new_name, Supervised) {
  BOOST_TEST(spawned == 1);
  caf::anon_send(latest.at({Role::kAverager}), fail_atom::value);
  system.advance(1s);
  BOOST_TEST(spawned == 2);
  BOOST_TEST(describe("stage.0.1") == "I am stage.0.1");
  BOOST_TEST(describe("stage.0") == "not_found");
  BOOST_TEST(events->count("actor_failed") == 1u);
  BOOST_TEST(!stopped);
}

BOOST_FIXTURE_TEST_CASE(held_roles_begin_when_they_may, Supervised) {
  actors::NodeSupervisorDeps deps;
  deps.links = links;
  deps.events = events;
  int begun = 0;
  deps.groups = {{{Role::kTrainer}, [&](uint32_t) {
                    ++begun;
                    return actors::RoleActors();
                  }}};
  deps.hold = true;
  deps.stop_process = [](bool) {};
  auto held = system.own(actors::spawn_node_supervisor(*system, std::move(deps)));
  system.advance(1h);
  BOOST_TEST(begun == 0);
  for (int i = 0; i < 2; ++i) caf::anon_send(held, actors::begin_atom::value);
  system.run();
  BOOST_TEST(begun == 1);
}

BOOST_FIXTURE_TEST_CASE(a_role_that_fails_again_and_again_ends_the_node, Supervised) {
  for (int i = 0; i <= actors::kMaxRestarts; ++i) {
    BOOST_TEST(!stopped);
    caf::anon_send(latest.begin()->second, fail_atom::value);
    system.advance(10s);
  }
  BOOST_TEST(stopped);
  BOOST_TEST(failed);
}

BOOST_FIXTURE_TEST_CASE(failures_after_good_service_are_not_in_a_row, Supervised) {
  for (int i = 0; i < 3 * actors::kMaxRestarts; ++i) {
    caf::anon_send(latest.begin()->second, fail_atom::value);
    system.advance(actors::kGoodService + 10s);
  }
  BOOST_TEST(!stopped);
  BOOST_TEST(spawned == 3 * actors::kMaxRestarts + 1);
  BOOST_TEST(latest.begin()->first.life == 3u * actors::kMaxRestarts);  // names never come back
}

// However often: none of them is a failure, and nothing is waited for.
BOOST_FIXTURE_TEST_CASE(a_role_that_moves_is_spawned_anew_at_once, Supervised) {
  for (int i = 1; i <= 2 * actors::kMaxRestarts; ++i) {
    caf::anon_send_exit(latest.begin()->second, caf::exit_reason::user_shutdown);
    system.run();
    BOOST_TEST(spawned == 1 + i);
    BOOST_TEST(latest.begin()->first.life == static_cast<uint32_t>(i));
  }
  BOOST_TEST(!stopped);
  BOOST_TEST(events->count("actor_failed") == 0u);
  BOOST_TEST(describe("averager.0.1") == "not_found");  // the group ends as a whole
}

BOOST_FIXTURE_TEST_CASE(draining_asks_every_role_once_and_ends_the_actors, Supervised) {
  caf::scoped_actor self(*system);
  auto handle = self->request(supervisor, caf::infinite, actors::drain_atom::value);
  system.run();
  bool done = false;
  handle.receive([&](bool b) { done = b; }, [](const caf::error&) {});
  BOOST_TEST(done);
  BOOST_TEST(*drained == 1);  // the stage server; its averager has nothing to hand over
  BOOST_TEST(spawned == 1);   // an end that was asked for is no failure
}

namespace {

/// A node that leaves: its one role drains for a while, its links have answers to send.
struct Leaving {
  uint64_t queued = 0, sent_at_each_look = 0;
  std::chrono::milliseconds role_takes{0};
  bool role_saves = true;
  int looks = 0;
  sim::DeterministicSystem system;
  bool over = false, saved = false;
  std::shared_ptr<actors::MemoryEventLog> events = std::make_shared<actors::MemoryEventLog>();

  caf::behavior role(caf::event_based_actor* self) {
    return {[this, self](actors::drain_atom) {
              auto promise = self->make_response_promise();
              self->delayed_send(
                  self, role_takes, actors::run_later_atom::value,
                  actors::LocalTask([this, promise]() mutable { promise.deliver(role_saves); }));
              return promise;
            },
            [](actors::run_later_atom, const actors::LocalTask& task) { task(); }};
  }
  caf::behavior links() {
    return {[this](actors::stats_atom) {
              ++looks;
              actors::LinksStats stats;
              stats.send_bytes_per_s = 1e6;
              stats.links.emplace_back();
              stats.links.back().queued_answer_bytes = queued;
              queued -= std::min(queued, sent_at_each_look);
              return stats;
            },
            [](actors::register_atom, const std::string&, const caf::actor&) {}};
  }
  void begin() {
    actors::NodeSupervisorDeps deps;
    deps.events = events;
    deps.drain_limit = 30s;
    deps.links = system.own(system->spawn([this] { return links(); }));
    deps.groups = {{{Role::kStage}, [this](uint32_t life) {
                      actors::RoleActors actors;
                      actors[{Role::kStage, 0, life}] = system->spawn(
                          [this](caf::event_based_actor* self) { return role(self); });
                      return actors;
                    }}};
    deps.stop_process = [](bool) {};
    auto supervisor = system.own(actors::spawn_node_supervisor(*system, std::move(deps)));
    system.own(system->spawn([this, supervisor](caf::event_based_actor* self) -> caf::behavior {
      self->request(supervisor, caf::infinite, actors::drain_atom::value).then([this](bool answer) {
        over = true;
        saved = answer;
      });
      return {[](int) {}};
    }));
    system.run();
  }
  bool over_within(std::chrono::milliseconds time) {
    system.advance(time);
    return over;
  }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_state_that_is_on_the_disk_goes_without_a_word, Leaving) {
  begin();
  BOOST_TEST(over_within(100ms));
  BOOST_TEST(saved);
  BOOST_TEST(events->count("state_unsaved") == 0u);
}

BOOST_FIXTURE_TEST_CASE(a_state_that_could_not_be_written_is_told_of, Leaving) {
  role_saves = false;
  begin();
  BOOST_TEST(over_within(100ms));
  BOOST_TEST(!saved);
  BOOST_TEST(events->count("state_unsaved") == 1u);
}

BOOST_FIXTURE_TEST_CASE(a_role_that_hangs_is_waited_for_no_longer_than_the_grace, Leaving) {
  role_takes = 1h;
  begin();
  BOOST_TEST(!over_within(29s));
  BOOST_TEST(over_within(2s));
  BOOST_TEST(!saved);
  BOOST_TEST(events->count("state_unsaved") == 1u);
}

BOOST_FIXTURE_TEST_CASE(answers_in_the_links_are_sent_before_a_node_goes, Leaving) {
  queued = 3'000'000;
  sent_at_each_look = 50'000;  // 1 MB/s, as its links are
  begin();
  BOOST_TEST(!over_within(2'900ms));
  BOOST_TEST(over_within(300ms));
  BOOST_TEST(queued == 0u);
}

BOOST_FIXTURE_TEST_CASE(answers_that_do_not_move_keep_no_node, Leaving) {
  queued = 3'000'000;
  begin();
  BOOST_TEST(!over_within(900ms));
  BOOST_TEST(over_within(200ms));
}

BOOST_FIXTURE_TEST_CASE(nothing_to_send_costs_no_time, Leaving) {
  begin();
  BOOST_TEST(over_within(1ms));
  BOOST_TEST(looks == 1);
}

// 10 s were written into the code: a snapshot that takes longer was given up.
BOOST_FIXTURE_TEST_CASE(a_role_has_as_long_as_the_file_says, Leaving) {
  role_takes = 25s;
  begin();
  BOOST_TEST(!over_within(24s));
  BOOST_TEST(over_within(1s));
}

BOOST_FIXTURE_TEST_CASE(a_role_that_hangs_is_given_up_at_the_limit, Leaving) {
  role_takes = 1h;
  queued = 1;  // no time is left for it
  begin();
  BOOST_TEST(!over_within(29s));
  BOOST_TEST(over_within(1s));
}

BOOST_FIXTURE_TEST_CASE(stop_mail_drains_or_kills, Supervised) {
  proto::StopNode stop;
  caf::anon_send(supervisor, actors::make_mail(stop));
  system.run();
  BOOST_TEST(stopped);
  BOOST_TEST(!failed);
  BOOST_TEST(!killed);
  stop.set_at_once(true);
  caf::anon_send(supervisor, actors::make_mail(stop));
  system.run();
  BOOST_TEST(killed);
}

BOOST_AUTO_TEST_SUITE_END()
