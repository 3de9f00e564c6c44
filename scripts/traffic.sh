#!/usr/bin/env bash
# What a sequence of 2,048 tokens costs in bytes on the wire, in a model of width 4,096 cut into four stages: three
# boundaries, there and back. Counted by the nodes as what they write into their sockets, by class, in the second
# of two steps: with all frames and heads, and with all other mail of five nodes.
#
#   scripts/traffic.sh [--swarm BINARY] [CODEC...]      none bf16 int8_linear int8; all by default
#
# A row a codec: MiB of a sequence, in all and of activations and their gradients, and what the numbers alone take.
# Exit code: 1 if all is more than 1 % above that (codes of eight bits have their scales, 0.4 %), 77 where it cannot run: it
# needs 14 GB of memory. About 90 s a codec.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/local_run_lib.sh
source scripts/local_run_lib.sh

all_cases=(none bf16 int8_linear int8)
declare -A mib=([none]=192 [bf16]=96 [int8_linear]=48 [int8]=48)
sequences=2  # of a step
take_arguments "$@"

(($(awk '/^MemAvailable:/ {print $2}' /proc/meminfo) > 14000000)) || { echo "traffic.sh: skipped: needs 14 GB of memory"; exit 77; }

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
steps = 2
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

# Bytes a sequence that all nodes sent in the second step, of the classes $*.
sent() {
  local class pattern='"step":1,.*"bytes_sent"' sum=0
  for class in "$@"; do
    sum=$((sum + $(grep -h "$pattern" "$folder"/runs/traffic/*/metrics.jsonl | sed -E "s/.*\"$class\":([0-9]+).*/\1/")))
  done
  echo $((sum / sequences))
}

measure() {
  local all work
  config >"$folder/config.toml"
  run_whole "$folder/config.toml" || return 1
  all=$(sent control gradients activations state)
  work=$(sent gradients activations)
  said=$(awk "BEGIN { printf \"%.2f MiB a sequence, %.2f of them activations and gradients\", $all / 1048576, $work / 1048576 }")
  said+="; the numbers alone ${mib[$kind]}"
  awk "BEGIN { exit !($work >= ${mib[$kind]} * 1048576 && $all <= ${mib[$kind]} * 1.01 * 1048576) }" || { why=$said; return 1; }
}

run_cases measure
