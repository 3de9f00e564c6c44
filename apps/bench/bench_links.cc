#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include "apps/bench/bench.h"
#include "apps/bench/idle_node.h"
#include "apps/commands/tool_link.h"
#include "common/names.h"
#include "common/statistics.h"
#include "config/value.h"

namespace swarm::apps {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kPings = 21;
/// A transfer takes this long at the rate asked for: what a limit saves up (0.1 s) hardly counts.
constexpr double kTransfer_s = 4;
constexpr double kMostBytes = 256u << 20;

struct Measured {
  double round_trip_s = 0;  // median of the smallest requests
  double echo_s = 0;        // of a body there and back
};

Buffer body_of(double bytes) {
  const auto size = static_cast<size_t>(std::min(bytes, kMostBytes));
  auto memory = MutableBuffer::allocate(size);
  std::fill_n(memory.data(), size, uint8_t{1});
  return memory.freeze();
}

Result<double> seconds_of(ToolLink& link, const caf::actor& echo, const Buffer& body) {
  const auto mail = actors::make_mail(proto::Echo(), body, std::chrono::seconds(120));
  const auto start = Clock::now();
  auto reply = link.ask(echo, mail);
  if (!reply) return reply.error();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

Result<Measured> measure(const Endpoint& node, const Buffer& body) {
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
  const auto whole = seconds_of(link, *echo, body);
  if (!whole) return whole.error();
  return Measured{quantile(pings, 0.5), *whole};
}

/// One row: a node whose `key` is the rate, and which receives so much later.
Status measure_row(const char* key, double rate, double delay_s) {
  auto folder = IdleFolder::make(std::string(key) + " = " + config::print_float(rate) +
                                 "\nlink_delay_s = " + config::print_float(delay_s) + "\n");
  if (!folder) return folder.error();
  auto node = IdleNode::start(*folder, "seed");
  if (!node) return node.error();
  const Buffer body = body_of(rate * kTransfer_s);
  const auto measured = measure(node->endpoint(), body);
  if (!measured) return measured.error();
  const double rate_s = measured->echo_s - measured->round_trip_s;
  const double got = static_cast<double>(body.size()) / rate_s;
  std::printf("%-20s %8.2f %8.2f %6.3f   %8.1f %8.1f %6.3f\n", key, rate * 1e-6, got * 1e-6,
              got / rate, delay_s * 1e3, measured->round_trip_s * 1e3,
              measured->round_trip_s / delay_s);
  std::fflush(stdout);
  return {};
}

Status measure_all(const LinksBenchOptions& options) {
  std::printf("%-20s %8s %8s %6s   %8s %8s %6s\n", "limit", "MB/s", "got", "ratio", "delay ms",
              "got", "ratio");
  for (const char* key : {"receive_bytes_per_s", "send_bytes_per_s"})
    for (const double rate : options.rates)
      for (const double delay_s : options.delays_s)
        if (auto done = measure_row(key, rate, delay_s); !done) return done;
  return {};
}

/// A node that is there already: what its link is like.
Status measure_at(const Endpoint& node, double megabytes) {
  const Buffer body = body_of(megabytes * 1e6);
  const auto measured = measure(node, body);
  if (!measured) return measured.error();
  std::printf("round trip %.1f ms; %.1f MB there and back %.2f s\n", measured->round_trip_s * 1e3,
              static_cast<double>(body.size()) * 1e-6, measured->echo_s);
  return {};
}

}  // namespace

int bench_links(const LinksBenchOptions& options) {
  Status done;
  if (options.at.empty()) {
    done = measure_all(options);
  } else {
    const auto node = Endpoint::parse(options.at);
    done = node ? measure_at(*node, options.megabytes) : Status(node.error());
  }
  if (done) return 0;
  std::fprintf(stderr, "swarm bench: %s\n", to_string(done.error()).c_str());
  return 1;
}

}  // namespace swarm::apps
