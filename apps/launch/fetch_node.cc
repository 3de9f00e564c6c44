#include "apps/launch/fetch_node.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "common/hex.h"
#include "common/names.h"
#include "records/audit.h"
#include "records/durable.h"
#include "records/files.h"
#include "records/node_files.h"
#include "records/segments.h"
#include "storage/file_digest.h"

namespace swarm::launch {
namespace {

constexpr const char* kAudit = "audit.jsonl";
constexpr const char* kFold = "audit-folded.jsonl";
constexpr uint32_t kKeptSnapshots = 1'000;  // collecting prunes nothing

Error corrupt(std::string why) { return {ErrorCode::kCorruptCheckpoint, std::move(why)}; }

Status make_folder(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return Error{ErrorCode::kIo, "cannot make " + folder + ": " + error.message()};
  return {};
}

uint64_t size_of(const std::string& path) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  return error ? 0 : static_cast<uint64_t>(size);
}

/// Appends parts of a file until `path` has `bytes`, each as `read(offset)` gives it.
template <class Read>
Status append_until(const std::string& path, uint64_t bytes, Fetched& fetched, Read read) {
  std::ofstream out(path, std::ios::binary | std::ios::app);
  for (uint64_t at = size_of(path); at < bytes;) {
    Result<Buffer> part = read(at);
    if (!part) return part.error();
    if (part->empty()) return corrupt(path + ": the node's is shorter than it said");
    const auto size = std::min<uint64_t>(part->size(), bytes - at);
    out.write(reinterpret_cast<const char*>(part->data()), static_cast<std::streamsize>(size));
    if (!out.flush()) return Error{ErrorCode::kIo, "cannot write " + path};
    at += size;
    fetched.bytes += size;
  }
  return {};
}

/// Whether the file's first bytes, of `path` and then of `more`, are those that were listed.
bool fits(const HeldFile& file, const std::string& path, const std::string& more = {}) {
  const uint64_t first = std::min(size_of(path), file.bytes);
  std::vector<storage::FilePart> parts = {{path, first}};
  if (first < file.bytes) parts.push_back({more, file.bytes - first});
  return storage::files_digest(parts) == file.digest;
}

/// Whether `path` is all that was listed. Of one that grows it may be more: an older copy is brought.
bool holds(const std::string& path, const HeldFile& file, bool grows) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return false;
  const uint64_t size = size_of(path);
  return (size == file.bytes || (grows && size > file.bytes)) && fits(file, path);
}

/// Fills `draft` with the file from `from` on; goes on with what an interrupted fetch left there.
/// False if what came does not fit behind `before`.
Result<bool> draw(NodeSource& source, const HeldFile& file, const std::string& before,
                  const std::string& draft, uint64_t from, Fetched& fetched) {
  std::error_code error;
  const bool resumes = std::filesystem::exists(draft, error);
  for (const bool anew : {false, true}) {
    if (anew && !resumes) break;
    if (anew || size_of(draft) > file.bytes - from) std::filesystem::remove(draft, error);
    auto done = append_until(draft, file.bytes - from, fetched,
                             [&](uint64_t at) { return source.read_file(file.name, from + at); });
    if (!done) return done.error();
    if (before.empty() ? fits(file, draft) : fits(file, before, draft)) return true;
  }
  return false;
}

Status keep(const std::string& path, uint64_t digest) {
  const std::string kept = path + records::kKeptMark + hex(digest);
  if (std::rename(path.c_str(), kept.c_str()) != 0)
    return Error{ErrorCode::kIo, "cannot keep " + path};
  return {};
}
Status keep(const std::string& path) {
  return keep(path, storage::file_digest(path, size_of(path)).value_or(0));
}

/// What is at `path` is not the beginning of the file that comes instead: its lines are kept.
Status keep_lines(const std::string& path, const std::string& next, bool piece) {
  const auto old = piece ? Result<uint64_t>(size_of(path)) : records::whole_lines_bytes(path);
  if (!old) return old.error();
  const auto digest = storage::file_digest(path, *old);
  if (*old == 0 || (digest && digest == storage::file_digest(next, *old))) return {};
  return keep(path, digest.value_or(0));
}

/// The rest of a file that grows, if what is here is its beginning.
Result<bool> fetch_rest(NodeSource& source, const HeldFile& file, const std::string& path,
                        Fetched& fetched) {
  const uint64_t size = size_of(path);
  if (size == 0 || size >= file.bytes) return false;
  const std::string rest = path + ".rest";
  const auto fit = draw(source, file, path, rest, size, fetched);
  if (!fit) return fit;
  std::error_code error;
  if (*fit) {
    std::ifstream from(rest, std::ios::binary);
    std::ofstream to(path, std::ios::binary | std::ios::app);
    to << from.rdbuf();
    if (!to.flush()) return Error{ErrorCode::kIo, "cannot write " + path};
  }
  std::filesystem::remove(rest, error);
  return fit;
}

