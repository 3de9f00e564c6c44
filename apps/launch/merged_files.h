/// The run's own events.jsonl, metrics.jsonl and audit.jsonl, which `swarm run` merges from the nodes':
/// small as theirs. One owner.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "actors/node/audit_keeping.h"
#include "records/segmented_file.h"

namespace swarm::launch {

class MergedFiles {
 public:
  MergedFiles(std::string folder, const actors::NodeOptions& options)
      : folder_(std::move(folder)),
        limits_{static_cast<uint64_t>(options.records_mb) << 20, false, {}},
        audit_limits_(actors::audit_limits(options, "")) {}

  /// A file is made with its first line. Errors: kIo.
  Status append(const std::string& name, const std::string& line) {
    auto& file = files_[name];
    if (!file) {
      auto opened = records::SegmentedFile::open(folder_ + "/" + name,
                                                 name == "audit.jsonl" ? audit_limits_ : limits_);
      if (!opened) return opened.error();
      file = std::move(*opened);
    }
    return file->append(line);
  }
  /// records::SegmentedFile::take_refusal() of a file that has lines.
  std::optional<Error> take_refusal(const std::string& name) {
    return files_.at(name)->take_refusal();
  }

 private:
  const std::string folder_;
  const records::SegmentLimits limits_, audit_limits_;
  std::map<std::string, std::unique_ptr<records::SegmentedFile>> files_;
};

}  // namespace swarm::launch
