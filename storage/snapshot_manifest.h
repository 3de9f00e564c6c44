/// The record that makes a snapshot visible: where its chunks are, how large they are, and what
/// they must hash to. Byte layout in docs/checkpoint_format.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/buffer.h"
#include "common/result.h"

namespace swarm::storage {

/// Limits of CheckpointStoreOptions::chunk_bytes and of what a manifest may say.
inline constexpr uint32_t kMinChunkBytes = 64;
inline constexpr uint32_t kMaxChunkBytes = 64u << 20;

struct SnapshotManifest {
  uint64_t put_id = 0;       ///< Names the chunks; no two puts share one.
  uint64_t total_bytes = 0;  ///< Size of the value.
  uint32_t chunk_bytes = 0;  ///< Size of every chunk but the last.
  uint64_t digest = 0;       ///< xxh64 of the whole value.
  std::vector<uint64_t> chunk_digests;

  /// Describes `value` cut into chunks of `chunk_bytes`; hashes everything.
  static SnapshotManifest describe(const Buffer& value, uint64_t put_id, uint32_t chunk_bytes);

  /// Bytes of chunk `index`; the last may be shorter.
  uint64_t chunk_size(size_t index) const;
  /// Errors: kCorruptCheckpoint unless `chunk` is chunk `index` byte for byte (size and xxh64).
  Status verify_chunk(size_t index, std::string_view chunk) const;

  std::string encode() const;
  /// Errors: kCorruptCheckpoint (checksum, magic or contradictory sizes). Allocates
  /// nothing larger than `bytes`.
  static Result<SnapshotManifest> decode(std::string_view bytes);
};

/// Errors: kInvalidArgument unless 1 to 64 characters of [a-z0-9/_-].
Status check_stream(const std::string& stream);

}  // namespace swarm::storage
