#include "apps/launch/line_tail.h"

#include <fcntl.h>
#include <unistd.h>

namespace swarm::launch {

std::vector<std::string> LineSplitter::feed(const char* data, size_t size) {
  std::vector<std::string> lines;
  for (size_t i = 0; i < size; ++i) {
    if (data[i] == '\n') {
      if (!rest_.empty() && !skipping_) lines.push_back(std::move(rest_));
      rest_.clear();
      skipping_ = false;
    } else if (!skipping_) {
      rest_ += data[i];
      skipping_ = rest_.size() > max_line_;
    }
  }
  return lines;
}

std::vector<std::string> LineTail::poll() {
  std::vector<std::string> lines;
  const int fd = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return lines;
  char buffer[1 << 16];
  while (true) {
    const ssize_t count = ::pread(fd, buffer, sizeof buffer, static_cast<off_t>(offset_));
    if (count <= 0) break;
    offset_ += static_cast<uint64_t>(count);
    for (auto& line : splitter_.feed(buffer, static_cast<size_t>(count)))
      lines.push_back(std::move(line));
  }
  ::close(fd);
  return lines;
}

}  // namespace swarm::launch
