// A disk that was full goes on when there is room again, without a restart of the process.
#include <rocksdb/env.h>
#include <rocksdb/file_system.h>

#include <atomic>
#include <memory>
#include <utility>

#include "tests/storage/storage_fixtures.h"

namespace swarm::storage {
namespace {

using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;
using testing::content;

constexpr size_t kSize = 300'000;

using Full = std::shared_ptr<std::atomic<bool>>;

/// Its next fsyncs pass, one fails, and so on: how many are left before it does; < 0: none fails.
using Syncs = std::shared_ptr<std::atomic<int>>;

class SyncFile final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  SyncFile(std::unique_ptr<rocksdb::FSWritableFile>&& file, Syncs syncs)
      : FSWritableFileOwnerWrapper(std::move(file)), syncs_(std::move(syncs)) {}
  IOStatus Sync(const IOOptions& options, IODebugContext* debug) override {
    if (*syncs_ >= 0 && (*syncs_)-- == 0) return IOStatus::IOError("the disk said no");
    return FSWritableFileOwnerWrapper::Sync(options, debug);
  }

 private:
  Syncs syncs_;
};

/// Where an fsync of RocksDB's manifest fails.
class SyncFails final : public rocksdb::FileSystemWrapper {
 public:
  explicit SyncFails(Syncs syncs)
      : FileSystemWrapper(rocksdb::FileSystem::Default()), syncs_(std::move(syncs)) {}
  const char* Name() const override { return "SyncFails"; }
  IOStatus NewWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                           std::unique_ptr<rocksdb::FSWritableFile>* file,
                           IODebugContext* debug) override {
    IOStatus made = FileSystemWrapper::NewWritableFile(name, options, file, debug);
    if (made.ok() && name.find("MANIFEST") != std::string::npos)
      *file = std::make_unique<SyncFile>(std::move(*file), syncs_);
    return made;
  }

 private:
  Syncs syncs_;
};

class FullFile final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  FullFile(std::unique_ptr<rocksdb::FSWritableFile>&& file, Full full)
      : FSWritableFileOwnerWrapper(std::move(file)), full_(std::move(full)) {}

  IOStatus Append(const Slice& data, const IOOptions& options, IODebugContext* debug) override {
    if (*full_) return IOStatus::NoSpace("no space is left");
    return FSWritableFileOwnerWrapper::Append(data, options, debug);
  }
  IOStatus Append(const Slice& data, const IOOptions& options,
                  const rocksdb::DataVerificationInfo& info, IODebugContext* debug) override {
    if (*full_) return IOStatus::NoSpace("no space is left");
    return FSWritableFileOwnerWrapper::Append(data, options, info, debug);
  }
  IOStatus PositionedAppend(const Slice& data, uint64_t offset, const IOOptions& options,
                            IODebugContext* debug) override {
    if (*full_) return IOStatus::NoSpace("no space is left");
    return FSWritableFileOwnerWrapper::PositionedAppend(data, offset, options, debug);
  }
  IOStatus PositionedAppend(const Slice& data, uint64_t offset, const IOOptions& options,
                            const rocksdb::DataVerificationInfo& info,
                            IODebugContext* debug) override {
    if (*full_) return IOStatus::NoSpace("no space is left");
    return FSWritableFileOwnerWrapper::PositionedAppend(data, offset, options, info, debug);
  }

 private:
  Full full_;
};

/// Nothing more can be written while it is full, nor can a file be made.
class FullDisk final : public rocksdb::FileSystemWrapper {
 public:
  explicit FullDisk(Full full)
      : FileSystemWrapper(rocksdb::FileSystem::Default()), full_(std::move(full)) {}
  const char* Name() const override { return "FullDisk"; }

  IOStatus NewWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                           std::unique_ptr<rocksdb::FSWritableFile>* file,
                           IODebugContext* debug) override {
    if (*full_) return IOStatus::NoSpace("no space is left");
    IOStatus made = FileSystemWrapper::NewWritableFile(name, options, file, debug);
    if (made.ok()) *file = std::make_unique<FullFile>(std::move(*file), full_);
    return made;
  }

 private:
  Full full_;
};

