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

Status put(CheckpointStore& store, uint64_t step) {
  return store.put({"stage/0", step}, content(step, kSize), 3);
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

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace swarm::storage
