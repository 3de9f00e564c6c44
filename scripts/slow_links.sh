#!/usr/bin/env bash
# What eight bits buy on a slow link: three stages in a row, a peer each, whose activations and gradients take twice as
# long to travel as a microbatch takes to compute in fp32, and half as long in int8. Real nodes with addresses of
# their own; 200 Mb/s in each direction of each node's link and 50 ms one way between any two, by the links' own
# shaper and by the kernel (tbf, and TUN devices that delay), beside the same swarm with no limit. Computing is a delay,
# so that two cores suffice. Root only; nothing else should run. docs/bad_network.md
#
#   scripts/slow_links.sh [MEASURED_S [SLOWER]]     seconds that each of the six is measured (60)
#
# All runs SLOWER times (4) as slowly: links of 50 Mb/s, 200 ms away, with as much under way as in the above, as
# a core of this kind needs 45 ms for what is to take 42. A row for each network and codec: microbatches/s, of
# what the same codec reaches without limit, and the seconds that a microbatch's bytes need of a link by those of
# computing it. Exit code: 1 if int8 reaches less than 0.9 of its unlimited throughput, 77 where it cannot run.
# BUILD: the build folder (build/release).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export NETNS=slow NETNS_PREFIX=10.205.0
# shellcheck source=scripts/netns_lib.sh
source scripts/netns_lib.sh
measured_s=${1:-60}
slower=${2:-4}
settle_s=60
rate_mbit=$((200 / slower)) way_ms=$((50 * slower))
width=64 samples=128 sequence=32  # 1 MiB of fp32 a microbatch and boundary
# Of computing; what the little model takes comes on top.
delay_s=$(awk "BEGIN { print 0.042 * $slower - 0.045 }")
failed=0

may_run

# The config with codec $1 and, for "shaper", what each node's link is by itself.
write_config() {
  local link=""
  [[ $2 != shaper ]] ||
    link=$(awk "BEGIN { rate = $rate_mbit * 125000
      printf \"send_bytes_per_s = %d\nreceive_bytes_per_s = %d\nlink_delay_s = %g\", rate, rate, $way_ms / 1000 }")
  cat <<END
[run]
name = "slow-links"
[model]
layers = 3
width = $width
heads = 1
ffn = 64
sequence = $sequence
[pipeline]
stages = 3
[data]
train = ["/usr/share/common-licenses"]
[training]
mode = "async"
background_averaging = true
steps = 1000000
batch = $((samples * 16))
microbatch = $samples
validate_every = 0
validation_samples = $samples
[wire]
activations = "$1"
gradients = "$1"
[checkpoint]
every_steps = 0
[node]
threads = 1
allow_plaintext = true
open = true
[[nodes]]
name = "t1"
trainer = true
$link
END
  small_peers 3 a "delay_s = $delay_s
$link"
}

# Slots done so far, as the metrics of the trainer's node have it.
slots_done() {
  local step
  step=$(newest_step t1)
  echo $(((step + 1) * 16))
}

# `reached`: microbatches/s of codec $1 on network $2 (none shaper tun), from one closed step to another.
measure() {
  local before after began
  folder=$(mktemp -d)
  mkdir "$folder/run"
  write_config "$1" "$2" >"$folder/config.toml"
  if [[ $2 == tun ]]; then "$net" up 4 "${rate_mbit}mbit" "$way_ms"; else "$net" up 4; fi
  start t1 1; start s0a 2; start s1a 3; start s2a 4
  wait_for_step 0 90 || { say "$1, $2: training did not begin; see $folder"; folder=; exit 1; }
  sleep "$settle_s"
  wait_for_step $(($(newest_step t1) + 1)) 60 t1
  before=$(slots_done) began=$(date +%s.%N)
  sleep "$measured_s"
  wait_for_step $(($(newest_step t1) + 1)) 60 t1
  after=$(slots_done)
  reached=$(awk "BEGIN { printf \"%.3f\", ($after - $before) / ($(date +%s.%N) - $began) }")
  stop_all
  "$net" down
  rm -rf "$folder"
  folder=
}

trap clean_up EXIT
declare -A bytes=([none]=4 [int8]=1)
for codec in none int8; do
  measure "$codec" none
  unlimited=$reached
  say "$codec, no limit: $unlimited microbatches/s"
  for network in shaper tun; do
    measure "$codec" "$network"
    read -r of_unlimited ratio < <(awk "BEGIN {
      transfer_s = 2 * $samples * $sequence * $width * ${bytes[$codec]} / ($rate_mbit * 125000)
      printf \"%.3f %.2f\n\", $reached / $unlimited, transfer_s * $unlimited }")
    say "$codec, $network: $reached microbatches/s, $of_unlimited of no limit; a link's time by computing's $ratio"
    [[ $codec == none ]] || awk "BEGIN { exit !($of_unlimited >= 0.9) }" || failed=1
  done
done
exit "$failed"
