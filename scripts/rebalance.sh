#!/usr/bin/env bash
# Peers that move: three stages and nine peers that start 7-1-1, beside nine that start 3-3-3, in processes on
# this machine. A microbatch takes each peer 0.1 s by the clock, whatever the machine. docs/elastic.md
#
#   scripts/rebalance.sh [--swarm BINARY] [MODE...]      sync delayed async; all by default
#
# In each mode the two run one after the other; tokens per second are counted from three periods of placement
# (of 10 s each) after the first step was opened to the end. They must be at least 0.9 of the even swarm's, no
# stage may ever have been without a peer, and the run be exact (`swarm audit`) and equal to one process
# (`swarm verify`); asynchronous runs are neither.
#
# One line a mode. Exit code: 1 if one failed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/local_run_lib.sh
source scripts/local_run_lib.sh

all_cases=(sync delayed async)
take_arguments "$@"
period_s=10
steps=45
least=0.9

# config MODE PEERS PEERS PEERS
config() {
  local mode=$1 stage=0 count
  shift
  cat <<END_OF_FILE
[run]
name = "rebalance"
folder = "$folder/runs"
$(small_model 3)
[training]
mode = "${mode/delayed/sync}"
delayed_updates = $([[ $mode == delayed ]] && echo true || echo false)
steps = $steps
batch = 192
microbatch = 4
validation_samples = 16
[checkpoint]
every_steps = 10
[placement]
period_s = $period_s
[node]
threads = 1
END_OF_FILE
  two_trainers
  for count in "$@"; do
    printf '[[nodes]]\nname = "s%s"\ncount = %s\nstages = [%s]\ndelay_s = 0.1\n' "$stage" "$count" "$stage"
    stage=$((stage + 1))
  done
}

# Tokens per second of the run, from three periods on.
rate() {
  sed -nE 's/.*"time":([0-9.]+).*"tokens":([0-9]+).*"seconds":([0-9.]+).*/\1 \2 \3/p' "$run/metrics.jsonl" |
    awk -v wait=$((3 * period_s)) 'NR == 1 { from = $1 - $3 + wait }
      $1 >= from && !begun { begun = 1; at = $1; tokens = $2 }
      END { if ($1 - at < 10) exit 1; printf "%.0f", ($2 - tokens) / ($1 - at) }'
}

# train MODE PEERS...: sets `speed`.
train() {
  config "$@" >"$folder/config.toml"
  rm -rf "$folder/runs"
  run_whole "$folder/config.toml" && find_run || return 1
  speed=$(rate) || { why="it was over before there was anything to measure"; return 1; }
}

compare() {
  local even share moves
  train "$kind" 3 3 3 || return 1
  even=$speed
  train "$kind" 7 1 1 || return 1
  moves=$(cat "$run"/nodes/t*/events.jsonl | grep -cE '"event": ?"move_done"') || true
  share=$(awk "BEGIN { printf \"%.2f\", $speed / $even }")
  [[ $kind == async ]] || { check audit && check verify; } || return 1
  ! grep -qE '"live_peers":\[([0-9,]*,)?0[],]' "$run/metrics.jsonl" || { why="a stage had no peer"; return 1; }
  said="$share of the even swarm's tokens/s ($speed of $even) after three periods, $moves moves, $(tail -n 1 \
    "$run/metrics.jsonl" | grep -oE '"live_peers":\[[0-9,]*\]')"
  [[ $kind == async ]] || said+=", exact, equal to one process"
  awk "BEGIN { exit !($speed >= $least * $even) }" || { why=$said; return 1; }
}

run_cases compare
