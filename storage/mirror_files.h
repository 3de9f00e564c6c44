/// The files of a mirror: copies of a run's snapshots in a folder that outlives its machines
/// (docs/checkpoint_format.md). Names only; no RocksDB.
#pragma once

#include <fmt/format.h>

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "common/result.h"

namespace swarm::storage {

struct MirrorFile {
  uint64_t step = 0;
  uint32_t stage = 0;
  uint64_t history = 0;  ///< 0: not known.

  friend bool operator==(const MirrorFile& a, const MirrorFile& b) {
    return std::tie(a.step, a.stage, a.history) == std::tie(b.step, b.stage, b.history);
  }
};

/// Where the run's files are. `mirror`: [checkpoint] mirror.
inline std::string mirror_folder(const std::string& mirror, const std::string& run_id) {
  return mirror + "/" + run_id;
}

/// "step-000000000120.stage-2.00a1b2c3d4e5f607.snapshot"
inline std::string mirror_name(const MirrorFile& file) {
  return fmt::format("step-{:012}.stage-{}.{:016x}.snapshot", file.step, file.stage, file.history);
}

/// Exactly what mirror_name() writes; nothing for other texts.
inline std::optional<MirrorFile> parse_mirror_name(const std::string& name) {
  MirrorFile file;
  const int read = std::sscanf(name.c_str(), "step-%" SCNu64 ".stage-%" SCNu32 ".%" SCNx64 ".",
                               &file.step, &file.stage, &file.history);
  if (read != 3 || mirror_name(file) != name) return std::nullopt;
  return file;
}

/// What is complete in `folder`; a folder that is not there has none. Errors: kIo.
inline Result<std::vector<MirrorFile>> list_mirror(const std::string& folder) {
  std::vector<MirrorFile> files;
  std::error_code error;
  std::filesystem::directory_iterator entry(folder, error), end;
  if (error == std::errc::no_such_file_or_directory) return files;
  for (; !error && entry != end; entry.increment(error))
    if (const auto file = parse_mirror_name(entry->path().filename().string()))
      files.push_back(*file);
  if (error) return Error{ErrorCode::kIo, "cannot list " + folder + ": " + error.message()};
  return files;
}

/// The run's. A mirror that is not there is an error: it may be mounted later.
inline Result<std::vector<MirrorFile>> list_mirror(const std::string& mirror,
                                                   const std::string& run_id) {
  std::error_code error;
  if (!std::filesystem::is_directory(mirror, error))
    return Error{ErrorCode::kIo, mirror + " is no folder here; is it mounted?"};
  return list_mirror(mirror_folder(mirror, run_id));
}

/// Step and history.
using MirrorPlace = std::pair<uint64_t, uint64_t>;
using MirrorPlaces = std::set<MirrorPlace, std::greater<>>;  ///< Newest first.

/// The steps that are *complete*: the mirror has them of every stage, in one history.
inline MirrorPlaces complete_places(const std::vector<MirrorFile>& files, uint32_t num_stages) {
  std::map<MirrorPlace, std::set<uint32_t>> stages;
  for (const MirrorFile& file : files)
    if (file.stage < num_stages) stages[{file.step, file.history}].insert(file.stage);
  MirrorPlaces complete;
  for (const auto& [place, there] : stages)
    if (there.size() == num_stages) complete.insert(place);
  return complete;
}

}  // namespace swarm::storage
