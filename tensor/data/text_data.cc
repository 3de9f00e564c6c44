#include "tensor/data/text_data.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "common/check.h"
#include "tensor/data/sample_order.h"

namespace swarm::tensor {
namespace {

namespace fs = std::filesystem;

Error error(ErrorCode code, const char* key, const std::string& path, const std::string& what) {
  return {code, std::string(key) + ": " + path + ": " + what, 0};
}

/// One mapped, non-empty file.
class Mapping {
 public:
  Mapping(const uint8_t* data, uint64_t size) : data_(data), size_(size) {}
  Mapping(Mapping&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  Mapping& operator=(Mapping&&) = delete;
  ~Mapping() {
    if (data_ != nullptr) ::munmap(const_cast<uint8_t*>(data_), size_);
  }
  const uint8_t* data() const { return data_; }
  uint64_t size() const { return size_; }

 private:
  const uint8_t* data_;
  uint64_t size_;
};

/// Pieces of mapped files, one after the other. The mappings outlive it.
class Spans {
 public:
  void add(const uint8_t* data, uint64_t size) {
    if (size == 0) return;
    pieces_.push_back({data, size, size_});
    size_ += size;
  }
  uint64_t size() const { return size_; }

  void read(uint64_t offset, uint64_t count, uint8_t* out) const {
    SWARM_CHECK(offset <= size_ && count <= size_ - offset);
    auto after = [](uint64_t value, const Piece& piece) { return value < piece.start; };
    auto next = std::upper_bound(pieces_.begin(), pieces_.end(), offset, after);
    for (auto piece = std::prev(next); count > 0; ++piece) {
      uint64_t skip = offset - piece->start;
      uint64_t part = std::min(count, piece->size - skip);
      std::memcpy(out, piece->data + skip, part);
      out += part;
      offset += part;
      count -= part;
    }
  }

 private:
  struct Piece {
    const uint8_t* data;
    uint64_t size, start;
  };
  std::vector<Piece> pieces_;
  uint64_t size_ = 0;
};

/// The files of one of the texts.
class Text {
 public:
  uint64_t size() const { return size_; }
  const std::vector<Mapping>& files() const { return files_; }

  /// Adds a regular file; an empty one is skipped.
  Status add(const char* key, const std::string& path) {
    int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
      ErrorCode code = errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo;
      return error(code, key, path, std::strerror(errno));
    }
    Status status = map(key, path, fd);
    ::close(fd);
    return status;
  }

 private:
  Status map(const char* key, const std::string& path, int fd) {
    struct stat info {};
    if (::fstat(fd, &info) != 0) return error(ErrorCode::kIo, key, path, std::strerror(errno));
    if (!S_ISREG(info.st_mode)) {
      return error(ErrorCode::kInvalidArgument, key, path, "neither a file nor a folder");
    }
    if (info.st_size == 0) return {};
    auto size = static_cast<uint64_t>(info.st_size);
    void* data = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, 0);
    if (data == MAP_FAILED) {
      return error(ErrorCode::kIo, key, path, std::string("cannot map: ") + std::strerror(errno));
    }
    files_.emplace_back(static_cast<const uint8_t*>(data), size);
    size_ += size;
    return {};
  }

  std::vector<Mapping> files_;
  uint64_t size_ = 0;
};

Result<std::vector<std::string>> files_below(const char* key, const std::string& folder) {
  std::vector<std::string> files;
  std::error_code failed;
  fs::recursive_directory_iterator it(folder, failed), end;
  while (!failed && it != end) {
    if (!it->is_symlink(failed) && !failed && it->is_regular_file(failed)) {
      files.push_back(it->path().string());
    }
    if (!failed) it.increment(failed);
  }
  if (failed) return error(ErrorCode::kIo, key, folder, failed.message());
  std::sort(files.begin(), files.end());
  return files;
}

Status add_paths(const char* key, const std::vector<std::string>& paths, Text& text) {
  for (const std::string& path : paths) {
    uint64_t before = text.size();
    std::error_code ignored;
    if (fs::is_directory(path, ignored)) {
      auto files = files_below(key, path);
      if (!files) return files.error();
      for (const std::string& file : *files) {
        if (Status status = text.add(key, file); !status) return status;
      }
    } else if (Status status = text.add(key, path); !status) {
      return status;
    }
    if (text.size() == before) {
      return error(ErrorCode::kInvalidArgument, key, path, "is empty: there is no text to read");
    }
  }
  return {};
}

class MappedText final : public TextData {
 public:
  MappedText(const DataOptions& options, int32_t sequence)
      : seed_(options.seed), sequence_(sequence) {}

