/// What a sweep has done so far: SWEEP/state.json, and what that means for a cell. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "apps/sweep/sweep_file.h"
#include "common/result.h"

namespace swarm::sweep {

enum class CellStatus : uint8_t {
  kUnfinished,  ///< Begun: it runs, was stopped, or died with the machine.
  kFinished,
  kFailed,
};
const char* to_string(CellStatus status);

struct CellState {
  CellStatus status = CellStatus::kUnfinished;
  std::string hash;    ///< Cell::hash when it was begun.
  std::string folder;  ///< Its run folder's name in SWEEP/runs/CELL/; empty: not known yet.
  std::string after;   ///< The newest such name before it was begun; later ones are its own.
  std::string reason;  ///< Why it failed.
};

/// By cell name. Cells that never began are missing.
using SweepState = std::map<std::string, CellState>;

std::string to_json(const SweepState& state);
/// Errors: kInvalidArgument.
Result<SweepState> parse_state(const std::string& text);

enum class Action : uint8_t { kSkip, kContinue, kBegin };
/// What to do with a cell; `retry` begins failed ones anew. `has_run`: its run folder is there; a
/// finished one whose folder was removed is done again.
Action next_action(const SweepState& state, const Cell& cell, bool retry, bool has_run);

/// Cells that were begun with other settings than the plan's, for people; empty if there are none.
/// Their results would stand beside those of another experiment in one table.
std::string changed_cells(const SweepState& state, const Plan& plan);

}  // namespace swarm::sweep
