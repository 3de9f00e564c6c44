#!/usr/bin/env bash
# Runs docs/tutorial.md word for word on three machines: network namespaces with addresses of their own.
#
#   tests/scripts/tutorial_test.sh BUILD     77 and a line why if it cannot run here
#
# A block "```sh m1" is typed at machine m1 and must succeed; "```sh m1 &" is started there and goes on.
# A block "```text m1" must be on m1's terminal in the end, line by line; "..." there stands for
# anything. At the end everything that was started must have ended with exit code 0, but for the node that
# the tutorial kills. `scp` is played by a function that copies between the machines' folders.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build=$(realpath "$1")
source_folder=$PWD
page=docs/tutorial.md
export NETNS=tutorial NETNS_PREFIX=10.0.0 BUILD=$build
patience_s=150  # for one line: LibTorch alone starts for half a minute on a busy machine

scripts/netns.sh check
machines=$(mktemp -d)
declare -A started=()  # process id of what goes on -> what it is
killed=1

finish() {
  local code=$?
  for pid in "${!started[@]}"; do kill -9 "$pid" 2>/dev/null || true; done
  "$source_folder/scripts/netns.sh" down
  ((code == 0)) || tail -n 30 "$machines"/*/terminal >&2
  rm -rf "$machines"
}
trap finish EXIT
scripts/netns.sh up 3

for i in 1 2 3; do
  mkdir "$machines/m$i"
  ln -s "$source_folder" "$machines/m$i/swarm"
  touch "$machines/m$i/terminal"
done

cat >"$machines/profile" <<'END'
set -euo pipefail
# scp -p FILE... 10.0.0.I: copies to machine I.
scp() {
  local to=${!#}
  to=${to%:}
  cp -p "${@:2:$#-2}" "../m${to##*.}"
}
exec >>terminal 2>&1
END

# Bash at machine $1, with a script of its standard input.
at_machine() {
  local script
  script=$(mktemp -p "$machines")
  cat "$machines/profile" - >"$script"
  cd "$machines/$1"
  HOME=$PWD PATH=$build/apps:$PATH exec ip netns exec "$NETNS-${1#m}" bash "$script"
}
type_at() { (at_machine "$1"); }
# The last command replaces the shell, so that its end is the machine's.
start_at() {
  mv "$machines/$1/terminal" "$machines/$1/terminal.before"
  touch "$machines/$1/terminal"
  sed '$s/^/exec /' >"$machines/$1/start"
  (at_machine "$1" <"$machines/$1/start") &
  started[$!]=$1
}

# Waits until machine $1 has said $2.
expect_at() {
  local pattern until=$((SECONDS + patience_s))
  pattern=$(sed -e 's/[][\\.*^$/]/\\&/g' -e 's/\\\.\\\.\\\./.*/g' <<<"$2")
  until grep -q -- "^$pattern\$" "$machines/$1/terminal"; do
    ((SECONDS < until)) || { echo "tutorial: $1 has not said: $2" >&2; return 1; }
    sleep 0.2
  done
}

block="" kind="" machine="" rest="" line=""
run_block() {
  case "$kind:$rest" in
    sh:) type_at "$machine" <<<"$block" || return 1 ;;
    sh:'&') start_at "$machine" <<<"$block" ;;
    text:) while read -r line; do expect_at "$machine" "$line" || return 1; done <<<"$block" ;;
    *) echo "tutorial: an unknown kind of block: $kind $machine $rest" >&2; return 1 ;;
  esac
  printf '%4d s  %s %s: %s\n' "$SECONDS" "$kind" "$machine" "$(head -n 1 <<<"$block")"
}

blocks=0 inside=false
while IFS= read -r text <&3; do
  if [[ $inside == false && $text == '```'* ]]; then
    read -r kind machine rest <<<"${text#'```'}"
    block="" inside=true
  elif [[ $text == '```' ]]; then
    run_block || { echo "tutorial: failed at machine $machine: $block" >&2; exit 1; }
    inside=false
    blocks=$((blocks + 1))
  elif [[ $inside == true ]]; then
    block+=${block:+$'\n'}$text
  fi
done 3<"$page"

for pid in "${!started[@]}"; do
  code=0
  wait "$pid" || code=$?
  machine=${started[$pid]}
  unset "started[$pid]"
  ((code == 0)) || { killed=$((killed - 1)); ((code == 137 && killed >= 0)); } ||
    { echo "tutorial: a node of $machine ended with exit code $code" >&2; exit 1; }
done
((killed == 0)) || { echo "tutorial: no node was killed" >&2; exit 1; }
((blocks >= 20)) || { echo "tutorial: only $blocks blocks in $page" >&2; exit 1; }
grep -q "^The " "$machines/m1/terminal" || { echo "tutorial: no text was sampled" >&2; exit 1; }
[[ -s $machines/m1/report.html ]] || { echo "tutorial: no report" >&2; exit 1; }
echo "tutorial: $blocks blocks in $SECONDS s"
