#include "apps/report/tables.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "apps/report/columns.h"
#include "apps/report/frame.h"
#include "apps/report/text.h"

namespace swarm::report {
namespace {

constexpr size_t kLongestSetting = 300;

/// A column of the summary.
struct Measure {
  const char* name;
  const char* help;
  std::function<std::optional<double>(const RunTotals&)> value;
  int decimals;  ///< -1: whole, in groups of three digits.
};

const std::vector<Measure>& measures() {
  static const std::vector<Measure> all = {
      {"steps", "closed", [](const RunTotals& t) { return double(t.steps_closed); }, -1},
      {"train loss", "of the last step [nats per token]",
       [](const RunTotals& t) { return t.train_loss; }, 4},
      {"validation loss", "the last one measured [nats per token]",
       [](const RunTotals& t) { return t.validation_loss; }, 4},
      {"seconds", "from the opening of the first step to the last line",
       [](const RunTotals& t) { return t.seconds; }, 1},
      {"tokens/s", "from the first step to the last, everything in between included",
       [](const RunTotals& t) { return t.tokens_per_s; }, -1},
      {"tokens", "trained", [](const RunTotals& t) { return double(t.tokens); }, -1},
      {"kills", "by timeline and chaos", [](const RunTotals& t) { return double(t.kills); }, -1},
      {"pauses", "by timeline and chaos", [](const RunTotals& t) { return double(t.pauses); }, -1},
      {"crashes", "processes that ended though nobody asked them to",
       [](const RunTotals& t) { return double(t.crashes); }, -1},
      {"recoveries", "states loaded, and times the swarm went back",
       [](const RunTotals& t) { return double(t.recoveries); }, -1},
      {"retries", "attempts beyond the first of each microbatch",
       [](const RunTotals& t) { return double(t.retries); }, -1},
      {"coordinators", "terms", [](const RunTotals& t) { return double(t.coordinators); }, -1}};
  return all;
}

std::string number(const std::optional<double>& value, int decimals) {
  if (!value) return "-";
  return decimals < 0 ? grouped(*value) : fixed(*value, decimals);
}

std::string cell(const std::string& text) { return "<td>" + escape(text) + "</td>"; }

std::string swatch(size_t group) {
  return "<span class=\"swatch " + colour_class(group) + "\"></span>";
}

std::string wanted_steps(const Run& run) {
  const auto found = run.settings.find("training.steps");
  return found == run.settings.end() ? "" : " of " + clip(found->second, 20);
}

std::string run_row(const Run& run, size_t group, bool indented) {
  const RunTotals t = totals(run);
  std::string out = std::string("<tr><th class=\"") + (indented ? "inner" : "outer") + "\">" +
                    (indented ? "" : swatch(group)) + escape(run.name) + "</th>";
  out += cell(run.status);
  for (const auto& measure : measures()) {
    std::string text = number(measure.value(t), measure.decimals);
    if (measure.name == std::string("steps")) text += wanted_steps(run);
    out += cell(text);
  }
  return out + "</tr>\n";
}

/// Mean, and below it the least and the greatest, over the runs that have the number.
std::string group_row(const std::vector<RunTotals>& all, const Group& group, size_t index) {
  std::string out =
      "<tr class=\"group\"><th>" + swatch(index) + escape(group.label) + "</th><td>mean</td>";
  for (const auto& measure : measures()) {
    Range range = Range::none();
    double sum = 0, count = 0;
    for (const size_t run : group.runs) {
      const auto value = measure.value(all[run]);
      if (!value) continue;
      range.cover(*value);
      sum += *value;
      ++count;
    }
    if (count == 0) {
      out += "<td>-</td>";
      continue;
    }
    const int decimals = measure.decimals;
    out += "<td>" + number(sum / count, decimals) + "<small>" + number(range.low, decimals) +
           " to " + number(range.high, decimals) + "</small></td>";
  }
  return out + "</tr>\n";
}

}  // namespace

std::string summary_table(const std::vector<Run>& runs, const std::vector<Group>& groups) {
  std::string out = "<div class=\"wide\"><table><thead><tr><th>run</th><th>status</th>";
  for (const auto& measure : measures())
    out += std::string("<th title=\"") + measure.help + "\">" + measure.name + "</th>";
  out += "</tr></thead><tbody>\n";
  std::vector<RunTotals> all;
  for (const auto& run : runs) all.push_back(totals(run));
  for (size_t i = 0; i < groups.size(); ++i) {
    const bool several = groups[i].runs.size() > 1;
    if (several) out += group_row(all, groups[i], i);
    for (const size_t run : groups[i].runs) out += run_row(runs[run], i, several);
  }
  return out + "</tbody></table></div>\n";
}

std::string differences_table(const std::vector<Run>& runs, const std::vector<Group>& groups) {
  const auto all = differences(runs);
  if (all.empty()) return "<p>The runs' settings do not differ.</p>\n";
  std::vector<size_t> order;
  std::string out = "<div class=\"wide\"><table class=\"settings\"><thead><tr><th>setting</th>";
  for (size_t i = 0; i < groups.size(); ++i)
    for (const size_t run : groups[i].runs) {
      order.push_back(run);
      out += "<th>" + swatch(i) + escape(runs[run].name) + "</th>";
    }
  out += "</tr></thead><tbody>\n";
  for (const auto& difference : all) {
    out += "<tr><th>" + escape(difference.key) + "</th>";
    for (const size_t run : order) out += cell(clip(difference.values[run], kLongestSetting));
    out += "</tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

std::string notes_list(const std::vector<Run>& runs) {
  std::string out;
  for (const auto& run : runs)
    for (const auto& note : run.notes)
      out += "<li><b>" + escape(run.name) + "</b>: " + escape(clip(note, 500)) + "</li>\n";
  return out.empty() ? out : "<ul class=\"notes\">\n" + out + "</ul>\n";
}

}  // namespace swarm::report
