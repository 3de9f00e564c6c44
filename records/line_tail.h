/// Reads a file of lines, and follows it while another process appends to it and puts pieces of it
/// aside (records/segments.h). One owner, one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "common/result.h"

namespace swarm::records {

/// Cuts bytes into lines; keeps an unfinished one for the next call. Pure.
class LineSplitter {
 public:
  /// A line beyond `max_line` bytes is dropped.
  explicit LineSplitter(size_t max_line = 1u << 20) : max_line_(max_line) {}
  /// Complete lines, without their end and without empty ones.
  std::vector<std::string> feed(const char* data, size_t size);
  /// A line has begun and its end has not been seen.
  bool unfinished() const { return skipping_ || !rest_.empty(); }
  size_t dropped() const { return dropped_; }

 private:
  size_t max_line_;
  std::string rest_;
  bool skipping_ = false;
  size_t dropped_ = 0;
};

class LineTail {
 public:
  using Take = std::function<void(std::string)>;

  explicit LineTail(std::string path, size_t max_line = 1u << 20)
      : path_(std::move(path)), splitter_(max_line) {}

  /// Passes on the complete lines since the last call, those of pieces first. For pieces that were folded
  /// before they were read to their end it passes on the one line that stands for all up to there. Pieces that were given
  /// up before they were read are passed over. Errors: kNotFound (neither file nor piece is there),
  /// kIo, kCorruptCheckpoint (of a damaged piece, whose rest is passed over).
  Status each(const Take& take);
  /// The same lines; none while the file does not exist.
  std::vector<std::string> poll();
  /// The last bytes read begin a line: its writer has not finished it, or died in it.
  bool unfinished() const { return splitter_.unfinished(); }
  /// Lines that were too long.
  size_t dropped() const { return splitter_.dropped(); }

 private:
  void take_bytes(const char* data, size_t size, const Take& take);
  Status read_plain(int fd, const Take& take);
  void next(uint64_t index, const Take& take);

  std::string path_;
  uint64_t index_ = 1;   // of the piece that is read; of the file itself: the one it will become
  uint64_t offset_ = 0;  // in it, uncompressed
  LineSplitter splitter_;
};

}  // namespace swarm::records
