#include "records/segmented_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

#include "records/durable.h"
#include "records/files.h"
#include "records/segments.h"
#include "records/zstd_file.h"

namespace swarm::records {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDraft = ".new";
/// Bytes of lines that wait for room on the disk.
constexpr size_t kMostHeld = 4u << 20;

Error io(const std::string& what) { return {ErrorCode::kIo, what + ": " + std::strerror(errno)}; }

std::string piece_path(const std::string& path, uint64_t index, bool compressed) {
  const fs::path live(path);
  return (live.parent_path() / segment_name(live.filename().string(), index, compressed)).string();
}

/// The compressed form takes the piece's place once it is on the disk.
void compress(const std::string& path, const Segment& piece) {
  const std::string to = piece_path(path, piece.index, true), draft = to + kDraft;
  Status done = compress_file(piece.path, draft);
  if (done) done = sync_to_disk(draft);
  if (done && std::rename(draft.c_str(), to.c_str()) != 0) done = io("cannot write " + to);
  if (done) done = sync_to_disk(fs::path(path).parent_path().string());
  std::error_code error;
  fs::remove(done ? piece.path : draft, error);  // a full disk: the next time
}

/// What the piece becomes is on the disk before it goes: a crash in between leaves a void piece.
Status fold(const std::string& path, const SegmentLimits& limits, const Segment& piece) {
  auto before = read_folded(path);
  if (!before) return before.error();
  const auto line =
      limits.fold(*before ? std::optional<std::string>((*before)->line) : std::nullopt, piece);
  if (!line) return line.error();
  const fs::path live(path);
  const std::string to = live.parent_path() / folded_name(live.filename().string());
  const std::string draft = to + kDraft;
  Status done = write_atomically(draft, *line + "\n");
  if (done) done = sync_to_disk(draft);
  if (done && std::rename(draft.c_str(), to.c_str()) != 0) done = io("cannot write " + to);
  if (done) done = sync_to_disk(live.parent_path().string());
  return done;
}

void remove_void_pieces(const std::string& path) {
  std::error_code error;
  for (const auto& piece : void_pieces_of(path)) fs::remove(piece, error);
}

/// Gives up the oldest pieces, or folds them, until there is room for the file and for what a piece is
/// compressed to.
Status prune(const std::string& path, const SegmentLimits& limits) {
  remove_void_pieces(path);
  if (limits.keeps_all) return {};
  auto pieces = segments_of(path);
  uint64_t bytes = 2 * limits.file_bytes();
  std::error_code error;
  for (const auto& piece : pieces) {
    const auto size = fs::file_size(piece.path, error);
    bytes += error ? 0 : size;
  }
  for (size_t i = 0; i + 1 < pieces.size() && bytes > limits.total_bytes; ++i) {
    const auto size = fs::file_size(pieces[i].path, error);
    if (!error) bytes -= size;
    if (limits.fold) {
      if (auto folded = fold(path, limits, pieces[i]); !folded) return folded;
      remove_void_pieces(path);
    } else {
      fs::remove(pieces[i].path, error);
    }
  }
  return {};
}

Status tidy(const std::string& path, const SegmentLimits& limits) {
  const Status pruned = prune(path, limits);
  std::error_code error;
  for (const auto& piece : segments_of(path)) {
    if (piece.compressed)
      fs::remove(piece_path(path, piece.index, false), error);
    else
      compress(path, piece);
  }
  return pruned;
}

/// That the next piece will have.
uint64_t next_index(const std::string& path) {
  std::optional<Folded> folded;
  const auto pieces = segments_of(path, &folded);
  if (!pieces.empty()) return pieces.back().index + 1;
  return folded ? folded->through + 1 : 1;
}

}  // namespace

Result<std::unique_ptr<SegmentedFile>> SegmentedFile::open(const std::string& path,
                                                           const SegmentLimits& limits) {
  std::unique_ptr<SegmentedFile> file(new SegmentedFile(path, limits));
  file->next_ = next_index(path);
  if (auto opened = file->reopen(); !opened) return opened.error();
  char last = '\n';
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd >= 0 && file->bytes_ > 0 &&
      ::pread(fd, &last, 1, static_cast<off_t>(file->bytes_ - 1)) != 1)
    last = '\n';
  if (fd >= 0) ::close(fd);
  if (last != '\n') file->rest_ = "\n";
  if (file->next_ > 1) file->begin_to_tidy();
  return file;
}

SegmentedFile::~SegmentedFile() {
  wait();
  if (fd_ >= 0) static_cast<void>(write_rest());
  if (fd_ >= 0) ::close(fd_);
}

void SegmentedFile::wait() {
  if (tidies_.joinable()) tidies_.join();
}

Status SegmentedFile::reopen() {
  fd_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd_ < 0) return io("cannot write " + path_);
  const off_t end = ::lseek(fd_, 0, SEEK_END);
  bytes_ = end < 0 ? 0 : static_cast<uint64_t>(end);
  return {};
}

Status SegmentedFile::write_rest() {
  while (!rest_.empty()) {
    const ssize_t written = ::write(fd_, rest_.data(), rest_.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return io("cannot write " + path_);
    bytes_ += static_cast<uint64_t>(written);
    rest_.erase(0, static_cast<size_t>(written));
  }
  refuses_ = false;
  return {};
}

Status SegmentedFile::append(const std::string& line) {
  if (fd_ < 0) static_cast<void>(reopen());
  const bool has_room = fd_ >= 0 && write_rest().ok();
  if (has_room && bytes_ > 0 && bytes_ + line.size() + 1 > limits_.file_bytes()) put_aside();
  refuses_ = refuses_ || rest_.size() + line.size() >= kMostHeld;
  if (refuses_) return Error{ErrorCode::kIo, path_ + " takes no lines"};
  rest_ += line + "\n";
  if (fd_ >= 0) static_cast<void>(write_rest());
  return {};
}

/// Leaves the file as it is if it cannot be renamed. Never takes the place of a piece that is there.
void SegmentedFile::put_aside() {
  wait();
  next_ = std::max(next_, next_index(path_));
  if (std::rename(path_.c_str(), piece_path(path_, next_, false).c_str()) != 0) return;
  ++next_;
  ::close(std::exchange(fd_, -1));
  static_cast<void>(reopen());
  begin_to_tidy();
}

void SegmentedFile::begin_to_tidy() {
  tidies_ = std::thread([this] {
    const Status done = tidy(path_, limits_);
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!done) refusal_ = done.error();
  });
}

std::optional<Error> SegmentedFile::take_refusal() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return std::exchange(refusal_, std::nullopt);
}

}  // namespace swarm::records
