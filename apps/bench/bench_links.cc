#include <cstdio>
#include <string>

#include "apps/bench/bench.h"
#include "apps/bench/idle_node.h"
#include "apps/bench/link_echo.h"
#include "config/value.h"

namespace swarm::apps {
namespace {

/// A transfer takes this long at the rate asked for: what a limit saves up (0.1 s) hardly counts.
constexpr double kTransfer_s = 4;

/// One row: a node whose `key` is the rate, and which receives so much later.
Status measure_row(const char* key, double rate, double delay_s) {
  auto folder = IdleFolder::make(std::string(key) + " = " + config::print_float(rate) +
                                 "\nlink_delay_s = " + config::print_float(delay_s) + "\n");
  if (!folder) return folder.error();
  auto node = IdleNode::start(*folder, "seed");
  if (!node) return node.error();
  const Buffer body = echo_body(rate * kTransfer_s);
  const auto measured = measure_echo(node->endpoint(), body);
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
Status measure_at(const Endpoint& node, double megabytes, double silence_s) {
  const Buffer body = echo_body(megabytes * 1e6);
  const auto measured = measure_echo(node, body, silence_s);
  if (!measured) return measured.error();
  const double size = static_cast<double>(body.size()) * 1e-6;
  const auto rate = [&](double seconds) { return 2 * size / (seconds - measured->round_trip_s); };
  std::printf("round trip %.1f ms; %.1f MB there and back %.2f s, %.2f MB/s each way\n",
              measured->round_trip_s * 1e3, size, measured->echo_s, rate(measured->echo_s));
  if (silence_s > 0)
    std::printf("at once again %.2f s, %.2f MB/s; after %g s of silence %.2f s, %.2f MB/s\n",
                measured->again_s, rate(measured->again_s), silence_s, measured->later_s,
                rate(measured->later_s));
  return {};
}

}  // namespace

int bench_links(const LinksBenchOptions& options) {
  Status done;
  if (options.at.empty()) {
    done = measure_all(options);
  } else {
    const auto node = Endpoint::parse(options.at);
    done = node ? measure_at(*node, options.megabytes, options.silence_s) : Status(node.error());
  }
  if (done) return 0;
  std::fprintf(stderr, "swarm bench: %s\n", to_string(done.error()).c_str());
  return 1;
}

}  // namespace swarm::apps
