/// Keys of the records of a store, in their order (docs/checkpoint_format.md).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "storage/checkpoint_store.h"

namespace swarm::storage {

/// Chunks come before all other keys: no file but their tables reaches over them, and who looks for another
/// key does not come by them.
constexpr char kChunkTag = 'b', kPinTag = 'k', kManifestTag = 'm';
/// Of puts of before the tables.
constexpr char kMarkerTag = 'p', kOldChunkTag = 'c';

inline std::string big_endian(uint64_t word, int bytes = 8) {
  std::string out;
  for (int i = bytes - 1; i >= 0; --i) out += static_cast<char>(word >> (8 * i));
  return out;
}

inline uint64_t from_big_endian(std::string_view bytes) {
  uint64_t word = 0;
  for (char c : bytes) word = (word << 8) | static_cast<uint8_t>(c);
  return word;
}

inline std::string stream_prefix(const std::string& stream) { return kManifestTag + stream + '\0'; }
inline std::string manifest_key(const CheckpointKey& key) {
  return stream_prefix(key.stream) + big_endian(key.step);
}
inline std::string pin_key(const std::string& stream) { return kPinTag + stream; }
inline std::string marker_key(uint64_t put_id) { return kMarkerTag + big_endian(put_id); }
inline std::string chunk_key(uint64_t put_id, uint64_t index) {
  return kChunkTag + big_endian(put_id) + big_endian(index, 4);
}
inline std::string old_chunk_key(uint64_t put_id, uint64_t index) {
  return kOldChunkTag + big_endian(put_id) + big_endian(index, 4);
}

}  // namespace swarm::storage
