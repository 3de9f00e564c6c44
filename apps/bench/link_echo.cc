#include "apps/bench/link_echo.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include "apps/commands/tool_link.h"
#include "common/names.h"
#include "common/statistics.h"

namespace swarm::apps {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kPings = 21;
constexpr double kMostBytes = 256u << 20;

Result<double> seconds_of(ToolLink& link, const caf::actor& echo, const Buffer& body) {
  const auto mail = actors::make_mail(proto::Echo(), body, std::chrono::seconds(120));
  const auto start = Clock::now();
  auto reply = link.ask(echo, mail);
  if (!reply) return reply.error();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

Buffer echo_body(double bytes) {
  const auto size = static_cast<size_t>(std::min(bytes, kMostBytes));
  auto memory = MutableBuffer::allocate(size);
  std::fill_n(memory.data(), size, uint8_t{1});
  return memory.freeze();
}

Result<EchoTimes> measure_echo(const Endpoint& node, const Buffer& body, double silence_s) {
  ToolLink link;
  if (auto opened = link.open(); !opened) return opened.error();
  auto echo = link.resolve(node, kEchoName);
  if (!echo) return echo.error();
  std::vector<double> pings;
  for (int i = 0; i < kPings; ++i) {
    const auto ping = seconds_of(link, *echo, {});
    if (!ping) return ping.error();
    pings.push_back(*ping);
  }
  EchoTimes times;
  times.round_trip_s = quantile(pings, 0.5);
  for (double* seconds : {&times.echo_s, &times.again_s, &times.later_s}) {
    if (seconds == &times.later_s)
      std::this_thread::sleep_for(std::chrono::duration<double>(silence_s));
    const auto whole = seconds_of(link, *echo, body);
    if (!whole) return whole.error();
    *seconds = *whole;
    if (silence_s <= 0) break;
  }
  return times;
}

}  // namespace swarm::apps
