#include "storage/kept_file.h"

#include <fcntl.h>
#include <xxhash.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "storage/posix_file.h"

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

}  // namespace

Status write_kept(const std::string& path, const std::string& record) {
  const std::string beside = path + ".new";
  const std::string body = std::string(kMagic) + record;
  {
    const PosixFile file(beside, O_WRONLY | O_CREAT | O_TRUNC);
    if (!file.is_open()) return io("cannot open " + beside);
    if (!file.write(body + digest_of(body)) || !file.sync()) return io("cannot write " + beside);
  }
  if (std::rename(beside.c_str(), path.c_str()) != 0) return io("cannot write " + path);
  if (!sync_folder_of(path)) return io("cannot write the folder of " + path);
  return {};
}

Result<std::string> read_kept(const std::string& path) {
  std::string bytes;
  const PosixFile file(path, O_RDONLY);
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
