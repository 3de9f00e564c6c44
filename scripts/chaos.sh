#!/usr/bin/env bash
# The report on exactness under churn: one run of config/chaos.toml with its kills, then the same
# experiment three times in peace, one after the other; `swarm audit` and `swarm verify` of the
# first, and its loss curve and throughput beside the others'.
#
#   scripts/chaos.sh [--swarm BINARY] [--set KEY=VALUE]...
#
# --set goes to all runs, e.g. --set training.steps=60 for a short trial. The three runs have the
# same seed: in synchronous mode they are the same computation up to rounding, because which peer
# sums which microbatches differs by itself from run to run. Another seed would be another curve.
# Exit code: 0 exact, the same curve and at least 0.8 of the throughput; 1 otherwise.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/lib.sh
source scripts/lib.sh

swarm=build/release/apps/swarm
settings=()
while (($# > 0)); do
  case $1 in
    --swarm) swarm=${2:?}; shift 2 ;;
    --set) settings+=(--set "${2:?}"); shift 2 ;;
    *) echo "chaos.sh: unknown argument $1" >&2; exit 2 ;;
  esac
done

# train NAME [MORE...]: sets `folder` to the run's.
train() {
  local name=$1 output
  shift
  say "swarm run config/chaos.toml ${settings[*]} $*"
  if ! output=$("$swarm" run config/chaos.toml --quiet --name "$name" "${settings[@]}" "$@"); then
    echo "$output"
    exit 1
  fi
  echo "$output"
  folder=$(sed -n 's,^files  *\(.*\)/$,\1,p' <<<"$output")
}

failed=0
train chaos
storm=$folder
quiet=()
for name in chaos-quiet-1 chaos-quiet-2 chaos-quiet-3; do
  train "$name" --set chaos.kill_every_s=0 --set chaos.pause_every_s=0
  quiet+=("$folder")
done

say "swarm audit $storm"
"$swarm" audit "$storm" || failed=1
say "swarm verify $storm"
"$swarm" verify "$storm" || failed=1
say "swarm compare $storm ${quiet[*]}"
"$swarm" compare "$storm" "${quiet[@]}" --min-ratio 0.8 || failed=1
exit "$failed"
