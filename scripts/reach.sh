#!/usr/bin/env bash
# Real nodes that cannot reach one another: three stages with two peers each and two trainers in three
# network namespaces. While they train a way is closed for good; training must go on within 30 s, and the
# audit must be exact. Root only. docs/bad_network.md
#
#   scripts/reach.sh [CASE...]     pair oneway undialled stageless; all of them by default
#
#   pair        the machines of two replicas lose their packets to each other
#   oneway      the same in one direction only
#   undialled   nobody can make a connection any more to the third machine, whose own arrive; its two nodes are
#               killed and started again, as links of before would hide it
#   stageless   the coordinator's machine and that of the last stage lose each other
#
# BUILD: the build folder (build/release), with apps/swarm and apps/swarm-compute. Exit code 1 if a case
# fails, 77 and a word if it cannot run here.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export NETNS=reach NETNS_PREFIX=10.202.0
# shellcheck source=scripts/netns_lib.sh
source scripts/netns_lib.sh
limit_s=30
more_steps=5

may_run

write_config() {
  cat <<END
[run]
name = "reach"
$(small_model 3)
[training]
steps = 1000000
batch = 16
microbatch = 2
validation_samples = 16
[checkpoint]
every_steps = 20
[node]
threads = 1
allow_plaintext = true
open = true
END
  two_trainers
  small_peers 3 "a b"
}

close_ways() {
  case $1 in
    pair) part 2 3 ;;
    oneway) "$net" block 2 3 ;;
    undialled) "$net" undial 3 ;;
    stageless) part 1 3 ;;
  esac
}

# Each of the nodes $* has joined the training twice.
serves_again() {
  local name
  for name in "$@"; do
    (($(grep -c '"event": *"joined"' "$folder/run/nodes/$name/events.jsonl") >= 2)) || return 1
  done
}

run_case() {
  local began step_then passed=true
  folder=$(mktemp -d)
  mkdir "$folder/run"
  write_config >"$folder/config.toml"
  "$net" up 3
  start t1 1
  sleep 2  # it leads
  start t2 2
  if [[ $1 == stageless ]]; then
    start s0a 1; start s1a 1; start s0b 2; start s1b 2; start s2a 3; start s2b 3
  else
    start s0a 1; start s1a 1; start s1b 2; start s2a 2; start s2b 3; start s0b 3
  fi
  if ! wait_for_step 10 90; then
    say "$1: training did not begin"
    passed=false
  fi
  close_ways "$1"
  began=$(date +%s.%N)
  if [[ $1 == undialled ]]; then
    kill_node s2b; kill_node s0b
    start s2b 3; start s0b 3
  fi
  sleep 1  # what was under way is over
  step_then=$(newest_step)
  if $passed && wait_for_step $((step_then + more_steps)) "$limit_s"; then
    say "$1: goes on after $(since "$began") s, at step $(newest_step)"
    sleep 20  # later tries, and whatever else comes of it
  elif $passed; then
    say "$1: stands still at step $step_then for $limit_s s"
    passed=false
  fi
  if $passed && [[ $1 == undialled ]] && ! serves_again s0b s2b; then
    say "$1: the machine that nobody can dial does not serve again"
    passed=false
  fi
  say "$1: at step $(newest_step) in the end; $(count_events 'set_aside|parts_relayed|stepped_down|coordinator|recovered')"
  stop_all
  audit || passed=false
  if $passed; then
    rm -rf "$folder"
  else
    say "$1: FAILED; what the nodes said is in $folder"
  fi
  folder=
  "$net" down
  $passed
}

trap clean_up EXIT
cases=("$@")
((${#cases[@]} > 0)) || cases=(pair oneway undialled stageless)
failed=0
for one in "${cases[@]}"; do run_case "$one" || failed=1; done
exit "$failed"
