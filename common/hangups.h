/// SIGHUP: what a closed terminal sends.
#pragma once

#include <signal.h>

namespace swarm {

/// As under nohup: whoever started this process wants it to outlive the terminal, and its children too.
inline bool hangups_are_ignored() {
  struct sigaction now {};
  return ::sigaction(SIGHUP, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

}  // namespace swarm
