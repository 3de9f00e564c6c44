#!/usr/bin/env bash
# Peers that learn a state while the others train, in real processes (config/learners.toml): what the
# simulator says of them, measured. Prints a line for each case; the run folders stay in RUNS.
#
#   scripts/learners.sh [CASE]...     slow_twin, capped, killed, too_slow; all of them without one
#
# BUILD: the build folder (build/release). RUNS: where runs go (a new temporary folder). Exit code 1 if a
# run fails, or a case is worse than is asked of it (each has its bars at its end). Beside other work all of them
# take longer: the bars are for a quiet machine.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/lib.sh
source scripts/lib.sh
# shellcheck source=scripts/trial_lib.sh
source scripts/trial_lib.sh
swarm=${BUILD:-build/release}/apps/swarm
runs=${RUNS:-$(mktemp -d)}
mkdir -p "$runs"
run=
finish() { [[ -z $run ]] || { kill "$run" 2>/dev/null && wait "$run" || true; }; }
trap finish EXIT

# The timeline's entries: [AT_STEP ACTION]... of stage0-c, or of the node NODE.
timeline() {
  local node=${NODE:-stage0-c}
  while (($# > 0)); do
    printf '\n[[timeline]]\nat_step = %s\naction = "%s"\nnode = "%s"\n' "$1" "$2" "$node"
    shift 2
  done
}

# CASE TIMELINE [--set KEY=VALUE]...: trains to the end; writes $folder/resident: NAME KB, every second.
train() {
  local case=$1 times=$2
  shift 2
  { cat config/learners.toml; printf '%s\n' "$times"; } >"$runs/$case.toml"
  say "$case"
  "$swarm" run "$runs/$case.toml" --set run.folder="$runs/$case" "$@" >"$runs/$case.txt" 2>&1 &
  run=$!
  folder=
  while kill -0 "$run" 2>/dev/null; do
    sleep 1
    [[ -n $folder ]] || folder=$(find "$runs/$case" -mindepth 2 -maxdepth 2 -type d -path '*/learners/*' 2>/dev/null)
    [[ -n $folder ]] || continue
    resident "$folder" | sed "s/^/$(date +%s) /" >>"$folder/resident"
  done
  wait "$run" || { run=; tail -20 "$runs/$case.txt"; echo "learners: $case has failed" >&2; exit 1; }
  run=
}

# NODE EVENT [NTH]: when it was, unix seconds; the NTH (1), or "last". "none": never.
when() {
  awk -v node="\"node\": *\"$1\"" -v event="\"event\": *\"$2\"" -v nth="${3:-1}" '
    $0 ~ node && $0 ~ event && match($0, /"time": *[0-9.]+/) {
      at = substr($0, RSTART, RLENGTH); sub(/[^0-9]*/, "", at)
      if (nth != "last" && ++found == nth) { print at; done = 1; exit }
    }
    END { if (!done) print (nth == "last" && at != "" ? at : "none") }' "$folder/events.jsonl"
}
# NODE EVENT KEY: of the last such event.
field() {
  awk -v node="\"node\": *\"$1\"" -v event="\"event\": *\"$2\"" -v key="\"$3\": *[0-9.e+-]+" '
    $0 ~ node && $0 ~ event && match($0, key) { value = substr($0, RSTART, RLENGTH); sub(/.*: */, "", value) }
    END { print (value == "" ? "none" : value) }' "$folder/events.jsonl"
}
# EVENT SINCE: how often.
count() {
  awk -v event="\"event\": *\"$1\"" -v since="$2" '
    $0 ~ event && match($0, /"time": *[0-9.]+/) {
      at = substr($0, RSTART, RLENGTH); sub(/[^0-9]*/, "", at)
      if (at + 0 >= since + 0) ++n
    } END { print n + 0 }' "$folder/events.jsonl"
}
# FROM TO: steps/s of the whole swarm between two moments, from commit to commit.
pace() {
  awk -v from="$1" -v to="$2" 'match($0, /"time": *[0-9.]+/) {
      at = substr($0, RSTART, RLENGTH); sub(/[^0-9]*/, "", at)
      if (at >= from && at <= to) { if (!n++) first = at; last = at }
    } END { if (n > 1) printf "%.3f", (n - 1) / (last - first); else print "none" }' "$folder/metrics.jsonl"
}
# NODE FROM TO: the most that it had resident [MB].
most_resident() {
  awk -v node="$1" -v from="$2" -v to="$3" '$2 == node && $1 >= from && $1 <= to && $3 > most { most = $3 }
    END { printf "%.0f", most / 1024 }' "$folder/resident"
}
# CASE WHAT CONDITION: an arithmetic condition that must hold, and of which nothing is "none".
failed=0
must() {
  [[ $3 == *none* ]] || ! awk "BEGIN { exit !($3) }" || return 0
  echo "$1: NOT MET: $2 ($3)"
  failed=1
}
minus() { awk -v a="$1" -v b="$2" 'BEGIN { if (a b ~ /none/) print "none"; else printf "%.1f", a - b }'; }

# Larger, so that its memory can be told from noise: 23 MB of state, 7.6 MB of means.
large=(--set model.width=384 --set model.ffn=1536)

# A restarted peer whose only twin sends 8 MB/s, and whose steps are shorter than a download.
slow_twin() {
  NODE=stage0-b train slow_twin "$(NODE=stage0-b timeline 20 kill 21 start)" \
    --set nodes.stage0-c.stages=[] --set nodes.stage0-a.send_bytes_per_s=8e6
  local start joined
  start=$(when stage0-b process_started last)
  joined=$(when stage0-b joined last)
  echo "slow_twin: in service $(minus "$joined" "$start") s after its process listened," \
    "$(field stage0-b restored bytes) bytes came; $(pace "$(when stage0-b timeline 1)" "$start") and" \
    "$(pace "$start" "$joined") steps/s without it and while it learned; $(count round_failed "$start") rounds failed since"
  must slow_twin "in service within 30 s" "$joined > $start && $joined - $start <= 30"
}

# Links that carry the means twice over, a state that takes 50 steps.
links=(--set 'nodes.stage0-a.send_bytes_per_s=11e6' --set 'nodes.stage0-a.receive_bytes_per_s=11e6'
  --set 'nodes.stage0-b.send_bytes_per_s=11e6' --set 'nodes.stage0-b.receive_bytes_per_s=11e6'
  --set 'nodes.stage0-c.send_bytes_per_s=11e6' --set 'nodes.stage0-c.receive_bytes_per_s=11e6')
cap=${CAP:-2.4e5}
capped() {
  train capped "$(timeline 5 kill 25 start)" "${large[@]}" "${links[@]}" \
    --set training.steps=170 --set state_transfer.state_bytes_per_s="$cap"
  local killed start learns joined
  killed=$(when stage0-c timeline 1)
  start=$(when stage0-c process_started last)
  learns=$(when stage0-c learns 1)  # again when it comes in during a round: the mean that it missed
  joined=$(when stage0-c joined last)
  local bytes before during empty most
  bytes=$(field stage0-c learns bytes)
  before=$(pace "$(minus "$killed" -8)" "$start")
  during=$(pace "$learns" "$joined")
  empty=$(most_resident stage0-c "$(minus "$learns" 2)" "$(minus "$learns" -1)")
  most=$(most_resident stage0-c "$learns" "$joined")
  echo "capped: in service $(minus "$joined" "$learns") s after it began; $bytes bytes at $cap bytes/s;" \
    "$before steps/s before, $during while it learned: $(awk "BEGIN { printf \"%.0f\", ($joined - $learns) * $during }") steps;" \
    "resident $empty MB as it began, $most at most, its twin $(most_resident stage0-a "$killed" "$start") MB before," \
    "$(most_resident stage0-a "$learns" "$joined") MB while; $(count round_failed "$start") rounds failed since"
  must capped "in service within 1.2 x bytes / cap" "$joined > $learns && $joined - $learns <= 1.2 * $bytes / $cap"
  must capped "the others' throughput falls by at most a tenth" "$during >= 0.9 * $before"
  must capped "one state and two means more than as it began" "$most - $empty <= $bytes * 5 / 3 / 1048576"
  must capped "no round fails" "$(count round_failed "$start") == 0"
}

# The same, killed half-way and started at once.
killed() {
  train killed "$(timeline 5 kill 15 start 41 kill 42 start)" "${large[@]}" "${links[@]}" \
    --set training.steps=170 --set state_transfer.state_bytes_per_s="$cap"
  local joined start
  joined=$(when stage0-c joined last)
  start=$(when stage0-c process_started last)
  echo "killed: of $(field stage0-c learns bytes) bytes $(field stage0-c download_resumed kept_bytes) were on its disk," \
    "$(field stage0-c download_resumed too_old_bytes) too old; in service" \
    "$(minus "$joined" "$start") s after its process listened"
  must killed "it came into service" "$joined > $start"
  must killed "something was on its disk" "$(field stage0-c download_resumed kept_bytes) > 0"
}

# Links that carry 0.4 of the means.
too_slow() {
  train too_slow "$(timeline 5 kill 20 start)" "${large[@]}" \
    --set nodes.stage0-c.receive_bytes_per_s="${RATE:-2e6}" --set training.steps=60
  local killed start told
  killed=$(when stage0-c timeline 1)
  start=$(when stage0-c process_started last)
  told=$(when stage0-c learner_too_slow 1)
  echo "too_slow: told $(minus "$told" "$start") s after its process listened (needs" \
    "$(field stage0-c learner_too_slow needs_bytes_per_s), has $(field stage0-c learner_too_slow has_bytes_per_s) bytes/s);" \
    "$(pace "$(minus "$killed" -8)" "$start") steps/s before, $(pace "$start" 9e9) with it; $(count round_failed "$start") rounds failed since"
  must too_slow "told" "$told > $start"
  must too_slow "nobody waits for it" "$(pace "$start" 9e9) >= 0.9 * $(pace "$(minus "$killed" -8)" "$start")"
  must too_slow "no round fails" "$(count round_failed "$start") == 0"
}

(($# > 0)) || set -- slow_twin capped killed too_slow
for case in "$@"; do
  declare -F "$case" >/dev/null || { echo "learners: no case $case" >&2; exit 1; }
  "$case"
done
say "run folders in $runs"
exit "$failed"
