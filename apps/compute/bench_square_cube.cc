// `swarm bench square-cube`: compute and transfer time of a block against its width.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "apps/bench/bench.h"
#include "apps/bench/figures/square_cube_figures.h"
#include "apps/bench/idle_node.h"
#include "apps/bench/link_echo.h"
#include "apps/compute/block_seconds.h"
#include "apps/compute/compute.h"
#include "apps/plan/stage_work.h"
#include "common/statistics.h"
#include "config/experiment.h"
#include "config/value.h"
#include "tensor/torch/threads.h"

namespace swarm::apps {
namespace {

constexpr int kHead = 64, kSequence = 128;

/// The idle node at the far end, whose link is as asked for.
std::string far_end(const SquareCubeBenchOptions& options) {
  const std::string rate = config::print_float(options.bytes_per_s);
  return "receive_bytes_per_s = " + rate + "\nsend_bytes_per_s = " + rate +
         "\nlink_delay_s = " + config::print_float(options.round_trip_s) + "\n";
}

Result<actors::NodeOptions> experiment_of(const SquareCubeBenchOptions& options, int width) {
  const auto loaded = config::parse_experiment(
      fmt::format("[model]\nlayers = 3\nwidth = {}\nheads = {}\nffn = {}\nsequence = {}\n"
                  "[data]\ntrain = [\"none\"]\n[training]\nmicrobatch = {}\nbatch = {}\n"
                  "[pipeline]\ncompute = \"{}\"\n",
                  width, width / kHead, 4 * width, kSequence, options.microbatch,
                  options.microbatch, options.compute),
      "swarm bench");
  if (!loaded.ok()) return Error{ErrorCode::kInvalidArgument, loaded.text()};
  return loaded.experiment->base;
}

Status measure_width(const actors::NodeOptions& options, const Endpoint& node,
                     WidthFigures& figures, std::vector<double>& round_trips) {
  const auto compute = block_seconds(options);
  if (!compute) return compute.error();
  const auto echo = measure_echo(node, echo_body(figures.bytes / 2));
  if (!echo) return echo.error();
  figures.compute_s.push_back(*compute);
  figures.transfer_s.push_back(echo->echo_s - echo->round_trip_s);
  round_trips.push_back(echo->round_trip_s);
  return {};
}

Status measure_all(const SquareCubeBenchOptions& options, std::vector<WidthFigures>& all,
                   LinkFigures& link) {
  auto folder = IdleFolder::make(far_end(options));
  if (!folder) return folder.error();
  auto node = IdleNode::start(*folder, "seed");
  if (!node) return node.error();
  tensor::set_threads(1);
  const double tokens = double(options.microbatch) * kSequence;
  for (const int width : options.widths) {
    const auto experiment = experiment_of(options, width);
    if (!experiment) return experiment.error();
    WidthFigures figures;
    figures.width = width;
    figures.flops = 3 * tokens * plan::block_flops(experiment->model);
    figures.bytes = 2 * tokens * width * sizeof(float);
    all.push_back(figures);
  }
  std::vector<double> round_trips;
  for (int round = 0; round < options.rounds; ++round)
    for (auto& figures : all) {
      const auto experiment = experiment_of(options, figures.width);
      if (auto done = measure_width(*experiment, node->endpoint(), figures, round_trips); !done)
        return done;
    }
  link = {options.bytes_per_s, median(round_trips)};
  return {};
}

}  // namespace

int bench_square_cube(const SquareCubeBenchOptions& options) {
  std::vector<WidthFigures> all;
  LinkFigures link;
  if (const auto done = measure_all(options, all, link); !done) {
    std::fprintf(stderr, "swarm bench: %s\n", to_string(done.error()).c_str());
    return 1;
  }
  const auto text = options.json ? square_cube_json(all, link) : square_cube_table(all, link);
  std::fputs(text.c_str(), stdout);
  return 0;
}

}  // namespace swarm::apps
