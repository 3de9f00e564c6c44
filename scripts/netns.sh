#!/usr/bin/env bash
# A network of namespaces on this machine: nodes with addresses of their own, joined by a bridge
# over links with a rate and a delay. Root only. docs/bad_network.md
#
#   scripts/netns.sh check                          exit 0 if it can run here, else 77 and a line why
#   scripts/netns.sh up N [RATE [DELAY [JITTER]]]   namespaces swarm-1 .. swarm-N, 10.201.0.1 and so on
#   scripts/netns.sh exec I COMMAND...              runs COMMAND in swarm-I
#   scripts/netns.sh rate I RATE                    changes both directions of swarm-I; 0: no limit
#   scripts/netns.sh cut I | join I                 takes swarm-I off the bridge, and back
#   scripts/netns.sh block I J                      what swarm-I sends to swarm-J is lost; `block J I` too: both ways
#   scripts/netns.sh undial I [J]                   nobody, or not swarm-J, can make a connection to swarm-I
#   scripts/netns.sh open I                         ends what `block` and `undial` did at swarm-I
#   scripts/netns.sh long                           all nodes get what config/90-swarm-long-ways.conf says
#   scripts/netns.sh measure [MEGABYTES [SILENCE]]  a node in swarm-1, seen from swarm-2; the same again at once and
#                                                   after SILENCE seconds
#   scripts/netns.sh down                           removes everything
#
# RATE: of each node's link in each direction, as `tc` takes it (100mbit); 0: no limit. DELAY: one way
# between any two nodes [ms]; JITTER [ms] likewise. BUILD: the build folder (build/release). A second
# network at the same time needs another NETNS (the namespaces' name) and NETNS_PREFIX (10.201.0).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build=${BUILD:-build/release}
name=${NETNS:-swarm}
hub=$name-hub
state=/run/$name-netns
prefix=${NETNS_PREFIX:-10.201.0}

