// A database that is damaged as a whole is named so, and set aside without losing a byte of it.
#include <fstream>
#include <functional>
#include <set>

#include "storage/stores.h"
#include "tests/storage/storage_fixtures.h"

namespace swarm::storage {
namespace {

namespace fs = std::filesystem;
using testing::content;

constexpr size_t kSize = 300'000;
constexpr StoreKind kKind = StoreKind::kRocksdb;

void fill(const std::string& node) {
  auto store = open_store(kKind, node);
  BOOST_REQUIRE(store.ok());
  for (uint64_t step = 1; step <= 3; ++step)
    BOOST_REQUIRE((*store)->put({"stage/0", step}, content(step, kSize), 3).ok());
}

/// Files of the database whose names begin or end so.
std::vector<fs::path> files(const std::string& node, const std::string& kind) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(node + "/db")) {
    const std::string name = entry.path().filename();
    if (name.rfind(kind, 0) == 0 || entry.path().extension() == kind) found.push_back(entry.path());
  }
  BOOST_REQUIRE(!found.empty());
  return found;
}

void garble(const fs::path& path) {
  const auto size = fs::file_size(path);
  std::ofstream(path, std::ios::binary) << content(99, size).view();
}

struct Damage {
  const char* what;
  std::function<void(const std::string& node)> apply;
};

std::vector<Damage> damages() {
  const auto each = [](const char* kind, void (*change)(const fs::path&)) {
    return [kind, change](const std::string& node) {
      for (const auto& file : files(node, kind)) change(file);
    };
  };
  const auto remove = [](const fs::path& file) { fs::remove(file); };
  const auto halve = [](const fs::path& file) { fs::resize_file(file, fs::file_size(file) / 2); };
  const auto empty = [](const fs::path& file) { fs::resize_file(file, 0); };
  return {{"garbage CURRENT", each("CURRENT", garble)},
          {"no CURRENT", each("CURRENT", remove)},
          {"empty CURRENT", each("CURRENT", empty)},
          {"no MANIFEST", each("MANIFEST-", remove)},
          {"garbage MANIFEST", each("MANIFEST-", garble)},
          {"empty MANIFEST", each("MANIFEST-", empty)},
          {"torn MANIFEST", each("MANIFEST-", halve)},
          {"garbage tables", each(".sst", garble)},
          {"torn tables", each(".sst", halve)},
          {"no tables", each(".sst", remove)}};
}

std::set<std::string> names_in(const fs::path& directory) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(directory)) names.insert(entry.path().filename());
  return names;
}

BOOST_AUTO_TEST_SUITE(DamagedStores)

// The node stayed down until somebody had moved the directory away.
BOOST_AUTO_TEST_CASE(a_damaged_database_is_named_so_and_makes_room_for_an_empty_one) {
  int damaged = 0;
  for (const Damage& damage : damages()) {
    BOOST_TEST_CONTEXT(damage.what) {
      const testing::TemporaryDirectory node;
      fill(node.path());
      damage.apply(node.path());
      {
        auto store = open_store(kKind, node.path());
        if (store.ok()) {  // RocksDB has made up for it: what it shows is right
          const std::vector<uint64_t> steps = (*store)->steps("stage/0").value();
          for (uint64_t step : steps) {
            const auto read = (*store)->get({"stage/0", step});
            if (read.ok()) BOOST_TEST((read->view() == content(step, kSize).view()));
          }
          continue;
        }
        BOOST_TEST(store.code() == ErrorCode::kCorruptCheckpoint, to_string(store.error()));
      }
      ++damaged;
      const auto before = names_in(node.path() + "/db");
      for (const char* behind : {"", "-2"}) {
        auto aside = set_store_aside(kKind, node.path(), "20260101T000000");
        BOOST_REQUIRE(aside.ok());
        BOOST_TEST(*aside == node.path() + "/db.damaged-20260101T000000" + behind);
        auto fresh = open_store(kKind, node.path());
        BOOST_REQUIRE(fresh.ok());
        BOOST_TEST((*fresh)->streams().value().empty());
      }
      const auto after = names_in(node.path() + "/db.damaged-20260101T000000");
      BOOST_TEST(after == before, boost::test_tools::per_element());
    }
  }
  BOOST_TEST(damaged >= 7);
}

BOOST_AUTO_TEST_CASE(a_database_that_is_in_use_is_not_damaged) {
  const testing::TemporaryDirectory node;
  auto store = open_store(kKind, node.path());
  BOOST_REQUIRE(store.ok());
  BOOST_TEST(open_store(kKind, node.path()).code() == ErrorCode::kNotReady);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace swarm::storage
