#include "records/node_files.h"

#include <algorithm>
#include <filesystem>

#include "records/segments.h"

namespace swarm::records {
namespace {

constexpr NodeFile kPiece{"", false, true};

}  // namespace

const NodeFile* find_node_file(std::string_view name) {
  for (const auto& file : kNodeFiles) {
    if (name == file.name) return &file;
    if (file.grows && segment_of(file.name, name)) return &kPiece;
  }
  return nullptr;
}

std::vector<std::string> node_files_in(const std::string& folder) {
  std::vector<std::string> out;
  for (const auto& file : kNodeFiles) {
    if (file.grows)
      for (const auto& piece : segments_of(folder + "/" + file.name))
        out.push_back(std::filesystem::path(piece.path).filename().string());
    out.emplace_back(file.name);
  }
  return out;
}

}  // namespace swarm::records
