/// Writes a run's numbers for TensorBoard: RUN/tensorboard/events.out.tfevents.TIME.HOST
/// (docs/run_folder.md has the format and the tags).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/result.h"
#include "records/metrics.h"

namespace swarm::launch {

/// CRC-32C (Castagnoli, as in iSCSI).
uint32_t crc32c(const std::string& bytes);
/// As TFRecord files store it: rotated and moved on, because a checksum of data that holds its own
/// checksum is degenerate.
uint32_t masked_crc32c(const std::string& bytes);

/// A frame of a TFRecord file, little-endian: length [u64], its masked checksum [u32], data, the
/// masked checksum of the data [u32].
std::string tfrecord(const std::string& data);

struct TensorboardScalar {
  std::string tag;
  double value = 0;
};
/// The tags and numbers of a metrics line; what the line lacks is left out.
std::vector<TensorboardScalar> tensorboard_scalars(const records::StepMetrics& line);

/// The frame that a file begins with.
std::string tensorboard_header(double unix_time_s);
/// The frame of a step; empty if the line has no number to show. A line without a time is given
/// `unix_time_s`.
std::string tensorboard_record(const records::StepMetrics& line, double unix_time_s);

/// "events.out.tfevents.TIME.HOST": TIME in whole seconds, HOST without odd characters.
std::string tensorboard_file_name(uint64_t unix_time_s, const std::string& host);

/// Appends to a file of its own, never to one that exists. One owner, one thread.
class TensorboardFile {
 public:
  /// Makes FOLDER/tensorboard/ and a new file in it. `begin_s`: unix time that its name and first
  /// record bear, from which TensorBoard counts; nothing: now. Errors: kIo.
  static Result<std::unique_ptr<TensorboardFile>> create(
      const std::string& run_folder, std::optional<double> begin_s = std::nullopt);
  ~TensorboardFile();
  TensorboardFile(const TensorboardFile&) = delete;

  /// One write(2) for the line; after kIo the file may end in half a frame, which TensorBoard
  /// takes for the end: write nothing more. Errors: kIo.
  Status append(const records::StepMetrics& line);
  const std::string& path() const { return path_; }
  uint64_t bytes() const { return bytes_; }

 private:
  TensorboardFile(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  Status write(const std::string& bytes);

  int fd_;
  std::string path_;
  uint64_t bytes_ = 0;
};

/// The event files of a run, which take about so many bytes in all: another is begun before one is larger than a
/// quarter of that, and the oldest go. One owner, one thread.
class TensorboardFolder {
 public:
  TensorboardFolder(std::string run_folder, uint64_t most_bytes)
      : run_folder_(std::move(run_folder)), most_bytes_(most_bytes) {}
  /// Makes the first file. Errors: kIo; write nothing more.
  Status append(const records::StepMetrics& line);

 private:
  void make_room() const;

  const std::string run_folder_;
  const uint64_t most_bytes_;
  std::unique_ptr<TensorboardFile> file_;
};

/// FOLDER/tensorboard/ holds at least one event file.
bool has_tensorboard_file(const std::string& run_folder);

}  // namespace swarm::launch
