#include "storage/rocksdb_files.h"

#include <string>
#include <string_view>
#include <utility>

namespace swarm::storage {
namespace {

thread_local bool ingests = false;

class TableKeepingFiles final : public rocksdb::FileSystemWrapper {
 public:
  explicit TableKeepingFiles(std::shared_ptr<rocksdb::FileSystem> base)
      : FileSystemWrapper(std::move(base)) {}
  const char* Name() const override { return "TableKeepingFiles"; }

  rocksdb::IOStatus LinkFile(const std::string& from, const std::string& to,
                             const rocksdb::IOOptions& options,
                             rocksdb::IODebugContext* debug) override {
    return ingests ? FileSystemWrapper::RenameFile(from, to, options, debug)
                   : FileSystemWrapper::LinkFile(from, to, options, debug);
  }
  rocksdb::IOStatus DeleteFile(const std::string& name, const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* debug) override {
    constexpr std::string_view kTable = ".sst";
    const bool table = name.size() > kTable.size() &&
                       name.compare(name.size() - kTable.size(), kTable.size(), kTable) == 0;
    if (ingests && table) return rocksdb::IOStatus::OK();
    return FileSystemWrapper::DeleteFile(name, options, debug);
  }
};

}  // namespace

std::shared_ptr<rocksdb::FileSystem> table_keeping_files(
    std::shared_ptr<rocksdb::FileSystem> base) {
  return std::make_shared<TableKeepingFiles>(std::move(base));
}

IngestGuard::IngestGuard() { ingests = true; }
IngestGuard::~IngestGuard() { ingests = false; }

}  // namespace swarm::storage
