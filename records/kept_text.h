/// The text of the run as a node was told of it, kept in nodes/NAME/text.json from the first update on: a
/// run's history is one of one text, whoever dies (docs/run_folder.md). Before that nothing was
/// learned, and a run that was started with the wrong text is bound to nothing.
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
  /// In memory. What is not known() is ignored.
  void keep(const RunText& text);
  /// The run has learned from it: writes it unless that is done. Errors: kIo; then it is kept in
  /// memory.
  Status settle();

 private:
  mutable std::mutex mutex_;
  RunText text_, written_;
  std::string file_, run_id_;
};

/// Of a node's folder, whatever its run. Errors: kNotFound, kInvalidArgument.
Result<RunText> read_kept_text(const std::string& node_folder);

/// Of all nodes of a run folder that keep one, by the node's name.
std::map<std::string, RunText> read_kept_texts(const std::string& run_folder);

}  // namespace swarm::records
