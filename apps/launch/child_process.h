/// A child process that never outlives this one, not even when this one is killed with -9.
///
/// Call start() and keep the object on the main thread: the kernel ties a child's fate to the
/// thread that made it.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/result.h"

namespace swarm::launch {

struct ExitStatus {
  int code = 0;    ///< Meaningful when signal is 0.
  int signal = 0;  ///< The signal that ended it; 0: it exited.
  std::string text() const;
};

class ChildProcess {
 public:
  /// `arguments[0]` is the program's path. Output (both streams) is appended to `output_file`. The
  /// child has a process group of its own, so Ctrl-C reaches only the parent. Errors: kIo.
  static Result<ChildProcess> start(const std::vector<std::string>& arguments,
                                    const std::string& output_file);

  pid_t pid() const { return pid_; }
  bool running() const { return !exit_; }
  /// Collects the exit status if it has ended; true exactly once, then.
  bool reap();
  const std::optional<ExitStatus>& exit() const { return exit_; }
  /// Signals the whole process group; does nothing once the child has ended.
  void signal(int number) const;

 private:
  pid_t pid_ = -1;
  std::optional<ExitStatus> exit_;
};

/// A child's output, which it goes on appending to: what is beyond half of `most_bytes` moves to FILE.before,
/// whose content goes. Lines that the child writes meanwhile are lost.
/// Errors: kIo (the disk is full, maybe; FILE.before is as it was).
Status keep_output_small(const std::string& output_file, uint64_t most_bytes);

/// When that is done: every second; a disk that does not take it is left alone for a minute.
class KeptOutputs {
 public:
  bool due(double now_s) const { return now_s >= not_before_s_; }
  void keep_small(const std::string& output_file, uint64_t most_bytes, double now_s) {
    const bool done = keep_output_small(output_file, most_bytes).ok();
    not_before_s_ = std::max(not_before_s_, now_s + (done ? 1 : 60));
  }

 private:
  double not_before_s_ = 0;
};

}  // namespace swarm::launch
