#include "apps/launch/preemption_watch.h"

#include <csignal>
#include <filesystem>
#include <system_error>

namespace swarm::launch {

void PreemptionWatch::end() const {
  if (child_) child_->signal(SIGKILL);
}

std::optional<actors::SpotNotice> PreemptionWatch::look(double now_s) {
  if (poll_.looks(now_s)) return begin(now_s);
  if (!child_) return std::nullopt;
  if (child_->reap()) {
    const ExitStatus how = *child_->exit();
    child_.reset();
    return notice(poll_.ended(how), how.text());
  }
  if (poll_.overdue(now_s)) child_->signal(SIGKILL);
  return std::nullopt;
}

std::optional<actors::SpotNotice> PreemptionWatch::begin(double now_s) {
  std::error_code error;
  if (!file_.empty() && std::filesystem::exists(file_, error))
    return actors::SpotNotice{true, "node.preemption_file: " + file_ + " is there"};
  if (command_.empty()) return std::nullopt;
  auto child = ChildProcess::start({"/bin/sh", "-c", command_}, "/dev/null");
  if (!child) return notice(poll_.not_asked(), child.error().detail);
  child_ = *child;
  poll_.began(now_s);
  return std::nullopt;
}

std::optional<actors::SpotNotice> PreemptionWatch::notice(Verdict verdict,
                                                          const std::string& how) const {
  if (verdict == Verdict::kNothing) return std::nullopt;
  if (verdict == Verdict::kLeave)
    return actors::SpotNotice{true, "node.preemption_command: " + how};
  return actors::SpotNotice{false, "node.preemption_command cannot be run: " + how};
}

}  // namespace swarm::launch
