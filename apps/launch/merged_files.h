/// The run's own events.jsonl, metrics.jsonl and audit.jsonl, which `swarm run` merges from the nodes':
/// small as theirs. One owner.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "actors/node/audit_keeping.h"
#include "records/segmented_file.h"

namespace swarm::launch {

/// Of one file with its pieces, but the audit's.
inline uint64_t most_bytes(const actors::NodeOptions& options) {
  return static_cast<uint64_t>(options.records_mb) << 20;
}

class MergedFiles {
 public:
  MergedFiles(std::string folder, const actors::NodeOptions& options)
      : folder_(std::move(folder)),
        limits_{most_bytes(options), false, {}},
        audit_limits_(actors::audit_limits(options, "")) {}

  /// A file is made with its first line. Errors: kIo; the line is lost.
  Status append(const std::string& name, const std::string& line) {
    Kept& kept = files_[name];
    const Status done = write(name, line, kept);
    kept.takes = done.ok();
    kept.lost += done.ok() ? 0 : 1;
    return done;
  }
  /// Lines lost of files that take some again; 0 while no event can be told.
  uint64_t lost() const {
    const auto events = files_.find(kEvents);
    uint64_t lines = 0;
    for (const auto& [name, kept] : files_) lines += kept.takes ? kept.lost : 0;
    return events != files_.end() && events->second.takes ? lines : 0;
  }
  /// An event of them was appended, or was itself not taken.
  void told_lost() {
    if (!files_[kEvents].takes)
      --files_[kEvents].lost;
    else
      for (auto& [name, kept] : files_) kept.lost = kept.takes ? 0 : kept.lost;
  }
  /// records::SegmentedFile::take_refusal() of a file that has lines.
  std::optional<Error> take_refusal(const std::string& name) {
    return files_.at(name).file->take_refusal();
  }

 private:
  static constexpr const char* kEvents = "events.jsonl";
  struct Kept {
    std::unique_ptr<records::SegmentedFile> file;
    uint64_t lost = 0;  ///< Lines, not told yet.
    bool takes = true;
  };

  Status write(const std::string& name, const std::string& line, Kept& kept) {
    if (!kept.file) {
      auto opened = records::SegmentedFile::open(folder_ + "/" + name,
                                                 name == "audit.jsonl" ? audit_limits_ : limits_);
      if (!opened) return opened.error();
      kept.file = std::move(*opened);
    }
    return kept.file->append(line);
  }

  const std::string folder_;
  const records::SegmentLimits limits_, audit_limits_;
  std::map<std::string, Kept> files_;
};

}  // namespace swarm::launch
