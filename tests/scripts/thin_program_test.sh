#!/usr/bin/env bash
# What `swarm` loads and what it does without its second executable.
#
#   thin_program_test.sh SWARM
set -euo pipefail
swarm=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failures=0

expect() {  # expect WHAT COMMAND...
  local what=$1
  shift
  "$@" || { echo "FAILED: $what"; failures=$((failures + 1)); }
}

expect "swarm loads nothing heavy" "$(dirname "${BASH_SOURCE[0]}")/libraries_test.sh" "$swarm" \
  libtorch libc10 libopenblas librocksdb libgloo
ldd "$swarm" >"$folder/libraries"
expect "swarm loads at most 30 libraries" test "$(wc -l <"$folder/libraries")" -le 30

cp "$swarm" "$folder/swarm"
"$folder/swarm" --version >"$folder/version"
expect "--version names the program and its version" grep -qE '^swarm [0-9]+\.[0-9]+\.[0-9]+$' "$folder/version"
for command in --help "sample --help" "node --help" "config reference" \
               "bench codec --values 1000 --rounds 1"; do
  # shellcheck disable=SC2086
  expect "$command needs no second executable" test -n "$("$folder/swarm" $command)"
done
code=0
"$folder/swarm" sample "$folder" 2>"$folder/error" || code=$?
expect "a missing second executable is exit code 1" test "$code" = 1
expect "a missing second executable is named" grep -q "$folder/swarm-compute" "$folder/error"
code=0
"$folder/swarm" sample 2>/dev/null || code=$?
expect "a wrong command line is exit code 2 all the same" test "$code" = 2

((failures == 0)) && echo "swarm is thin"
exit $((failures > 0))
