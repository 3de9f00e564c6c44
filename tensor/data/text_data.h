/// Plain text as training data: memory-mapped files, one token per byte, windows of T tokens.
///
/// The text is the concatenation of all files; windows may straddle them. Without validation files
/// the last `holdout` of every file is held out. Immutable after
/// open_text_data(), so shared freely between threads. The files must not shrink while a run reads
/// them (the system then ends the process, as for every mapped file).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "common/buffer.h"
#include "common/result.h"
#include "tensor/core/options.h"

namespace swarm::tensor {

enum class Split : uint8_t { kTrain, kValidation };

class TextData {
 public:
  virtual ~TextData() = default;

  /// T.
  virtual int32_t sequence() const = 0;
  /// Non-overlapping windows of T inputs; each also reads the next byte as last target. >= 1.
  virtual uint64_t num_windows(Split split) const = 0;
  virtual uint64_t size_bytes(Split split) const = 0;

  /// Tokens of the samples, int32 little-endian [B, T + 1]. Training samples are numbered over the
  /// run and permuted (sample_window()); validation samples come evenly spread
  /// (validation_window()). Any number is valid. Requires at least one sample.
  virtual Buffer microbatch(Split split, const std::vector<uint64_t>& samples) const = 0;

  /// Copies `count` bytes from `offset` of the split. Requires offset + count <= size_bytes().
  virtual void read(Split split, uint64_t offset, uint64_t count, uint8_t* out) const = 0;

  /// xxh64 of sizes, split, seed, sequence and content (of a split beyond 64 MiB, 256 blocks of
  /// 64 KiB spread over it): equal on two nodes only if they read the same text in the same order.
  /// Paths do not count. Reads up to 128 MiB; never 0.
  virtual uint64_t fingerprint() const = 0;
};

/// Opens and maps all files. In folders, regular files are taken recursively in the order of
/// their paths; symbolic links inside folders are skipped, so that no text is read twice.
/// Errors, naming the path: kNotFound, kIo, kInvalidArgument (options, empty or too short text, not
/// a file or folder). The shared_ptr is shared by trainers of a node and whoever measures.
Result<std::shared_ptr<const TextData>> open_text_data(const DataOptions& options,
                                                       int32_t sequence);

}  // namespace swarm::tensor
