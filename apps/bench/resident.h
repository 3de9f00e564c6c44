/// How much memory a process holds.
#pragma once

#include <sys/types.h>

namespace swarm::apps {

/// Resident memory [MB of 10^6 bytes], shared pages included; 0 when the process is gone.
double resident_mb(pid_t pid);

}  // namespace swarm::apps
