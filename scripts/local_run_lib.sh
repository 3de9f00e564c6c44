# shellcheck shell=bash
# Trials of a run on this machine, one of several cases after the other, shared by damage.sh, leave.sh, lost.sh
# and rebalance.sh; sourced with the repository's root as working directory.
#
# The script that sources it sets `all_cases`, may add to `options` and define clean_up, and calls
# take_arguments, then run_cases. Functions that fail say so in `why`.
# shellcheck disable=SC2034  # what is declared here is used there
# shellcheck source=scripts/trial_lib.sh
source scripts/trial_lib.sh
swarm=build/release/apps/swarm
declare -A options=([--swarm]=swarm)  # the variable that each sets
cases=()         # that are to run
step_limit_s=120
kind=            # the case that runs
folder=          # made for each case; holds config.toml
run=             # the run's folder in it
launcher=        # `swarm run`, while it is in the background
why=             # the case has failed
said=            # what a case that has passed is to be called

take_arguments() {
  while (($# > 0)); do
    if [[ $1 == -* && -v "options[$1]" ]]; then
      (($# > 1)) || { echo "${0##*/}: $1 needs a value" >&2; exit 2; }
      printf -v "${options[$1]}" %s "$2"
      shift 2
    elif [[ $1 != -* && " ${all_cases[*]} " == *" $1 "* ]]; then
      cases+=("$1")
      shift
    else
      echo "${0##*/}: unknown argument $1" >&2
      exit 2
    fi
  done
  ((${#cases[@]} > 0)) || cases=("${all_cases[@]}")
}

clean_up() { [[ -z $launcher ]] || kill_all; }

# run_cases FUNCTION: with `kind` and `folder` set, for each case. One line a case; exits with 1 if one failed.
run_cases() {
  local failed=0
  trap clean_up EXIT
  for kind in "${cases[@]}"; do
    folder=$(mktemp -d)
    run=
    why="it failed"
    if "$1"; then
      clean_up
      rm -rf "$folder"
      echo "$kind: $said"
    else
      clean_up
      echo "$kind: FAILED: $why; see $folder"
      failed=1
    fi
  done
  exit "$failed"
}

# swarm run $*, to its end.
run_whole() {
  "$swarm" run "$@" --quiet >"$folder/said.txt" 2>&1 || why_ended
}

# swarm run $*, in the background.
begin() {
  "$swarm" run "$@" --quiet >"$folder/said.txt" 2>&1 &
  launcher=$!
}

# Until what has begun ends by itself.
finish() {
  local begun=$launcher
  launcher=
  wait "$begun" || why_ended
}

why_ended() { why="swarm run: $(tail -n 1 "$folder/said.txt")"; return 1; }

still_runs() { kill -0 "$launcher" 2>/dev/null || why_ended; }

# Begins the run of config.toml; sets `run` to its folder.
start() {
  local until=$((SECONDS + 30))
  begin "$folder/config.toml"
  until find_run; do
    ((SECONDS < until)) || { why="it did not start"; return 1; }
    sleep 0.2
  done
}

find_run() {
  run=$(find "$folder"/runs/* -mindepth 1 -maxdepth 1 -type d 2>/dev/null) && [[ -n $run ]]
}

newest_step() { newest_step_in "$run"/nodes/t*/metrics.jsonl; }

# Until step $1 is closed.
wait_for_step() {
  local until=$((SECONDS + step_limit_s))
  while (($(newest_step) < $1)); do
    ((SECONDS < until)) || { why="step $1 was not reached within $step_limit_s s"; return 1; }
    still_runs || return 1
    sleep 0.2
  done
}

# kill -9 of the nodes named.
kill_nodes() {
  local name pid
  for name in "$@"; do
    pid=$(grep -ohE '"pid": ?[0-9]+' "$run/nodes/$name/node.json" 2>/dev/null | grep -oE '[0-9]+') || continue
    # Another process may have the number of a node that has ended.
    [[ $({ tr "\0" " " <"/proc/$pid/cmdline"; } 2>/dev/null) == *"$folder"* ]] && kill -9 "$pid" 2>/dev/null
  done
  return 0
}

# kill -9 of the launcher, then of every node.
kill_all() {
  local nodes=("$run"/nodes/*)
  { kill -9 "$launcher"; wait "$launcher"; } 2>/dev/null || true
  kill_nodes "${nodes[@]##*/}"
  launcher=
}

resume() { run_whole --resume "$run"; }

# check audit, check verify: what they say of the run.
check() {
  "$swarm" "$1" "$run" >"$folder/$1.txt" || { why="swarm $1: $(tail -n 1 "$folder/$1.txt")"; return 1; }
}
