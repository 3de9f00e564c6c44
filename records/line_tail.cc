#include "records/line_tail.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include "records/segments.h"
#include "records/zstd_file.h"

namespace swarm::records {
namespace {

constexpr int kMostRaces = 100;  // a writer that cuts faster than we list

Error io(const std::string& path) {
  return {errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo,
          "cannot open " + path + ": " + std::strerror(errno)};
}

}  // namespace

std::vector<std::string> LineSplitter::feed(const char* data, size_t size) {
  std::vector<std::string> lines;
  for (const char *at = data, *end = data + size; at < end;) {
    const char* stop = std::find(at, end, '\n');
    if (!skipping_) {
      const auto length = static_cast<size_t>(stop - at);
      skipping_ = rest_.size() + length > max_line_;
      if (!skipping_) rest_.append(at, length);
    }
    if (stop == end) break;
    if (skipping_) ++dropped_;
    if (!rest_.empty() && !skipping_) lines.push_back(std::move(rest_));
    rest_.clear();
    skipping_ = false;
    at = stop + 1;
  }
  return lines;
}

void LineTail::take_bytes(const char* data, size_t size, const Take& take) {
  offset_ += size;
  for (auto& line : splitter_.feed(data, size)) take(std::move(line));
}

Status LineTail::read_plain(int fd, const Take& take) {
  char buffer[1 << 16];
  while (true) {
    const ssize_t count = ::pread(fd, buffer, sizeof buffer, static_cast<off_t>(offset_));
    if (count == 0) return {};
    if (count < 0) return Error{ErrorCode::kIo, "cannot read " + path_};
    take_bytes(buffer, static_cast<size_t>(count), take);
  }
}

/// A line that a piece leaves unfinished is torn: readers know it as damaged.
void LineTail::next(uint64_t index, const Take& take) {
  if (splitter_.unfinished()) take_bytes("\n", 1, take);
  index_ = index;
  offset_ = 0;
}

Status LineTail::each(const Take& take) {
  Status damage;
  for (int races = 0; races < kMostRaces;) {
    std::optional<Folded> folded;
    const auto pieces = segments_of(path_, &folded);
    if (folded && index_ <= folded->through) {
      next(folded->through + 1, take);
      take(folded->line);
      continue;
    }
    const auto piece = std::find_if(pieces.begin(), pieces.end(),
                                    [&](const Segment& one) { return one.index >= index_; });
    const std::string& path = piece == pieces.end() ? path_ : piece->path;
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (piece == pieces.end()) {
      if (fd < 0) return pieces.empty() && damage ? Status(io(path)) : damage;
      // What we hold is the file that follows the pieces listed, unless it was put aside meanwhile.
      const auto now = segments_of(path_);
      if (!now.empty() && now.back().index >= index_) {
        ::close(fd);
        ++races;
        continue;
      }
      const Status done = read_plain(fd, take);
      ::close(fd);
      return damage ? done : damage;
    }
    if (fd < 0) {  // compressed, or given up, since it was listed
      ++races;
      continue;
    }
    if (piece->index > index_) next(piece->index, take);
    const Status done =
        piece->compressed
            ? decompress_file(path, offset_,
                              [&](const char* data, size_t size) { take_bytes(data, size, take); })
            : read_plain(fd, take);
    ::close(fd);
    if (!done && done.code() == ErrorCode::kNotFound) {
      ++races;
      continue;
    }
    if (!done && damage) damage = done;
    next(piece->index + 1, take);
  }
  return damage;
}

std::vector<std::string> LineTail::poll() {
  std::vector<std::string> lines;
  static_cast<void>(each([&](std::string line) { lines.push_back(std::move(line)); }));
  return lines;
}

}  // namespace swarm::records
