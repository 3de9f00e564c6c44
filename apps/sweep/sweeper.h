/// Carries a plan out: one `swarm run` after another, each a child process, with state.json, the
/// runs and the table in one folder (docs/experiments.md).
///
/// Thread: the main thread (child processes are tied to it). Not reentrant: it handles SIGINT,
/// SIGTERM and SIGHUP while it runs.
#pragma once

#include <functional>
#include <string>

#include "apps/launch/child_process.h"
#include "apps/sweep/sweep_file.h"
#include "apps/sweep/sweep_state.h"
#include "apps/sweep/sweep_table.h"
#include "common/result.h"

namespace swarm::sweep {

struct SweepOptions {
  std::string folder;  ///< Made if missing; continued if it has a state.json.
  bool retry = false;  ///< Begins failed cells anew.
  std::string program = "/proc/self/exe";
  std::function<void(const std::string&)> on_line;  ///< What people want to see; may be empty.
};

struct SweepReport {
  size_t finished = 0, failed = 0, left = 0;  ///< Cells.
  bool interrupted = false;
  std::vector<Row> rows;
};

class Sweeper {
 public:
  Sweeper(Plan plan, SweepOptions options);

  /// Blocks until all cells are done or a signal came; a failed cell does not end it. The tables
  /// are written in any case. Errors: kIo, kInvalidArgument (the folder holds another sweep).
  Result<SweepReport> run();

  /// The state in the folder, without starting anything. Errors: as run().
  Result<SweepState> look() const { return read_state(); }

 private:
  Result<SweepState> read_state() const;
  Status open();
  Status save();
  bool has_run(const Cell& cell) const;
  Status run_cell(const Cell& cell, Action action);
  std::vector<std::string> arguments(const Cell& cell, const CellState& state) const;
  void wait(launch::ChildProcess& child) const;
  void judge(const Cell& cell, CellState& state, const launch::ExitStatus& exit);
  void read_run(const Cell& cell, const CellState& state);
  Status write_tables(const std::vector<Row>& rows) const;
  std::string what_came_out(const Cell& cell) const;
  void say(const std::string& line) const;
  std::string cell_folder(const Cell& cell) const;
  std::string run_folder(const Cell& cell, const CellState& state) const;
  std::string newest_run(const Cell& cell) const;

  Plan plan_;
  SweepOptions options_;
  SweepState state_;
  Figures figures_;
};

}  // namespace swarm::sweep
