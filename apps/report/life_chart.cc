#include "apps/report/life_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "apps/report/chart.h"
#include "apps/report/columns.h"
#include "apps/report/frame.h"
#include "apps/report/text.h"

namespace swarm::report {
namespace {

constexpr double kRow = 22, kCurve = 16;  // of the chart's units, from row to row and of a curve
constexpr size_t kMarkColumns = kPlotColumns / 4;
constexpr size_t kNamed = 4;  // events of a mark that its tooltip spells out
constexpr size_t kLongestEvent = 160;

std::vector<std::vector<Point>> peers_of(const Run& run) {
  std::vector<std::vector<Point>> out;
  for (const auto& line : run.lines) {
    if (!line.time_s) continue;
    const double x = run.clock.seconds(*line.time_s);
    if (out.size() < line.live_peers.size()) out.resize(line.live_peers.size());
    for (size_t stage = 0; stage < line.live_peers.size(); ++stage) {
      const auto y = static_cast<double>(line.live_peers[stage]);
      auto& points = out[stage];
      const bool equal = !points.empty() && points.back().y == y;
      if (y >= 0 && !equal) points.push_back({x, y});
    }
  }
  for (auto& points : out)
    std::stable_sort(points.begin(), points.end(),
                     [](const Point& a, const Point& b) { return a.x < b.x; });
  return out;
}

Range time_range(const Run& run) {
  Range out = Range::none();
  for (const auto& line : run.lines)
    if (line.time_s) out.cover(run.clock.seconds(*line.time_s));
  if (!out.empty()) out.cover(0);
  for (const auto& event : run.events) out.cover(run.clock.seconds(event.time_s));
  return out;
}

std::string row_label(double top, const std::string& left, const std::string& right) {
  const std::string y = fixed(top + kCurve - 3, 1);
  return "<text class=\"tick end\" x=\"" + fixed(Frame::kLeft - 6, 0) + "\" y=\"" + y + "\">" +
         escape(left) + "</text>" +
         (right.empty() ? ""
                        : "<text class=\"tick\" x=\"" + fixed(Frame::kLeft + Frame::kWidth + 3, 0) +
                              "\" y=\"" + y + "\">" + escape(right) + "</text>");
}

/// An area as high as peers are alive, from 0 to the most that any stage ever had.
std::string peers_row(const std::vector<Point>& points, size_t stage, Range time, double most,
                      double top) {
  const double width = Frame::kWidth / static_cast<double>(kPlotColumns);
  auto height = [&](double peers) { return fixed(top + kCurve - peers / most * kCurve, 1); };
  std::string path;
  for (const auto& column : steps(points, time, kPlotColumns)) {
    const std::string x = fixed(Frame::kLeft + width * static_cast<double>(column.index), 1);
    if (path.empty())
      path = "M" + x + "," + fixed(top + kCurve, 1) + "V" + height(column.low);
    else
      path += "H" + x;
    if (column.low != column.high) path += "V" + height(column.low) + "V" + height(column.high);
    path += "V" + height(column.last);
  }
  if (path.empty()) return {};
  path += "H" + fixed(Frame::kLeft + Frame::kWidth, 1) + "V" + fixed(top + kCurve, 1) + "Z";
  return row_label(top, fmt::format("stage {}", stage), shortest(most)) +
         fmt::format(R"(<path class="peers {}" d="{}"><title>stage {}: live peers</title></path>)",
                     colour_class(stage), path, stage) +
         "\n";
}

struct Mark {
  size_t events = 0;
  std::string text;
};
using Marks = std::array<std::map<size_t, Mark>, kLanes>;

Marks marks_of(const Run& run, Range time) {
  Marks out;
  const double width = time.high - time.low;
  for (const auto& event : run.events) {
    const double x = run.clock.seconds(event.time_s);
    const double share = width > 0 ? (x - time.low) / width : 0;
    const auto column = static_cast<size_t>(share * (kMarkColumns - 1));
    Mark& mark = out[static_cast<size_t>(*records::lane_of(event))][column];
    if (++mark.events > kNamed) continue;
    mark.text +=
        (mark.text.empty() ? "" : "\n") + fixed(x, 1) + " s " + clip(text(event), kLongestEvent);
  }
  return out;
}

std::string events_row(const std::map<size_t, Mark>& marks, Lane lane, double top) {
  uint64_t all = 0;
  std::string out;
  for (const auto& [column, mark] : marks) {
    all += mark.events;
    std::string text = mark.text;
    if (mark.events > kNamed) text += fmt::format("\nand {} more", mark.events - kNamed);
    const double x = Frame::kLeft + Frame::kWidth * static_cast<double>(column) / kMarkColumns;
    out += fmt::format(
        R"(<rect class="mark" x="{}" y="{}" width="3" height="{}"><title>{}</title></rect>)",
        fixed(x, 1), fixed(top + 2, 1), fixed(kCurve - 4, 1), escape(text));
  }
  return fmt::format("<g class=\"lane-{}\">{}{}</g>\n", static_cast<size_t>(lane),
                     row_label(top, records::to_string(lane), std::to_string(all)), out);
}

}  // namespace

std::string life_chart(const Run& run) {
  const Range time = time_range(run);
  if (time.empty()) return {};
  const auto peers = peers_of(run);
  const Marks marks = marks_of(run, time);
  const size_t stages = std::min(peers.size(), kMostStagesShown);
  double most = 1;
  for (size_t stage = 0; stage < stages; ++stage)
    for (const auto& point : peers[stage]) most = std::max(most, point.y);
  size_t rows = stages;
  for (const auto& lane : marks) rows += !lane.empty();
  if (rows == 0) return {};
  const Frame frame(time, {0, 1}, kRow * static_cast<double>(rows));
  std::string out = frame.open(run.name + ": live peers of each stage, events",
                               "seconds since the first step began", "", /*y_axis=*/false);
  double top = Frame::kTop + 3;
  for (size_t stage = 0; stage < stages; ++stage, top += kRow)
    out += peers_row(peers[stage], stage, time, most, top);
  for (size_t lane = 0; lane < kLanes; ++lane) {
    if (marks[lane].empty()) continue;
    out += events_row(marks[lane], static_cast<Lane>(lane), top);
    top += kRow;
  }
  if (peers.size() > stages)
    out += frame.remark(fmt::format("{} more stages are left out", peers.size() - stages));
  return out + frame.close();
}

}  // namespace swarm::report
