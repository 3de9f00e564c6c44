/// The text of the run as a node was told of it, kept in nodes/NAME/text.json: a run's history is one
/// of one text, whoever dies (docs/run_folder.md).
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "common/result.h"
#include "common/run_text.h"

namespace swarm::records {

/// Thread-safe; shared by the roles of a node.
class KeptText {
 public:
  /// In memory only.
  KeptText() = default;
  /// In `folder`; what lies there of another run (`run_id`) or is damaged does not count.
  KeptText(const std::string& folder, const std::string& run_id);

  /// Not known(): nobody has said it.
  RunText get() const;
  /// Writes it if it is another one. What is not known() is ignored. Errors: kIo; then it is kept
  /// in memory.
  Status keep(const RunText& text);

 private:
  mutable std::mutex mutex_;
  RunText text_;
  std::string file_, run_id_;
};

/// Of a node's folder, whatever its run. Errors: kNotFound, kInvalidArgument.
Result<RunText> read_kept_text(const std::string& node_folder);

/// Of all nodes of a run folder that keep one, by the node's name.
std::map<std::string, RunText> read_kept_texts(const std::string& run_folder);

}  // namespace swarm::records
