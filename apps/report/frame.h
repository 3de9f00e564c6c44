/// The axes of a chart: from values to places, and the SVG around the curves. Pure.
#pragma once

#include <string>

#include "apps/report/columns.h"

namespace swarm::report {

/// The CSS class of colour number `colour`, counted round.
std::string colour_class(size_t colour);

class Frame {
 public:
  static constexpr double kLeft = 80, kTop = 30, kWidth = 680, kRight = 30, kBottom = 40;

  /// Requires ranges that are not empty. `height`: of the plot.
  Frame(Range x, Range y, double height = 230) : x_(x), y_(y), height_(height) {}

  double place_x(double value) const;            ///< Held inside the plot.
  double place_y(double value) const;            ///< Held inside the plot.
  std::string at(double x, double y) const;      ///< "12.5,80"
  std::string centre(double x, double y) const;  ///< cx="12.5" cy="80"

  /// <svg> with title, grid and axes; the page's script finds the ranges in its data attributes.
  std::string open(const std::string& title, const std::string& x_label, const std::string& y_label,
                   bool y_axis = true) const;
  /// A line of small text at the upper right.
  std::string remark(const std::string& text) const;
  std::string close() const { return "</svg>\n"; }

 private:
  std::string x_axis() const;
  std::string y_axis() const;

  Range x_, y_;
  double height_;
};

}  // namespace swarm::report