  Status open(const DataOptions& options) {
    if (Status status = add_paths("data.train", options.train, train_text_); !status) return status;
    if (Status status = add_paths("data.validation", options.validation, validation_text_);
        !status) {
      return status;
    }
    // The end of every file, not the end of the text: the held-out part is of the same kinds.
    double fraction = options.validation.empty() ? options.holdout : 0.0;
    for (const Mapping& file : train_text_.files()) {
      auto held_out = static_cast<uint64_t>(static_cast<double>(file.size()) * fraction);
      train_.add(file.data(), file.size() - held_out);
      validation_.add(file.data() + file.size() - held_out, held_out);
    }
    for (const Mapping& file : validation_text_.files()) validation_.add(file.data(), file.size());
    return check_length(options);
  }

  int32_t sequence() const override { return sequence_; }
  uint64_t size_bytes(Split split) const override { return range(split).size(); }
  uint64_t num_windows(Split split) const override {
    return (range(split).size() - 1) / static_cast<uint64_t>(sequence_);
  }

  Buffer microbatch(Split split, const std::vector<uint64_t>& samples) const override {
    SWARM_CHECK(!samples.empty());
    const size_t row = static_cast<size_t>(sequence_) + 1;
    const uint64_t windows = num_windows(split);
    std::vector<uint8_t> bytes(row);
    MutableBuffer out = MutableBuffer::allocate(samples.size() * row * sizeof(int32_t));
    auto* tokens = reinterpret_cast<int32_t*>(out.data());
    for (uint64_t sample : samples) {
      uint64_t window = split == Split::kTrain ? sample_window(seed_, sample, windows)
                                               : validation_window(sample, windows);
      read(split, window * static_cast<uint64_t>(sequence_), row, bytes.data());
      tokens = std::copy(bytes.begin(), bytes.end(), tokens);
    }
    return out.freeze();
  }

  void read(Split split, uint64_t offset, uint64_t count, uint8_t* out) const override {
    range(split).read(offset, count, out);
  }

  uint64_t fingerprint() const override {
    uint64_t hash = seed_;
    auto add = [&hash](const void* data, size_t size) { hash = XXH64(data, size, hash); };
    const uint64_t numbers[] = {static_cast<uint64_t>(sequence_), train_.size(),
                                validation_.size()};
    add(numbers, sizeof numbers);
    std::vector<uint8_t> block(kBlock);
    for (const Spans* split : {&train_, &validation_}) {
      const bool whole = split->size() <= kWhole;
      const uint64_t blocks = whole ? (split->size() + kBlock - 1) / kBlock : kBlocks;
      for (uint64_t i = 0; i < blocks; ++i) {
        const uint64_t spread = (split->size() - (whole ? 0 : kBlock)) / (kBlocks - 1) * i;
        const uint64_t offset = whole ? i * kBlock : spread;
        const uint64_t size = std::min(kBlock, split->size() - offset);
        split->read(offset, size, block.data());
        add(block.data(), size);
      }
    }
    return hash == 0 ? 1 : hash;
  }

 private:
  static constexpr uint64_t kBlock = 64u << 10, kBlocks = 256;
  static constexpr uint64_t kWhole = 64u << 20;

  const Spans& range(Split split) const { return split == Split::kTrain ? train_ : validation_; }

  Status check_length(const DataOptions& options) const {
    const uint64_t least = static_cast<uint64_t>(sequence_) + 1;
    auto too_short = [&](const char* key, const std::string& path, uint64_t size) {
      return error(
          ErrorCode::kInvalidArgument, key, path,
          fmt::format("text is too short: {} bytes, one sample takes {} (model.sequence + 1)", size,
                      least));
    };
    if (train_.size() < least) return too_short("data.train", options.train.front(), train_.size());
    if (validation_.size() >= least) return {};
    if (options.validation.empty()) {
      return too_short("data.holdout", options.train.front() + " (held-out part)",
                       validation_.size());
    }
    return too_short("data.validation", options.validation.front(), validation_.size());
  }

  const uint64_t seed_;
  const int32_t sequence_;
  Text train_text_, validation_text_;
  Spans train_, validation_;
};

}  // namespace

Result<std::shared_ptr<const TextData>> open_text_data(const DataOptions& options,
                                                       int32_t sequence) {
  if (auto errors = options.validate(); !errors.empty()) return errors.front();
  if (sequence < 1) {
    return Error{ErrorCode::kInvalidArgument, "model.sequence: must be at least 1", 0};
  }
  auto data = std::make_shared<MappedText>(options, sequence);
  if (Status status = data->open(options); !status) return status.error();
  return std::shared_ptr<const TextData>(data);
}

}  // namespace swarm::tensor
