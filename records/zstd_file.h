/// Files compressed with zstd, read and written as streams.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "common/result.h"

namespace swarm::records {

/// Takes the next bytes of a file.
using TakeBytes = std::function<void(const char* data, size_t size)>;

/// Errors: kNotFound, kIo. What is at `to` is replaced.
Status compress_file(const std::string& from, const std::string& to);

/// The content from byte `offset` on. Errors: kNotFound, kIo, kCorruptCheckpoint (no zstd, or torn;
/// what came before it was passed on).
Status decompress_file(const std::string& path, uint64_t offset, const TakeBytes& take);

}  // namespace swarm::records
