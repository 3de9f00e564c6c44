/// xxh64 of a file's beginning, a megabyte in memory at a time.
#pragma once

#include <xxhash.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace swarm::storage {

struct FilePart {
  std::string path;
  uint64_t bytes = 0;  ///< Its first.
};

/// Of the parts, one behind another; nothing if a file is shorter or cannot be read.
inline std::optional<uint64_t> files_digest(const std::vector<FilePart>& parts) {
  const std::unique_ptr<XXH64_state_t, XXH_errorcode (*)(XXH64_state_t*)> state(XXH64_createState(),
                                                                                XXH64_freeState);
  XXH64_reset(state.get(), 0);
  std::vector<char> block(size_t{1} << 20);
  for (const auto& part : parts) {
    std::ifstream file(part.path, std::ios::binary);
    if (!file) return std::nullopt;
    for (uint64_t left = part.bytes; left > 0;) {
      const auto size = static_cast<std::streamsize>(std::min<uint64_t>(left, block.size()));
      if (!file.read(block.data(), size)) return std::nullopt;
      XXH64_update(state.get(), block.data(), static_cast<size_t>(size));
      left -= static_cast<uint64_t>(size);
    }
  }
  return XXH64_digest(state.get());
}

/// Of the first `bytes`; nothing if the file is shorter or cannot be read.
inline std::optional<uint64_t> file_digest(const std::string& path, uint64_t bytes) {
  return files_digest({{path, bytes}});
}

}  // namespace swarm::storage
