#!/usr/bin/env bash
# Whether links have the rates and delays that were asked for: of the links' shaper (`swarm bench links`), and of network
# namespaces (scripts/netns.sh, with what config/90-swarm-long-ways.conf says). docs/bad_network.md
#
#   scripts/agree.sh     7 minutes; BUILD: the build folder (build/release)
#
# A table of each. Exit code 1: one is more than a tenth off; 77 and a word: no namespaces here.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export NETNS=agree NETNS_PREFIX=10.204.0
build=${BUILD:-build/release}
net=scripts/netns.sh
failed=0
"$net" check || exit 77
trap '"$net" down' EXIT

# WHAT ASKED GOT
compare() {
  awk -v what="$1" -v asked="$2" -v got="$3" 'BEGIN {
    ratio = got / asked
    printf "namespaces, %-12s asked %8.2f, got %8.2f, ratio %.3f\n", what, asked, got, ratio
    exit !(ratio >= 0.9 && ratio <= 1.1)
  }' || { echo "agree: NOT MET: $1"; failed=1; }
}

# Megabits per second and milliseconds one way. The better of two transfers of eight seconds, once the connection knows its
# rate: at 400 ms one step back of TCP costs a transfer more than a tenth, and says nothing of the network.
namespaces() {
  local said rate=$1 delay=$2
  "$net" up 2 "${rate}mbit" "$delay" 2>/dev/null
  "$net" long
  said=$("$net" measure "$rate" 1)
  "$net" down
  compare "${rate} Mb/s" "$(awk "BEGIN { print $rate / 8 }")" "$(grep '^at once again' <<<"$said" | grep -oE '[0-9.]+ MB/s' | sort -g | tail -n 1 | cut -d' ' -f1)"
  [[ $delay == 0 ]] || compare "$delay ms" $((2 * delay)) "$(sed -nE 's/^round trip ([0-9.]+) ms.*/\1/p' <<<"$said")"
}

table=$("$build/apps/swarm" bench links)
echo "$table"
awk 'NR > 1 && ($4 < 0.9 || $4 > 1.1 || $7 < 0.9 || $7 > 1.1) { exit 1 }' <<<"$table" ||
  { echo "agree: NOT MET: the links' shaper"; failed=1; }
for rate in 10 100; do
  for delay in 0 50 200; do namespaces "$rate" "$delay"; done
done
exit "$failed"
