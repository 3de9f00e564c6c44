// Measures put and get; run by name: --run_test=CheckpointSpeed. No assertion on time.
#include <boost/test/unit_test.hpp>
#include <chrono>

#include "tests/storage/storage_fixtures.h"

BOOST_AUTO_TEST_SUITE(CheckpointSpeed, *boost::unit_test::disabled())

BOOST_AUTO_TEST_CASE(put_and_get_of_20_and_100_mib) {
  using Clock = std::chrono::steady_clock;
  auto ms = [](Clock::duration d) { return std::chrono::duration<double, std::milli>(d).count(); };
  swarm::testing::TemporaryDirectory directory;
  auto store = swarm::testing::open_store(directory.path(), 4u << 20);
  for (size_t mib : {20u, 100u}) {
    for (uint64_t step = 1; step <= 5; ++step) {
      swarm::Buffer value = swarm::testing::content(step, mib << 20);
      swarm::storage::CheckpointKey key{"stage/" + std::to_string(mib), step};
      auto start = Clock::now();
      BOOST_REQUIRE(store->put(key, value, 2).ok());
      auto middle = Clock::now();
      BOOST_REQUIRE(store->get(key).ok());
      auto end = Clock::now();
      BOOST_TEST_MESSAGE(mib << " MiB: put " << ms(middle - start) << " ms, get "
                             << ms(end - middle) << " ms");
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
