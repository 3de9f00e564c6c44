#!/usr/bin/env bash
# Nodes that leave in order: three stages with three peers each and two trainers train on this machine; two peers
# of the middle stage get SIGTERM, one after the other. A microbatch takes each peer 0.1 s by the clock, whatever
# the machine. docs/elastic.md, "Leaving with grace"
#
#   scripts/leave.sh [--swarm BINARY] [MODE...]      sync delayed async; all by default
#
# Each must end with exit code 0 within its grace (60 s). No contribution may be computed again, and the run be
# exact (`swarm audit`) and equal to one process (`swarm verify`); asynchronous runs are neither. Tokens per
# second of the 20 s that follow each SIGTERM must be at least 0.95 of what two thirds, and one third, of the
# stage can do: throughput falls by what has left, and no further.
#
# One line a mode. Exit code: 1 if one failed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/local_run_lib.sh
source scripts/local_run_lib.sh

all_cases=(sync delayed async)
take_arguments "$@"
grace_s=60
window_s=20
least=0.95

config() {
  cat <<END_OF_FILE
[run]
name = "leave"
folder = "$folder/runs"
restarts = 0
$(small_model 3)
[training]
mode = "${kind/delayed/sync}"
delayed_updates = $([[ $kind == delayed ]] && echo true || echo false)
steps = 100000
batch = 96
microbatch = 4
validation_samples = 16
[checkpoint]
every_steps = 10
[placement]
moves = false
[node]
threads = 1
grace_s = $grace_s
END_OF_FILE
  two_trainers
  small_peers 3 "a b c" "delay_s = 0.1"
}

now() { date +%s.%N; }

# $1 s after the time $2.
after() { awk "BEGIN { printf \"%.3f\", $2 + $1 }"; }

# Tokens per second between the times $1 and $2: those of a step count evenly from the end of the one before on.
rate() {
  cat "$run"/nodes/t*/metrics.jsonl | sed -nE 's/.*"time":([0-9.]+).*"tokens":([0-9]+).*/\2 \1/p' | sort -n |
    awk -v from="$1" -v to="$2" '
      function at(when) { return last + (tokens - last) * (when - before) / (time - before) }
      { tokens = $1; time = $2
        if (NR > 1 && before < from && time >= from) begin = at(from)
        if (NR > 1 && before < to && time >= to) { printf "%.0f", (at(to) - begin) / (to - from); exit }
        last = tokens; before = time }'
}

# Waits until a step was closed after the time $1.
wait_for_time() {
  local until=$((SECONDS + step_limit_s))
  until awk "BEGIN { exit !($(cat "$run"/nodes/t*/metrics.jsonl | grep -oE '"time": ?[0-9.]+' |
    grep -oE '[0-9.]+' | sort -n | tail -n 1) > $1) }"; do
    ((SECONDS < until)) || { why="no step was closed for $step_limit_s s"; return 1; }
    still_runs || return 1
    sleep 0.2
  done
}

pid_of() { grep -oE '"pid": ?[0-9]+' "$run/nodes/$1/node.json" | grep -oE '[0-9]+'; }

# SIGTERM to the node $1; sets `took` to the seconds until its process has ended.
take_leave() {
  local pid began
  pid=$(pid_of "$1") || { why="$1 has no process"; return 1; }
  began=$(now)
  kill -TERM "$pid"
  while kill -0 "$pid" 2>/dev/null; do
    awk "BEGIN { exit !($(now) - $began < $grace_s) }" || { why="$1 has not left within $grace_s s"; return 1; }
    still_runs || return 1
    sleep 0.02
  done
  took=$(awk "BEGIN { printf \"%.1f\", $(now) - $began }")
}

# How the process of the node $1 ended, as `swarm run` saw it.
ended() {
  local until=$((SECONDS + 5)) line=
  until line=$(grep -E '"event": ?"process_(ended|lost)"' "$run/events.jsonl" | grep -E "\"node\": ?\"$1\"") &&
    [[ -n $line ]]; do
    ((SECONDS < until)) || break
    sleep 0.2
  done
  grep -oE '"reason": ?"[^"]*"' <<<"$line" | sed -E 's/^"reason": ?"(.*)"$/\1/'
}

leave() {
  local name began whole speeds=() took times=() again left how
  config >"$folder/config.toml"
  start && wait_for_step 6 || return 1
  began=$(now)
  wait_for_time "$(after "$window_s" "$began")" || return 1
  whole=$(rate "$began" "$(after "$window_s" "$began")")
  for name in s1a s1b; do
    began=$(now)
    take_leave "$name" || return 1
    times+=("$took")
    how=$(ended "$name")
    [[ $how == "exit code 0" ]] || { why="$name ended: ${how:-nobody says how}"; return 1; }
    wait_for_time "$(after "$window_s" "$began")" || return 1
    speeds+=("$(rate "$began" "$(after "$window_s" "$began")")")
  done
  wait_for_step $(($(newest_step) + 5)) || return 1
  kill -INT "$launcher"
  finish || true  # it was told to
  if [[ $kind != async ]]; then check audit && check verify || return 1; fi
  again=$(cat "$run"/nodes/*/events.jsonl | grep -cE '"event": ?"(recompute|sum_dropped|recovered)"') || true
  left=$(cat "$run"/nodes/s1[ab]/events.jsonl | grep -E '"event": ?"stage_left"' |
    grep -cE '"finished": ?true') || true
  said=$(awk "BEGIN { printf \"%.2f and %.2f of the whole swarm's tokens/s (%d), left after %s and %s s\", \
    ${speeds[0]} / $whole, ${speeds[1]} / $whole, $whole, \"${times[0]}\", \"${times[1]}\" }")
  ((again == 0)) || { why="something was computed again: $said"; return 1; }
  ((left == 2)) || { why="they have not finished: $said"; return 1; }
  said+=", nothing computed again"
  [[ $kind == async ]] || said+=", exact, equal to one process"
  awk "BEGIN { exit !(${speeds[0]} >= $least * $whole * 2 / 3 && ${speeds[1]} >= $least * $whole / 3) }" ||
    { why=$said; return 1; }
}

run_cases leave
