/// A child process that never outlives this one, not even when this one is killed with -9.
///
/// Call start() and keep the object on the main thread: the kernel ties a child's fate to the
/// thread that made it.
#pragma once

#include <sys/types.h>

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
/// whose content goes. Lines that the child writes meanwhile are lost. A file that cannot be copied stays.
void keep_output_small(const std::string& output_file, uint64_t most_bytes);

}  // namespace swarm::launch
