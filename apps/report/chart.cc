#include "apps/report/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "apps/report/frame.h"
#include "apps/report/text.h"

namespace swarm::report {
namespace {

constexpr size_t kFewPoints = 60;  // are marked one by one
constexpr double kTallest = 4;     // times the height that 98 % of the values need

struct Drawn {
  const Line* line;
  std::vector<Column> columns;
};

Range x_range(const std::vector<Line>& lines) {
  Range out = Range::none();
  for (const auto& line : lines)
    for (const auto& run : line.runs)
      for (const auto& point : run)
        if (std::isfinite(point.y)) out.cover(point.x);
  return out;
}

/// Of everything, or less if few values would press all others together.
Range y_range(const std::vector<Drawn>& drawn) {
  Range all = Range::none();
  std::vector<double> means;
  for (const auto& one : drawn)
    for (const auto& column : one.columns) {
      all.cover(column.low);
      all.cover(column.high);
      means.push_back(column.mean);
    }
  if (means.empty()) return all;
  const size_t place = std::min(means.size() - 1, means.size() * 98 / 100);
  std::nth_element(means.begin(), means.begin() + static_cast<std::ptrdiff_t>(place), means.end());
  const double needed = means[place] - all.low;
  if (needed > 0 && all.high - all.low > kTallest * needed) all.high = all.low + kTallest * needed;
  if (all.high == all.low) {  // a flat line in the middle
    const double half = all.low == 0 ? 1 : std::abs(all.low) * 0.05;
    return {all.low - half, all.high + half};
  }
  return all;
}

std::string band_path(const Frame& frame, const std::vector<Column>& columns) {
  const bool flat =
      std::all_of(columns.begin(), columns.end(), [](const Column& c) { return c.low == c.high; });
  if (flat || columns.size() < 2) return {};
  std::string path;
  for (const auto& column : columns)
    path += (path.empty() ? "M" : "L") + frame.at(column.x, column.high);
  for (size_t i = columns.size(); i-- > 0;) path += "L" + frame.at(columns[i].x, columns[i].low);
  return path + "Z";
}

/// The pieces between columns that all runs reach (`whole`), or the others.
std::string mean_path(const Frame& frame, const std::vector<Column>& columns, size_t runs,
                      bool whole) {
  std::string path;
  size_t end = columns.size();  // of the piece under way
  for (size_t i = 1; i < columns.size(); ++i) {
    const bool full = columns[i - 1].runs == runs && columns[i].runs == runs;
    if (full != whole) continue;
    if (end != i - 1) path += "M" + frame.at(columns[i - 1].x, columns[i - 1].mean);
    path += "L" + frame.at(columns[i].x, columns[i].mean);
    end = i;
  }
  return path;
}

std::string draw(const Frame& frame, const Drawn& one) {
  const std::string colour = colour_class(one.line->colour);
  std::string out =
      "<g class=\"series " + colour + "\" data-label=\"" + escape(one.line->label) + "\">";
  if (const auto path = band_path(frame, one.columns); !path.empty())
    out += "<path class=\"band\" d=\"" + path + "\"/>";
  const size_t runs = one.line->runs.size();
  if (const auto path = mean_path(frame, one.columns, runs, true); !path.empty())
    out += "<path class=\"mean\" d=\"" + path + "\"/>";
  if (const auto path = mean_path(frame, one.columns, runs, false); !path.empty())
    out += "<path class=\"mean part\" d=\"" + path + "\"/>";
  if (one.columns.size() <= kFewPoints)
    for (const auto& column : one.columns)
      out += "<circle class=\"dot\" r=\"2.2\" " + frame.centre(column.x, column.mean) + "/>";
  return out + "</g>\n";
}

}  // namespace

std::string line_chart(const ChartText& text, const std::vector<Line>& lines) {
  const Range x = x_range(lines);
  if (x.empty()) return {};
  std::vector<Drawn> drawn;
  for (const auto& line : lines) drawn.push_back({&line, band(line.runs, x, kPlotColumns)});
  double highest = -HUGE_VAL;
  for (const auto& one : drawn)
    for (const auto& column : one.columns) highest = std::max(highest, column.high);
  Range y = y_range(drawn);
  if (text.from_zero) y.cover(0);
  Frame frame(x, y);
  std::string out = frame.open(text.title, text.x_label, text.y_label);
  for (const auto& one : drawn)
    if (!one.columns.empty()) out += draw(frame, one);
  if (highest > y.high)
    out += frame.remark("values up to " + shortest(highest, 4) + " are cut off");
  return out + frame.close();
}

std::string bars(const std::string& title, const std::vector<uint64_t>& counts, size_t colour) {
  double sum = 0, most = 0;
  for (const uint64_t count : counts) {
    sum += static_cast<double>(count);
    most = std::max(most, static_cast<double>(count));
  }
  if (!(sum > 0)) return {};
  constexpr double kWidth = 200, kHeight = 60, kTop = 16;
  size_t shown = counts.size();
  while (counts[shown - 1] == 0) --shown;
  shown = std::min(shown, size_t{64});
  const double width = kWidth / static_cast<double>(shown);
  std::string out = "<svg class=\"bars " + colour_class(colour) + "\" viewBox=\"0 0 " +
                    fixed(kWidth, 0) + " " + fixed(kHeight + kTop + 14, 0) + "\">";
  out += "<text x=\"0\" y=\"11\">" + escape(title) + "</text>";
  for (size_t i = 0; i < shown; ++i) {
    const double share = static_cast<double>(counts[i]) / sum;
    const double height = static_cast<double>(counts[i]) / most * kHeight;
    out += fmt::format(
        R"(<rect class="bar" x="{}" y="{}" width="{}" height="{}"><title>{}: {} updates, {} %</title></rect>)",
        fixed(width * static_cast<double>(i), 2), fixed(kTop + kHeight - height, 2),
        fixed(width * 0.9, 2), fixed(height, 2), i, grouped(static_cast<double>(counts[i])),
        fixed(share * 100, 1));
  }
  const std::string below = fixed(kTop + kHeight + 12, 0);
  out += fmt::format(R"(<text x="0" y="{0}">0</text><text class="end" x="{1}" y="{0}">{2}</text>)",
                     below, fixed(kWidth, 0), shown - 1);
  return out + "</svg>\n";
}

}  // namespace swarm::report
