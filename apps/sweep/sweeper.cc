#include "apps/sweep/sweeper.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "apps/launch/line_tail.h"
#include "apps/launch/run_folder.h"
#include "common/hangups.h"
#include "records/files.h"
#include "records/segments.h"

namespace swarm::sweep {
namespace {

namespace fs = std::filesystem;

constexpr int kPollMs = 100;
volatile std::sig_atomic_t g_interrupts = 0;

void on_interrupt(int) { g_interrupts = g_interrupts + 1; }

std::string last_line(const std::string& path) {
  const auto lines = launch::LineTail(path).poll();
  return lines.empty() ? "" : lines.back();
}

}  // namespace

Sweeper::Sweeper(Plan plan, SweepOptions options)
    : plan_(std::move(plan)), options_(std::move(options)) {}

Result<SweepReport> Sweeper::run() {
  if (auto opened = open(); !opened) return opened.error();
  struct sigaction action {};
  action.sa_handler = on_interrupt;
  for (const int number : {SIGINT, SIGTERM}) ::sigaction(number, &action, nullptr);
  if (!hangups_are_ignored()) ::sigaction(SIGHUP, &action, nullptr);
  g_interrupts = 0;
  for (const auto& cell : plan_.cells) {
    const Action next = next_action(state_, cell, options_.retry, has_run(cell));
    if (next == Action::kSkip) {
      read_run(cell, state_[cell.name]);
    } else if (g_interrupts == 0) {
      if (auto done = run_cell(cell, next); !done) return done.error();
    }
  }
  SweepReport report;
  report.interrupted = g_interrupts > 0;
  report.rows = make_rows(plan_, figures_);
  for (const auto& cell : plan_.cells) {
    const auto found = state_.find(cell.name);
    const bool begun = found != state_.end();
    report.finished += begun && found->second.status == CellStatus::kFinished;
    report.failed += begun && found->second.status == CellStatus::kFailed;
  }
  report.left = plan_.cells.size() - report.finished - report.failed;
  if (auto written = write_tables(report.rows); !written) return written.error();
  return report;
}

Result<SweepState> Sweeper::read_state() const {
  const std::string path = options_.folder + "/state.json";
  const auto text = records::read_file(path);
  if (text.code() == ErrorCode::kNotFound) return SweepState();
  if (!text) return text.error();
  auto state = parse_state(*text);
  if (!state) return Error{state.code(), path + " is " + state.error().detail};
  if (const std::string changed = changed_cells(*state, plan_); !changed.empty())
    return Error{ErrorCode::kInvalidArgument,
                 options_.folder +
                     " holds runs that were begun with other settings; choose another "
                     "--output, or delete the folder:\n" +
                     changed};
  return state;
}

Status Sweeper::open() {
  std::error_code failed;
  fs::create_directories(options_.folder + "/runs", failed);
  if (failed)
    return Error{ErrorCode::kIo, "cannot make " + options_.folder + "/runs: " + failed.message()};
  if (!launch::lock_folder(options_.folder))
    return Error{ErrorCode::kIo, options_.folder + " is in use by another `swarm sweep`"};
  auto state = read_state();
  if (!state) return state.error();
  state_ = std::move(*state);
  return {};
}

Status Sweeper::save() {
  return records::write_atomically(options_.folder + "/state.json", to_json(state_));
}

bool Sweeper::has_run(const Cell& cell) const {
  const auto state = state_.find(cell.name);
  return state != state_.end() &&
         records::has_lines(run_folder(cell, state->second) + "/metrics.jsonl");
}

Status Sweeper::run_cell(const Cell& cell, Action action) {
  CellState& state = state_[cell.name];
  if (action == Action::kContinue && state.folder.empty() && newest_run(cell) > state.after)
    state.folder = newest_run(cell);  // this program died before it could note it
  read_run(cell, state);
  const bool known = action == Action::kContinue && !state.folder.empty();
  if (known && figures_[cell.name].status == "finished") {
    state.status = CellStatus::kFinished;
    return save();
  }
  const bool resumes = known && fs::exists(run_folder(cell, state) + "/config.toml");
  if (!resumes) state = CellState{CellStatus::kUnfinished, cell.hash, "", newest_run(cell), ""};
  if (auto saved = save(); !saved) return saved;
  std::error_code failed;
  fs::create_directories(cell_folder(cell), failed);
  const auto index = static_cast<size_t>(&cell - plan_.cells.data());
  say(fmt::format("[{}/{}] {}: {}", index + 1, plan_.cells.size(), cell.name,
                  resumes ? "goes on" : "begins"));
  auto child =
      launch::ChildProcess::start(arguments(cell, state), cell_folder(cell) + "/output.txt");
  if (!child) return child.error();
  wait(*child);
  judge(cell, state, *child->exit());
  return save();
}

std::vector<std::string> Sweeper::arguments(const Cell& cell, const CellState& state) const {
  if (!state.folder.empty())
    return {options_.program, "run", "--resume", run_folder(cell, state), "--quiet"};
  std::vector<std::string> out = {options_.program, "run", plan_.base, "--quiet"};
  auto set = [&](const std::string& override) {
    out.emplace_back("--set");
    out.push_back(override);
  };
  for (const auto& override : cell.overrides) set(override);
  set("run.folder=" + options_.folder + "/runs");
  set("run.name=" + cell.name);
  return out;
}

/// Each interrupt is passed on; `swarm run` drains its nodes at the first and kills them at the
/// second.
void Sweeper::wait(launch::ChildProcess& child) const {
  std::sig_atomic_t passed_on = 0;
  while (!child.reap()) {
    if (g_interrupts > passed_on) {
      passed_on = g_interrupts;
      child.signal(SIGTERM);
    }
    ::poll(nullptr, 0, kPollMs);  // a signal wakes it
  }
}

void Sweeper::judge(const Cell& cell, CellState& state, const launch::ExitStatus& exit) {
  if (const std::string newest = newest_run(cell); newest > state.after) state.folder = newest;
  read_run(cell, state);
  if (exit.signal == 0 && exit.code == 0) {
    state.status = CellStatus::kFinished;
  } else if (g_interrupts == 0) {
    state.status = CellStatus::kFailed;
    state.reason = figures_[cell.name].reason;
    const std::string output = cell_folder(cell) + "/output.txt";
    if (state.reason.empty()) state.reason = exit.text() + ": " + last_line(output);
    read_run(cell, state);
  }
  say("  " + what_came_out(cell));
}

/// Into figures_. A run folder's summary is that of its last `swarm run`: what the sweep knows
/// better goes over it.
void Sweeper::read_run(const Cell& cell, const CellState& state) {
  RunFigures figures;
  if (!state.folder.empty()) {
    const std::string folder = run_folder(cell, state);
    const auto summary = records::read_file(folder + "/summary.json");
    figures = read_figures(summary ? *summary : std::string(),
                           launch::LineTail(folder + "/metrics.jsonl").poll(),
                           launch::LineTail(folder + "/events.jsonl").poll(), plan_.target_loss);
  }
  if (state.status == CellStatus::kFailed) {
    figures.status = to_string(state.status);
    figures.reason = state.reason;
  }
  figures_[cell.name] = figures;
}

std::string Sweeper::what_came_out(const Cell& cell) const {
  const CellState& state = state_.at(cell.name);
  const RunFigures& run = figures_.at(cell.name);
  char text[96] = "";
  if (run.seconds) std::snprintf(text, sizeof text, " after %.0f s of training", *run.seconds);
  std::string out = to_string(state.status) + std::string(text);
  if (!state.reason.empty()) out += ": " + state.reason;
  if (state.status != CellStatus::kFinished || !run.validation_loss) return out;
  std::snprintf(text, sizeof text, ", validation loss %.4f", *run.validation_loss);
  return out + text;
}

Status Sweeper::write_tables(const std::vector<Row>& rows) const {
  const std::pair<const char*, std::string> files[] = {{"table.md", to_markdown(plan_, rows)},
                                                       {"table.csv", to_csv(rows)},
                                                       {"runs.csv", runs_csv(plan_, figures_)},
                                                       {"table.json", to_json(plan_, figures_)}};
  for (const auto& [name, content] : files)
    if (auto done = records::write_atomically(options_.folder + "/" + name, content); !done)
      return done;
  return {};
}

void Sweeper::say(const std::string& line) const {
  if (options_.on_line) options_.on_line(line);
}

std::string Sweeper::cell_folder(const Cell& cell) const {
  return options_.folder + "/runs/" + cell.name;
}

std::string Sweeper::run_folder(const Cell& cell, const CellState& state) const {
  return cell_folder(cell) + "/" + state.folder;
}

/// Run folders are named by their time, so the newest is the last by name.
std::string Sweeper::newest_run(const Cell& cell) const {
  std::string newest;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(cell_folder(cell), failed)) {
    const std::string name = entry.path().filename().string();
    if (entry.is_directory(failed)) newest = std::max(newest, name);
  }
  return newest;
}

}  // namespace swarm::sweep
