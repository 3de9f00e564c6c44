#include "apps/launch/tensorboard.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <boost/crc.hpp>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "records/files.h"
#include "swarm/tensorboard.pb.h"

namespace swarm::launch {
namespace {

constexpr uint32_t kMaskDelta = 0xa282ead8u;
constexpr int kMostNames = 1000;  // files that begin in consecutive seconds
constexpr size_t kLongestHost = 64;
const char* const kPrefix = "events.out.tfevents.";

template <class T>
void append_little_endian(std::string& out, T value) {
  for (size_t i = 0; i < sizeof value; ++i) out += static_cast<char>((value >> (8 * i)) & 0xff);
}

std::string host_name() {
  char buffer[256] = {};
  return ::gethostname(buffer, sizeof buffer - 1) == 0 ? buffer : "";
}

Error io(const std::string& what) { return {ErrorCode::kIo, what + ": " + std::strerror(errno)}; }

std::vector<std::filesystem::path> event_files(const std::string& run_folder) {
  std::vector<std::filesystem::path> files;
  std::error_code error;
  std::filesystem::directory_iterator entries(run_folder + "/tensorboard", error), end;
  for (; !error && entries != end; entries.increment(error))
    if (entries->path().filename().string().rfind(kPrefix, 0) == 0)
      files.push_back(entries->path());
  return files;
}

}  // namespace

uint32_t crc32c(const std::string& bytes) {
  boost::crc_optimal<32, 0x1EDC6F41, 0xFFFFFFFF, 0xFFFFFFFF, true, true> crc;
  crc.process_bytes(bytes.data(), bytes.size());
  return crc.checksum();
}

uint32_t masked_crc32c(const std::string& bytes) {
  const uint32_t crc = crc32c(bytes);
  return ((crc >> 15) | (crc << 17)) + kMaskDelta;
}

std::string tfrecord(const std::string& data) {
  std::string out;
  append_little_endian(out, static_cast<uint64_t>(data.size()));
  append_little_endian(out, masked_crc32c(out));
  out += data;
  append_little_endian(out, masked_crc32c(data));
  return out;
}

std::vector<TensorboardScalar> tensorboard_scalars(const records::StepMetrics& line) {
  std::vector<TensorboardScalar> out;
  for (const auto& column : records::metric_columns())
    if (const auto value = column.value(line)) out.push_back({column.tag, *value});
  for (size_t i = 0; i < line.live_peers.size(); ++i)
    if (line.live_peers[i] >= 0)
      out.push_back(
          {"live_peers/stage" + std::to_string(i), static_cast<double>(line.live_peers[i])});
  for (size_t i = 0; i < line.staleness.size(); ++i) {
    if (!line.staleness[i]) continue;
    out.push_back({"staleness_mean/stage" + std::to_string(i), line.staleness[i]->mean});
    out.push_back(
        {"staleness_max/stage" + std::to_string(i), static_cast<double>(line.staleness[i]->max)});
  }
  return out;
}

std::string tensorboard_header(double unix_time_s) {
  proto::TensorboardEvent event;
  event.set_wall_time(unix_time_s);
  event.set_file_version("brain.Event:2");
  return tfrecord(event.SerializeAsString());
}

std::string tensorboard_record(const records::StepMetrics& line, double unix_time_s) {
  const auto scalars = tensorboard_scalars(line);
  if (scalars.empty()) return {};
  proto::TensorboardEvent event;
  event.set_wall_time(line.time_s.value_or(unix_time_s));
  event.set_step(static_cast<int64_t>(line.step));
  for (const auto& scalar : scalars) {
    auto* value = event.mutable_summary()->add_value();
    value->set_tag(scalar.tag);
    value->set_simple_value(static_cast<float>(scalar.value));
  }
  return tfrecord(event.SerializeAsString());
}

std::string tensorboard_file_name(uint64_t unix_time_s, const std::string& host) {
  std::string clean;
  for (const char c : host.substr(0, kLongestHost)) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    clean += plain || c == '-' || c == '.' ? c : '_';
  }
  return fmt::format("{}{}.{}", kPrefix, unix_time_s, clean.empty() ? "localhost" : clean);
}

Result<std::unique_ptr<TensorboardFile>> TensorboardFile::create(const std::string& run_folder,
                                                                 std::optional<double> begin_s) {
  const std::string folder = run_folder + "/tensorboard";
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return Error{ErrorCode::kIo, "cannot make " + folder + ": " + error.message()};
  const double time_s = std::max(0.0, begin_s.value_or(records::unix_now_s()));
  const std::string host = host_name();
  std::string path;
  int fd = -1;
  for (int i = 0; i < kMostNames && fd < 0; ++i) {  // a resume within the same second
    path = folder + "/" + tensorboard_file_name(static_cast<uint64_t>(time_s) + i, host);
    fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0 && errno != EEXIST) break;
  }
  if (fd < 0) return io("cannot make " + path);
  std::unique_ptr<TensorboardFile> file(new TensorboardFile(fd, path));
  if (auto done = file->write(tensorboard_header(time_s)); !done) return done.error();
  return file;
}

TensorboardFile::~TensorboardFile() { ::close(fd_); }

Status TensorboardFile::append(const records::StepMetrics& line) {
  return write(tensorboard_record(line, records::unix_now_s()));
}

Status TensorboardFile::write(const std::string& bytes) {
  size_t written = 0;
  while (written < bytes.size()) {
    const ssize_t count = ::write(fd_, bytes.data() + written, bytes.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return io("cannot write " + path_);
    written += static_cast<size_t>(count);
    bytes_ += static_cast<uint64_t>(count);
  }
  return {};
}

Status TensorboardFolder::append(const records::StepMetrics& line) {
  if (!file_ || file_->bytes() >= most_bytes_ / 4) {
    make_room();
    auto file = TensorboardFile::create(run_folder_);
    if (!file) return file.error();
    file_ = std::move(*file);
  }
  return file_->append(line);
}

/// For another file.
void TensorboardFolder::make_room() const {
  std::error_code error;
  std::vector<std::pair<std::filesystem::file_time_type, std::filesystem::path>> oldest;
  uint64_t bytes = most_bytes_ / 4;
  for (const auto& path : event_files(run_folder_)) {
    oldest.emplace_back(std::filesystem::last_write_time(path, error), path);
    if (const auto size = std::filesystem::file_size(path, error); !error) bytes += size;
  }
  std::sort(oldest.begin(), oldest.end());
  for (auto it = oldest.begin(); it != oldest.end() && bytes > most_bytes_; ++it) {
    const auto size = std::filesystem::file_size(it->second, error);
    if (!error && std::filesystem::remove(it->second, error)) bytes -= size;
  }
}

bool has_tensorboard_file(const std::string& run_folder) {
  return !event_files(run_folder).empty();
}

}  // namespace swarm::launch
