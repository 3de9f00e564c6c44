#include "apps/report/columns.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace swarm::report {
namespace {

struct Cell {
  size_t points = 0;
  double sum_x = 0, sum_y = 0, low = 0, high = 0;
};

size_t column_of(double x, Range range, size_t count) {
  const double width = range.high - range.low;
  if (!(width > 0)) return 0;
  const double place = (x - range.low) / width * static_cast<double>(count);
  return std::min(count - 1, static_cast<size_t>(std::max(0.0, place)));
}

std::vector<Cell> cells_of(const std::vector<Point>& points, Range range, size_t count) {
  std::vector<Cell> cells(count);
  for (const auto& point : points) {
    if (!std::isfinite(point.y) || !(point.x >= range.low && point.x <= range.high)) continue;
    Cell& cell = cells[column_of(point.x, range, count)];
    cell.low = cell.points == 0 ? point.y : std::min(cell.low, point.y);
    cell.high = cell.points == 0 ? point.y : std::max(cell.high, point.y);
    cell.sum_x += point.x;
    cell.sum_y += point.y;
    ++cell.points;
  }
  return cells;
}

/// The straight line between the cells `from` and `to`, at the middle of column `at`.
double between(const std::vector<Cell>& cells, size_t from, size_t to, size_t at) {
  auto mean = [&](size_t i) { return cells[i].sum_y / static_cast<double>(cells[i].points); };
  const double part = static_cast<double>(at - from) / static_cast<double>(to - from);
  return mean(from) + (mean(to) - mean(from)) * part;
}

struct Sum {
  size_t runs = 0, points = 0;
  double x = 0, y = 0, low = 0, high = 0;
  void add(double mean, double run_low, double run_high) {
    low = runs == 0 ? run_low : std::min(low, run_low);
    high = runs == 0 ? run_high : std::max(high, run_high);
    y += mean;
    ++runs;
  }
};

void add_run(const std::vector<Cell>& cells, std::vector<Sum>& sums) {
  size_t before = cells.size();  // the last cell with points
  for (size_t i = 0; i < cells.size(); ++i) {
    const Cell& cell = cells[i];
    if (cell.points == 0) continue;
    for (size_t gap = before + 1; before < i && gap < i; ++gap) {
      const double value = between(cells, before, i, gap);
      sums[gap].add(value, value, value);
    }
    sums[i].add(cell.sum_y / static_cast<double>(cell.points), cell.low, cell.high);
    sums[i].x += cell.sum_x;
    sums[i].points += cell.points;
    before = i;
  }
}

}  // namespace

void Range::cover(double value) {
  if (!std::isfinite(value)) return;
  low = std::min(low, value);
  high = std::max(high, value);
}

Range Range::none() {
  const double infinity = std::numeric_limits<double>::infinity();
  return {infinity, -infinity};
}

std::vector<Column> band(const std::vector<std::vector<Point>>& runs, Range range, size_t count) {
  std::vector<Sum> sums(count);
  for (const auto& points : runs) add_run(cells_of(points, range, count), sums);
  std::vector<Column> out;
  for (const auto& sum : sums) {
    if (sum.points == 0) continue;
    const double mean = sum.y / static_cast<double>(sum.runs);
    out.push_back({sum.x / static_cast<double>(sum.points), mean, std::min(sum.low, mean),
                   std::max(sum.high, mean), sum.runs});
  }
  return out;
}

std::vector<StepColumn> steps(const std::vector<Point>& points, Range range, size_t count) {
  std::vector<StepColumn> out;
  for (const auto& point : points) {
    if (!std::isfinite(point.y) || !(point.x >= range.low && point.x <= range.high)) continue;
    if (!out.empty() && out.back().last == point.y) continue;
    const size_t index = column_of(point.x, range, count);
    if (out.empty() || out.back().index != index) out.push_back({index, point.y, point.y, point.y});
    StepColumn& column = out.back();
    column.low = std::min(column.low, point.y);
    column.high = std::max(column.high, point.y);
    column.last = point.y;
  }
  return out;
}

std::vector<double> ticks(Range range, size_t count) {
  const double width = range.high - range.low;
  if (!(width > 0) || count == 0) return {range.low};
  const double rough = width / static_cast<double>(count);
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  double step = power * 10;
  for (const double factor : {1.0, 2.0, 5.0})
    if (power * factor >= rough) {
      step = power * factor;
      break;
    }
  std::vector<double> out;
  const double first = std::ceil(range.low / step - 1e-9);
  for (size_t i = 0; i <= 2 * count; ++i) {
    const double value = (first + static_cast<double>(i)) * step;
    if (value > range.high + step * 1e-9) break;
    out.push_back(value == 0 ? 0 : value);
  }
  return out;
}

}  // namespace swarm::report