/// A file as it was listed. What is here is given up only for what is whole.
Status fetch_file(NodeSource& source, const HeldFile& file, const std::string& folder,
                  Fetched& fetched) {
  const std::string path = folder + "/" + file.name;
  const auto [name, grows, piece] = *records::find_node_file(file.name);
  if (holds(path, file, grows)) return records::sync_to_disk(path);
  if (grows) {
    const auto rest = fetch_rest(source, file, path, fetched);
    if (!rest) return rest.error();
    if (*rest) return records::sync_to_disk(path);
  }
  const std::string draft = path + ".new";
  const auto fit = draw(source, file, "", draft, 0, fetched);
  std::error_code error;
  if (!fit) return fit.error();
  if (!*fit) {
    std::filesystem::remove(draft, error);
    return corrupt(file.name + " changed while it was fetched");
  }
  if (auto there = records::sync_to_disk(draft); !there) return there;
  if ((grows || piece) && std::filesystem::exists(path, error))
    if (auto kept = keep_lines(path, draft, piece); !kept) return kept;
  if (std::rename(draft.c_str(), path.c_str()) != 0)
    return Error{ErrorCode::kIo, "cannot write " + path};
  return {};
}

/// Nothing for what is none.
std::optional<records::FoldedAudit> read_fold(const std::string& path) {
  const auto text = records::read_file(path);
  if (!text) return std::nullopt;
  auto line = records::parse_audit_line(text->substr(0, text->find('\n')));
  auto* fold = line ? std::get_if<records::FoldedAudit>(&line->record) : nullptr;
  return fold != nullptr ? std::optional(std::move(*fold)) : std::nullopt;
}

/// What `ours` came from is what a node has: it has folded more since, or less as far as `theirs` knows.
bool is_same_file(const records::FoldedAudit& ours, const records::FoldedAudit& theirs) {
  if (ours.first != 0 && theirs.first != 0) return ours.first == theirs.first;
  return theirs.lines >= ours.lines;
}

/// What is here of the audit's oldest pieces would hide those of a node that has begun its audit anew:
/// then it is kept, and so are the pieces behind it. False: the node's is of the same file, and older.
Result<bool> make_room_for_fold(NodeSource& source, const Holdings& holdings,
                                const std::string& folder, Fetched& fetched) {
  const std::string audit = folder + "/" + kAudit, path = folder + "/" + kFold;
  std::error_code error;
  const auto ours = read_fold(path);
  if (!ours) return true;
  const auto listed = std::find_if(holdings.files.begin(), holdings.files.end(),
                                   [](const HeldFile& file) { return file.name == kFold; });
  if (listed != holdings.files.end()) {
    if (holds(path, *listed, false)) return true;
    const std::string draft = path + ".new";  // fetch_file() goes on with it
    const auto fit = draw(source, *listed, "", draft, 0, fetched);
    if (!fit) return fit.error();
    if (!*fit) return corrupt(listed->name + " changed while it was fetched");
    const auto theirs = read_fold(draft);  // nothing: it is damaged
    if (theirs && is_same_file(*ours, *theirs)) {
      const bool newer = theirs->lines >= ours->lines;
      if (!newer) std::filesystem::remove(draft, error);
      return newer;
    }
  }
  for (const auto& piece : records::void_pieces_of(audit)) std::filesystem::remove(piece, error);
  for (const auto& piece : records::segments_of(audit))
    if (auto kept = keep(piece.path); !kept) return kept.error();
  if (auto kept = keep(path); !kept) return kept.error();
  return true;
}

}  // namespace

Result<Fetched> fetch_records(NodeSource& source, const Holdings& holdings,
                              const std::string& node_folder) {
  Fetched fetched;
  if (auto made = make_folder(node_folder); !made) return made.error();
  const auto takes_fold = make_room_for_fold(source, holdings, node_folder, fetched);
  if (!takes_fold) return takes_fold.error();
  for (const auto& file : holdings.files) {
    if (records::find_node_file(file.name) == nullptr)
      return Error{ErrorCode::kInvalidArgument, "the node names a file that is no record"};
    if (file.name == kFold && !*takes_fold) continue;
    if (auto done = fetch_file(source, file, node_folder, fetched); !done) return done.error();
  }
  if (auto there = records::sync_to_disk(node_folder); !there) return there.error();
  return fetched;
}

Result<Fetched> fetch_snapshot(NodeSource& source, const HeldSnapshot& which,
                               const std::string& node_folder, storage::CheckpointStore& store) {
  Fetched fetched;
  const storage::CheckpointKey key{stage_key(which.stage), which.step};
  auto first = source.read_snapshot(which, 0);
  if (!first) return first.error();
  const uint64_t digest = first->digest;
  if (const auto have = store.get(key); have && XXH64(have->data(), have->size(), 0) == digest)
    return fetched;
  const std::string path =
      fmt::format("{}/stage-{}-step-{}-{}.part", node_folder, which.stage, which.step, hex(digest));
  const auto read = [&](uint64_t at) -> Result<Buffer> {
    if (at == 0) return first->bytes;
    auto part = source.read_snapshot(which, at);
    if (!part) return part.error();
    if (part->digest != digest) return corrupt("the snapshot changed while it was fetched");
    return part->bytes;
  };
  const bool resumes = size_of(path) > 0;
  for (const bool anew : {false, true}) {
    if (anew && !resumes) break;
    if (auto done = append_until(path, first->total_bytes, fetched, read); !done)
      return done.error();
    auto bytes = records::read_file(path);
    if (!bytes) return bytes.error();
    std::error_code error;
    const bool whole =
        bytes->size() == first->total_bytes && XXH64(bytes->data(), bytes->size(), 0) == digest;
    if (!whole) {
      std::filesystem::remove(path, error);
      continue;
    }
    auto stored = store.put_or_replace(key, Buffer::from_string(std::move(*bytes)), kKeptSnapshots);
    if (!stored) return stored.error();
    std::filesystem::remove(path, error);
    return fetched;
  }
  return corrupt("what came is not the snapshot that was announced");
}

}  // namespace swarm::launch
