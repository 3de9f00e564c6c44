#include "apps/launch/full_disk.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "apps/launch/programs.h"

namespace swarm::launch {
namespace {

constexpr const char* kLibrary = "libswarm-full-disk.so";

}  // namespace

Status can_preload(const std::string& library) {
  if (library.find_first_of(" :\t\n") != std::string::npos)
    return Error{ErrorCode::kInvalidArgument,
                 "full disks need a program whose path has no blank and no colon: " + library};
  void* loaded = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (loaded == nullptr) return Error{ErrorCode::kInvalidArgument, ::dlerror()};
  ::dlclose(loaded);
  return {};
}

Result<std::vector<std::string>> full_disk_prefix(const std::string& node_folder) {
  const auto own = own_program();
  if (!own) return own.error();
  std::error_code failed;
  const auto folder = std::filesystem::canonical(node_folder, failed);
  if (failed) return Error{ErrorCode::kIo, node_folder + ": " + failed.message()};
  const auto library = std::filesystem::path(*own).parent_path() / kLibrary;
  if (!std::filesystem::exists(library, failed))
    return Error{ErrorCode::kNotFound,
                 fmt::format("full disks need {}; build it with 'cmake --build build/release "
                             "--target swarm-full-disk' or copy it there",
                             library.string())};
  if (const Status may = can_preload(library.string()); !may) return may.error();
  return std::vector<std::string>{"/usr/bin/env", "LD_PRELOAD=" + library.string(),
                                  "SWARM_FULL_DISK=" + folder.string()};
}

Status set_disk_full(const std::string& node_folder, bool full) {
  const std::string mark = node_folder + "/disk_full";
  std::error_code failed;
  if (!full) std::filesystem::remove(mark, failed);
  if (!failed && (!full || std::ofstream(mark))) return {};
  return Error{ErrorCode::kIo, "cannot change " + mark};
}

}  // namespace swarm::launch
