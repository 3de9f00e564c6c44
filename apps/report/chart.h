/// Line charts with bands as inline SVG. Pure: numbers in, text out; colours and what happens on
/// hover come from the page (page_parts.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "apps/report/columns.h"

namespace swarm::report {

/// A chart's plot is this many units wide; more columns than that nobody could see.
constexpr size_t kPlotColumns = 680;

struct Line {
  std::string label;                     ///< For tooltip and legend; any text.
  size_t colour = 0;                     ///< Equal numbers, equal colours; any number.
  std::vector<std::vector<Point>> runs;  ///< Seeds of one experiment.
};

struct ChartText {
  std::string title, x_label, y_label;
  bool from_zero = false;  ///< The y axis shows 0 even if no value is near it.
};

/// An empty text if no line has a point. Line = mean of a column, over seeds and over what the
/// column holds; shade = the least and the greatest; dashed = not all runs reach here. If few
/// values lie far above all others the chart cuts them off and says at what height.
std::string line_chart(const ChartText& text, const std::vector<Line>& lines);

/// Bars of a histogram: shares of the sum, bucket 0 first. Empty if the sum is 0.
std::string bars(const std::string& title, const std::vector<uint64_t>& counts, size_t colour);

}  // namespace swarm::report
