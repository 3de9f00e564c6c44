#include "storage/stores.h"

#include <filesystem>
#include <vector>

#include "common/check.h"
#include "storage/set_aside.h"

namespace swarm::storage {
namespace {

// By StoreKind, in the order of store_names().
const std::vector<StoreInfo>& rows() {
  static const std::vector<StoreInfo> all = {
      {"db", open_rocksdb_checkpoint_store},
  };
  return all;
}

CheckpointStoreOptions options_in(const std::string& node_folder, const StoreInfo& row) {
  CheckpointStoreOptions options;
  options.directory = node_folder + "/" + row.folder;
  return options;
}

}  // namespace

Result<std::shared_ptr<CheckpointStore>> open_store(StoreKind kind,
                                                    const std::string& node_folder) {
  const auto row = static_cast<size_t>(kind);
  SWARM_CHECK(row < rows().size());
  return rows()[row].open(options_in(node_folder, rows()[row]));
}

Result<std::string> set_store_aside(StoreKind kind, const std::string& node_folder,
                                    const std::string& time) {
  const auto row = static_cast<size_t>(kind);
  SWARM_CHECK(row < rows().size());
  return set_aside(options_in(node_folder, rows()[row]).directory, time);
}

Result<std::shared_ptr<CheckpointStore>> find_store(const std::string& node_folder) {
  for (const StoreInfo& row : rows()) {
    const auto options = options_in(node_folder, row);
    std::error_code error;
    if (std::filesystem::is_directory(options.directory, error)) return row.open(options);
  }
  return Error{ErrorCode::kNotFound, "no snapshots in " + node_folder};
}

}  // namespace swarm::storage
