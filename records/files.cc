#include "records/files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>

namespace swarm::records {
namespace {

Error io(const std::string& what) { return {ErrorCode::kIo, what + ": " + std::strerror(errno)}; }

Status write_all(int fd, const std::string& content, const std::string& path) {
  size_t written = 0;
  while (written < content.size()) {
    const ssize_t count = ::write(fd, content.data() + written, content.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return io("cannot write " + path);
    written += static_cast<size_t>(count);
  }
  return {};
}

}  // namespace

double unix_now_s() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<double>(std::chrono::duration_cast<std::chrono::microseconds>(now).count()) /
         1e6;
}

Result<std::string> read_file(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream)
    return Error{errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo,
                 "cannot open " + path + ": " + std::strerror(errno)};
  std::string content(std::istreambuf_iterator<char>(stream), {});
  if (stream.bad()) return Error{ErrorCode::kIo, "cannot read " + path};
  return content;
}

Status write_atomically(const std::string& path, const std::string& content) {
  const std::string temporary = path + ".new";
  const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return io("cannot open " + temporary);
  Status done = write_all(fd, content, temporary);
  ::close(fd);
  if (done && std::rename(temporary.c_str(), path.c_str()) != 0) return io("cannot write " + path);
  return done;
}

Status write_atomically(const std::string& path, const std::function<void(std::ostream&)>& write) {
  const std::string temporary = path + ".new";
  std::ofstream stream(temporary, std::ios::binary);
  write(stream);
  stream.close();
  if (!stream || std::rename(temporary.c_str(), path.c_str()) != 0)
    return Error{ErrorCode::kIo, "cannot write " + path};
  return {};
}

Status append_line(const std::string& path, const std::string& line) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd < 0) return io("cannot open " + path);
  const off_t end = ::lseek(fd, 0, SEEK_END);
  Status done = write_all(fd, line + "\n", path);
  if (!done && end >= 0) static_cast<void>(!::ftruncate(fd, end));  // no half line stays
  ::close(fd);
  return done;
}

Status drop_torn_end(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return errno == ENOENT ? Status() : Status(io("cannot open " + path));
  const off_t end = ::lseek(fd, 0, SEEK_END);
  off_t keep = end;
  for (char c = 0; keep > 0 && ::pread(fd, &c, 1, keep - 1) == 1 && c != '\n';) --keep;
  Status done;
  if (keep < end && ::ftruncate(fd, keep) != 0) done = io("cannot shorten " + path);
  ::close(fd);
  return done;
}

}  // namespace swarm::records
