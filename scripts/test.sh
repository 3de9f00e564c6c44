#!/usr/bin/env bash
# Every check of the project; what CI runs.
#
#   scripts/test.sh           rules, sanitizers, a short fuzz run, then all tests
#   scripts/test.sh --quick   rules and all tests, without sanitizers and fuzzing
#
# Ends with the summary of ctest, and with its exit code.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/lib.sh
source scripts/lib.sh

quick=false
case "${1:-}" in
  "") ;;
  --quick) quick=true ;;
  *) echo "usage: scripts/test.sh [--quick]" >&2; exit 2 ;;
esac
fuzz_seconds=20   # for each target

# Of what has no LibTorch nothing is compiled for two test programs that say the same.
if [[ -n ${CI:-} ]] && ! $quick; then tests_once=ON; fi
scripts/install_deps.sh test
say "rules"
scripts/check.sh
build release

if ! $quick; then
  # Without LibTorch: its libraries are not instrumented and would hide more than they show.
  build asan unit_tests fuzzers
  say "tests under AddressSanitizer and UndefinedBehaviorSanitizer"
  ctest --preset asan --parallel "$(compile_jobs)"
  if compgen -G "tests/fuzz/*_fuzz.cc" >/dev/null; then
    for fuzzer in build/asan/tests/fuzz_*; do
      [[ -x $fuzzer && -f $fuzzer ]] || continue
      say "$(basename "$fuzzer"), $fuzz_seconds s"
      corpus="build/asan/corpus/$(basename "$fuzzer")"
      mkdir -p "$corpus"
      "$fuzzer" -max_total_time="$fuzz_seconds" -rss_limit_mb=1024 -verbosity=0 \
        -print_final_stats=1 -artifact_prefix="$corpus-" "$corpus"
    done
  fi
fi

say "all tests"
exec ctest --preset release --parallel "$(compile_jobs)"
