#!/usr/bin/env bash
# What never comes back: three stages with three peers each and two trainers train on this machine, processes
# get kill -9 and are not started again. docs/elastic.md, "A stage that is lost for good"
#
#   scripts/lost.sh [--swarm BINARY] [--rounds N] [CASE...]   all cases by default
#
#   first, middle, last   all peers of that stage: peers of the others take it over from copies; the next step
#                         must be closed within 30 s, and the run end exact
#   coordinator           all peers of the middle stage, and the trainer that leads
#   uncopied              all peers of the middle stage, and nobody has a copy: the swarm must say what is
#                         missing, and wait
#   everything            every process, N times (10), each time resumed: no step may be lost beyond the newest
#                         snapshot that was on the disks of all stages, and the run end exact
#
# One line a case. Exit code: 1 if one failed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/local_run_lib.sh
source scripts/local_run_lib.sh

rounds=10
options[--rounds]=rounds
all_cases=(first middle last coordinator uncopied everything)
take_arguments "$@"
peers=(s0a s0b s0c s1a s1b s1c s2a s2b s2c)
declare -A known  # lines in each node's events when it was killed
limit_s=30      # until a stage is taken over
wait_s=20       # so long nobody may train where nobody has a copy
every=10        # steps from snapshot to snapshot
most_apart=25   # steps from one kill of everything to the next

RANDOM=1  # when everything is killed is drawn

config() {
  cat <<END_OF_FILE
[run]
name = "lost"
folder = "$folder/runs"
restarts = 0
stall_limit_s = 120
$(small_model 3)
[training]
steps = $1
batch = 16
microbatch = 4
validation_samples = 16
[checkpoint]
every_steps = $every
copies = $2
[node]
threads = 1
END_OF_FILE
  two_trainers
  small_peers 3 "a b c" "delay_s = 0.02"
}

# Lines of the nodes' events of the kind $1.
events() { cat "$run"/nodes/*/events.jsonl 2>/dev/null | grep -E "\"event\": ?\"$1\"" || true; }

# The numbers $1 of the lines on stdin, one a line.
numbers() { grep -oE "\"$1\": ?-?[0-9]+" | grep -oE '[-0-9]+$' || true; }

# Until nodes of other stages have copies of all three.
wait_for_copies() {
  local until=$((SECONDS + step_limit_s))
  until (($(events copy_made | numbers stage | sort -u | wc -l) == 3)); do
    ((SECONDS < until)) || { why="there are no copies after $step_limit_s s"; return 1; }
    sleep 0.2
  done
}

# The trainer that has closed the newest step.
leader() {
  grep -lE "\"step\": ?$(newest_step)[,}]" "$run"/nodes/t*/metrics.jsonl | head -n 1 |
    sed -E 's,.*/nodes/([^/]*)/.*,\1,'
}

# All peers of stage $1 go, and with $2 `leader` the trainer that leads.
lose() {
  local stage=$1 began before until took gone
  config 100000 1 >"$folder/config.toml"
  start && wait_for_step $((2 * every)) && wait_for_copies || return 1
  gone=("s${stage}a" "s${stage}b" "s${stage}c")
  [[ -z ${2-} ]] || gone+=("$(leader)")
  kill_nodes "${gone[@]}"
  began=$(date +%s%N)
  before=$(($(newest_step) + 1))  # it may be under way
  until=$((SECONDS + limit_s + 1))
  until (($(newest_step) > before)); do
    ((SECONDS < until)) || { why="no step within $limit_s s"; return 1; }
    still_runs || return 1
    sleep 0.05
  done
  took=$(awk "BEGIN { printf \"%.1f\", ($(date +%s%N) - $began) / 1e9 }")
  wait_for_step $((before + 2 * every)) || return 1
  kill -INT "$launcher"
  finish || true  # it was told to
  check audit || return 1
  said="next step after $took s, exact"
  awk "BEGIN { exit !($took <= $limit_s) }" || { why=$said; return 1; }
}

uncopied() {
  local before holds
  config 100000 0 >"$folder/config.toml"
  # Or `swarm run`, which knows all processes, ends at once.
  printf '[[timeline]]\nat_step = 99999\naction = "start"\nnode = "s1a"\n' >>"$folder/config.toml"
  start && wait_for_step $((2 * every)) || return 1
  kill_nodes s1a s1b s1c
  before=$(($(newest_step) + 1))
  sleep "$wait_s"
  still_runs || return 1
  (($(newest_step) <= before)) || { why="it trained on without stage 1"; return 1; }
  holds=$(events conscription_holds | grep -E '"reason": ?"no_copy"' | tail -n 1)
  [[ -n $holds ]] || { why="it does not say that there is no copy"; return 1; }
  said="waits, and says: $(grep -oE '"missing": ?"[^"]*"' <<<"$holds" | sed -E 's/^"missing": ?//')"
}

# The newest step of which each stage has a snapshot on some disk.
newest_snapshot() {
  local stage
  for stage in 0 1 2; do
    cat "$run"/nodes/s"$stage"?/events.jsonl | grep -E '"event": ?"checkpointed"' | numbers step |
      sort -n | tail -n 1 | grep . || echo -1
  done | sort -n | head -n 1
}

# The lowest step that a peer loaded in the run's processes that live.
loaded() {
  local name
  for name in "${peers[@]}"; do
    tail -n +$((${known[$name]} + 1)) "$run/nodes/$name/events.jsonl" | grep -E '"event": ?"restored"' |
      numbers step | head -n 1
  done | sort -n | head -n 1 | grep . || echo -1
}

everything() {
  local round saved back name before worst=0
  config $((rounds * (most_apart + every) + 20)) 1 >"$folder/config.toml"
  start && wait_for_step $((every + 2)) || return 1
  for ((round = 1; round <= rounds; ++round)); do
    wait_for_step $(($(newest_step) + 1 + RANDOM % most_apart)) || return 1
    kill_all
    saved=$(newest_snapshot)
    for name in "${peers[@]}"; do
      known[$name]=$(wc -l <"$run/nodes/$name/events.jsonl")
    done
    before=$(newest_step)
    begin --resume "$run"
    wait_for_step $((before + 1)) || return 1
    back=$(loaded)
    ((back >= saved)) || { why="round $round: went on from step $back, a snapshot of $saved was there"; return 1; }
    ((before + 1 - back <= worst)) || worst=$((before + 1 - back))
  done
  finish && check audit && check verify || return 1
  said="$rounds times killed and resumed, at most $worst steps computed again, exact, equal to one process"
}

lost() {
  case $kind in
    first) lose 0 ;;
    middle) lose 1 ;;
    last) lose 2 ;;
    coordinator) lose 1 leader ;;
    uncopied) uncopied ;;
    everything) everything ;;
  esac
}

run_cases lost
