/// Curves of any length reduced to the columns that a chart can show, inventing nothing. Pure.
#pragma once

#include <cstddef>
#include <vector>

namespace swarm::report {

struct Point {
  double x = 0, y = 0;
};

/// Everything that the runs of a group have in one column of a chart.
struct Column {
  double x = 0;              ///< Mean over the points in the column.
  double mean = 0;           ///< Mean over the runs, of each run's mean in the column.
  double low = 0, high = 0;  ///< The least and the greatest of all points (and of `mean`).
  size_t runs = 0;           ///< How many reach this column.
};

struct Range {
  double low = 0, high = 0;
  bool empty() const { return !(low <= high); }
  void cover(double value);
  static Range none();
};

/// Cuts [range.low, range.high] into `count` columns. A run without a point in a column between two
/// of its points has there what a straight line between these gives; before its first and after its
/// last point it does not take part. Columns in which no run has a point are left out. Points
/// outside the range are ignored, as are those that are not finite; the order does not matter.
/// Requires count > 0.
std::vector<Column> band(const std::vector<std::vector<Point>>& runs, Range range, size_t count);

/// Values of one stage's live peers in a column: how many at least, at most and at the end.
struct StepColumn {
  size_t index = 0;
  double low = 0, high = 0, last = 0;
};
/// For values that stay until the next point: columns in which something changed, the first
/// included. Requires points by rising x, count > 0.
std::vector<StepColumn> steps(const std::vector<Point>& points, Range range, size_t count);

/// 1, 2 or 5 times a power of ten apart, about `count` of them, inside the range; the range itself
/// if it is a point.
std::vector<double> ticks(Range range, size_t count);

}  // namespace swarm::report
