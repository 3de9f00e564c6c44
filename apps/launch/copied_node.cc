#include "apps/launch/copied_node.h"

#include <xxhash.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "common/names.h"
#include "config/experiment.h"
#include "records/files.h"
#include "records/node_files.h"
#include "storage/file_digest.h"

namespace swarm::launch {
namespace {

constexpr const char* kDatabase = "db";  // docs/run_folder.md
constexpr uint32_t kMostStages = 4'096;

}  // namespace

CopiedNode::CopiedNode(std::string folder, const OpenStore& open) : folder_(std::move(folder)) {
  std::error_code error;
  if (!std::filesystem::is_directory(folder_ + "/" + kDatabase, error)) return;
  auto store = open(folder_);
  if (store)
    store_ = *store;
  else
    no_store_ = store.error().detail;
}

Holdings CopiedNode::identify() const {
  Holdings out;
  out.node_name = std::filesystem::path(folder_).filename().string();
  const auto text = records::read_file(folder_ + "/config.toml");
  const auto loaded =
      text ? config::parse_experiment(*text, folder_ + "/config.toml") : config::ExperimentResult{};
  if (loaded.ok()) {
    out.run_id = loaded.experiment->run.id;
    out.num_stages = static_cast<uint32_t>(loaded.experiment->base.num_stages);
  }
  if (!no_store_.empty()) out.unreadable.push_back(std::string(kDatabase) + ": " + no_store_);
  if (store_) add_snapshots(out);
  return out;
}

void CopiedNode::add_snapshots(Holdings& to) const {
  const auto streams = store_->streams();
  if (!streams) return to.unreadable.push_back(kDatabase + (": " + streams.error().detail));
  for (uint32_t stage = 0; stage < kMostStages; ++stage) {
    if (std::find(streams->begin(), streams->end(), stage_key(stage)) == streams->end()) continue;
    const auto steps = store_->steps(stage_key(stage));
    if (!steps) return to.unreadable.push_back(kDatabase + (": " + steps.error().detail));
    for (const uint64_t step : *steps) to.snapshots.push_back({stage, step});
  }
}

Holdings CopiedNode::list() const {
  Holdings out = identify();
  for (const auto& file : records::node_files_in(folder_)) {
    const std::string path = folder_ + "/" + file;
    std::error_code error;
    const auto bytes = std::filesystem::file_size(path, error);
    if (error == std::errc::no_such_file_or_directory) continue;
    const auto digest = error ? std::nullopt : storage::file_digest(path, bytes);
    if (digest)
      out.files.push_back({file, bytes, *digest});
    else
      out.unreadable.push_back("cannot read " + path);
  }
  return out;
}

Result<Buffer> CopiedNode::read_file(const std::string& name, uint64_t offset) {
  const std::string path = folder_ + "/" + name;
  std::ifstream file(path, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(offset));
  std::string part(kMostPart, '\0');
  file.read(part.data(), static_cast<std::streamsize>(part.size()));
  if (file.bad() || (file.gcount() == 0 && !file.eof()))
    return Error{ErrorCode::kIo, "cannot read " + path};
  part.resize(static_cast<size_t>(file.gcount()));
  return Buffer::from_string(std::move(part));
}

Result<SnapshotPart> CopiedNode::read_snapshot(const HeldSnapshot& which, uint64_t offset) {
  if (!store_) return Error{ErrorCode::kNotFound, folder_ + " has no database"};
  if (!open_ || open_->which.stage != which.stage || open_->which.step != which.step) {
    auto bytes = store_->get({stage_key(which.stage), which.step});
    if (!bytes) return bytes.error();
    open_ = Open{which, *bytes, XXH64(bytes->data(), bytes->size(), 0)};
  }
  const Buffer& bytes = open_->bytes;
  const auto at = static_cast<size_t>(std::min<uint64_t>(offset, bytes.size()));
  return SnapshotPart{bytes.size(), open_->digest,
                      bytes.slice(at, std::min<size_t>(kMostPart, bytes.size() - at))};
}

}  // namespace swarm::launch
