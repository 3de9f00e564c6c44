#include "records/durable.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace swarm::records {

Status sync_to_disk(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  // Some file systems know no fsync of folders.
  const bool there = fd >= 0 && (::fsync(fd) == 0 || errno == EINVAL);
  const int why = errno;
  if (fd >= 0) ::close(fd);
  if (there) return {};
  return Error{ErrorCode::kIo, "cannot write " + path + ": " + std::strerror(why)};
}

Result<uint64_t> whole_lines_bytes(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return Error{errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo,
                 "cannot open " + path + ": " + std::strerror(errno)};
  off_t keep = ::lseek(fd, 0, SEEK_END);
  for (char c = 0; keep > 0 && ::pread(fd, &c, 1, keep - 1) == 1 && c != '\n';) --keep;
  ::close(fd);
  return static_cast<uint64_t>(keep);
}

}  // namespace swarm::records
