// What only the store on disk can get wrong: other processes, closing, damage, space.
#include <rocksdb/db.h>

#include <algorithm>
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <fstream>
#include <future>
#include <memory>
#include <set>
#include <vector>

#include "storage/rocksdb_chunk_table.h"
#include "storage/rocksdb_options.h"
#include "storage/snapshot_manifest.h"
#include "storage/store_keys.h"
#include "tests/storage/storage_fixtures.h"

using namespace swarm;
using namespace swarm::storage;
using swarm::testing::content;
using swarm::testing::open_store;
using swarm::testing::TemporaryDirectory;
namespace fs = std::filesystem;

namespace {

constexpr size_t kSize = 300'000;

uint64_t directory_bytes(const std::string& path) {
  uint64_t total = 0;
  for (const auto& file : fs::directory_iterator(path)) total += file.file_size();
  return total;
}

void flip_byte(const fs::path& path, uint64_t offset) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(static_cast<std::streamoff>(offset));
  char byte = 0;
  file.get(byte);
  file.seekp(static_cast<std::streamoff>(offset));
  file.put(static_cast<char>(byte ^ 0x20));
}

/// Opens what is left and demands: the right bytes or a proper error. Returns how many loaded.
int expect_right_or_refused(const std::string& directory, const std::string& what, int* corrupt) {
  auto store = open_rocksdb_checkpoint_store({directory, 64u << 10});
  if (!store.ok()) {
    const bool named = store.code() == ErrorCode::kCorruptCheckpoint;
    BOOST_TEST((named || store.code() == ErrorCode::kIo), what);
    return 0;
  }
  int loaded = 0;
  for (uint64_t step = 1; step <= 3; ++step) {
    auto got = (*store)->get({"stage/0", step});
    if (got.ok()) {
      BOOST_TEST((got->view() == content(step, kSize).view()), what << ": wrong bytes");
      ++loaded;
      continue;
    }
    bool proper = got.code() == ErrorCode::kCorruptCheckpoint || got.code() == ErrorCode::kIo ||
                  got.code() == ErrorCode::kNotFound;
    BOOST_TEST(proper, what << ": " << to_string(got.error()));
    if (got.code() == ErrorCode::kCorruptCheckpoint) ++*corrupt;
  }
  return loaded;
}

void fill(const std::string& directory) {
  auto store = open_store(directory);
  for (uint64_t step = 1; step <= 3; ++step)
    BOOST_REQUIRE(store->put({"stage/0", step}, content(step, kSize), 3).ok());
}

}  // namespace

BOOST_AUTO_TEST_SUITE(RocksdbCheckpointStoreTest)

