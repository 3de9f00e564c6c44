#!/usr/bin/env bash
# What a node of a large swarm costs: 200 real processes on this machine (config/many_nodes.toml), most of
# them nodes that only know where others are. Trains to the end; on the way asks every node twice for its
# links and messages, and prints least, median, mean and most by kind of node.
#
#   scripts/many_nodes.sh [--set KEY=VALUE]...
#
# FIRST_STEP: after which step the first look begins (5). SECONDS_BETWEEN: the time between the two looks
# (30). BUILD: the build folder (build/release). KEEP: leave the run's folder. Exit code 1 if the run fails
# or a node could not be asked.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/lib.sh
source scripts/lib.sh
swarm=${BUILD:-build/release}/apps/swarm
between=${SECONDS_BETWEEN:-30}
first_step=${FIRST_STEP:-5}
runs=$(mktemp -d)
run=
finish() {
  [[ -z $run ]] || { kill "$run" 2>/dev/null && wait "$run" || true; }
  [[ -n ${KEEP:-} ]] || rm -rf "$runs"
}
trap finish EXIT

# Of every node: NAME LINKS SENT RECEIVED MB_SENT MB_RECEIVED RESIDENT_KB
look() {
  local file name pid endpoint
  for file in "$folder"/nodes/*/node.json; do
    name=$(basename "$(dirname "$file")")
    pid=$(sed -n 's/.*"pid": *\([0-9]*\).*/\1/p' "$file")
    endpoint=$(sed -n 's/.*"endpoint": *"\([^"]*\)".*/\1/p' "$file")
    { "$swarm" console "$endpoint" -c nodes 2>>"$runs/errors" || true; } | awk -v name="$name" -v pid="$pid" '
      /\(this\)/ { mb_out = $5; mb_in = $6; out = $7; got = $8; next }
      NR > 1 && !/\(tool\)/ { ++links }
      END {
        while ((getline line < ("/proc/" pid "/status")) > 0)
          if (line ~ /^VmRSS/) { split(line, words); resident = words[2] }
        print name, links + 0, out + 0, got + 0, mb_out + 0, mb_in + 0, resident + 0
      }'
  done | sort
}

"$swarm" run config/many_nodes.toml --set run.folder="$runs" "$@" >"$runs/output.txt" 2>&1 &
run=$!
folder=
for _ in $(seq 600); do
  folder=$(find "$runs" -mindepth 2 -maxdepth 2 -type d -path "*/many/*")
  [[ -n $folder && -s $folder/metrics.jsonl ]] && (($(wc -l <"$folder/metrics.jsonl") > first_step)) && break
  kill -0 "$run" 2>/dev/null || break
  sleep 1
done
if ! kill -0 "$run" 2>/dev/null || [[ ! -s $folder/metrics.jsonl ]]; then
  tail -20 "$runs/output.txt"
  echo "many_nodes: no step was made in 10 minutes, or the run has ended" >&2
  exit 1
fi
say "first look"
begin=$(date +%s)
look >"$runs/first"
sleep "$between"
look >"$runs/second"
seconds=$(( $(date +%s) - begin ))
failed=0
[[ ! -s $runs/errors ]] || { failed=1; sort "$runs/errors" | uniq -c | sort -rn | head -5; }
wait "$run" || failed=1
run=
tail -3 "$runs/output.txt"

say "$(wc -l <"$runs/second") nodes; messages and bytes per second over about $seconds s"
printf '%-9s %5s | %s\n' "kind" "nodes" "least, median, mean, most"
for kind in node stage trainer; do
  join "$runs/first" "$runs/second" | awk -v kind="$kind" -v s="$seconds" '
    $1 ~ "^" kind { print $8, ($9 - $3) / s, ($10 - $4) / s, ($11 - $5) * 1000 / s, ($12 - $6) * 1000 / s, $13 / 1024 }
  ' >"$runs/$kind"
  column=0
  for what in "links" "messages sent/s" "messages received/s" "kB sent/s" "kB received/s" "MB resident"; do
    column=$((column + 1))
    cut -d' ' -f"$column" "$runs/$kind" | sort -g | awk -v kind="$kind" -v what="$what" '
      { value[NR] = $1; sum += $1 }
      END { printf "%-9s %5d | %-20s %8.1f %8.1f %8.1f %8.1f\n", kind, NR, what, value[1],
                   value[int((NR + 1) / 2)], sum / NR, value[NR] }'
  done
done
exit "$failed"
