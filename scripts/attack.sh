#!/usr/bin/env bash
# What an attack without the run's key costs a swarm: quiet and attacked runs in turn on this machine, their
# throughput, its median and the ratio, and how much the nodes' memory grew. Compute is a wait (delay_s), and
# the attacker has nice 19, so that what is measured is what nodes do about it. docs/protocol.md
#
#   scripts/attack.sh [RUNS]       of each kind; 3 by default
#
# BUILD: the build folder (build/release), with apps/swarm, apps/swarm-compute and tests/attacker. ADDRESSES
# (200): how many the attacker comes from. ACTS (all of them): what it does. OPEN=true: nobody is asked for the
# key; then the act dht alone makes sense. Exit code 1 if a run fails or takes longer than
# limit_s, weights leave, the attacker did nothing, an attacked node grows by more than most_growth_mib or the
# ratio is below least_ratio; 77 and a word if it cannot run here.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build=${BUILD:-build/release}
addresses=${ADDRESSES:-200}
runs=${1:-3}
steps=200
first=40              # steps before the measurement
limit_s=300
least_ratio=0.9
most_growth_mib=64
folder=
swarm=
attacker=

say() { echo "attack: $*"; }
for program in apps/swarm apps/swarm-compute tests/attacker; do
  [[ -x $build/$program ]] || { say "skipped: needs $build/$program"; exit 77; }
done

clean_up() {
  for pid in $attacker $swarm; do kill "$pid" 2>/dev/null || true; done
  wait
  [[ -z $folder ]] || rm -rf "$folder"
}
trap clean_up EXIT

median() { sort -n | awk '{ a[NR] = $1 } END { print a[int((NR + 1) / 2)] }'; }
field() { sed -nE 's/.*"'"$1"'": ?"?([^",}]*).*/\1/p' "$2"; }
nodes() { ls "$folder"/tiny/*/nodes/*/node.json 2>/dev/null; }

# The nodes' largest physical memory [MiB], now.
memory() {
  for node in $(nodes); do
    awk '/VmRSS/ { print int($2 / 1024) }' "/proc/$(field pid "$node")/status" 2>/dev/null || true
  done | sort -n | tail -n 1
}

# Of kind $1: steps a second after the first ones; growth, and what the attacker says, in files.
one_run() {
  local kind=$1 before=0 most=0 now until=$((SECONDS + limit_s))
  folder=$(mktemp -d)
  "$build/apps/swarm" run tests/system/tiny.toml --set "run.folder=$folder" \
    --set "training.steps=$steps" --set 'nodes.s*.delay_s=0.1' --set node.allow_plaintext=true \
    --set node.listen=0.0.0.0:0 --set node.announce=127.0.0.1:0 \
    --set "node.open=${OPEN:-false}" >"$folder/output.txt" 2>&1 &
  swarm=$!
  until grep -q '^step' "$folder/output.txt" || ((SECONDS > until)); do sleep 0.2; done
  before=$(memory)
  if [[ $kind == attacked ]]; then
    local targets
    targets=$(for node in $(nodes); do field endpoint "$node"; done | paste -sd,)
    nice -n 19 "$build/tests/attacker" --targets "$targets" --addresses "$addresses" --hold 10000 \
      --seconds "$limit_s" ${ACTS:+--acts "$ACTS"} >"$folder/said.txt" 2>&1 &
    attacker=$!
  fi
  while kill -0 "$swarm" 2>/dev/null && ((SECONDS < until)); do
    now=$(memory)
    ((${now:-0} > most)) && most=$now
    sleep 0.5
  done
  if kill -0 "$swarm" 2>/dev/null; then say "$kind: not over after $limit_s s"; return 1; fi
  wait "$swarm" || { say "$kind: the run failed"; tail -n 5 "$folder/output.txt"; return 1; }
  swarm=
  if [[ -n $attacker ]]; then
    kill "$attacker" 2>/dev/null || true
    wait "$attacker" || { say "weights left: $(cat "$folder/said.txt")"; return 1; }
    attacker=
    grep -qE '":[1-9]' "$folder/said.txt" || { say "the attacker did nothing"; return 1; }
  fi
  "$build/apps/swarm" audit "$folder"/tiny/* >"$folder/audit.txt" || { cat "$folder/audit.txt"; return 1; }
  rate=$(field time "$folder"/tiny/*/metrics.jsonl |
    awk -v first="$first" 'NR == first { from = $1 } { to = $1 } END { printf "%.2f", (NR - first) / (to - from) }')
  growth=$((most - before))
  [[ $kind == quiet ]] || ((growth <= most_growth_mib)) ||
    { say "memory grew by $growth MiB, more than $most_growth_mib"; return 1; }
  [[ ! -f $folder/said.txt ]] || cat "$folder/said.txt"
  rm -rf "$folder"
  folder=
}

quiet=() attacked=()
for ((i = 1; i <= runs; ++i)); do
  for kind in quiet attacked; do
    one_run $kind
    printf '%-9s run %d   %6s steps/s   memory + %s MiB\n' $kind "$i" "$rate" "$growth"
    [[ $kind == quiet ]] && quiet+=("$rate") || attacked+=("$rate")
  done
done
q=$(printf '%s\n' "${quiet[@]}" | median)
a=$(printf '%s\n' "${attacked[@]}" | median)
ratio=$(awk "BEGIN { printf \"%.3f\", $a / $q }")
printf '%-9s median  %6s steps/s\n%-9s median  %6s steps/s\nratio             %s\n' quiet "$q" attacked "$a" "$ratio"
awk "BEGIN { exit !($ratio >= $least_ratio) }" || { say "FAILED: below $least_ratio"; exit 1; }
