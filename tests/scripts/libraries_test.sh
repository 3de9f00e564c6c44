#!/usr/bin/env bash
# Whether an executable loads none of some libraries.
#
#   libraries_test.sh EXECUTABLE LIBRARY...
set -euo pipefail
executable=$1
shift
loaded=$(ldd "$executable")
for library; do
  if grep "$library" <<<"$loaded"; then
    echo "FAILED: $(basename "$executable") loads $library"
    exit 1
  fi
done
echo "$(basename "$executable") loads none of $*"
