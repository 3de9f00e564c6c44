#!/usr/bin/env bash
# Whether the changes of docs/changing.md are still as small as that page says: each is kept as a
# patch, docs/changing/NAME.patch, with the number of files that it may touch in the page's table.
#
#   scripts/check_changes.sh [NAME...]           applies the patches to a copy of the last commit,
#                                                counts files, measures sizes (scripts/check_sizes.sh)
#                                                and builds the touched targets
#   scripts/check_changes.sh --count [NAME...]   the same without building
#
# Tests, docs and config/reference.toml, which is generated, are not counted; a touched file that
# exists already must stand in the page's row. Exit code 1 if any patch breaks a rule, 77 outside of
# a git repository.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/lib.sh
source scripts/lib.sh

git rev-parse HEAD >/dev/null 2>&1 || { echo "check_changes: needs a git repository"; exit 77; }
build=true
if [[ ${1:-} == --count ]]; then
  build=false
  shift
fi
page=docs/changing.md
root=$PWD
copy=$PWD/build/changes
failures=0

fail() {
  echo "check_changes: $1: $2" >&2
  failures=$((failures + 1))
}

# The table's row of a patch, and the number in it.
row_of() { grep -F "(changing/$1.patch)" "$page" | head -n 1 || true; }
bound_of() { awk -F'|' '{gsub(/ /, "", $4); print $4}' <<<"$1"; }

# A copy of the last commit, in a repository of its own so that this one is not touched.
clean_copy() {
  local commit
  commit=$(git rev-parse HEAD)
  [[ -d $copy/.git ]] || git clone --quiet --shared "$root" "$copy"
  git -C "$copy" fetch --quiet "$root" "$commit"
  git -C "$copy" reset --quiet --hard
  git -C "$copy" clean --quiet -d --force
  git -C "$copy" -c advice.detachedHead=false checkout --quiet "$commit"
}

# Targets that compile a touched file or, for a header, a source beside it; protobuf's for messages.
targets_of() {
  local file folder
  for file; do
    folder=$(dirname "$file")
    case $file in
      *.proto) echo swarm_proto ;;
      *.h | *.cc)
        # ... -o tensor/CMakeFiles/swarm_tensor_core.dir/core/codec.cc.o
        grep -oE ' -o [^ "]+\.o' build/release/compile_commands.json | cut -c 5- |
          sed -E 's,^(.*)CMakeFiles/([^/]+)\.dir/(.*)/[^/]+$,\1\3 \2,; s,^(.*)/CMakeFiles/([^/]+)\.dir/.*$,\1 \2,' |
          awk -v folder="$folder" '$1 == folder { print $2 }' ;;
    esac
  done | sort -u
}

build_touched() {
  local name=$1
  shift
  (
    cd "$copy"
    [[ -f build/release/build.ninja ]] || cmake --preset release >/dev/null
    cmake build/release >/dev/null   # new files
    mapfile -t targets < <(targets_of "$@")
    say "$name: build ${targets[*]}"
    ((${#targets[@]} == 0)) ||
      cmake --build build/release --parallel "$(compile_jobs)" --target "${targets[@]}" >build/change.log 2>&1 ||
      { tail -n 40 build/change.log >&2; exit 1; }
  )
}

check() {
  local name=$1 patch=$root/docs/changing/$1.patch row bound file
  row=$(row_of "$name")
  [[ -n $row ]] || { fail "$name" "$page has no row for it"; return; }
  [[ -f $patch ]] || { fail "$name" "there is no $patch"; return; }
  bound=$(bound_of "$row")
  clean_copy
  git -C "$copy" apply --index "$patch" 2>"$copy.error" ||
    { fail "$name" "does not apply: $(head -n 1 "$copy.error")"; return; }
  mapfile -t touched < <(git -C "$copy" diff --cached --name-only)
  local counted=()
  for file in "${touched[@]}"; do
    [[ $file == tests/* || $file == docs/* || $file == config/reference.toml ]] && continue
    counted+=("$file")
    git -C "$copy" cat-file -e "HEAD:$file" 2>/dev/null || continue   # a new file
    [[ $row == *"$file"* ]] || fail "$name" "$page does not name $file in its row"
  done
  printf '%-20s %d of at most %d files: %s\n' "$name" "${#counted[@]}" "$bound" "${counted[*]}"
  ((${#counted[@]} <= bound)) || fail "$name" "touches ${#counted[@]} files; $bound are allowed"
  scripts/check_sizes.sh "$copy" || fail "$name" "makes something too large"
  $build || return 0
  build_touched "$name" "${touched[@]}" || fail "$name" "does not build"
}

names=("$@")
((${#names[@]})) || mapfile -t names < <(
  { grep -oE '\(changing/[a-z_]+\.patch\)' "$page" | sed -E 's,.*/(.*)\.patch\),\1,'
    find docs/changing -name '*.patch' -exec basename {} .patch \; ; } | sort -u)
for name in "${names[@]}"; do check "$name"; done
((failures == 0)) || exit 1
echo "check_changes: ${#names[@]} changes are as small as $page says"
