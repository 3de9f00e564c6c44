#!/usr/bin/env bash
# Damage of every kind, as a user meets it: eight peers in four stages train on this machine, something of
# one of them breaks, and the run must end exact (`swarm audit`), equal to one process (`swarm verify`),
# with equal replicas, and with an event that names what broke. docs/training_protocol.md, "The end of a step".
#
#   scripts/damage.sh [--swarm BINARY] [--seconds N] [CASE...]   all cases by default
#
#   parameters, moments, gradient_sum   one bit of one peer's memory turns (faults.flip_bit)
#   nan                                 a microbatch is not finite at one stage (faults.non_finite)
#   average                             what one peer brings into an average is not a number (faults.flip_bit)
#   torn, truncated, deleted            kill -9 of everything; one peer's database has lost half of its
#                                       MANIFEST, half of every table, or is gone; then --resume
#   full                                one peer's disk is full for N seconds (600), then kill -9 of
#                                       everything and --resume; needs root (a tmpfs)
#
# One line a case. Exit code: 1 if one failed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/local_run_lib.sh
source scripts/local_run_lib.sh

full_s=600
options[--seconds]=full_s
all_cases=(parameters moments gradient_sum nan average torn truncated deleted full)
take_arguments "$@"
victim=s1b
said_before=0  # lines in the events of the victim when it was damaged

config() {
  cat <<END_OF_FILE
[run]
name = "damage"
folder = "$folder/runs"
restarts = 0
$(small_model 4)
[training]
steps = $1
batch = 16
microbatch = 4
validation_samples = 16
min_peers_per_stage = 2
[checkpoint]
every_steps = 10
[node]
threads = 1
END_OF_FILE
  two_trainers
  small_peers 4 "a b" "delay_s = 0.02"
}

whole() { run_whole "$folder/config.toml" "$@" && find_run; }

# Of each file, which must be there.
halve() {
  local file size
  for file in "$@"; do
    size=$(stat -c %s "$file") || { why="there is no $file to damage"; return 1; }
    truncate -s $((size / 2)) "$file" || { why="$file could not be damaged"; return 1; }
  done
}

break_database() {
  local db=$run/nodes/$victim/db
  case $1 in
    torn) halve "$db"/MANIFEST-* || return 1 ;;
    truncated) halve "$db"/*.sst || return 1 ;;
    deleted) rm -r "$db" || { why="there is no $db to delete"; return 1; } ;;
  esac
  said_before=$(wc -l <"$run/nodes/$victim/events.jsonl") || return 1
}

# The victim's folder comes to lie on a small disk, which has no room from step 20 on.
full_disk() {
  local disk=$folder/disk began
  start && wait_for_step 5 || return 1
  kill_all
  mkdir "$disk"
  mount -t tmpfs -o size=64m damage "$disk" && cp -a "$run/nodes/$victim/." "$disk/" &&
    mount --bind "$disk" "$run/nodes/$victim" || { why="no disk could be mounted"; return 1; }
  begin --resume "$run"
  wait_for_step 20 || return 1
  cat /dev/zero >"$disk/fill" 2>/dev/null || true
  began=$(newest_step)
  sleep "$full_s"
  (($(newest_step) > began)) || { why="training stood still while the disk was full"; return 1; }
  kill_all
  rm "$disk/fill"
  resume
}

# The victim's own lines after the damage have one of the pattern $1.
said_since() {
  tail -n +$((said_before + 1)) "$run/nodes/$victim/events.jsonl" | grep -E "$1" >/dev/null ||
    { why="since the damage $victim has said nothing of it"; return 1; }
}

# The event $1 stands in a line of its own that names the victim, or in the victim's own file.
named() {
  grep -hE "\"event\": ?\"($1)\"" "$run/nodes/$victim/events.jsonl" >/dev/null 2>&1 ||
    grep -hE "\"event\": ?\"($1)\"" "$run"/nodes/*/events.jsonl | grep -q "\"$victim\"" ||
    { why="no event $1 names $victim"; return 1; }
}

# The last update, of step $1 - 1, was made by both peers of each stage and left the same bits.
equal() {
  local stage peer last sums
  for stage in 0 1 2 3; do
    last=
    for peer in "s${stage}a" "s${stage}b"; do
      last+=$(committed "$peer" "$stage" $(($1 - 1)) | grep .) ||
        { why="$peer did not make the last update"; return 1; }
      last+=$'\n'
    done
    sums=$(sort -u <<<"${last%$'\n'}" | wc -l)
    ((sums == 1)) || { why="stage $stage ends with $sums checksums"; return 1; }
  done
}

# The checksums of node $1, stage $2 and step $3.
committed() {
  grep -hE '"kind": ?"committed"' "$run/nodes/$1/audit.jsonl" | grep -E "\"stage\": ?$2[,}]" |
    grep -E "\"step\": ?$3[,}]" | grep -oE '"checksum": ?"[0-9a-f]+"'
}

damage() {
  local steps=80 event
  case $kind in
    full) steps=$((4 * full_s + 100)) ;;
  esac
  config "$steps" >"$folder/config.toml"
  case $kind in
    parameters | moments) event='replica_replaced'; whole --set "faults.flip_bit=$victim:$kind:20" ;;
    gradient_sum) event='gradient_sum_changed'; whole --set "faults.flip_bit=$victim:$kind:20" ;;
    nan) event='non_finite'; whole --set faults.non_finite=20:1:1 ;;
    average) event='sum_not_finite'; whole --set "faults.flip_bit=$victim:contribution:20" ;;
    torn | truncated | deleted)
      start && wait_for_step 40 && kill_all && break_database "$kind" && resume ;;
    full) event='checkpoint_failed|snapshots_fail'; full_disk ;;
  esac || return 1
  check audit && check verify || return 1
  equal "$steps" || return 1
  case $kind in
    torn | truncated) said_since '"event": ?"(store_set_aside|load_failed)"' ;;
    deleted) said_since '"event": ?"learns"|"event": ?"restored".*"source": ?"neighbours"' ;;
    *) named "$event" ;;
  esac
}

clean_up() {
  [[ -z $launcher ]] || kill_all
  if [[ -n $run ]] && mountpoint -q "$run/nodes/$victim"; then umount "$run/nodes/$victim"; fi
  if [[ -n $folder ]] && mountpoint -q "$folder/disk"; then umount "$folder/disk"; fi
}

if ((EUID != 0)) && [[ " ${cases[*]} " == *" full "* ]]; then
  echo "full: skipped: needs root"
  mapfile -t cases < <(printf '%s\n' "${cases[@]}" | grep -vx full || true)
fi
said="exact, equal to one process, equal replicas, named"
run_cases damage
