#include "records/zstd_file.h"

#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

namespace swarm::records {
namespace {

constexpr int kLevel = 9;  // lines are much alike: a fifth less than at 3

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

File open(const std::string& path, const char* mode) {
  return {std::fopen(path.c_str(), mode), &std::fclose};
}

Error io(const std::string& what, const std::string& path) {
  return {errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo,
          what + " " + path + ": " + std::strerror(errno)};
}

bool write(std::FILE* to, const ZSTD_outBuffer& out) {
  return std::fwrite(out.dst, 1, out.pos, to) == out.pos;
}

}  // namespace

Status compress_file(const std::string& from, const std::string& to) {
  const File source = open(from, "rbe");
  if (!source) return io("cannot read", from);
  File target = open(to, "wbe");
  if (!target) return Error{ErrorCode::kIo, io("cannot write", to).detail};
  const std::unique_ptr<ZSTD_CCtx, size_t (*)(ZSTD_CCtx*)> zstd(ZSTD_createCCtx(), &ZSTD_freeCCtx);
  ZSTD_CCtx_setParameter(zstd.get(), ZSTD_c_compressionLevel, kLevel);
  ZSTD_CCtx_setParameter(zstd.get(), ZSTD_c_checksumFlag, 1);
  std::vector<char> in(ZSTD_CStreamInSize()), out(ZSTD_CStreamOutSize());
  for (bool end = false; !end;) {
    const size_t size = std::fread(in.data(), 1, in.size(), source.get());
    if (std::ferror(source.get()) != 0) return io("cannot read", from);
    end = size < in.size();
    ZSTD_inBuffer input{in.data(), size, 0};
    for (bool done = false; !done;) {
      ZSTD_outBuffer output{out.data(), out.size(), 0};
      const size_t left =
          ZSTD_compressStream2(zstd.get(), &output, &input, end ? ZSTD_e_end : ZSTD_e_continue);
      if (ZSTD_isError(left) != 0)
        return Error{ErrorCode::kIo, from + ": " + ZSTD_getErrorName(left)};
      if (!write(target.get(), output)) return Error{ErrorCode::kIo, io("cannot write", to).detail};
      done = end ? left == 0 : input.pos == input.size;
    }
  }
  if (std::fclose(target.release()) != 0)
    return Error{ErrorCode::kIo, io("cannot write", to).detail};
  return {};
}

Status decompress_file(const std::string& path, uint64_t offset, const TakeBytes& take) {
  const File source = open(path, "rbe");
  if (!source) return io("cannot open", path);
  const std::unique_ptr<ZSTD_DCtx, size_t (*)(ZSTD_DCtx*)> zstd(ZSTD_createDCtx(), &ZSTD_freeDCtx);
  std::vector<char> in(ZSTD_DStreamInSize()), out(ZSTD_DStreamOutSize());
  uint64_t at = 0;
  size_t left = 1;  // 0: a frame is whole
  while (const size_t size = std::fread(in.data(), 1, in.size(), source.get())) {
    ZSTD_inBuffer input{in.data(), size, 0};
    for (bool more = true; more || input.pos < input.size;) {
      ZSTD_outBuffer output{out.data(), out.size(), 0};
      left = ZSTD_decompressStream(zstd.get(), &output, &input);
      if (ZSTD_isError(left) != 0)
        return Error{ErrorCode::kCorruptCheckpoint, path + ": " + ZSTD_getErrorName(left)};
      more = output.pos == output.size;
      const auto skip =
          static_cast<size_t>(std::min<uint64_t>(output.pos, offset > at ? offset - at : 0));
      if (output.pos > skip) take(out.data() + skip, output.pos - skip);
      at += output.pos;
    }
  }
  if (std::ferror(source.get()) != 0) return io("cannot read", path);
  if (left != 0) return Error{ErrorCode::kCorruptCheckpoint, path + " is torn"};
  return {};
}

}  // namespace swarm::records
