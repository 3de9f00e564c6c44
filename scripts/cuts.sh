#!/usr/bin/env bash
# A real swarm that is cut in two and healed: four stages with two peers each and two trainers on three
# machines (network namespaces), ten voters. The part with more than half of them must go on by itself,
# any other must wait and say so until somebody tells it to go on; after the healing all must be one swarm,
# train to the end, and `swarm audit` and `swarm verify` must find the run exact. Root only. docs/one_history.md
#
#   scripts/cuts.sh [CASE...]      larger halves coordinator; all of them by default
#
#   larger        six with a peer of every stage and the coordinator | four with the other trainer
#   halves        five | five, each with every stage and a trainer: both wait, `go-on` lets one train
#   coordinator   the coordinator's node | all others
#   both          halves that are both told to `go-on`, and train: one line of history stays
#   last_copy     six (one more trainer) | five that are told to `go-on`; then the six lose what they had of
#                 stage 2 with its disk, and the five have pruned what both had: they kept it aside
#
# BUILD: the build folder (build/release), with apps/swarm and apps/swarm-compute. Exit code 1 if a case
# fails, 77 and a word if it cannot run here.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export NETNS=cuts NETNS_PREFIX=10.203.0
# shellcheck source=scripts/netns_lib.sh
source scripts/netns_lib.sh
begin_limit_s=90
train_limit_s=60      # of a part that may train
minority_limit_s=60   # until the other says that it waits
halves_wait_s=20
heal_limit_s=90
end_limit_s=300
steps=240
more_steps=5
passed=true

fail() { say "$kind: FAILED: $*"; passed=false; }
may_run

# Steps take about as long everywhere: `delay_s` is most of a microbatch.
write_config() {
  cat <<END_OF_FILE
[run]
name = "cuts"
$(small_model 4)
[training]
steps = $steps
batch = 16
microbatch = 2
validation_samples = 16
[checkpoint]
every_steps = $save_every
keep = $keep
copies = $copies
[node]
threads = 1
allow_plaintext = true
linger_s = 5
END_OF_FILE
  two_trainers
  small_peers 4 "a b" "delay_s = 0.05"
  [[ $kind != last_copy ]] || printf '[[nodes]]\nname = "t3"\ntrainer = true\n'
}

# What a console on node $1 answers to $2.
ask() {
  timeout 10 "$net" exec "${machine[$1]}" "$build/apps/swarm" console "${address[$1]}" \
    "${key[@]}" -c "$2" 2>&1 || true
}

# The phase that node $1 hears of, "minority: have 4 of 10, missing s0a".
phase() { ask "$1" steps | sed -nE 's/^step [0-9]+ of [0-9]+, //p' | head -n 1; }

start_all() {
  local stage
  start t1 1
  sleep 2  # it leads
  case $kind in
    larger)
      for stage in 0 1 2 3; do start "s${stage}a" 2; done
      start s0b 2
      start t2 3
      for stage in 1 2 3; do start "s${stage}b" 3; done ;;
    last_copy)
      start t3 1
      for stage in 0 1 2 3; do start "s${stage}a" 2; start "s${stage}b" 3; done
      start t2 3 ;;
    *)
      for stage in 0 1 2 3; do start "s${stage}a" 2; done
      start t2 3
      for stage in 0 1 2 3; do start "s${stage}b" 3; done ;;
  esac
}

# All that may coordinate the part of trainer $1.
leads() { if [[ $1 == t1 ]]; then echo t1 t3; else echo "$1"; fi; }
# The newest step of its part.
step_of() {
  # shellcheck disable=SC2046  # names
  newest_step $(leads "$1")
}

# The part of trainer $1 waits and says so; it stands at step $2, or one further: what had its votes.
must_wait() {
  local until=$((SECONDS + minority_limit_s)) said=
  until said=$(phase "$1"); [[ $said == minority:* ]]; do
    if ((SECONDS >= until)); then
      fail "the part of $1 says '$said' and not 'minority: ...': the rule of docs/one_history.md is not in force"
      return
    fi
    sleep 1
  done
  say "$kind: the part of $1 says '$said'"
  stays "$1" "$2"
}

stays() {
  local now
  now=$(step_of "$1")
  ((now <= $2 + 1)) || fail "the part of $1 must wait and has trained on from step $2 to $now"
}

# The part of trainer $1 trains on, after $2 (seconds since 1970), from step $3.
must_train() {
  # shellcheck disable=SC2046  # names
  if wait_for_step $(($3 + more_steps)) "$train_limit_s" $(leads "$1"); then
    say "$kind: the part of $1 trains: $more_steps steps within $(since "$2") s, at step $(step_of "$1")"
  else
    fail "the part of $1 stands still at step $(step_of "$1") for $train_limit_s s; it says '$(phase "$1")'"
  fi
}