struct Disk {
  Full full = std::make_shared<std::atomic<bool>>(false);
  testing::TemporaryDirectory directory;
  std::unique_ptr<rocksdb::Env> env = rocksdb::NewCompositeEnv(std::make_shared<FullDisk>(full));

  std::shared_ptr<CheckpointStore> open() {
    auto store = open_rocksdb_checkpoint_store({directory.path(), 64u << 10, env.get()});
    BOOST_REQUIRE(store.ok());
    return *store;
  }
};

void check(const CheckpointStore& store, uint64_t step) {
  const auto read = store.get({"stage/0", step});
  BOOST_REQUIRE_MESSAGE(read.ok(),
                        "step " << step << ": " << (read.ok() ? "" : to_string(read.error())));
  BOOST_TEST((read->view() == content(step, kSize).view()));
}

Status put(CheckpointStore& store, uint64_t step, uint32_t keep = 3) {
  return store.put({"stage/0", step}, content(step, kSize), keep);
}

BOOST_AUTO_TEST_SUITE(FullDisks)

BOOST_AUTO_TEST_CASE(snapshots_are_stored_again_as_soon_as_there_is_room) {
  Disk disk;
  auto store = disk.open();
  BOOST_TEST(put(*store, 1).ok());
  for (uint64_t step = 2; step < 20; step += 3) {
    *disk.full = true;
    for (int tries = 0; tries < 3; ++tries) BOOST_TEST(put(*store, step).code() == ErrorCode::kIo);
    check(*store, step == 2 ? 1 : step - 1);  // what was there can be read
    *disk.full = false;
    for (uint64_t later = step; later < step + 3; ++later) {
      const Status stored = put(*store, later);
      BOOST_REQUIRE_MESSAGE(stored.ok(), (stored.ok() ? "" : to_string(stored.error())));
      check(*store, later);
    }
  }
}

BOOST_AUTO_TEST_CASE(what_was_acknowledged_outlives_the_process) {
  Disk disk;
  {
    auto store = disk.open();
    BOOST_TEST(put(*store, 1).ok());
    *disk.full = true;
    BOOST_TEST(!put(*store, 2).ok());
    BOOST_TEST(!store->pin("stage/0", 1).ok());
    *disk.full = false;
    BOOST_TEST(store->pin("stage/0", 1).ok());
    BOOST_TEST(put(*store, 3).ok());
  }
  auto store = disk.open();
  check(*store, 1);
  check(*store, 3);
  BOOST_TEST(store->get({"stage/0", 2}).code() == ErrorCode::kNotFound);
}

// RocksDB deleted the table that it could not take in, though its manifest named it already: the database never
// opened again.
BOOST_AUTO_TEST_CASE(an_fsync_of_the_manifest_that_fails_costs_no_more_than_its_put) {
  for (int passing = 0; passing < 6; ++passing) {
    BOOST_TEST_CONTEXT("after " << passing) {
      const auto syncs = std::make_shared<std::atomic<int>>(-1);
      testing::TemporaryDirectory directory;
      const auto env = rocksdb::NewCompositeEnv(std::make_shared<SyncFails>(syncs));
      const auto open = [&] {
        auto store = open_rocksdb_checkpoint_store({directory.path(), 64u << 10, env.get()});
        BOOST_REQUIRE_MESSAGE(store.ok(), (store.ok() ? "" : to_string(store.error())));
        return *store;
      };
      auto store = open();
      BOOST_TEST(put(*store, 1, 9).ok());
      *syncs = passing;
      const bool stored = put(*store, 2, 9).ok();
      if (passing % 2 == 0) {  // else the process ends now
        *syncs = -1;
        (void)put(*store, 3, 9);
        BOOST_TEST(put(*store, 4, 9).ok());
        check(*store, 4);
      }
      *syncs = -1;
      store.reset();
      store = open();
      check(*store, 1);
      if (stored) check(*store, 2);
      BOOST_TEST(put(*store, 5, 9).ok());
      check(*store, 5);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace swarm::storage
