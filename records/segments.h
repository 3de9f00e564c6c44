/// Pieces of a file of lines that has grown beyond a limit (docs/run_folder.md): beside events.jsonl,
/// which is being written, lie events-000001.jsonl.zst, events-000002.jsonl.zst ... and, until it is
/// compressed, events-000003.jsonl. Every piece ends at the end of a line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"

namespace swarm::records {

struct Segment {
  uint64_t index = 0;  ///< From 1.
  bool compressed = false;
  std::string path;
};

/// Of events.jsonl's pieces: the name of number `index`.
std::string segment_name(const std::string& file, uint64_t index, bool compressed);

/// What `name` is of `file` (names without folders); nothing for others, the file itself included.
/// The path stays empty.
std::optional<Segment> segment_of(std::string_view file, std::string_view name);

/// What the oldest pieces became: "audit-folded.jsonl" holds it, one line.
struct Folded {
  uint64_t through =
      0;             ///< The number of the last piece in it; those that still lie there are void.
  std::string line;  ///< Stands for their lines; it names `through`.
};

/// Of audit.jsonl: the name of that.
std::string folded_name(const std::string& file);

/// Of the file at `path`; nothing if there is none. Errors: kIo, kCorruptCheckpoint.
Result<std::optional<Folded>> read_folded(const std::string& path);

/// Of the file at `path`, oldest first, each once: of a piece that lies there in both forms (its
/// writer died between making one and removing the other) the compressed one. Those that were folded are left out: the
/// folder is read before `folded`, so that no piece which is in neither is missed.
std::vector<Segment> segments_of(const std::string& path, std::optional<Folded>* folded = nullptr);

/// Pieces that were folded and still lie there, in both forms.
std::vector<std::string> void_pieces_of(const std::string& path);

/// Whether the oldest pieces of the file were given up, not folded.
bool lost_its_beginning(const std::string& path);

/// Whether the file or a piece of it is there.
bool has_lines(const std::string& path);

}  // namespace swarm::records
