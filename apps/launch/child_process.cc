#include "apps/launch/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "common/hangups.h"

namespace swarm::launch {
namespace {

/// Between vfork and exec, in the parent's memory: only async-signal-safe calls.
[[noreturn]] void become(char* const* arguments, int output, pid_t parent) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);  // it died before the line above
  for (const int number : {SIGINT, SIGTERM, SIGPIPE}) ::signal(number, SIG_DFL);
  if (!hangups_are_ignored()) ::signal(SIGHUP, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  const int input = ::open("/dev/null", O_RDONLY);
  if (input >= 0) ::dup2(input, STDIN_FILENO);
  ::dup2(output, STDOUT_FILENO);
  ::dup2(output, STDERR_FILENO);
  ::execv(arguments[0], arguments);
  ::_exit(127);
}

}  // namespace

std::string ExitStatus::text() const {
  if (signal == 0) return "exit code " + std::to_string(code);
  const char* name = ::strsignal(signal);
  return fmt::format("signal {} ({})", signal, name ? name : "?");
}

Result<ChildProcess> ChildProcess::start(const std::vector<std::string>& arguments,
                                         const std::string& output_file) {
  const int output = ::open(output_file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (output < 0)
    return Error{ErrorCode::kIo, "cannot open " + output_file + ": " + std::strerror(errno)};
  std::vector<char*> raw;
  for (const auto& argument : arguments) raw.push_back(const_cast<char*>(argument.c_str()));
  raw.push_back(nullptr);
  sigset_t all, before;  // a signal must not run this process's handlers in the child
  sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, &before);
  const pid_t parent = ::getpid();
  // fork() copies the page tables: seconds of page faults for a node with gigabytes of state.
  const pid_t pid = ::vfork();
  if (pid == 0) become(raw.data(), output, parent);
  const int error = errno;
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  ::close(output);
  if (pid < 0) return Error{ErrorCode::kIo, std::string("cannot fork: ") + std::strerror(error)};
  ::setpgid(pid, pid);  // both sides, so that neither can be too late
  ChildProcess child;
  child.pid_ = pid;
  return child;
}

bool ChildProcess::reap() {
  if (exit_ || pid_ <= 0) return false;
  int status = 0;
  const pid_t got = ::waitpid(pid_, &status, WNOHANG);
  if (got == 0 || (got < 0 && errno == EINTR)) return false;
  ExitStatus out;
  if (got < 0) {
    out.code = 127;  // somebody else has collected it
  } else {
    if (WIFSIGNALED(status)) out.signal = WTERMSIG(status);
    if (WIFEXITED(status)) out.code = WEXITSTATUS(status);
  }
  exit_ = out;
  return true;
}

void ChildProcess::signal(int number) const {
  if (running() && pid_ > 0 && ::kill(-pid_, number) != 0) ::kill(pid_, number);
}

Status keep_output_small(const std::string& output_file, uint64_t most_bytes) {
  namespace fs = std::filesystem;
  std::error_code error, ignored;
  const auto bytes = fs::file_size(output_file, error);
  if (error || bytes <= most_bytes / 2) return {};
  const std::string before = output_file + ".before", draft = before + ".new";
  fs::copy_file(output_file, draft, fs::copy_options::overwrite_existing, error);
  if (!error) fs::rename(draft, before, error);
  if (!error) fs::resize_file(output_file, 0, error);
  if (!error) return {};
  fs::remove(draft, ignored);
  return Error{ErrorCode::kIo, "cannot put " + output_file + " aside: " + error.message()};
}

}  // namespace swarm::launch
