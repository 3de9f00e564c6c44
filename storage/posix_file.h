/// A descriptor that is closed when it goes, and what makes a file's name durable.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

namespace swarm::storage {

class PosixFile {
 public:
  PosixFile(const std::string& path, int flags)
      : fd_(::open(path.c_str(), flags | O_CLOEXEC, 0644)) {}
  ~PosixFile() {
    if (fd_ >= 0) ::close(fd_);
  }
  PosixFile(const PosixFile&) = delete;
  PosixFile& operator=(const PosixFile&) = delete;

  bool is_open() const { return fd_ >= 0; }
  bool write(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t count = ::write(fd_, bytes.data(), bytes.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return false;
      bytes.remove_prefix(static_cast<size_t>(count));
    }
    return true;
  }
  /// Exactly so many; false also at the end of the file.
  bool read(void* to, size_t bytes) const {
    for (auto* out = static_cast<char*>(to); bytes > 0;) {
      const ssize_t count = ::read(fd_, out, bytes);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return false;
      out += count;
      bytes -= static_cast<size_t>(count);
    }
    return true;
  }
  /// Up to the end of the file.
  bool read(std::string& out) const {
    char block[4096];
    for (;;) {
      const ssize_t count = ::read(fd_, block, sizeof block);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return count == 0;
      out.append(block, static_cast<size_t>(count));
    }
  }
  bool sync() const { return ::fsync(fd_) == 0; }
  /// Some file systems say only now that they could not take what was written.
  bool close() { return ::close(std::exchange(fd_, -1)) == 0; }

 private:
  int fd_;
};

/// A name in a folder is durable when the folder is. Some file systems know no fsync of folders.
inline bool sync_folder_of(const std::string& path) {
  const auto folder = std::filesystem::path(path).parent_path();
  const PosixFile file(folder.empty() ? "." : folder.string(), O_RDONLY | O_DIRECTORY);
  return file.is_open() && (file.sync() || errno == EINVAL);
}

}  // namespace swarm::storage