BOOST_AUTO_TEST_CASE(snapshots_survive_closing_and_another_chunk_size) {
  TemporaryDirectory directory;
  fill(directory.path());
  auto store = open_store(directory.path(), 100'000);
  BOOST_TEST((store->get({"stage/0", 2})->view() == content(2, kSize).view()));
  BOOST_TEST(store->put({"stage/0", 2}, content(2, kSize), 3).ok());
  BOOST_TEST(store->put({"stage/0", 4}, content(4, kSize), 3).ok());
  BOOST_TEST((store->get({"stage/0", 4})->view() == content(4, kSize).view()));
}

BOOST_AUTO_TEST_CASE(what_is_set_aside_stays_so_and_its_chunks_stay_as_long) {
  TemporaryDirectory directory;
  fill(directory.path());
  BOOST_TEST(open_store(directory.path())->set_aside({{"stage/0", 2}, {"stage/0", 3}}, "1").ok());
  const uint64_t bytes = directory_bytes(directory.path());
  {
    auto store = open_store(directory.path());
    BOOST_TEST(store->steps("stage/0").value() == std::vector<uint64_t>{1},
               boost::test_tools::per_element());
    BOOST_TEST((store->get({"aside/1/stage/0", 2})->view() == content(2, kSize).view()));
    BOOST_TEST((store->get({"aside/1/stage/0", 3})->view() == content(3, kSize).view()));
    BOOST_TEST(store->set_aside({{"stage/0", 1}}, "2").ok());
  }
  auto store = open_store(directory.path());
  BOOST_TEST(store->streams().value() == std::vector<std::string>{"aside/2/stage/0"},
             boost::test_tools::per_element());
  BOOST_TEST((store->get({"aside/2/stage/0", 1})->view() == content(1, kSize).view()));
  BOOST_TEST(directory_bytes(directory.path()) < bytes - kSize);  // two have gone
}

BOOST_AUTO_TEST_CASE(a_store_in_use_is_refused_with_a_clear_text) {
  TemporaryDirectory directory;
  auto store = open_store(directory.path());
  auto second = open_rocksdb_checkpoint_store({directory.path(), 4u << 20});
  BOOST_REQUIRE(!second.ok());
  BOOST_TEST(second.code() == ErrorCode::kNotReady);
  BOOST_TEST(second.error().detail.find("in use by another process") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(impossible_options_are_refused) {
  TemporaryDirectory directory;
  BOOST_TEST(open_rocksdb_checkpoint_store({directory.path(), 1}).code() ==
             ErrorCode::kInvalidArgument);
  std::ofstream(directory.path() + "/file") << "x";
  BOOST_TEST(open_rocksdb_checkpoint_store({directory.path() + "/file", 4096}).code() ==
             ErrorCode::kIo);
}

BOOST_AUTO_TEST_CASE(space_of_deleted_snapshots_comes_back) {
  TemporaryDirectory directory;
  auto store = open_store(directory.path(), 1u << 20);
  constexpr size_t kLarge = 8u << 20;
  for (uint64_t step = 1; step <= 10; ++step)
    BOOST_TEST(store->put({"stage/0", step}, content(step, kLarge), 2).ok());
  store.reset();
  store = open_store(directory.path(), 1u << 20);
  BOOST_TEST(directory_bytes(directory.path()) < 4 * kLarge);
  BOOST_TEST((store->get({"stage/0", 9})->view() == content(9, kLarge).view()));
  BOOST_TEST((store->get({"stage/0", 10})->view() == content(10, kLarge).view()));
}

// A put is a table of its own: what is in it is neither copied nor read again, and goes with its file.
BOOST_AUTO_TEST_CASE(a_snapshot_is_a_file_that_stays_as_it_is_until_it_goes) {
  TemporaryDirectory directory;
  const auto tables = [&] {
    std::set<std::string> names;
    for (const auto& file : fs::directory_iterator(directory.path()))
      if (testing::holds_chunks(file)) names.insert(file.path().filename());
    return names;
  };
  auto store = open_store(directory.path());
  std::set<std::string> before;
  for (uint64_t step = 1; step <= 6; ++step) {
    BOOST_TEST(store->put({"stage/0", step}, content(step, kSize), 9).ok());
    const auto now = tables();
    BOOST_TEST(now.size() == step);
    BOOST_TEST(std::includes(now.begin(), now.end(), before.begin(), before.end()));
    before = now;
  }
  BOOST_TEST(store->put_or_replace({"stage/0", 6}, content(60, kSize), 2).ok());
  BOOST_TEST(store->drop_newer("stage/0", 5).ok());
  store.reset();  // what its own threads had still in use is gone, too
  BOOST_TEST(tables().size() == 1u);
  store = open_store(directory.path());
  BOOST_TEST((store->get({"stage/0", 5})->view() == content(5, kSize).view()));
}

BOOST_AUTO_TEST_CASE(a_table_that_was_not_finished_and_one_that_nobody_names_are_gone) {
  TemporaryDirectory directory;
  fill(directory.path());
  const uint64_t before = directory_bytes(directory.path());
  {  // ended between taking a table in and naming it
    rocksdb::DB* raw = nullptr;
    const rocksdb::Options options = rocksdb_options(directory.path());
    BOOST_REQUIRE(rocksdb::DB::Open(options, directory.path(), &raw).ok());
    std::unique_ptr<rocksdb::DB> db(raw);
    const auto manifest = SnapshotManifest::describe(content(9, kSize), 77, 64u << 10);
    BOOST_REQUIRE(take_in_chunks(*db, options, directory.path(), manifest, content(9, kSize)).ok());
    std::ofstream(directory.path() + kTableInTheMaking) << content(9, kSize).view();
  }
  BOOST_TEST(directory_bytes(directory.path()) > before + 2 * kSize);
  auto store = open_store(directory.path());
  BOOST_TEST(directory_bytes(directory.path()) < before + kSize / 2);
  for (uint64_t step = 4; step <= 6; ++step)  // none of them is put 77
    BOOST_TEST(store->put({"stage/0", step}, content(step, kSize), 9).ok());
  for (uint64_t step = 1; step <= 6; ++step)
    BOOST_TEST((store->get({"stage/0", step})->view() == content(step, kSize).view()));
}

// A log that nobody emptied hid all snapshots since the last opening, whose tables were deleted then.
BOOST_AUTO_TEST_CASE(a_flipped_byte_at_the_head_of_the_log_hides_the_newest_commit_at_most) {
  TemporaryDirectory directory;
  fill(directory.path());
  {
    auto store = open_store(directory.path());
    for (uint64_t step = 4; step <= 12; ++step)
      BOOST_TEST(store->put({"stage/0", step}, content(step, kSize), 3).ok());
  }
  for (const auto& file : fs::directory_iterator(directory.path()))
    if (file.path().extension() == ".log" && file.file_size() > 30) flip_byte(file.path(), 30);
  auto store = open_store(directory.path());
  const auto steps = store->steps("stage/0").value();
  BOOST_REQUIRE(!steps.empty());
  BOOST_TEST(steps.front() >= 11u);
  for (const uint64_t step : steps) BOOST_TEST(store->get({"stage/0", step}).ok(), step);
}

// Who reads holds its files: it waits for no put and no put for it.
BOOST_AUTO_TEST_CASE(puts_that_prune_do_not_wait_until_nobody_reads) {
  TemporaryDirectory directory;
  auto store = open_store(directory.path());
  BOOST_REQUIRE(store->put({"stage/1", 1}, content(1, 8u << 20), 1).ok());
  std::atomic<bool> over{false};
  std::vector<std::future<int>> readers;  // wrong answers
  for (int i = 0; i < 3; ++i)
    readers.push_back(std::async(std::launch::async, [&] {
      int wrong = 0;
      while (!over) wrong += store->get({"stage/1", 1}).ok() ? 0 : 1;
      return wrong;
    }));
  for (uint64_t step = 1; step <= 20; ++step)
    BOOST_TEST(store->put({"stage/0", step}, content(step, kSize), 1).ok());
  over = true;
  for (auto& one : readers) BOOST_TEST(one.get() == 0);
}

BOOST_AUTO_TEST_CASE(what_is_pruned_while_it_is_read_is_read_to_its_end) {
  TemporaryDirectory directory;
  auto store = open_store(directory.path());
  std::atomic<bool> over{false};
  auto reader = std::async(std::launch::async, [&] {
    int wrong = 0;
    while (!over) {
      const std::vector<uint64_t> steps = store->steps("stage/0").value();
      for (const uint64_t step : steps) {
        const auto got = store->get({"stage/0", step});
        if (!got.ok() && got.code() != ErrorCode::kNotFound) ++wrong;
        if (got.ok() && got->view() != content(step, kSize).view()) ++wrong;
      }
    }
    return wrong;
  });
  for (uint64_t step = 1; step <= 30; ++step)
    BOOST_TEST(store->put({"stage/0", step}, content(step, kSize), 1).ok());
  over = true;
  BOOST_TEST(reader.get() == 0);
}

// Before, chunks went through the memtable into blob files, with a marker for each put.
BOOST_AUTO_TEST_CASE(a_database_from_before_the_tables_is_read_and_pruned) {
  TemporaryDirectory directory;
  {
    rocksdb::Options options = rocksdb_options(directory.path());
    options.enable_blob_files = true;
    options.min_blob_size = 4096;
    rocksdb::DB* raw = nullptr;
    BOOST_REQUIRE(rocksdb::DB::Open(options, directory.path(), &raw).ok());
    std::unique_ptr<rocksdb::DB> db(raw);
    for (uint64_t step = 1; step <= 4; ++step) {  // the fourth was not finished
      const Buffer value = content(step, kSize);
      const auto manifest = SnapshotManifest::describe(value, step, 64u << 10);
      BOOST_REQUIRE(db->Put({}, marker_key(step), "").ok());
      for (size_t i = 0; i < manifest.chunk_digests.size(); ++i)
        BOOST_REQUIRE(
            db->Put({}, old_chunk_key(step, i),
                    rocksdb::Slice(value.view().substr(i * (64u << 10), manifest.chunk_size(i))))
                .ok());
      BOOST_REQUIRE(db->Flush({}).ok());
      if (step < 4)
        BOOST_REQUIRE(db->Put({}, manifest_key({"stage/0", step}), manifest.encode()).ok());
    }
  }
  auto store = open_store(directory.path());
  for (uint64_t step = 1; step <= 3; ++step)
    BOOST_TEST((store->get({"stage/0", step})->view() == content(step, kSize).view()));
  for (uint64_t step = 5; step <= 7; ++step) {
    BOOST_TEST(store->put({"stage/0", step}, content(step, kSize), 2).ok());
    BOOST_TEST((store->get({"stage/0", step})->view() == content(step, kSize).view()));
  }
  BOOST_TEST(store->get({"stage/0", 3}).code() == ErrorCode::kNotFound);
  store.reset();
  store = open_store(directory.path());
  BOOST_TEST(directory_bytes(directory.path()) < 2.5 * kSize);
  for (uint64_t step = 6; step <= 7; ++step)
    BOOST_TEST((store->get({"stage/0", step})->view() == content(step, kSize).view()));
}

BOOST_AUTO_TEST_CASE(a_flipped_byte_anywhere_never_yields_wrong_bytes) {
  TemporaryDirectory directory;
  fill(directory.path());
  int corrupt = 0, loaded = 0, tried = 0;
  for (const auto& file : fs::directory_iterator(directory.path())) {
    uint64_t size = file.file_size();
    for (uint64_t part = 0; part < 6 && size > 0; ++part) {
      TemporaryDirectory copy;
      fs::copy(directory.path(), copy.path(), fs::copy_options::recursive);
      uint64_t offset = (size - 1) * part / 5;
      std::string name = file.path().filename().string();
      flip_byte(fs::path(copy.path()) / name, offset);
      loaded += expect_right_or_refused(copy.path(), name + "+" + std::to_string(offset), &corrupt);
      ++tried;
    }
  }
  BOOST_TEST(corrupt > 0);     // damage was really met and named
  BOOST_TEST(loaded > tried);  // and most snapshots are not lost by one byte
}

BOOST_AUTO_TEST_CASE(a_truncated_file_never_yields_wrong_bytes) {
  TemporaryDirectory directory;
  fill(directory.path());
  int corrupt = 0;
  for (const auto& file : fs::directory_iterator(directory.path())) {
    TemporaryDirectory copy;
    fs::copy(directory.path(), copy.path(), fs::copy_options::recursive);
    std::string name = file.path().filename().string();
    fs::resize_file(fs::path(copy.path()) / name, file.file_size() / 2);
    expect_right_or_refused(copy.path(), "half of " + name, &corrupt);
  }
}

BOOST_AUTO_TEST_CASE(a_damaged_snapshot_is_replaced_by_a_new_put) {
  TemporaryDirectory directory;
  fill(directory.path());
  for (const auto& file : fs::directory_iterator(directory.path()))
    if (testing::holds_chunks(file)) flip_byte(file.path(), file.file_size() / 2);
  auto store = open_store(directory.path());
  BOOST_TEST(store->get({"stage/0", 2}).code() == ErrorCode::kCorruptCheckpoint);
  BOOST_TEST(store->put({"stage/0", 2}, content(2, kSize), 3).ok());
  auto got = store->get({"stage/0", 2});
  BOOST_REQUIRE(got.ok());
  BOOST_TEST((got->view() == content(2, kSize).view()));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(SnapshotManifestTest)

BOOST_AUTO_TEST_CASE(a_manifest_is_decoded_as_it_was_encoded) {
  auto manifest = SnapshotManifest::describe(content(1, 1000), 42, 300);
  BOOST_REQUIRE_EQUAL(manifest.chunk_digests.size(), 4u);
  auto decoded = SnapshotManifest::decode(manifest.encode());
  BOOST_REQUIRE(decoded.ok());
  BOOST_TEST(decoded->put_id == 42u);
  BOOST_TEST(decoded->total_bytes == 1000u);
  BOOST_TEST(decoded->chunk_size(3) == 100u);
  BOOST_TEST(decoded->verify_chunk(3, content(1, 1000).view().substr(900)).ok());
  BOOST_TEST(!decoded->verify_chunk(2, content(1, 1000).view().substr(900)).ok());
}

BOOST_AUTO_TEST_CASE(every_flipped_bit_and_every_truncation_is_noticed) {
  std::string encoded = SnapshotManifest::describe(content(1, 1000), 42, 300).encode();
  for (size_t bit = 0; bit < encoded.size() * 8; ++bit) {
    std::string damaged = encoded;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    BOOST_TEST(SnapshotManifest::decode(damaged).code() == ErrorCode::kCorruptCheckpoint);
  }
  for (size_t size = 0; size < encoded.size(); ++size)
    BOOST_TEST(!SnapshotManifest::decode(encoded.substr(0, size)).ok());
}

BOOST_AUTO_TEST_SUITE_END()
