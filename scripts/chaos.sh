#!/usr/bin/env bash
# The report on exactness under churn: one run with faults, then the same experiment in peace, one after
# the other; `swarm audit` and `swarm verify` of the first, and its loss curve and throughput beside the
# others'.
#
#   scripts/chaos.sh [--storm] [--swarm BINARY] [--set KEY=VALUE]...
#
# Without --storm: kills of config/chaos.toml, three runs in peace. With it: all faults of
# config/storm.toml for 20 minutes, one run in peace, and what each kind of fault cost. --set goes to all
# runs, e.g. --set training.steps=60 for a short trial. All have the same seed: in synchronous mode they are
# the same computation up to rounding, because which peer sums which microbatches differs by itself from run
# to run. Another seed would be another curve.
# Exit code: 0 exact, the same curve, and at least 0.8 (a storm: 0.85) of the throughput and, in a storm, no
# fault dearer than below and a full disk that a node met; 1 otherwise.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/lib.sh
source scripts/lib.sh

swarm=build/release/apps/swarm
experiment=chaos
quiet_runs=3
bars=(--min-ratio 0.8)
settings=()
while (($# > 0)); do
  case $1 in
    --storm)
      experiment=storm
      quiet_runs=1
      bars=(--min-ratio 0.85)
      # Seconds lost per fault, median.
      bars+=(--most-lost kill 0.6 --most-lost stop 0.3 --most-lost pause 3 --most-lost cut 10
        --most-lost full_disk 0)
      shift ;;
    --swarm) swarm=${2:?}; shift 2 ;;
    --set) settings+=(--set "${2:?}"); shift 2 ;;
    *) echo "chaos.sh: unknown argument $1" >&2; exit 2 ;;
  esac
done

# train NAME [MORE...]: sets `folder` to the run's.
train() {
  local name=$1 output
  shift
  say "swarm run config/$experiment.toml ${settings[*]} $*"
  if ! output=$("$swarm" run "config/$experiment.toml" --quiet --name "$name" "${settings[@]}" "$@"); then
    echo "$output"
    exit 1
  fi
  echo "$output"
  folder=$(sed -n 's,^files  *\(.*\)/$,\1,p' <<<"$output")
}

failed=0
train "$experiment"
storm=$folder
quiet=()
for ((i = 1; i <= quiet_runs; ++i)); do
  train "$experiment-quiet-$i" --set chaos.kill_every_s=0 --set chaos.pause_every_s=0 --set chaos.every_s=0
  quiet+=("$folder")
done

# The nodes' events, those in pieces too.
events() { cat "$1"/nodes/*/events*.jsonl; zstd -dcq "$1"/nodes/*/events-*.jsonl.zst 2>/dev/null || true; }
if [[ $experiment == storm ]] && ! grep -E '"event": ?"checkpoint_failed"' <(events "$storm") >/dev/null; then
  echo "chaos.sh: no node met a full disk: no checkpoint_failed"
  failed=1
fi

say "swarm audit $storm"
"$swarm" audit "$storm" || failed=1
say "swarm verify $storm"
"$swarm" verify "$storm" || failed=1
say "swarm compare $storm ${quiet[*]}"
"$swarm" compare "$storm" "${quiet[@]}" "${bars[@]}" || failed=1
exit "$failed"
