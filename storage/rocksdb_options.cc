#include "storage/rocksdb_options.h"

#include <rocksdb/env.h>
#include <rocksdb/table.h>

#include <array>
#include <memory>
#include <string_view>

#include "storage/posix_file.h"

namespace swarm::storage {
namespace {

constexpr size_t kWriteBufferBytes = 4u << 20;  // of manifests

/// RocksDB's own log says nothing that its errors do not, and on a full disk its writer ends the process
/// (an assert of Debian's 7.8).
class NoLog final : public rocksdb::Logger {
 public:
  using rocksdb::Logger::Logv;
  void Logv(const char*, va_list) override {}
};

/// Some file systems refuse such files when they are opened, some when they are written.
bool takes_direct_writes(const std::string& directory) {
  constexpr size_t kBlock = 4096;
  alignas(kBlock) static constexpr std::array<char, kBlock> kNothing{};
  const std::string path = directory + "/direct_writes.probe";
  errno = 0;
  bool takes = false;
  {
    const PosixFile file(path, O_WRONLY | O_CREAT | O_TRUNC | O_DIRECT);
    takes = file.is_open() &&
            (file.write(std::string_view(kNothing.data(), kBlock)) || errno != EINVAL);
  }
  ::unlink(path.c_str());
  return takes;
}

}  // namespace

rocksdb::Options rocksdb_options(const std::string& directory) {
  rocksdb::Options options;
  options.create_if_missing = true;
  options.write_buffer_size = kWriteBufferBytes;
  options.compression = rocksdb::kNoCompression;  // floats do not compress
  options.bytes_per_sync = 4u << 20;              // so that the final fsync has little left to do
  options.use_direct_io_for_flush_and_compaction = takes_direct_writes(directory);
  options.max_background_jobs = 2;
  options.max_open_files = 128;
  options.max_manifest_file_size = 1u << 20;
  options.info_log = std::make_shared<NoLog>();
  options.stats_dump_period_sec = 0;
  options.stats_persist_period_sec = 0;
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = nullptr;
  table.no_block_cache = true;  // a snapshot is read once
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return options;
}

}  // namespace swarm::storage
