// Leases that never reached their trainer, which followed another coordinator when they came.
#include <boost/test/unit_test.hpp>
#include <caf/event_based_actor.hpp>

#include "actors/net/requests.h"
#include "tests/support/sim_swarm.h"

namespace swarm {
namespace {

using namespace std::chrono_literals;

struct Leasing : testing::SimSwarm {
  Leasing() {
    num_stages = 1;
    training.steps = 60;
    add_trainer("trainer");
    add_peer("a", 0);
    BOOST_REQUIRE(run_to_step(2));
  }
  /// In the trainer's name; it does not hear the answer.
  void lease(uint32_t slots, bool no_others) {
    proto::Lease message;
    const NodeId trainer = nodes["trainer"].id;
    *message.mutable_trainer() =
        actors::to_proto(ActorId{trainer, "trainer"}, Endpoint{"127.0.0.1", 1}, "trainer");
    message.set_max_slots(slots);
    message.set_no_others(no_others);
    auto mail = actors::make_mail(std::move(message));
    mail.from = trainer;
    mail.from_name = "trainer";
    system->spawn([=, to = nodes["trainer"].actors[2]](caf::event_based_actor* self) {
      self->request(to, 5s, mail).then([](const actors::Mail&) {}, [](const caf::error&) {});
    });
    system.advance(20ms);
  }
  bool goes_on() { return run_to_step(events->steps.back().step + 3, 10s); }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(LostLeases)

BOOST_FIXTURE_TEST_CASE(they_are_free_once_their_trainer_says_that_it_carries_no_others, Leasing) {
  for (int i = 0; i < 100; ++i) lease(64, false);
  BOOST_REQUIRE(!goes_on());  // until they expire
  lease(0, true);
  BOOST_TEST(goes_on());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace swarm
