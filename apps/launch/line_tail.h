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
  /// Complete lines, without their end and without empty ones. A line beyond 1 MiB is dropped.
  std::vector<std::string> feed(const char* data, size_t size);

 private:
  std::string rest_;
  bool skipping_ = false;
};

class LineTail {
 public:
  explicit LineTail(std::string path) : path_(std::move(path)) {}
  /// Complete lines since the last call; none while the file does not exist.
  std::vector<std::string> poll();

 private:
  std::string path_;
  uint64_t offset_ = 0;
  LineSplitter splitter_;
};

}  // namespace swarm::launch