usage() { sed -n '5,20s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2; }
say() { echo "netns: $*" >&2; }

# Why it cannot run here; nothing if it can.
obstacle() {
  local probe=$name-probe-$$
  [[ $EUID == 0 ]] || { echo "needs root"; return; }
  for tool in ip tc; do
    command -v "$tool" >/dev/null || { echo "needs $tool (Debian: iproute2)"; return; }
  done
  [[ -x $build/tests/packet_delay ]] || { echo "needs $build/tests/packet_delay (ninja packet_delay)"; return; }
  [[ -c /dev/net/tun ]] || { echo "needs /dev/net/tun"; return; }
  ip netns add "$probe" 2>/dev/null || { echo "cannot make network namespaces"; return; }
  ip -n "$probe" link add wire type veth peer name other 2>/dev/null &&
    ip netns exec "$probe" tc qdisc add dev wire root tbf rate 1mbit burst 32kb latency 50ms 2>/dev/null ||
    echo "the kernel lacks veth or tc tbf"
  ip netns del "$probe"
}

may_run() {
  local why
  why=$(obstacle)
  [[ -z $why ]] || { say "skipped: $why"; exit 77; }
}

# Both directions of node $1's link at rate $2.
set_rate() {
  local place=("$name-$1 wire" "$hub node-$1")
  for at in "${place[@]}"; do
    read -r space device <<<"$at"
    ip netns exec "$space" tc qdisc del dev "$device" root 2>/dev/null || true
    [[ $2 == 0 ]] || ip netns exec "$space" tc qdisc add dev "$device" root tbf rate "$2" burst 64kb latency 200ms
  done
}

# Node $1's link, delayed by $2 ms and up to $3 ms more at each end of a way.
add_node() {
  local half jitter
  ip netns add "$name-$1"
  ip -n "$name-$1" link set lo up
  if [[ $2 == 0 && $3 == 0 ]]; then
    ip -n "$name-$1" link add wire type veth peer name "node-$1" netns "$hub"
  else
    half=$(awk "BEGIN { print $2 / 2 }")
    jitter=$(awk "BEGIN { print $3 / 2 }")
    "$build/tests/packet_delay" "$half" "$jitter" "$name-$1" wire "$hub" "node-$1" \
      >"$state/wire-$1" 2>&1 </dev/null &
    echo $! >"$state/wire-$1.pid"
    for ((i = 0; i < 100; ++i)); do
      grep -q ready "$state/wire-$1" && break
      kill -0 "$(<"$state/wire-$1.pid")" 2>/dev/null || break
      sleep 0.05
    done
    grep -q ready "$state/wire-$1" || { say "$(<"$state/wire-$1")"; exit 1; }
  fi
  ip -n "$hub" link set "node-$1" master bridge up
  ip -n "$name-$1" addr add "$prefix.$1/24" dev wire
  ip -n "$name-$1" link set wire up
}

up() {
  local count=$1 rate=${2:-0} delay=${3:-0} jitter=${4:-0}
  [[ $count =~ ^[0-9]+$ ]] && ((count >= 1 && count <= 200)) || { say "up: expected 1 to 200 nodes, found $count"; exit 2; }
  may_run
  [[ ! -e $state ]] || { say "there is a network already: scripts/netns.sh down"; exit 1; }
  mkdir -p "$state"
  ip netns add "$hub"
  ip -n "$hub" link add bridge type bridge
  ip -n "$hub" link set bridge up
  for ((node = 1; node <= count; ++node)); do
    add_node "$node" "$delay" "$jitter"
    set_rate "$node" "$rate"
  done
  say "$count nodes, $prefix.1 to $prefix.$count; rate $rate, one way $delay ms"
}

down() {
  for file in "$state"/wire-*.pid; do
    [[ -e $file ]] && { kill "$(<"$file")" 2>/dev/null || true; }
  done
  for space in $(ip netns list | awk -v own="^$name-([0-9]+|hub)( |\$)" '$0 ~ own { print $1 }'); do
    ip netns del "$space"
  done
  rm -rf "$state"
}

# A number for classic BPF: the address of node $1.
address() {
  local a b c
  IFS=. read -r a b c <<<"$prefix"
  echo $((a << 24 | b << 16 | c << 8 | $1))
}

# Packets are lost without a word, as in a firewall. Filters in classic BPF, since kernels may lack all
# others; offsets count from the Ethernet header. 2 loses a packet, 4294967295 lets it pass.
lose() {
  ip netns exec "$name-$1" tc qdisc add dev wire clsact 2>/dev/null || true
  ip netns exec "$name-$1" tc filter add dev wire "$2" protocol ip bpf da bytecode "$3"
}

# IPv4 to $2.
block() { lose "$1" egress "6,40 0 0 12,21 0 3 2048,32 0 0 30,21 0 1 $(address "$2"),6 0 0 2,6 0 0 4294967295"; }

# TCP with SYN and without ACK; of one sender, or of all.
undial() {
  local syn="48 0 0 23,21 0 4 6,48 0 0 47,84 0 0 18,21 0 1 2,6 0 0 2,6 0 0 4294967295"
  if [[ -z ${2:-} ]]; then
    lose "$1" ingress "9,40 0 0 12,21 0 6 2048,$syn"
  else
    lose "$1" ingress "11,40 0 0 12,21 0 8 2048,32 0 0 26,21 0 6 $(address "$2"),$syn"
  fi
}

measure() {
  local folder node endpoint="$prefix.1:7001"
  folder=$(mktemp -d)
  printf '[data]\ntrain = ["none"]\n[node]\nallow_plaintext = true\nopen = true\n' >"$folder/config.toml"
  ip netns exec "$name-1" "$build/apps/swarm" node "$folder/config.toml" --name one --listen "$endpoint" \
    --run-folder "$folder" >"$folder/output.txt" 2>&1 &
  node=$!
  for ((i = 0; i < 100; ++i)); do grep -q listens "$folder/output.txt" 2>/dev/null && break; sleep 0.1; done
  ip netns exec "$name-2" "$build/apps/swarm" bench links --at "$endpoint" --megabytes "${1:-8}" --silence "${2:-0}" ||
    cat "$folder/output.txt" >&2
  kill "$node"
  wait "$node" 2>/dev/null || true
  rm -rf "$folder"
}

# Of all nodes, for connections made from now on. The congestion control is that of the machine when they were made.
long() {
  local space
  for space in $(ip netns list | awk -v own="^$name-[0-9]+( |\$)" '$0 ~ own { print $1 }'); do
    grep '^net.ipv4' config/90-swarm-long-ways.conf | ip netns exec "$space" sysctl -q -p -
  done
}

(($# > 0)) || usage
command=$1
shift
case $command in
  check) may_run ;;
  up) (($# >= 1 && $# <= 4)) || usage; up "$@" ;;
  down) down ;;
  long) (($# == 0)) || usage; long ;;
  measure) measure "$@" ;;
  exec) (($# >= 2)) || usage; space=$name-$1; shift; exec ip netns exec "$space" "$@" ;;
  rate) (($# == 2)) || usage; set_rate "$@" ;;
  cut) (($# == 1)) || usage; ip -n "$hub" link set "node-$1" down ;;
  block) (($# == 2)) || usage; block "$@" ;;
  undial) (($# == 1 || $# == 2)) || usage; undial "$@" ;;
  open) (($# == 1)) || usage; ip netns exec "$name-$1" tc qdisc del dev wire clsact ;;
  join) (($# == 1)) || usage; ip -n "$hub" link set "node-$1" up ;;
  *) usage ;;
esac
