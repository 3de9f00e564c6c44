/// What systemd is told of a process that it runs as a service of Type=notify (sd_notify(3)): one
/// datagram to the socket that $NOTIFY_SOCKET names. config/swarm-node@.service is the unit.
#pragma once

#include <string>

namespace swarm::launch {

/// `assignment`: "READY=1", "STATUS=...", "WATCHDOG=1", "STOPPING=1"; of several lines the first
/// counts. Nothing where no manager asks for it; never blocks, and what does not arrive is lost.
void tell_service_manager(const std::string& assignment);

}  // namespace swarm::launch
