#include "apps/launch/key_file.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "records/files.h"

namespace swarm::launch {
namespace {

constexpr size_t kKeyBytes = 32;

Error io(const std::string& what) { return {ErrorCode::kIo, what + ": " + std::strerror(errno)}; }

/// Of a lower-case hex digit; -1 for other characters.
int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/// `text` on the disk, readable by this user only, under a name that nobody else uses.
Result<std::string> write_privately(const std::string& path, const std::string& text) {
  std::string draft = path + ".XXXXXX";
  const int fd = ::mkstemp(draft.data());  // mode 600
  if (fd < 0) return io("cannot write beside " + path);
  const bool written = ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
                       ::fsync(fd) == 0;
  const Error failed = io("cannot write " + draft);
  ::close(fd);
  if (written) return draft;
  ::unlink(draft.c_str());
  return failed;
}

/// For file systems without hard links.
Status create_key_file(const std::string& path, const std::string& text) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0 && errno == EEXIST)
    return Error{ErrorCode::kAlreadyExists, path + " is there already"};
  if (fd < 0) return io("cannot make " + path);
  const bool written = ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
                       ::fsync(fd) == 0;
  const Error failed = io("cannot write " + path);
  ::close(fd);
  if (written) return {};
  ::unlink(path.c_str());
  return failed;
}

}  // namespace

Result<std::string> read_key_file(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) {
    if (errno == ENOENT) return Error{ErrorCode::kNotFound, "there is no key's file " + path};
    return io("cannot read " + path);
  }
  if (S_ISDIR(info.st_mode))
    return Error{ErrorCode::kInvalidArgument,
                 path + " is a folder: name the file in it that holds the run's key"};
  if ((info.st_mode & 077) != 0)
    return Error{ErrorCode::kInvalidArgument,
                 path + ": others may read the run's key; chmod 600 " + path};
  const auto text = records::read_file(path);
  if (!text) return text.error();
  std::string digits = *text;
  while (!digits.empty() && (digits.back() == '\n' || digits.back() == '\r')) digits.pop_back();
  std::string key;
  for (size_t i = 0; i + 1 < digits.size(); i += 2) {
    const int high = digit(digits[i]), low = digit(digits[i + 1]);
    if (high < 0 || low < 0) break;
    key += static_cast<char>(high * 16 + low);
  }
  if (digits.size() == 2 * kKeyBytes && key.size() == kKeyBytes) return key;
  return Error{ErrorCode::kInvalidArgument,
               path + ": expected a run's key, 64 hex digits; `swarm key FILE` makes one"};
}

Status make_key_file(const std::string& path, MakeLink make_link) {
  std::error_code error;
  const auto folder = std::filesystem::path(path).parent_path();
  if (!folder.empty()) std::filesystem::create_directories(folder, error);
  if (error)
    return Error{ErrorCode::kIo, "cannot make " + folder.string() + ": " + error.message()};
  std::array<unsigned char, kKeyBytes> key{};
  if (::getrandom(key.data(), key.size(), 0) != static_cast<ssize_t>(key.size()))
    return io("no randomness for a key");
  std::string text;
  for (const unsigned char byte : key) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  const auto draft = write_privately(path, text + "\n");
  if (!draft) return draft.error();
  const bool made = make_link(draft->c_str(), path.c_str()) == 0;  // never over another
  const int why = errno;
  ::unlink(draft->c_str());
  if (made) return {};
  if (why == EPERM || why == ENOTSUP || why == ENOSYS) return create_key_file(path, text + "\n");
  if (why == EEXIST) return Error{ErrorCode::kAlreadyExists, path + " is there already"};
  return Error{ErrorCode::kIo, "cannot make " + path + ": " + std::strerror(why)};
}

Result<UsedKey> find_key(const KeyUse& use, MakeLink make_link) {
  auto key = read_key_file(use.path);
  if (!key && key.code() == ErrorCode::kNotFound && use.makes) {
    const auto made = make_key_file(use.path, make_link);
    key = made || made.code() == ErrorCode::kAlreadyExists ? read_key_file(use.path)
                                                           : Result<std::string>(made.error());
  }
  if (key) return UsedKey{std::move(*key), {}};
  if (use.given || use.needed) return key.error();
  if (key.code() == ErrorCode::kNotFound) return UsedKey{};
  return UsedKey{{},
                 "goes on without the run's key, so it is not told what to do from afar, nor "
                 "collected: " +
                     key.error().detail};
}

}  // namespace swarm::launch
