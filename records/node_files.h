/// The files of a node's folder that belong to the run's records (docs/run_folder.md): what leaves
/// the node when the run is collected. No other name is asked for or given.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace swarm::records {

struct NodeFile {
  const char* name;
  bool grows;  ///< By whole lines; the others are replaced as a whole.
};

inline constexpr std::array<NodeFile, 7> kNodeFiles{{
    {"config.toml", false},
    {"node.json", false},
    {"text.json", false},
    {"events.jsonl", true},
    {"metrics.jsonl", true},
    {"audit.jsonl", true},
    {"log.txt", true},
}};

/// Between a file's name and a digest, of lines that were collected before its node began it anew.
inline constexpr const char* kKeptMark = ".kept-";

/// Null for other names.
inline const NodeFile* find_node_file(std::string_view name) {
  const auto it = std::find_if(kNodeFiles.begin(), kNodeFiles.end(),
                               [&](const NodeFile& file) { return name == file.name; });
  return it == kNodeFiles.end() ? nullptr : &*it;
}

}  // namespace swarm::records
