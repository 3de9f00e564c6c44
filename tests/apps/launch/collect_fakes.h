/// A node in memory, a store, a folder and a run's records, for tests of collecting.
#pragma once

#include <xxhash.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "apps/launch/node_source.h"
#include "common/ids.h"
#include "records/files.h"
#include "storage/checkpoint_store.h"

namespace swarm::launch {

namespace fs = std::filesystem;

inline uint64_t digest(const std::string& text) { return XXH64(text.data(), text.size(), 0); }

/// A node in memory that can go silent.
struct FakeNode : NodeSource {
  std::string name = "m1";
  std::map<std::string, std::string> files;
  std::string snapshot;
  std::map<uint32_t, std::vector<uint64_t>> steps;  ///< By stage.
  std::optional<Error> no_snapshot;                 ///< What its store says.
  int answers = 1'000'000;                          ///< Then its link is lost.
  uint64_t given = 0;
  size_t part = 10;

  Result<Buffer> give(const std::string& from, uint64_t offset) {
    if (answers-- <= 0) return Error{ErrorCode::kLinkLost, "gone"};
    const std::string bytes = offset < from.size() ? from.substr(offset, part) : "";
    given += bytes.size();
    return Buffer::from_string(bytes);
  }
  Result<Buffer> read_file(const std::string& name, uint64_t offset) override {
    return give(files.at(name), offset);
  }
  Result<SnapshotPart> read_snapshot(const HeldSnapshot&, uint64_t offset) override {
    if (no_snapshot) return *no_snapshot;
    auto bytes = give(snapshot, offset);
    if (!bytes) return bytes.error();
    return SnapshotPart{snapshot.size(), digest(snapshot), *bytes};
  }
  Holdings holdings() const {
    Holdings out{"three-1", name, 2, {}, {}, {}};
    for (const auto& [stage, all] : steps)
      for (const uint64_t step : all) out.snapshots.push_back({stage, step});
    for (const auto& [file, text] : files) out.files.push_back({file, text.size(), digest(text)});
    return out;
  }
};

/// Keeps everything; what it was given can be looked at.
struct MemoryStore : storage::CheckpointStore {
  std::map<std::pair<std::string, uint64_t>, std::string> values;
  Status put(const storage::CheckpointKey& key, const Buffer& value, uint32_t keep) override {
    return put_or_replace(key, value, keep);
  }
  Status put_or_replace(const storage::CheckpointKey& key, const Buffer& value, uint32_t) override {
    values[{key.stream, key.step}] = std::string(value.view());
    return {};
  }
  Result<Buffer> get(const storage::CheckpointKey& key) const override {
    const auto it = values.find({key.stream, key.step});
    if (it == values.end()) return Error{ErrorCode::kNotFound, "none"};
    return Buffer::from_string(it->second);
  }
  Result<std::vector<uint64_t>> steps(const std::string& stream) const override {
    std::vector<uint64_t> out;
    for (const auto& one : values)
      if (one.first.first == stream) out.push_back(one.first.second);
    return out;
  }
  Status drop_newer(const std::string&, uint64_t) override { return {}; }
  Status pin(const std::string&, uint64_t) override { return {}; }
  Status set_aside(const std::vector<storage::CheckpointKey>&, const std::string&,
                   const std::vector<storage::CheckpointKey>&) override {
    return {};
  }
  Status keep_aside(const std::vector<storage::CheckpointKey>&) override { return {}; }
  Status drop_before(const std::vector<std::string>&) override { return {}; }
  Result<std::vector<std::string>> streams() const override {
    std::vector<std::string> out;
    for (const auto& one : values)
      if (out.empty() || out.back() != one.first.first) out.push_back(one.first.first);
    return out;
  }
};

struct Folder {
  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
  std::string path = fs::temp_directory_path() / ("collect-" + NodeId::random().hex());

  std::string read(const std::string& name) const {
    return records::read_file(path + "/" + name).value();
  }
  void write(const std::string& name, const std::string& text) const {
    fs::create_directories(fs::path(path + "/" + name).parent_path());
    std::ofstream(path + "/" + name, std::ios::binary) << text;
  }
  bool has(const std::string& name) const { return fs::exists(path + "/" + name); }
};

inline const char* const kFile = R"([run]
name = "three"
id = "three-1"
[pipeline]
stages = 2
[data]
train = ["none"]
[training]
steps = 2
[[nodes]]
name = "m1"
trainer = true
[[nodes]]
name = "m2"
stages = [0]
[[nodes]]
name = "m3"
stages = [1]
)";

inline std::string metrics(uint64_t step, double time_s, double loss) {
  return "{\"step\": " + std::to_string(step) + ", \"time\": " + std::to_string(time_s) +
         ", \"train_loss\": " + std::to_string(loss) + ", \"tokens\": 100}\n";
}
inline std::string event(const char* node, double time_s, const char* name) {
  return std::string("{\"time\": ") + std::to_string(time_s) + ", \"node\": \"" + node +
         "\", \"event\": \"" + name + "\", \"level\": \"info\"}\n";
}

}  // namespace swarm::launch
