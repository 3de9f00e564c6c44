#include "storage/run_snapshots.h"

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>

#include "common/names.h"
#include "storage/stores.h"
#include "tests/storage/storage_fixtures.h"

using namespace swarm;
using namespace swarm::storage;
namespace fs = std::filesystem;

namespace {

/// A run's folder with the snapshots of nodes that have ended.
struct RunFolder {
  testing::TemporaryDirectory directory;

  std::string node_folder(const std::string& node) const {
    return directory.path() + "/nodes/" + node;
  }
  void add(const std::string& node, uint32_t stage, const std::vector<uint64_t>& steps) {
    fs::create_directories(node_folder(node));
    auto store = open_store(StoreKind::kRocksdb, node_folder(node));
    BOOST_REQUIRE(store.ok());
    for (uint64_t step : steps)
      BOOST_TEST((*store)->put({stage_key(stage), step}, testing::content(step, 50'000), 9).ok());
  }
  void damage(const std::string& node) {
    for (const auto& file : fs::recursive_directory_iterator(node_folder(node))) {
      if (!testing::holds_chunks(file)) continue;
      std::fstream bytes(file.path(), std::ios::in | std::ios::out | std::ios::binary);
      bytes.seekp(static_cast<std::streamoff>(file.file_size() / 2));
      bytes.write("damaged", 7);
    }
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(RunSnapshotsTest)

BOOST_AUTO_TEST_CASE(the_newest_step_of_every_stage_is_common) {
  RunFolder run;
  run.add("a", 0, {2, 4, 6});
  run.add("b", 0, {8});
  run.add("c", 1, {4, 5, 8});
  BOOST_TEST(newest_common_step(run.directory.path(), 2).value() == 8u);
  BOOST_TEST(newest_common_step(run.directory.path(), 3).code() == ErrorCode::kNotFound);
  auto found = read_snapshots(run.directory.path(), 2, 4);
  BOOST_REQUIRE(found.ok());
  BOOST_REQUIRE(found->found.size() == 2u);
  BOOST_TEST(found->found[0].node == "a");
  BOOST_TEST(found->found[1].node == "c");
  BOOST_TEST(read_snapshots(run.directory.path(), 2, 5).code() == ErrorCode::kNotFound);
}

BOOST_AUTO_TEST_CASE(finding_the_common_step_reads_no_state) {
  RunFolder run;
  run.add("a", 0, {2, 4});
  run.add("b", 1, {2, 4});
  run.damage("b");  // whoever reads its states meets damage
  auto open = RunSnapshots::open(run.directory.path(), 2);
  BOOST_REQUIRE(open.ok());
  BOOST_TEST(open->read(4).unreadable.size() == 1u);
  BOOST_TEST(open->newest_common_step().value() == 4u);
}

BOOST_AUTO_TEST_CASE(a_replica_stands_in_for_a_damaged_snapshot) {
  RunFolder run;
  run.add("a", 0, {4});
  run.add("b", 0, {4});
  run.damage("a");
  auto found = read_snapshots(run.directory.path(), 1, 4);
  BOOST_REQUIRE(found.ok());
  BOOST_REQUIRE(found->found.size() == 1u);
  BOOST_TEST(found->found[0].node == "b");
  BOOST_REQUIRE(found->unreadable.size() == 1u);
  BOOST_TEST(found->unreadable[0].find("a: stage 0: ") == 0u);
  run.damage("b");
  const auto none = read_snapshots(run.directory.path(), 1, 4);
  BOOST_TEST(none.code() == ErrorCode::kCorruptCheckpoint);
  BOOST_TEST(none.error().detail.find("b: stage 0: ") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_folder_without_databases_is_said_to_be_empty) {
  RunFolder run;
  BOOST_TEST(newest_common_step(run.directory.path(), 1).code() == ErrorCode::kNotFound);
}

BOOST_AUTO_TEST_CASE(a_database_that_cannot_be_opened_is_named_and_another_replica_is_read) {
  RunFolder run;
  run.add("a", 0, {2, 4});
  run.add("b", 0, {2, 4});
  for (const auto& file : fs::recursive_directory_iterator(run.node_folder("a")))
    if (file.path().filename() == "CURRENT") std::ofstream(file.path()) << "nothing";
  auto open = RunSnapshots::open(run.directory.path(), 1);
  BOOST_REQUIRE(open.ok());
  const auto found = open->read(4);
  BOOST_REQUIRE(found.found.size() == 1u);
  BOOST_TEST(found.found[0].node == "b");
  BOOST_REQUIRE(found.unreadable.size() == 1u);
  BOOST_TEST(found.unreadable[0].rfind("a: ", 0) == 0u, found.unreadable[0]);
}

BOOST_AUTO_TEST_CASE(a_database_in_use_is_not_taken_for_a_damaged_one) {
  RunFolder run;
  run.add("a", 0, {2});
  run.add("b", 0, {2});
  const auto at_work = open_store(StoreKind::kRocksdb, run.node_folder("a"));
  BOOST_REQUIRE(at_work.ok());
  const auto found = RunSnapshots::open(run.directory.path(), 1);
  BOOST_TEST(found.code() == ErrorCode::kNotReady);
}

BOOST_AUTO_TEST_SUITE_END()
