/// Writes a file of lines that stays small: before it grows beyond a limit it is put aside as a piece
/// (records/segments.h), compressed, and begun anew; the oldest pieces go,
/// or are folded.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "common/result.h"
#include "records/segments.h"

namespace swarm::records {

/// The line that stands for all lines up to the end of `piece`; `before`: the one that stands for those
/// before it. Errors: any, and the piece stays.
using FoldPiece = std::function<Result<std::string>(const std::optional<std::string>& before,
                                                    const Segment& piece)>;

struct SegmentLimits {
  uint64_t total_bytes = uint64_t{256} << 20;  ///< Of a file and its pieces on the disk.
  bool keeps_all = false;                      ///< No piece goes, whatever they take.
  FoldPiece fold{};                            ///< The oldest are folded instead of given up.

  /// The file is put aside before it is larger: beside it there is room for a piece that is being
  /// compressed and what that becomes.
  uint64_t file_bytes() const { return total_bytes / 4; }
};

/// One owner. What is put aside is compressed by a thread of its own; the next piece waits for it.
///
/// A crash loses and doubles nothing: a piece is made by one rename, and its compressed form takes
/// its place when it is on the disk. The next process goes on with what it finds.
class SegmentedFile {
 public:
  /// Appends to what is there; a torn last line gets an end. Errors: kIo.
  static Result<std::unique_ptr<SegmentedFile>> open(const std::string& path,
                                                     const SegmentLimits& limits);
  ~SegmentedFile();
  SegmentedFile(const SegmentedFile&) = delete;

  /// One write(2). What the disk does not take is written before the next line, in order: no line is torn
  /// or missing between others but by the writer's death. Errors: kIo (too many wait: the line is lost).
  Status append(const std::string& line);
  /// Returns when every piece is compressed, as far as the disk lets it.
  void wait();
  /// Why the last pieces were not folded although they take too much room; told once.
  std::optional<Error> take_refusal();

 private:
  SegmentedFile(std::string path, const SegmentLimits& limits)
      : path_(std::move(path)), limits_(limits) {}
  Status reopen();
  Status write_rest();
  void put_aside();
  void begin_to_tidy();

  const std::string path_;
  const SegmentLimits limits_;
  int fd_ = -1;
  uint64_t bytes_ = 0;  // of the file
  uint64_t next_ = 1;   // number of the piece that it will be
  std::string rest_;    // lines, the first maybe without its beginning, that the disk has not taken
  bool refuses_ = false;  // a line was lost: shorter ones behind it are, too, until there is room
  std::mutex mutex_;      // of the next one
  std::optional<Error> refusal_;
  std::thread tidies_;
};

}  // namespace swarm::records
