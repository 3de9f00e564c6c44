#include "records/kept_stages.h"

#include <stdlib.h>

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>

namespace swarm::records {
namespace {

struct Folder {
  Folder() {
    char name[] = "/tmp/swarm-kept-stages-XXXXXX";
    path = ::mkdtemp(name);
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string path;
};

BOOST_AUTO_TEST_SUITE(KeptStagesTest)

BOOST_FIXTURE_TEST_CASE(a_move_is_there_in_the_next_process_of_the_run, Folder) {
  KeptStages kept(path, "run", {2, 0});
  BOOST_TEST(kept.at(0) == 2);
  BOOST_TEST(kept.move(0, 1).ok());
  BOOST_TEST(kept.at(0) == 1);
  const KeptStages next(path, "run", {2, 0});
  BOOST_TEST(next.at(0) == 1);
  BOOST_TEST(next.at(1) == 0);
  BOOST_TEST(read_kept_stages(path, "run", {2, 0})[0] == 1);
}

BOOST_FIXTURE_TEST_CASE(a_node_without_a_stage_keeps_the_one_it_was_given, Folder) {
  BOOST_TEST(KeptStages(path, "run", {-1}).at(0) == -1);
  BOOST_TEST(KeptStages(path, "run", {-1}).move(0, 3).ok());
  BOOST_TEST(KeptStages(path, "run", {-1}).at(0) == 3);
}

BOOST_FIXTURE_TEST_CASE(what_was_kept_of_another_run_or_another_choice_does_not_count, Folder) {
  BOOST_TEST(KeptStages(path, "run", {2}).move(0, 1).ok());
  BOOST_TEST(KeptStages(path, "another", {2}).at(0) == 2);
  BOOST_TEST(KeptStages(path, "run", {0}).at(0) == 0);
  BOOST_TEST(KeptStages(path, "run", {2, 3}).at(0) == 2);
  BOOST_TEST(KeptStages(path, "run", {2}).at(0) == 1);
}

BOOST_FIXTURE_TEST_CASE(a_damaged_file_does_not_count, Folder) {
  for (const char* bad : {"", "{", "[]", "{\"run\":\"run\",\"first\":[2],\"now\":[]}",
                          "{\"run\":\"run\",\"now\":[1]}"}) {
    std::ofstream(path + "/stages.json") << bad;
    BOOST_TEST(KeptStages(path, "run", {2}).at(0) == 2, bad);
  }
}

BOOST_AUTO_TEST_CASE(without_a_folder_it_is_kept_in_memory) {
  KeptStages kept({0});
  BOOST_TEST(kept.move(0, 1).ok());
  BOOST_TEST(kept.all()[0] == 1);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace swarm::records
