#include "apps/sweep/sweep_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "common/numbers.h"

namespace swarm::sweep {
namespace {

using OrderedJson = nlohmann::ordered_json;

/// Losses need their digits, rates and times do not.
int decimals_of(size_t column) {
  static const int decimals[] = {4, 4, 1, 0, 1, 2, 4, 5, 1, 0};
  return decimals[column];
}

std::string in_markdown(const std::optional<Spread>& column, int decimals) {
  if (!column) return "-";
  std::string out = fixed(column->mean, decimals);
  if (column->count > 1) out += " ± " + fixed(column->deviation, decimals);
  return out;
}

std::string in_markdown(const std::optional<Paired>& difference) {
  if (!difference) return "-";
  const std::string mean = fmt::format("{:+.4f}", difference->mean);
  return difference->half_width ? mean + " ± " + fixed(*difference->half_width, 4) : mean;
}

/// Characters as people count them: a ± has two bytes.
size_t width_of(const std::string& text) {
  size_t width = 0;
  for (const char c : text) width += (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  return width;
}

std::string escaped(std::string text) {
  for (size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2)
    text.insert(at, "\\");
  return text;
}

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

std::string csv_number(const std::optional<double>& value) { return value ? exact(*value) : ""; }

std::string csv_line(const std::vector<std::string>& fields) {
  std::string out;
  for (size_t i = 0; i < fields.size(); ++i) out += (i ? "," : "") + csv_field(fields[i]);
  return out + "\n";
}

RunFigures figures_of(const Figures& figures, const Cell& cell) {
  const auto found = figures.find(cell.name);
  return found == figures.end() ? RunFigures() : found->second;
}

OrderedJson json_number(const std::optional<double>& value) {
  return value ? OrderedJson(*value) : OrderedJson(nullptr);
}

OrderedJson run_json(const Cell& cell, const RunFigures& run) {
  OrderedJson out;
  out["name"] = cell.name;
  out["seed"] = cell.seed;
  out["status"] = run.status.empty() ? "not run" : run.status;
  if (!run.reason.empty()) out["reason"] = run.reason;
  const auto columns = columns_of(run);
  for (size_t i = 0; i < columns.size(); ++i) out[column_names()[i]] = json_number(columns[i]);
  return out;
}

}  // namespace

std::string to_markdown(const Plan& plan, const std::vector<Row>& rows) {
  std::vector<std::vector<std::string>> cells = {
      {"setting", "runs", "train loss", "validation loss", "seconds", "tokens/s", "retries",
       "staleness", "round [s]", "stall [s]", "bytes/token"}};
  if (plan.target_loss) cells[0].push_back("tokens to " + exact(*plan.target_loss));
  if (!plan.baseline.empty()) cells[0].push_back("loss - " + escaped(plan.baseline) + "'s (95 %)");
  for (const auto& row : rows) {
    cells.push_back({escaped(row.setting), fmt::format("{}/{}", row.finished, row.runs)});
    const size_t shown = row.columns.size() - (plan.target_loss ? 0 : 1);  // the target's is last
    for (size_t i = 0; i < shown; ++i)
      cells.back().push_back(in_markdown(row.columns[i], decimals_of(i)));
    if (!plan.baseline.empty()) cells.back().push_back(in_markdown(row.difference));
  }
  std::vector<size_t> widths(cells[0].size(), 3);
  for (const auto& line : cells)
    for (size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], width_of(line[i]));
  std::string out;
  for (size_t r = 0; r < cells.size(); ++r) {
    for (size_t i = 0; i < cells[r].size(); ++i)
      out += (i ? " | " : "| ") + cells[r][i] + std::string(widths[i] - width_of(cells[r][i]), ' ');
    out += " |\n";
    if (r > 0) continue;
    for (const size_t width : widths) out += "|" + std::string(width + 2, '-');
    out += "|\n";
  }
  return out;
}

std::string to_csv(const std::vector<Row>& rows) {
  std::vector<std::string> header = {"setting", "runs", "finished"};
  for (const auto& name : column_names()) {
    header.push_back(name + "_mean");
    header.push_back(name + "_deviation");
  }
  header.insert(header.end(), {"difference", "difference_half_width", "difference_seeds"});
  std::string out = csv_line(header);
  for (const auto& row : rows) {
    std::vector<std::string> fields = {row.setting, std::to_string(row.runs),
                                       std::to_string(row.finished)};
    for (const auto& column : row.columns) {
      fields.push_back(column ? exact(column->mean) : "");
      fields.push_back(column && column->count > 1 ? exact(column->deviation) : "");
    }
    const auto& difference = row.difference;
    fields.push_back(difference ? exact(difference->mean) : "");
    fields.push_back(difference ? csv_number(difference->half_width) : "");
    fields.push_back(difference ? std::to_string(difference->seeds) : "");
    out += csv_line(fields);
  }
  return out;
}

std::string runs_csv(const Plan& plan, const Figures& figures) {
  std::vector<std::string> header = {"name", "setting", "seed", "status"};
  header.insert(header.end(), column_names().begin(), column_names().end());
  header.insert(header.end(), {"reason", "overrides"});
  std::string out = csv_line(header);
  for (const auto& cell : plan.cells) {
    const RunFigures run = figures_of(figures, cell);
    std::vector<std::string> fields = {cell.name, plan.settings[cell.setting].label,
                                       std::to_string(cell.seed),
                                       run.status.empty() ? "not run" : run.status};
    for (const auto& column : columns_of(run)) fields.push_back(csv_number(column));
    fields.push_back(run.reason);
    std::string overrides;
    for (const auto& one : cell.overrides) overrides += (overrides.empty() ? "" : " ") + one;
    fields.push_back(overrides);
    out += csv_line(fields);
  }
  return out;
}

std::string to_json(const Plan& plan, const Figures& figures) {
  OrderedJson out;
  out["name"] = plan.name;
  out["base"] = plan.base;
  out["baseline"] = plan.baseline.empty() ? OrderedJson(nullptr) : OrderedJson(plan.baseline);
  out["target_loss"] = json_number(plan.target_loss);
  out["settings"] = OrderedJson::array();
  const auto rows = make_rows(plan, figures);
  for (size_t i = 0; i < rows.size(); ++i) {
    OrderedJson row;
    row["setting"] = rows[i].setting;
    OrderedJson changed = OrderedJson::object();
    for (const auto& one : plan.settings[i].assignments) changed[one.key] = one.value;
    row["overrides"] = changed;
    row["finished"] = rows[i].finished;
    for (size_t c = 0; c < rows[i].columns.size(); ++c) {
      const auto& column = rows[i].columns[c];
      if (!column) {
        row[column_names()[c]] = nullptr;
        continue;
      }
      row[column_names()[c]] = {{"mean", column->mean}, {"runs", column->count}};
      if (column->count > 1) row[column_names()[c]]["deviation"] = column->deviation;
    }
    if (const auto& difference = rows[i].difference)
      row["difference"] = {{"mean", difference->mean},
                           {"half_width", json_number(difference->half_width)},
                           {"seeds", difference->seeds}};
    row["runs"] = OrderedJson::array();
    for (const auto& cell : plan.cells)
      if (cell.setting == i) row["runs"].push_back(run_json(cell, figures_of(figures, cell)));
    out["settings"].push_back(row);
  }
  return out.dump(2, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

}  // namespace swarm::sweep
