#include "apps/report/page.h"

#include <fmt/format.h>

#include <algorithm>

#include "apps/report/chart.h"
#include "apps/report/frame.h"
#include "apps/report/life_chart.h"
#include "apps/report/tables.h"
#include "apps/report/text.h"

namespace swarm::report {
namespace {

constexpr size_t kLivesOpen = 4;  // more runs than this are folded at first

using Value = std::optional<double> (*)(const records::StepMetrics&);

enum class Axis { kStep, kSeconds };

/// One line for each group, of what `value` finds.
std::vector<Line> lines_of(const std::vector<Run>& runs, const std::vector<Group>& groups,
                           Axis axis, Value value) {
  std::vector<Line> out;
  for (size_t i = 0; i < groups.size(); ++i) {
    Line line{groups[i].label, i, {}};
    for (const size_t index : groups[i].runs) {
      std::vector<Point> points;
      for (const auto& metrics : runs[index].lines) {
        const auto y = value(metrics);
        if (!y || (axis == Axis::kSeconds && !metrics.time_s)) continue;
        points.push_back({axis == Axis::kStep ? static_cast<double>(metrics.step)
                                              : runs[index].clock.seconds(*metrics.time_s),
                          *y});
      }
      if (!points.empty()) line.runs.push_back(std::move(points));
    }
    if (!line.runs.empty()) out.push_back(std::move(line));
  }
  return out;
}

std::string charts(const std::vector<Run>& runs, const std::vector<Group>& groups) {
  std::string out;
  for (const auto& column : records::metric_columns())
    for (const Axis axis : {Axis::kStep, Axis::kSeconds}) {
      const bool by_step = axis == Axis::kStep;
      if (!(by_step ? column.by_step : column.by_time)) continue;
      std::string title = column.title;
      if (column.by_step && column.by_time) title += by_step ? " by step" : " by time";
      const auto svg = line_chart({title, by_step ? "step" : "seconds since the first step began",
                                   column.unit, column.from_zero},
                                  lines_of(runs, groups, axis, column.value));
      if (!svg.empty()) out += "<figure>" + svg + "</figure>\n";
    }
  return out;
}

std::string legend(const std::vector<Group>& groups) {
  std::string out = "<p class=\"legend\">";
  for (size_t i = 0; i < groups.size(); ++i)
    out += "<button type=\"button\" class=\"" + colour_class(i) + "\" data-label=\"" +
           escape(groups[i].label) + "\"><span class=\"swatch " + colour_class(i) + "\"></span>" +
           escape(groups[i].label) + "</button>\n";
  return out + "</p>\n";
}

/// Mean staleness of each stage by step, all runs of the group together.
std::string staleness_chart(const std::vector<Run>& runs, const Group& group, size_t stages) {
  std::vector<Line> lines;
  for (size_t stage = 0; stage < stages; ++stage) {
    Line line{fmt::format("stage {}", stage), stage, {}};
    for (const size_t index : group.runs) {
      std::vector<Point> points;
      for (const auto& metrics : runs[index].lines)
        if (stage < metrics.staleness.size() && metrics.staleness[stage])
          points.push_back({static_cast<double>(metrics.step), metrics.staleness[stage]->mean});
      if (!points.empty()) line.runs.push_back(std::move(points));
    }
    if (!line.runs.empty()) lines.push_back(std::move(line));
  }
  const auto svg =
      line_chart({group.label + ": mean staleness of each stage", "step", "updates", true}, lines);
  return svg.empty() ? svg : "<figure>" + svg + "</figure>\n";
}

std::string staleness(const std::vector<Run>& runs, const std::vector<Group>& groups) {
  std::string out;
  for (const auto& group : groups) {
    records::StalenessTotals sums;
    for (const size_t index : group.runs) sums.add(runs[index].staleness);
    const size_t stages = std::min(sums.stages.size(), kMostStagesShown);
    out += staleness_chart(runs, group, stages);
    std::string histograms;
    for (size_t stage = 0; stage < stages; ++stage)
      histograms += bars(fmt::format("stage {}", stage), sums.stages[stage], stage);
    if (!histograms.empty())
      out += "<figure><figcaption>" + escape(group.label) +
             ": updates by staleness</figcaption><div class=\"row\">" + histograms +
             "</div></figure>\n";
  }
  if (out.empty()) return out;
  return "<h2>Staleness</h2>\n<p>How many updates a peer made between the forward pass of a "
         "microbatch and the update with its gradient.</p>\n" +
         out;
}

std::string lives(const std::vector<Run>& runs) {
  std::string out;
  for (size_t i = 0; i < runs.size(); ++i) {
    const auto svg = life_chart(runs[i]);
    if (svg.empty()) continue;
    out += std::string("<details") + (i < kLivesOpen ? " open" : "") + "><summary>" +
           escape(runs[i].name) + "</summary><figure>" + svg + "</figure></details>\n";
  }
  return out.empty() ? out : "<h2>Peers and events</h2>\n" + out;
}

}  // namespace

std::string html_page(const std::vector<Run>& runs, const std::vector<Group>& groups) {
  std::string title = "Swarm report: " + (groups.empty() ? "" : clip(groups.front().label, 80));
  if (groups.size() > 1) title += fmt::format(" and {} more", groups.size() - 1);
  std::string out =
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
      "style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width\">\n<title>" +
      escape(title) + "</title>\n<style>" + kStyle + "</style></head><body>\n<h1>" + escape(title) +
      "</h1>\n";
  out += summary_table(runs, groups);
  out += notes_list(runs);
  out += "<h2>Curves</h2>\n" + legend(groups);
  out += fmt::format(
      "<p>Runs that differ in nothing but their seeds are one curve. A chart has {} columns: a "
      "line is the mean over the runs and over the steps that fall into a column, its shade "
      "reaches from the least to the greatest of these values. Dashed: not all runs of the group "
      "reach here. The numbers of every single step are in the CSV file "
      "(<code>--csv</code>).</p>\n",
      kPlotColumns);
  out += charts(runs, groups) + staleness(runs, groups) + lives(runs);
  out += "<h2>Settings that differ</h2>\n" + differences_table(runs, groups);
  return out + "<div id=\"tip\" hidden></div>\n<script>" + kScript + "</script>\n</body></html>\n";
}

}  // namespace swarm::report
