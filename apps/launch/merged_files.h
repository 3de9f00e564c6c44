/// The run's own events.jsonl, metrics.jsonl and audit.jsonl, which `swarm run` merges from the nodes':
/// small as theirs, but for the audit. One owner.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "records/segmented_file.h"

namespace swarm::launch {

class MergedFiles {
 public:
  MergedFiles(std::string folder, int32_t records_mb)
      : folder_(std::move(folder)), total_bytes_(static_cast<uint64_t>(records_mb) << 20) {}

  /// A file is made with its first line. Errors: kIo.
  Status append(const std::string& name, const std::string& line) {
    auto& file = files_[name];
    if (!file) {
      auto opened =
          records::SegmentedFile::open(folder_ + "/" + name, {total_bytes_, name == "audit.jsonl"});
      if (!opened) return opened.error();
      file = std::move(*opened);
    }
    return file->append(line);
  }

 private:
  const std::string folder_;
  const uint64_t total_bytes_;
  std::map<std::string, std::unique_ptr<records::SegmentedFile>> files_;
};

}  // namespace swarm::launch
