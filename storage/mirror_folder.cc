#include "storage/mirror_folder.h"

#include <fcntl.h>
#include <xxhash.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <new>
#include <string_view>
#include <utility>

#include "storage/posix_file.h"

namespace swarm::storage {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMagic = "SWMIRR01";
constexpr std::string_view kPart = ".part-";
constexpr size_t kTextBytes = 64;  ///< Of run id and fingerprint; zeros behind.
constexpr size_t kHeadBytes = 8 + 2 * kTextBytes + 6 * 8;
/// A part that was not written to for so long has no writer any more. Clocks of machines differ.
constexpr std::chrono::minutes kAbandoned{10};

Error io(const std::string& what) { return {ErrorCode::kIo, what + ": " + std::strerror(errno)}; }

std::string little_endian(uint64_t word) {
  std::string out;
  for (size_t i = 0; i < 8; ++i) out += static_cast<char>(word >> (8 * i));
  return out;
}
std::string padded(std::string text) {
  text.resize(kTextBytes);
  return text;
}

bool abandoned(const fs::path& part) {
  std::error_code error;
  const auto written = fs::last_write_time(part, error);
  const auto age = fs::file_time_type::clock::now() - written;
  return error || age > kAbandoned || age < -kAbandoned;
}

}  // namespace

MirrorFolder::MirrorFolder(MirrorOptions options)
    : options_(std::move(options)), folder_(mirror_folder(options_.mirror, options_.run_id)) {}

Result<std::vector<MirrorFile>> MirrorFolder::list() const {
  return list_mirror(options_.mirror, options_.run_id);
}

std::string MirrorFolder::part_of(const MirrorFile& file) const {
  return path_of(file) + std::string(kPart) + options_.node;
}

/// `before_us`: only those that go first when several have begun in one moment.
bool MirrorFolder::others_write(const MirrorFile& file, bool before_us) const {
  const std::string prefix = mirror_name(file) + std::string(kPart);
  std::error_code error;
  fs::directory_iterator entry(folder_, error), end;
  for (; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.compare(0, prefix.size(), prefix) != 0) continue;
    const std::string node = name.substr(prefix.size());
    const bool counts = before_us ? node < options_.node : node != options_.node;
    if (counts && !abandoned(entry->path())) return true;
  }
  return false;
}

std::string MirrorFolder::head(const MirrorFile& file, uint64_t bytes, uint64_t digest) const {
  std::string out = std::string(kMagic) + padded(options_.run_id) + padded(options_.fingerprint);
  for (const uint64_t word : {uint64_t{file.stage}, file.step, file.history, bytes, digest})
    out += little_endian(word);
  return out + little_endian(XXH64(out.data(), out.size(), 0));
}

Status MirrorFolder::write(const MirrorFile& file, const Buffer& state) const {
  std::error_code error;
  if (!fs::is_directory(options_.mirror, error))
    return Error{ErrorCode::kIo, options_.mirror + " is no folder here; is it mounted?"};
  fs::create_directory(folder_, error);
  if (error) return Error{ErrorCode::kIo, "cannot make " + folder_ + ": " + error.message()};
  const std::string path = path_of(file), part = part_of(file);
  if (fs::exists(path, error)) return Error{ErrorCode::kAlreadyExists, path + " is there"};
  const Error busy{ErrorCode::kOverloaded, "another node is writing " + path};
  if (others_write(file, /*before_us=*/false)) return busy;
  const std::string first =
      head(file, state.size(), XXH64(state.data(), state.size(), 0));  // before others see a part
  Status written = write_part(part, first, {});
  if (written && others_write(file, /*before_us=*/true)) written = busy;
  if (written) written = write_part(part, first, state);
  if (written && std::rename(part.c_str(), path.c_str()) != 0) written = io("cannot write " + path);
  if (!written) {
    fs::remove(part, error);
    return written;
  }
  if (!sync_folder_of(path)) return io("cannot write " + folder_);
  return {};
}

Status MirrorFolder::write_part(const std::string& part, const std::string& head,
                                const Buffer& state) const {
  PosixFile out(part, O_WRONLY | O_CREAT | O_TRUNC);
  const bool done = out.is_open() && out.write(head) && out.write(state.view()) &&
                    (state.empty() || out.sync()) && out.close();
  return done ? Status() : Status(io("cannot write " + part));
}

Result<Buffer> MirrorFolder::read(const MirrorFile& file) const {
  const std::string path = path_of(file);
  const Error damaged{ErrorCode::kCorruptCheckpoint, path + " is not what was written"};
  const PosixFile in(path, O_RDONLY);
  if (!in.is_open() && errno == ENOENT) return Error{ErrorCode::kNotFound, "there is no " + path};
  std::error_code error;
  const uint64_t size = fs::file_size(path, error);
  if (!in.is_open() || error) return io("cannot read " + path);
  if (size < kHeadBytes) return damaged;
  std::string first(kHeadBytes, '\0');
  if (!in.read(first.data(), first.size())) return io("cannot read " + path);
  const auto checked = std::string_view(first).substr(0, kHeadBytes - 8);
  const std::string digest = little_endian(XXH64(checked.data(), checked.size(), 0));
  if (first.substr(checked.size()) != digest) return damaged;
  const std::string fingerprint = first.substr(kMagic.size() + kTextBytes, kTextBytes);
  if (fingerprint != padded(options_.fingerprint))
    return Error{ErrorCode::kInvalidArgument, path + " was made with other settings"};
  try {
    const auto state = MutableBuffer::allocate(size - kHeadBytes);
    if (!in.read(state.data(), state.size())) return io("cannot read " + path);
    // The head that this file would have been given.
    if (first != head(file, state.size(), XXH64(state.data(), state.size(), 0))) return damaged;
    return state.freeze();
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::kIo, "no memory for " + path};
  }
}

Status MirrorFolder::remove(const MirrorFile& file) const {
  std::error_code error;
  fs::remove(path_of(file), error);
  if (error)
    return Error{ErrorCode::kIo, "cannot remove " + path_of(file) + ": " + error.message()};
  return {};
}

void MirrorFolder::set_aside(const MirrorFile& file) const {
  std::error_code error;
  fs::rename(path_of(file), path_of(file) + ".damaged", error);
}

void MirrorFolder::remove_parts(uint64_t up_to_step) const {
  std::error_code error, ignored;
  fs::directory_iterator entry(folder_, error), end;
  for (; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    const auto file = parse_mirror_name(name.substr(0, name.find(kPart)));
    const bool part = name.find(kPart) != std::string::npos && file;
    if (part && file->step <= up_to_step && abandoned(entry->path()))
      fs::remove(entry->path(), ignored);
  }
}

}  // namespace swarm::storage
