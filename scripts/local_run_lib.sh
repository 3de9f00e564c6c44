# A run on this machine whose processes are killed, shared by damage.sh and lost.sh; sourced with the
# repository's root as working directory. The script that sources it sets `folder` to one that is made for
# each case and holds config.toml. Functions that fail say so in `why`.
# shellcheck disable=SC2034  # what is declared here is used there
swarm=build/release/apps/swarm
step_limit_s=120
folder=
run=
launcher=
why=

# Starts the run in the background; sets `run` to its folder.
start() {
  local until=$((SECONDS + 30))
  "$swarm" run "$folder/config.toml" --quiet >"$folder/said.txt" 2>&1 &
  launcher=$!
  until find_run; do
    ((SECONDS < until)) || { why="it did not start"; return 1; }
    sleep 0.2
  done
}

find_run() {
  run=$(find "$folder"/runs/* -mindepth 1 -maxdepth 1 -type d 2>/dev/null) && [[ -n $run ]]
}

newest_step() {
  cat "$run"/nodes/t*/metrics.jsonl 2>/dev/null | grep -oE '"step": ?[0-9]+' | grep -oE '[0-9]+' |
    sort -n | tail -n 1 | grep . || echo -1
}

# Until step $1 is closed.
wait_for_step() {
  local until=$((SECONDS + step_limit_s))
  while (($(newest_step) < $1)); do
    ((SECONDS < until)) || { why="step $1 was not reached within $step_limit_s s"; return 1; }
    kill -0 "$launcher" 2>/dev/null || { why="it ended before step $1"; return 1; }
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

resume() {
  "$swarm" run --resume "$run" --quiet >"$folder/said.txt" 2>&1 || { why="swarm run --resume"; return 1; }
}
