#include "storage/set_aside.h"

#include <filesystem>

namespace swarm::storage {

Result<std::string> set_aside(const std::string& path, const std::string& time) {
  const std::string to = path + ".damaged-" + time;
  std::error_code error;
  std::string free = to;
  for (int i = 2; std::filesystem::exists(free, error); ++i) free = to + "-" + std::to_string(i);
  std::filesystem::rename(path, free, error);
  if (error) return Error{ErrorCode::kIo, "cannot rename " + path + ": " + error.message()};
  return free;
}

bool beheaded(const std::string& directory) {
  std::error_code error;
  if (std::filesystem::exists(directory + "/CURRENT", error)) return false;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    const std::string name = entry.path().filename();
    if (name.rfind("MANIFEST-", 0) == 0 || entry.path().extension() == ".sst" ||
        entry.path().extension() == ".blob")
      return true;
  }
  return false;
}

}  // namespace swarm::storage
