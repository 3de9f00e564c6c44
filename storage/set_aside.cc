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

}  // namespace swarm::storage
