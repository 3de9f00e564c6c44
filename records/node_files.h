/// The files of a node's folder that belong to the run's records (docs/run_folder.md): what leaves
/// the node when the run is collected. No other name is asked for or given.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace swarm::records {

struct NodeFile {
  const char* name;
  bool grows;          ///< By whole lines; the others are replaced as a whole.
  bool piece = false;  ///< Of one that grows (records/segments.h): it stays as it is.
};

inline constexpr std::array<NodeFile, 8> kNodeFiles{{
    {"config.toml", false},
    {"node.json", false},
    {"text.json", false},
    {"events.jsonl", true},
    {"metrics.jsonl", true},
    {"audit.jsonl", true},
    {"log.txt", true},
    {"audit-folded.jsonl", false},  ///< After the pieces: it stands for those that go meanwhile.
}};

/// Between a file's name and a digest, of lines that were collected before its node began it anew.
inline constexpr const char* kKeptMark = ".kept-";

/// Null for other names; pieces of those that grow are found without a name of their own.
const NodeFile* find_node_file(std::string_view name);

/// Names of what may be in `folder`: all of the above, and the pieces that are there.
std::vector<std::string> node_files_in(const std::string& folder);

}  // namespace swarm::records
