#!/usr/bin/env bash
# The planner beside reality: five swarms of real processes whose computing is a delay and whose links
# are shaped. Prints tokens/s as `swarm plan` says and as measured; the run folders stay in RUNS.
#
#   scripts/plan_check.sh [SETTING]...     compute, uplink, codec, far, few; all of them without one
#
# BUILD: the build folder (build/release). RUNS: where runs go (a new temporary folder). SECONDS_EACH:
# how long is measured (60). Exit code 1 if a run fails, if one is more than 15 % off, or if two that
# differ by more than 15 % rank otherwise than predicted.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/lib.sh
source scripts/lib.sh
swarm=${BUILD:-build/release}/apps/swarm
runs=${RUNS:-$(mktemp -d)}
measured=${SECONDS_EACH:-60}
mkdir -p "$runs"
run=
finish() { [[ -z $run ]] || { kill "$run" 2>/dev/null && wait "$run" || true; }; }
trap finish EXIT

# What one setting is made of.
defaults() {
  stages=4 replicas=2 delay=0.25 rate=0 way=0 codec=none in_flight=0
}
setting_compute() { :; }                                 # computers are all that counts
setting_uplink() { rate=1500000; }                       # 1 MiB a microbatch: 0.70 s
setting_codec() { rate=1500000 codec=fp16; }             # half of it: 0.35 s
setting_far() { stages=2 replicas=4 delay=0.5 way=0.1; } # 0.2 s there and back
setting_few() { replicas=1 way=0.1 in_flight=4; }        # too few under way for that

# Small where it costs time, wide where it costs bytes: 512 KiB of activations a microbatch.
experiment() {
  cat <<EOF
[run]
name = "plan-check"
tensorboard = false
[model]
layers = 4
width = 64
heads = 1
ffn = 64
sequence = 128
[pipeline]
stages = $stages
[data]
train = ["/usr/share/common-licenses"]
[training]
mode = "async"
background_averaging = true
steps = 1000000
batch = 256
microbatch = 16
validation_samples = 16
min_peers_per_stage = $replicas
[wire]
activations = "$codec"
gradients = "$codec"
[checkpoint]
every_steps = 0
EOF
  ((in_flight == 0)) || printf '[trainer]\nmax_in_flight = %s\n' "$in_flight"
  local stage peer
  for ((stage = 0; stage < stages; ++stage)); do
    for ((peer = 0; peer < replicas; ++peer)); do
      printf '[[nodes]]\nname = "s%s-%s"\nstages = [%s]\ndelay_s = %s\nlink_delay_s = %s\n' \
        "$stage" "$peer" "$stage" "$delay" "$way"
      ((rate == 0)) || printf 'send_bytes_per_s = %s\n' "$rate"
    done
  done
  printf '[[nodes]]\nname = "trainer"\ntrainer = true\nlink_delay_s = %s\n' "$way"
}

# NAME: the same as a plan. Of the trainer's microbatches each peer of a stage has its part.
plan() {
  cat <<EOF
[plan]
experiment = "$1.toml"
[search]
stages = [$stages]
EOF
  ((in_flight == 0)) || printf 'in_flight = [%s]\n' $((in_flight / replicas))
  cat <<EOF
[[devices]]
name = "peer"
count = $((stages * replicas))
flops_per_s = $flops
microbatch_s = $delay
rtt_s = $(awk -v way="$way" 'BEGIN { print 2 * way }')
up_bytes_per_s = $( ((rate == 0)) && echo 1e9 || echo "$rate")
down_bytes_per_s = 1e9
EOF
}

# FILE KEY: its first value.
value() { awk -v key="\"$2\":" '$1 == key { gsub(/[",]/, "", $2); print $2; exit }' "$1"; }

# NAME: sets $tokens to tokens/s of the last $measured seconds, from the end of a period to another's.
train() {
  local name=$1 folder= since
  tokens=
  "$swarm" run "$runs/$name.toml" --set run.folder="$runs/$name" >"$runs/$name.txt" 2>&1 &
  run=$!
  for ((since = 0; since < 60; ++since)); do
    # The folder may not be there yet: find fails then.
    folder=$(find "$runs/$name" -name metrics.jsonl -size +0 -path '*/plan-check/*' 2>/dev/null | head -1) || true
    [[ -z $folder ]] || break
    sleep 1
  done
  sleep $((20 + measured))  # it settles first
  kill "$run" 2>/dev/null || true
  wait "$run" || true
  run=
  [[ -n $folder ]] || { tail -20 "$runs/$name.txt" >&2; echo "plan_check: $name does not train" >&2; return; }
  tokens=$(awk -v measured="$measured" 'match($0, /"time": *[0-9.]+/) {
      at = substr($0, RSTART, RLENGTH); sub(/[^0-9]*/, "", at); times[++n] = at
    } END {
      last = times[n]
      for (i = n; i > 1 && times[i - 1] >= last - measured; --i) ;
      if (last > times[i]) printf "%.0f\n", (n - i) * 256 * 128 / (last - times[i])
    }' "$folder")
}

(($# > 0)) || set -- compute uplink codec far few
defaults
experiment >"$runs/device.toml"
say "what a block takes here"
flops=$("$swarm" bench device "$runs/device.toml" | awk '$1 == "flops_per_s" { print $3 }')
: >"$runs/figures"
for name in "$@"; do
  declare -F "setting_$name" >/dev/null || { echo "plan_check: no setting $name" >&2; exit 1; }
  defaults
  "setting_$name"
  experiment >"$runs/$name.toml"
  plan "$name" >"$runs/$name.plan.toml"
  say "$name"
  "$swarm" plan "$runs/$name.plan.toml" --json --top 1 >"$runs/$name.json"
  predicted=$(value "$runs/$name.json" tokens_per_s)
  bound=$(value "$runs/$name.json" bound)
  train "$name"
  echo "$name $predicted $tokens $bound" | tee -a "$runs/figures"
done

echo
awk 'BEGIN { printf "%-10s %10s %10s %8s  %s\n", "setting", "predicted", "measured", "ratio", "bound by" }
  NF < 4 { print $1 ": nothing was measured"; failed = 1; next }
  {
    name[++n] = $1; predicted[n] = $2; measured[n] = $3; ratio = $3 / $2
    printf "%-10s %10.0f %10.0f %8.3f  %s\n", $1, $2, $3, ratio, $4
    if (ratio < 0.85 || ratio > 1.15) failed = 1
  }
  END {
    for (i = 1; i <= n; ++i)
      for (j = 1; j <= n; ++j)
        if (predicted[i] > 1.15 * predicted[j] && measured[i] < measured[j]) {
          print name[i] " is to be faster than " name[j] " and is not"; failed = 1
        }
    exit failed
  }' "$runs/figures" || { say "run folders in $runs"; exit 1; }
say "run folders in $runs"
