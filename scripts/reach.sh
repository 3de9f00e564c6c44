#!/usr/bin/env bash
# Real nodes that cannot reach one another: three stages with two peers each and two trainers in three
# network namespaces. While they train a way is closed for good; training must go on within 30 s, and the
# audit must be exact. Root only. docs/bad_network.md
#
#   scripts/reach.sh [CASE...]     pair oneway undialled stageless; all of them by default
#
#   pair        the machines of two replicas lose their packets to each other
#   oneway      the same in one direction only
#   undialled   nobody can make a connection to the third machine, whose own arrive
#   stageless   the coordinator's machine and that of the last stage lose each other
#
# BUILD: the build folder (build/release), with apps/swarm and apps/swarm-compute. Exit code 1 if a case
# fails, 77 and a word if it cannot run here.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export NETNS=reach NETNS_PREFIX=10.202.0
build=${BUILD:-build/release}
net=scripts/netns.sh
limit_s=30
more_steps=5
port=7000
folder=
pids=()

say() { echo "reach: $*"; }

for program in swarm swarm-compute; do
  [[ -x $build/apps/$program ]] || { say "skipped: needs $build/apps/$program"; exit 77; }
done
"$net" check || exit 77

write_config() {
  cat <<'END'
[run]
name = "reach"
[model]
layers = 3
width = 32
heads = 2
ffn = 64
sequence = 32
[pipeline]
stages = 3
[data]
train = ["/usr/share/common-licenses"]
[training]
steps = 1000000
batch = 16
microbatch = 2
validation_samples = 16
[checkpoint]
every_steps = 20
[node]
threads = 1
allow_plaintext = true
open = true
END
  for name in t1 t2; do printf '[[nodes]]\nname = "%s"\ntrainer = true\n' "$name"; done
  for stage in 0 1 2; do
    for one in a b; do printf '[[nodes]]\nname = "s%s%s"\nstages = [%s]\n' "$stage" "$one" "$stage"; done
  done
}

# Node $1 on machine $2.
start() {
  local join=()
  [[ $1 == t1 ]] || join=(--join "$NETNS_PREFIX.1:$port")
  "$net" exec "$2" "$build/apps/swarm" node "$folder/config.toml" --name "$1" \
    --listen "$NETNS_PREFIX.$2:$((port + ${#pids[@]}))" --run-folder "$folder/run" "${join[@]}" \
    >"$folder/$1.txt" 2>&1 &
  pids+=($!)
}

stop_all() {
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  for pid in "${pids[@]}"; do wait "$pid" 2>/dev/null || true; done
  pids=()
}

clean_up() {
  stop_all
  "$net" down
  [[ -z $folder ]] || rm -rf "$folder"
}

# The newest step that any coordinator has closed; -1: none.
newest_step() {
  cat "$folder"/run/nodes/*/metrics.jsonl 2>/dev/null | grep -oE '"step": ?[0-9]+' |
    grep -oE '[0-9]+' | sort -n | tail -n 1 | grep . || echo -1
}

# Until step $1 is closed; fails after $2 s.
wait_for_step() {
  local until=$((SECONDS + $2))
  while (($(newest_step) < $1)); do
    ((SECONDS < until)) || return 1
    sleep 0.2
  done
}

close_ways() {
  case $1 in
    pair) "$net" block 2 3; "$net" block 3 2 ;;
    oneway) "$net" block 2 3 ;;
    undialled) "$net" undial 3 ;;
    stageless) "$net" block 1 3; "$net" block 3 1 ;;
  esac
}

audit() {
  "$build/apps/swarm" config show "$folder/config.toml" >"$folder/run/config.toml"
  for name in metrics events audit; do
    cat "$folder"/run/nodes/*/"$name.jsonl" >"$folder/run/$name.jsonl" 2>/dev/null || true
  done
  "$build/apps/swarm" audit "$folder/run"
}

run_case() {
  local began step_then passed=true
  folder=$(mktemp -d)
  mkdir "$folder/run"
  write_config >"$folder/config.toml"
  "$net" up 3
  # A case that closes the dials of a machine does so first: its links of before would hide it.
  [[ $1 != undialled ]] || close_ways "$1"
  start t1 1
  sleep 2  # it leads
  start t2 2
  if [[ $1 == stageless ]]; then
    start s0a 1; start s1a 1; start s0b 2; start s1b 2; start s2a 3; start s2b 3
  else
    start s0a 1; start s1a 1; start s1b 2; start s2a 2; start s2b 3; start s0b 3
  fi
  if ! wait_for_step 10 90; then
    say "$1: training did not begin"
    passed=false
  fi
  [[ $1 == undialled ]] || close_ways "$1"
  step_then=$(newest_step)
  began=$(date +%s.%N)
  sleep 1  # what was under way is over
  step_then=$(newest_step)
  if $passed && wait_for_step $((step_then + more_steps)) "$limit_s"; then
    say "$1: goes on after $(awk "BEGIN { printf \"%.1f\", $(date +%s.%N) - $began }") s, at step $(newest_step)"
    sleep 20  # later tries, and whatever else comes of it
  elif $passed; then
    say "$1: stands still at step $step_then for $limit_s s"
    passed=false
  fi
  say "$1: at step $(newest_step) in the end; $(cat "$folder"/run/nodes/*/events.jsonl |
    grep -oE '"event": ?"(set_aside|parts_relayed|stepped_down|coordinator|recovered)"' | sort | uniq -c | tr -s ' \n' ' ')"
  stop_all
  audit || passed=false
  if $passed; then
    rm -rf "$folder"
  else
    say "$1: FAILED; what the nodes said is in $folder"
  fi
  folder=
  "$net" down
  $passed
}

trap clean_up EXIT
cases=("$@")
((${#cases[@]} > 0)) || cases=(pair oneway undialled stageless)
failed=0
for one in "${cases[@]}"; do run_case "$one" || failed=1; done
exit "$failed"
