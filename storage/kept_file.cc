#include "storage/kept_file.h"

#include <fcntl.h>
#include <unistd.h>
#include <xxhash.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string_view>

namespace swarm::storage {
namespace {

constexpr std::string_view kMagic = "SWKEPT01";
constexpr size_t kDigestBytes = 8;

Error io(const std::string& what) { return {ErrorCode::kIo, what + ": " + std::strerror(errno)}; }

std::string digest_of(std::string_view bytes) {
  const uint64_t digest = XXH64(bytes.data(), bytes.size(), 0);
  std::string out;
  for (size_t i = 0; i < kDigestBytes; ++i) out += static_cast<char>(digest >> (8 * i));
  return out;
}

/// A descriptor that is closed when it goes.
class File {
 public:
  File(const std::string& path, int flags) : fd_(::open(path.c_str(), flags | O_CLOEXEC, 0644)) {}
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

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

 private:
  int fd_;
};

/// A name in a folder is durable when the folder is. Some file systems know no fsync of folders.
bool sync_folder_of(const std::string& path) {
  const auto folder = std::filesystem::path(path).parent_path();
  const File file(folder.empty() ? "." : folder.string(), O_RDONLY | O_DIRECTORY);
  return file.is_open() && (file.sync() || errno == EINVAL);
}

}  // namespace

Status write_kept(const std::string& path, const std::string& record) {
  const std::string beside = path + ".new";
  const std::string body = std::string(kMagic) + record;
  {
    const File file(beside, O_WRONLY | O_CREAT | O_TRUNC);
    if (!file.is_open()) return io("cannot open " + beside);
    if (!file.write(body + digest_of(body)) || !file.sync()) return io("cannot write " + beside);
  }
  if (std::rename(beside.c_str(), path.c_str()) != 0) return io("cannot write " + path);
  if (!sync_folder_of(path)) return io("cannot write the folder of " + path);
  return {};
}

Result<std::string> read_kept(const std::string& path) {
  std::string bytes;
  const File file(path, O_RDONLY);
  if (!file.is_open() && errno == ENOENT) return Error{ErrorCode::kNotFound, "there is no " + path};
  if (!file.is_open() || !file.read(bytes)) return io("cannot read " + path);
  const bool whole = bytes.size() >= kMagic.size() + kDigestBytes;
  const std::string_view body =
      whole ? std::string_view(bytes).substr(0, bytes.size() - kDigestBytes) : std::string_view();
  if (!whole || body.substr(0, kMagic.size()) != kMagic ||
      bytes.substr(body.size()) != digest_of(body))
    return Error{ErrorCode::kCorruptCheckpoint, path + " is not what was written"};
  return std::string(body.substr(kMagic.size()));
}

}  // namespace swarm::storage
