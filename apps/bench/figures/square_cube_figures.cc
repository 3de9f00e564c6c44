#include "apps/bench/figures/square_cube_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "common/statistics.h"
#include "common/text_table.h"

namespace swarm::apps {
namespace {

struct Fits {
  std::optional<Growth> compute, transfer;
};

Fits fits(const std::vector<WidthFigures>& all) {
  std::vector<double> widths, compute, transfer;
  for (const auto& one : all) {
    widths.push_back(one.width);
    compute.push_back(median(one.compute_s));
    transfer.push_back(median(one.transfer_s));
  }
  return {growth(widths, compute), growth(widths, transfer)};
}

double percent(double share) { return 100 * share; }

}  // namespace

double Growth::at(double x) const { return factor * std::pow(x, exponent); }

std::optional<Growth> growth(const std::vector<double>& x, const std::vector<double>& y) {
  const size_t count = std::min(x.size(), y.size());
  double mean_x = 0, mean_y = 0;
  for (size_t i = 0; i < count; ++i) {
    if (!(x[i] > 0) || !(y[i] > 0)) return std::nullopt;
    mean_x += std::log(x[i]) / static_cast<double>(count);
    mean_y += std::log(y[i]) / static_cast<double>(count);
  }
  double across = 0, both = 0;
  for (size_t i = 0; i < count; ++i) {
    const double from_mean = std::log(x[i]) - mean_x;
    across += from_mean * from_mean;
    both += from_mean * (std::log(y[i]) - mean_y);
  }
  if (!(across > 1e-12)) return std::nullopt;
  const double exponent = both / across;
  return Growth{std::exp(mean_y - exponent * mean_x), exponent};
}

double utilisation_alone(const WidthFigures& figures, const LinkFigures& link) {
  const double compute = median(figures.compute_s);
  const double all = compute + median(figures.transfer_s) + link.round_trip_s;
  return all > 0 ? compute / all : 0;
}

double utilisation_overlapped(const WidthFigures& figures) {
  const double transfer = median(figures.transfer_s) / 2;  // the directions do not share a link
  return transfer > 0 ? std::min(1.0, median(figures.compute_s) / transfer) : 1;
}

std::optional<double> crossing(const std::vector<WidthFigures>& all) {
  const auto [compute, transfer] = fits(all);
  if (!compute || !transfer || compute->exponent <= transfer->exponent) return std::nullopt;
  return std::pow(transfer->factor / compute->factor, 1 / (compute->exponent - transfer->exponent));
}

std::string square_cube_table(const std::vector<WidthFigures>& all, const LinkFigures& link) {
  TextTable table({"width", "both passes s", "GFLOP/s", "sent both ways MB", "s", "of the rate",
                   "compute/transfer", "used %, one at a time", "used %, overlapped"});
  for (const auto& one : all) {
    const double compute = median(one.compute_s), transfer = median(one.transfer_s);
    table.add({std::to_string(one.width), fmt::format("{:.4f}", compute),
               fmt::format("{:.1f}", one.flops / compute * 1e-9),
               fmt::format("{:.2f}", one.bytes * 1e-6), fmt::format("{:.4f}", transfer),
               fmt::format("{:.2f}", one.bytes / link.bytes_per_s / transfer),
               fmt::format("{:.2f}", compute / transfer),
               fmt::format("{:.1f}", percent(utilisation_alone(one, link))),
               fmt::format("{:.1f}", percent(utilisation_overlapped(one)))});
  }
  std::string text = table.text();
  text += fmt::format("link: {:.4g} MB/s each way, round trip {:.1f} ms\n", link.bytes_per_s * 1e-6,
                      link.round_trip_s * 1e3);
  const auto [compute, transfer] = fits(all);
  if (compute && transfer)
    text += fmt::format("growth with the width: computing ^{:.2f}, sending ^{:.2f}\n",
                        compute->exponent, transfer->exponent);
  if (const auto width = crossing(all))
    text +=
        fmt::format("computing a block takes as long as sending from width {:.0f} on\n", *width);
  return text;
}

std::string square_cube_json(const std::vector<WidthFigures>& all, const LinkFigures& link) {
  auto rows = nlohmann::json::array();
  for (const auto& one : all)
    rows.push_back({{"width", one.width},
                    {"flops", one.flops},
                    {"bytes", one.bytes},
                    {"rounds_compute_s", one.compute_s},
                    {"rounds_transfer_s", one.transfer_s},
                    {"utilisation_one_at_a_time", utilisation_alone(one, link)},
                    {"utilisation_overlapped", utilisation_overlapped(one)}});
  nlohmann::json json = {{"square_cube", rows},
                         {"bytes_per_s", link.bytes_per_s},
                         {"round_trip_s", link.round_trip_s}};
  const auto [compute, transfer] = fits(all);
  json["compute_exponent"] = compute ? nlohmann::json(compute->exponent) : nlohmann::json();
  json["transfer_exponent"] = transfer ? nlohmann::json(transfer->exponent) : nlohmann::json();
  const auto width = crossing(all);
  json["crossing_width"] = width ? nlohmann::json(*width) : nlohmann::json();
  return json.dump(2) + "\n";
}

}  // namespace swarm::apps