# Cuts, and looks at both parts until they are healed.
cut() {
  local began step
  case $kind in
    coordinator) part 1 2; part 1 3 ;;
    *) part 1 3; part 2 3 ;;
  esac
  began=$(date +%s.%N)
  sleep 1  # what was under way is over
  step=$(newest_step)
  case $kind in
    larger) must_train t1 "$began" "$step"; must_wait t2 "$step" ;;
    coordinator) must_train t2 "$began" "$step"; must_wait t1 "$step" ;;
    halves)
      must_wait t1 "$step"
      must_wait t2 "$step"
      sleep "$halves_wait_s"
      stays t1 "$step"
      stays t2 "$step"
      say "$kind: go-on: $(ask t1 go-on)"
      began=$(date +%s.%N)
      must_train t1 "$began" "$step"
      stays t2 "$step" ;;
    both)
      must_wait t1 "$step"
      must_wait t2 "$step"
      began=$(date +%s.%N)
      say "$kind: go-on: $(ask t1 go-on); $(ask t2 go-on)"
      must_train t1 "$began" "$step"
      must_train t2 "$began" "$step" ;;
    last_copy)
      must_train t1 "$began" "$step"
      must_wait t2 "$step"
      began=$(date +%s.%N)
      say "$kind: go-on: $(ask t2 go-on)"
      more_steps=$((3 * save_every)) must_train t2 "$began" "$step"
      lose_disk s2a
      say "$kind: s2b keeps aside: $(ask s2b "actor stage.0" | grep -o "aside/before.*")" ;;
  esac
}

# Node $1 dies, and comes back with an empty disk.
lose_disk() {
  kill_node "$1"
  rm -rf "$folder/run/nodes/$1"/{db,voter}
  start "$1" 2
}

# All eight peers are at one coordinator again, and training goes on.
heal() {
  local began step until
  step=$(newest_step)
  for one in 1 2 3; do "$net" open "$one" 2>/dev/null || true; done
  began=$(date +%s.%N)
  until=$((SECONDS + heal_limit_s))
  until [[ $(ask t1 stages | grep -cE '^[0-3] +s[0-3][ab] ') == 8 ]]; do
    ((SECONDS < until)) || { fail "not one swarm $heal_limit_s s after the healing: $(ask t1 stages)"; return; }
    sleep 0.5
  done
  say "$kind: one swarm $(since "$began") s after the healing"
  wait_for_step $((step + more_steps)) "$heal_limit_s" ||
    fail "healed, it stands still at step $(newest_step); it says '$(phase t1)'"
}

# Where both parts have gone on, four peers have set aside what one of them had.
one_line() {
  [[ $kind == both || $kind == last_copy ]] || return 0
  local left until=$((SECONDS + heal_limit_s))
  while left=$(count_events line_set_aside || true); [[ $left != " 4 "* ]]; do
    ((SECONDS < until)) || { fail "one part's four peers are to set aside what they had, and not '$left'"; return; }
    sleep 0.5
  done
}

# Nodes leave when training is finished.
wait_for_end() {
  local until=$((SECONDS + end_limit_s)) pid
  for pid in "${pids[@]}"; do
    while kill -0 "$pid" 2>/dev/null; do
      ((SECONDS < until)) || { fail "not finished after $end_limit_s s, at step $(newest_step)"; return; }
      sleep 0.5
    done
  done
}

examine() {
  audit || fail "swarm audit"
  "$build/apps/swarm" verify "$folder/run" || fail "swarm verify"
}

run_case() {
  passed=true
  save_every=20 keep=100 copies=1
  [[ $kind != last_copy ]] || save_every=10 keep=1 copies=0
  folder=$(mktemp -d)
  mkdir "$folder/run"
  key=(--key "$folder/run.key")
  "$build/apps/swarm" key "$folder/run.key" >/dev/null
  write_config >"$folder/config.toml"
  "$net" up 3
  start_all
  if wait_for_step 10 "$begin_limit_s" t1; then
    cut
    heal
    one_line
    wait_for_end
  else
    fail "training did not begin"
  fi
  say "$kind: events: $(count_events 'minority|quorum|configuration_holds|coordinator|recovered|replicas_differ')"
  stop_all
  examine
  if $passed; then
    say "$kind: passed"
    rm -rf "$folder"
  else
    say "$kind: FAILED; what the nodes said is in $folder"
  fi
  folder=
  "$net" down
  $passed
}

trap clean_up EXIT
cases=("$@")
((${#cases[@]} > 0)) || cases=(larger halves coordinator both last_copy)
failed=0
for kind in "${cases[@]}"; do
  [[ $kind =~ ^(larger|halves|coordinator|both|last_copy)$ ]] || { say "no case '$kind'"; exit 2; }
  run_case || failed=1
done
exit "$failed"
