/// A swarm of real processes for tests: started with the program, watched through the run folder
/// (docs/run_folder.md), hurt with signals.
///
/// These tests are the only ones that wait in real time. Every wait polls a condition and has a
/// limit; none assumes how long something takes.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace swarm::testing {

using Json = nlohmann::json;

/// Environment of the ctest test: the program, and the folder with tiny.toml.
std::string swarm_binary();
std::string tiny_config();

/// Polls `condition` until it holds; false when `limit` has passed.
bool wait_until(const std::function<bool()>& condition,
                std::chrono::seconds limit = std::chrono::seconds(60));

/// A folder under the system's temporary one, removed at the end unless the test failed.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// One process of the program, or of another one. Its output goes to a file. Killed at the end if it still runs.
class Process {
 public:
  Process(const std::vector<std::string>& arguments, const std::string& output_file,
          const std::string& program = swarm_binary());
  ~Process();
  Process(const Process&) = delete;

  pid_t pid() const { return pid_; }
  void signal(int number) const;
  bool running();
  /// The exit code, 128 + signal when a signal ended it, -1 when `limit` passed before its end.
  int wait(std::chrono::seconds limit = std::chrono::seconds(120));
  std::string output() const;

 private:
  pid_t pid_ = -1;
  int exit_code_ = -1;
  bool ended_ = false;
  std::string output_file_;
};

/// What a run folder says; read anew by each call.
class RunFolder {
 public:
  explicit RunFolder(std::string path) : path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  /// Complete lines of FOLDER/<file>.
  std::vector<Json> lines(const std::string& file) const;
  std::vector<Json> events(const std::string& name) const;
  /// Steps closed so far: the highest in metrics.jsonl plus one.
  int64_t steps_closed() const;
  Json summary() const;
  /// From nodes/<name>/node.json; 0 while there is none.
  pid_t pid(const std::string& node) const;
  std::map<std::string, pid_t> pids() const;
  /// Node of the coordinator with the highest term; empty while there is none.
  std::string coordinator() const;

 private:
  std::string path_;
};

/// The newest run folder below `folder`/tiny, waiting for it to appear.
RunFolder newest_run(const std::string& folder);

bool is_alive(pid_t pid);

/// Of physical memory; 0 when the process is gone.
int64_t resident_kib(pid_t pid);

/// Unix time [s], comparable with the `time` of events and metrics.
double unix_now_s();

}  // namespace swarm::testing
