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
    const Status done = write(name, line);
    lost_ += done.ok() ? 0 : 1;
    takes_ = done.ok();
    return done;
  }
  /// So many lines were lost since the last call, and there is room again; 0 before that.
  uint64_t take_lost() { return takes_ ? std::exchange(lost_, 0) : 0; }
  /// records::SegmentedFile::take_refusal() of a file that has lines.
  std::optional<Error> take_refusal(const std::string& name) {
    return files_.at(name)->take_refusal();
  }

 private:
  Status write(const std::string& name, const std::string& line) {
    auto& file = files_[name];
    if (!file) {
      auto opened = records::SegmentedFile::open(folder_ + "/" + name,
                                                 name == "audit.jsonl" ? audit_limits_ : limits_);
      if (!opened) return opened.error();
      file = std::move(*opened);
    }
    return file->append(line);
  }

  const std::string folder_;
  const records::SegmentLimits limits_, audit_limits_;
  std::map<std::string, std::unique_ptr<records::SegmentedFile>> files_;
  uint64_t lost_ = 0;
  bool takes_ = false;
};

}  // namespace swarm::launch
