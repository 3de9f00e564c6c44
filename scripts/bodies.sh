#!/usr/bin/env bash
# Activations as large as the memory for them: tests/system/bodies.toml at its real size, with limits and deadlines as
# they are by default. Three stages of one peer, 16 microbatches of 64 MiB under way, room to receive 8 of them, 100 Mb/s.
#
#   scripts/bodies.sh [--swarm BINARY]     12 minutes
#
# Prints the seconds of each step but the first, which fills the pipeline, in parts of the rate of the middle stage's link,
# and the most memory that all nodes had together. Exit code 1: a step at less than 0.9 of the rate, or more than
# 10 GiB; 77: it cannot run here.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/local_run_lib.sh
source scripts/local_run_lib.sh
all_cases=(bodies)
rate=12500000
at_least=0.9
most_gib=10
steps=3
take_arguments "$@"

(($(awk '/^MemAvailable:/ {print $2}' /proc/meminfo) > 14000000)) || { echo "bodies.sh: skipped: needs 14 GB of memory"; exit 77; }

# Until the run has ended; the memory of all nodes together [KB], each second.
look_on() {
  while kill -0 "$launcher" 2>/dev/null; do
    resident "$run" | awk '{ sum += $2 } END { print sum + 0 }' >>"$folder/resident"
    sleep 1
  done
}

# The middle stage sends each microbatch on, and its gradient back.
bodies() {
  local took most
  begin tests/system/bodies.toml --set run.folder="$folder/runs" --set model.width=128 --set training.microbatch=8192 \
    --set training.batch=131072 --set training.steps="$steps" --set training.validation_samples=8192 \
    --set stage_server.max_samples=8192 --set "nodes.s*.send_bytes_per_s=$rate" --set links.receive_budget_bytes=536870912 \
    --set stage_server.resident_bytes=4294967296 --set links.send_budget_bytes=4294967296
  until find_run; do still_runs || return 1; sleep 0.2; done
  look_on
  finish || return 1
  took=$(sed -E 's/.*"time": *([0-9.]+).*/\1/' "$run/metrics.jsonl" | sort -g |
    awk -v bytes=$((2 * 16 * 64 * 1048576)) -v rate="$rate" 'NR > 1 { printf "%.1f s (%.3f) ", $1 - last, bytes / rate / ($1 - last) } { last = $1 }')
  most=$(sort -g "$folder/resident" | tail -n 1)
  said="steps of $took, of the rate; $(awk "BEGIN { printf \"%.1f\", $most / 1048576 }") GiB in all at most"
  why=$said
  (($(grep -o '(' <<<"$took" | wc -l) == steps - 1 && most <= most_gib * 1048576)) || return 1
  grep -oE '\([0-9.]+' <<<"$took" | tr -d '(' | awk -v least="$at_least" '$1 < least { exit 1 }'
}

run_cases bodies
