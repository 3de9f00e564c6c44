/// Follows a file that another process appends lines to. One owner, one thread.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace swarm::launch {

/// Cuts bytes into lines; keeps an unfinished one for the next call. Pure.
class LineSplitter {
 public:
  /// A line beyond `max_line` bytes is dropped.
  explicit LineSplitter(size_t max_line = 1u << 20) : max_line_(max_line) {}
  /// Complete lines, without their end and without empty ones.
  std::vector<std::string> feed(const char* data, size_t size);
  /// A line has begun and its end has not been seen.
  bool unfinished() const { return skipping_ || !rest_.empty(); }

 private:
  size_t max_line_;
  std::string rest_;
  bool skipping_ = false;
};

class LineTail {
 public:
  explicit LineTail(std::string path, size_t max_line = 1u << 20)
      : path_(std::move(path)), splitter_(max_line) {}
  /// Complete lines since the last call; none while the file does not exist.
  std::vector<std::string> poll();
  /// The last bytes read begin a line: its writer has not finished it, or died in it.
  bool unfinished() const { return splitter_.unfinished(); }

 private:
  std::string path_;
  uint64_t offset_ = 0;
  LineSplitter splitter_;
};

}  // namespace swarm::launch
