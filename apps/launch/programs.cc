#include "apps/launch/programs.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <filesystem>

#include "tensor/core/blas_kernels.h"

namespace swarm::launch {

Result<std::string> own_program() {
  std::array<char, PATH_MAX> path{};
  const ssize_t size = ::readlink("/proc/self/exe", path.data(), path.size());
  if (size <= 0)
    return Error{ErrorCode::kIo, fmt::format("cannot read /proc/self/exe: {}", strerror(errno))};
  std::string own(path.data(), static_cast<size_t>(size));
  const std::string mark = " (deleted)";  // the kernel's, when the file was replaced meanwhile
  if (own.size() > mark.size() && own.compare(own.size() - mark.size(), mark.size(), mark) == 0)
    own.resize(own.size() - mark.size());
  return own;
}

Result<std::string> find_compute_program(const std::string& own_program) {
  const auto folder = std::filesystem::path(own_program).parent_path();
  const auto beside = folder / kComputeProgram;
  const auto installed = folder.parent_path() / "libexec" / "swarm" / kComputeProgram;
  for (const auto& path : {beside, installed})
    if (::access(path.c_str(), X_OK) == 0) return path.string();
  return Error{
      ErrorCode::kNotFound,
      fmt::format("what computes is in a second executable, and there is neither {} nor {}; "
                  "build it with 'cmake --build build/release --target {}' or copy it there",
                  beside.string(), installed.string(), kComputeProgram)};
}

Error become_compute_program(char** argv) {
  const auto own = own_program();
  if (!own) return own.error();
  const auto path = find_compute_program(*own);
  if (!path) return path.error();
  tensor::prefer_better_kernels();
  ::execv(path->c_str(), argv);
  return Error{ErrorCode::kIo, fmt::format("cannot start {}: {}", *path, strerror(errno))};
}

}  // namespace swarm::launch
