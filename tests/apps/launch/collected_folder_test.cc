#include "apps/launch/collected_folder.h"

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace swarm::launch {

BOOST_AUTO_TEST_SUITE(CollectedFolders)

BOOST_AUTO_TEST_CASE(a_node_of_whose_events_there_are_pieces_only_is_whole) {
  char folder[] = "/tmp/swarm-test-XXXXXX";
  BOOST_REQUIRE(::mkdtemp(folder) != nullptr);
  const std::string node = folder;
  BOOST_TEST(!is_whole(node));
  std::ofstream(node + "/events-000001.jsonl") << "{}\n";
  BOOST_TEST(is_whole(node));
  BOOST_TEST(mark_part(node).ok());
  BOOST_TEST(!is_whole(node));
  std::filesystem::remove_all(node);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace swarm::launch
