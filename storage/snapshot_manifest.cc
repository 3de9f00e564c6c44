#include "storage/snapshot_manifest.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>

namespace swarm::storage {
namespace {

constexpr std::string_view kMagic = "SWSNAP01";
constexpr size_t kFixedBytes = 8 + 8 + 8 + 8 + 4 + 4;  // up to the chunk digests
constexpr size_t kChecksumBytes = 8;

template <class Word>
void append(std::string& out, Word word) {
  for (size_t i = 0; i < sizeof word; ++i) out += static_cast<char>(word >> (8 * i));
}

template <class Word>
Word take(std::string_view bytes, size_t offset) {
  Word word = 0;
  for (size_t i = 0; i < sizeof word; ++i)
    word |=
        static_cast<Word>(static_cast<Word>(static_cast<uint8_t>(bytes[offset + i])) << (8 * i));
  return word;
}

uint64_t hash(std::string_view bytes) { return XXH64(bytes.data(), bytes.size(), 0); }

Error corrupt(const std::string& what) {
  return {ErrorCode::kCorruptCheckpoint, what + "; use an older snapshot"};
}

}  // namespace

SnapshotManifest SnapshotManifest::describe(const Buffer& value, uint64_t put_id,
                                            uint32_t chunk_bytes) {
  SnapshotManifest manifest;
  manifest.put_id = put_id;
  manifest.total_bytes = value.size();
  manifest.chunk_bytes = chunk_bytes;
  manifest.digest = hash(value.view());
  for (size_t offset = 0; offset < value.size(); offset += chunk_bytes)
    manifest.chunk_digests.push_back(hash(value.view().substr(offset, chunk_bytes)));
  return manifest;
}

uint64_t SnapshotManifest::chunk_size(size_t index) const {
  return std::min<uint64_t>(chunk_bytes, total_bytes - uint64_t{chunk_bytes} * index);
}

Status SnapshotManifest::verify_chunk(size_t index, std::string_view chunk) const {
  if (chunk.size() == chunk_size(index) && hash(chunk) == chunk_digests[index]) return {};
  return corrupt(
      fmt::format("chunk {} of {} is not what was written", index, chunk_digests.size()));
}

std::string SnapshotManifest::encode() const {
  std::string out(kMagic);
  append(out, put_id);
  append(out, total_bytes);
  append(out, digest);
  append(out, chunk_bytes);
  append(out, static_cast<uint32_t>(chunk_digests.size()));
  for (uint64_t chunk : chunk_digests) append(out, chunk);
  append(out, hash(out));
  return out;
}

Result<SnapshotManifest> SnapshotManifest::decode(std::string_view bytes) {
  if (bytes.size() < kFixedBytes + kChecksumBytes) return corrupt("the manifest is cut short");
  std::string_view body = bytes.substr(0, bytes.size() - kChecksumBytes);
  if (hash(body) != take<uint64_t>(bytes, body.size()))
    return corrupt("the manifest's checksum differs");
  if (body.substr(0, kMagic.size()) != kMagic)
    return corrupt("the manifest is of another format version");
  SnapshotManifest manifest;
  manifest.put_id = take<uint64_t>(body, 8);
  manifest.total_bytes = take<uint64_t>(body, 16);
  manifest.digest = take<uint64_t>(body, 24);
  manifest.chunk_bytes = take<uint32_t>(body, 32);
  uint64_t chunks = take<uint32_t>(body, 36);
  if (manifest.chunk_bytes < kMinChunkBytes || manifest.chunk_bytes > kMaxChunkBytes)
    return corrupt("the manifest's chunk size is out of range");
  if (body.size() != kFixedBytes + 8 * chunks) return corrupt("the manifest's length is wrong");
  uint64_t needed = manifest.total_bytes / manifest.chunk_bytes +
                    (manifest.total_bytes % manifest.chunk_bytes != 0 ? 1 : 0);
  if (needed != chunks) return corrupt("the manifest's sizes contradict one another");
  for (size_t i = 0; i < chunks; ++i)
    manifest.chunk_digests.push_back(take<uint64_t>(body, kFixedBytes + 8 * i));
  return manifest;
}

Status check_stream(const std::string& stream) {
  auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '/' || c == '_' || c == '-';
  };
  if (!stream.empty() && stream.size() <= 64 && std::all_of(stream.begin(), stream.end(), allowed))
    return {};
  return Error{
      ErrorCode::kInvalidArgument,
      fmt::format("a stream is named by 1 to 64 characters of [a-z0-9/_-]; this name has {} "
                  "characters or one outside that set",
                  stream.size())};
}

}  // namespace swarm::storage
