#include "actors/state/checkpointer.h"

#include <boost/test/unit_test.hpp>
#include <caf/send.hpp>

#include "apps/sim/deterministic_system.h"
#include "apps/sim/disk.h"

namespace swarm::actors {
namespace {

const char* const kStream = "stage/0";

struct OneDisk {
  sim::DeterministicSystem system;
  std::shared_ptr<sim::Disk> disk = std::make_shared<sim::Disk>();
  caf::actor checkpointer = system.own(spawn_checkpointer(
      *system, std::make_shared<sim::DiskStore>(disk, /*sync_at_once=*/true), /*keep=*/1,
      /*detached=*/false));

  void save(uint64_t step, bool spare_one = false) {
    caf::anon_send(checkpointer, save_atom::value, std::string(kStream), step,
                   Buffer::from_string(std::to_string(step)), false, spare_one);
    system.run();
  }
  void pin(uint64_t step) {
    caf::anon_send(checkpointer, pin_atom::value, std::string(kStream), step);
    system.run();
  }
  bool has(uint64_t step) const { return disk->durable().at(kStream).count(step) == 1; }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(CheckpointerOfADisk, OneDisk)

BOOST_AUTO_TEST_CASE(nothing_is_pruned_before_the_pin_that_failed_is_written) {
  save(1);
  disk->fill();
  pin(1);
  disk->fill(false);
  save(2);
  BOOST_TEST(has(1));
  BOOST_TEST(has(2));
  pin(2);
  save(3);
  BOOST_TEST(!has(1));
}

// The one before was the newest of all stages, and the coordinator had not said so yet.
BOOST_AUTO_TEST_CASE(the_last_one_of_a_node_that_leaves_spares_the_one_before) {
  save(4);
  pin(4);
  save(6);
  save(7, /*spare_one=*/true);
  BOOST_TEST((has(4) && has(6) && has(7)));
  save(8);
  BOOST_TEST((has(4) && !has(6) && !has(7) && has(8)));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace swarm::actors
