/// Joins two network namespaces by a wire with a delay: makes a TAP device in each and passes
/// Ethernet frames between them, each way after its delay and in order. For scripts/netns.sh;
/// kernels without netem have no other way.
///
///   packet_delay DELAY_MS JITTER_MS NAMESPACE_A DEVICE_A NAMESPACE_B DEVICE_B
///
/// Namespaces are names of `ip netns`. Prints "ready" once both devices exist and goes on until it
/// is killed; then the devices are gone. Root only. A wire holds as many bytes as 1 Gb/s needs for
/// its delay; frames beyond that are lost, as in a router.
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>

#include "actors/net/links/shape/delay_line.h"

namespace {

using Clock = std::chrono::steady_clock;
using swarm::actors::links::DelayLine;

constexpr size_t kMaxFrame = 65536;

[[noreturn]] void give_up(const std::string& what) {
  std::fprintf(stderr, "packet_delay: %s: %s\n", what.c_str(), std::strerror(errno));
  std::exit(1);
}

/// The device belongs to the namespace that this process is in when it opens the driver.
int open_tap(const std::string& space, const std::string& device) {
  const int entry = ::open(("/run/netns/" + space).c_str(), O_RDONLY | O_CLOEXEC);
  if (entry < 0) give_up("namespace " + space);
  if (::setns(entry, CLONE_NEWNET) != 0) give_up("cannot enter namespace " + space);
  ::close(entry);
  const int fd = ::open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) give_up("/dev/net/tun");
  ifreq request{};
  request.ifr_flags = IFF_TAP | IFF_NO_PI;
  if (device.size() >= sizeof request.ifr_name) give_up("too long a name: " + device);
  std::memcpy(request.ifr_name, device.c_str(), device.size());
  if (::ioctl(fd, TUNSETIFF, &request) != 0) give_up("cannot make device " + device);
  return fd;
}

/// One direction.
class Wire {
 public:
  Wire(int from, int to, double delay_s, double jitter_s)
      : from_(from),
        to_(to),
        delay_s_(delay_s),
        jitter_s_(jitter_s),
        bound_(DelayLine::bound_bytes(0, delay_s + jitter_s)) {}

  int from() const { return from_; }

  void take_in(Clock::time_point now) {
    char frame[kMaxFrame];
    for (ssize_t size; (size = ::read(from_, frame, sizeof frame)) > 0;) {
      if (line_.bytes() > bound_) continue;
      const double wait_s =
          delay_s_ + jitter_s_ * std::uniform_real_distribution<double>(0, 1)(random_);
      line_.push(
          frame, static_cast<size_t>(size),
          now + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(wait_s)));
    }
  }

  void give_out(Clock::time_point now) {
    while (const auto frame = line_.take(now))
      if (::write(to_, frame->data(), frame->size()) < 0) ++lost_;  // the device is down
  }

  /// Until the next frame is due; the longest wait there is if none waits.
  Clock::duration wait(Clock::time_point now) const {
    const auto due = line_.next_due();
    if (!due) return std::chrono::seconds(1);
    return std::max(Clock::duration(0), *due - now);
  }

 private:
  const int from_, to_;
  const double delay_s_, jitter_s_;
  const uint64_t bound_;
  uint64_t lost_ = 0;
  DelayLine line_;
  std::minstd_rand random_{1};
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 7) {
    std::fprintf(stderr,
                 "usage: packet_delay DELAY_MS JITTER_MS NAMESPACE_A DEVICE_A NAMESPACE_B "
                 "DEVICE_B\n");
    return 2;
  }
  const double delay_s = std::atof(argv[1]) * 1e-3, jitter_s = std::atof(argv[2]) * 1e-3;
  if (!(delay_s >= 0 && delay_s <= 10 && jitter_s >= 0 && jitter_s <= 10)) {
    std::fprintf(stderr, "packet_delay: delay and jitter: expected 0 to 10000 ms\n");
    return 2;
  }
  const int a = open_tap(argv[3], argv[4]), b = open_tap(argv[5], argv[6]);
  std::printf("ready\n");
  std::fflush(stdout);
  Wire wires[] = {{a, b, delay_s, jitter_s}, {b, a, delay_s, jitter_s}};
  for (;;) {
    auto now = Clock::now();
    const auto wait = std::min(wires[0].wait(now), wires[1].wait(now));
    const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(wait).count();
    const timespec limit{static_cast<time_t>(ns / 1'000'000'000),
                         static_cast<long>(ns % 1'000'000'000)};
    pollfd fds[] = {{wires[0].from(), POLLIN, 0}, {wires[1].from(), POLLIN, 0}};
    if (::ppoll(fds, 2, &limit, nullptr) < 0 && errno != EINTR) give_up("poll");
    now = Clock::now();
    for (auto& wire : wires) {
      wire.take_in(now);
      wire.give_out(now);
    }
  }
}
