#!/usr/bin/env bash
# The asynchronous paper's experiments, unattended: every sweep of config/paper/ in one size, one
# after the other, and a report (one HTML file) for each.
#
#   scripts/paper.sh [--full] [--swarm BINARY] [NAME]...
#
# NAME: fig1, fig1a, fig1b, fig1c, rates, limits, table1, table1_deep, modes, background; all of them if
# none is given.
# Results are in runs/sweeps/NAME-small/ (or -full): table.md, runs.csv, report.html. A sweep that was
# stopped goes on where it was (docs/experiments.md).
# Exit code: 0 all runs of all sweeps finished; 1 otherwise.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/lib.sh
source scripts/lib.sh

swarm=build/release/apps/swarm
size=small
names=()
while (($# > 0)); do
  case $1 in
    --full) size=full; shift ;;
    --swarm) swarm=${2:?}; shift 2 ;;
    -*) echo "paper.sh: unknown argument $1" >&2; exit 2 ;;
    *) names+=("$1"); shift ;;
  esac
done
((${#names[@]} > 0)) || names=(fig1 fig1a fig1b fig1c rates limits table1 table1_deep modes background)

failed=0
for name in "${names[@]}"; do
  file=config/paper/${name}_$size.toml
  [[ -f $file ]] || { echo "paper.sh: there is no $file" >&2; exit 2; }
  folder=runs/sweeps/$name-$size
  say "swarm sweep $file"
  code=0
  "$swarm" sweep "$file" --output "$folder" || code=$?
  ((code <= 1)) || exit "$code"
  ((code == 0)) || failed=1
  cat "$folder/table.md"
  "$swarm" report "$folder"/runs/*/*/ --output "$folder/report.html"
done
exit "$failed"
