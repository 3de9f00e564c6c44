#!/usr/bin/env bash
# What a sequence of 2,048 tokens costs in bytes on the wire, in a model of width 4,096 cut into four stages: three
# boundaries, there and back. Counted by the kernel on the loopback interface of a network of the run's own, so
# with all frames, headers and acknowledgements; a run of one step is taken from one of two, so that starting and
# stopping do not count.
#
#   scripts/traffic.sh [--swarm BINARY] [CODEC...]      none bf16 int8_linear int8; all by default
#
# A row a codec: MiB of a sequence, and what the numbers alone take. Exit code: 1 if one is more than 1 % above
# that (none and bf16: codes of eight bits have their scales, 0.4 to 1 %), 77 where it cannot run: it needs
# root, for the network, and 14 GB of memory.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/local_run_lib.sh
source scripts/local_run_lib.sh

all_cases=(none bf16 int8_linear int8)
declare -A mib=([none]=192 [bf16]=96 [int8_linear]=48 [int8]=48)
sequences=2  # of a step
take_arguments "$@"

((EUID == 0)) || { echo "traffic.sh: skipped: needs root, for a network of its own"; exit 77; }

config() {
  cat <<END_OF_FILE
[run]
name = "traffic"
folder = "$folder/runs"
tensorboard = false
[model]
layers = 4
width = 4096
heads = 32
ffn = 64
sequence = 2048
[pipeline]
stages = 4
backward = "recompute"
compute = "bf16"
[data]
train = ["/usr/share/common-licenses"]
[training]
steps = $1
batch = $sequences
microbatch = 1
validate_every = 0
validation_samples = 1
[wire]
activations = "$kind"
gradients = "$kind"
[checkpoint]
every_steps = 0
copies = 0
[stage_server]
resident_bytes = 4294967296
[[nodes]]
name = "trainer"
trainer = true
END_OF_FILE
  small_peers 4 a
}

# Bytes that a run of $1 steps sends.
bytes_of() {
  config "$1" >"$folder/config$1.toml"
  unshare --net bash -c '
    ip link set lo up
    "$1" run "$2" --quiet >"$3" 2>&1 || exit 1
    sed -nE "s/^ *lo: *//p" /proc/self/net/dev | cut -d " " -f 1' - "$swarm" "$folder/config$1.toml" "$folder/said.txt"
}

measure() {
  local one two each
  one=$(bytes_of 1) && two=$(bytes_of 2) || { why_ended; return 1; }
  each=$(awk "BEGIN { printf \"%.2f\", ($two - $one) / $sequences / 1048576 }")
  said="$each MiB a sequence; the numbers alone ${mib[$kind]}"
  awk "BEGIN { exit !($each >= ${mib[$kind]} && $each <= ${mib[$kind]} * 1.01) }" || { why=$said; return 1; }
}

run_cases measure
