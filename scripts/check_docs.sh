#!/usr/bin/env bash
# Whether the documents are complete: every page of docs/ is linked from docs/README.md, every link
# of a page and every `path/to/a_file.h` in it leads to a file, and docs/errors.md has a row for every
# error code.
#
#   scripts/check_docs.sh [ROOT]    prints "file:line: what: what to do" per breach; exit 1 if any
set -euo pipefail
cd "${1:-$(dirname "${BASH_SOURCE[0]}")/..}"
index=docs/README.md
[[ -f $index ]] || exit 0   # a tree without documents
breaches=0

breach() {
  echo "$1" >&2
  breaches=$((breaches + 1))
}

folders='common|proto|records|tensor|routing|storage|actors|config|apps|tests|scripts|docs'
for page in README.md docs/*.md; do
  name=$(basename "$page")
  [[ $page == "$index" || $page == README.md ]] || grep -qF "]($name)" "$index" ||
    breach "$index:1: no link to $name: add it where a reader would look for it"
  while IFS=: read -r line link; do
    [[ $link == changing/*.patch ]] && continue   # scripts/check_changes.sh looks after those
    target=$(dirname "$page")/${link%%#*}
    [[ -e $target ]] || breach "$page:$line: link to $link: there is no such file"
  done < <(grep -noE '\]\([^)# ]+[^) ]*\)' "$page" | sed -E 's/\]\(([^)]*)\)/\1/' | grep -v ':https\?://' || true)
  while IFS=: read -r line path; do
    [[ -e $path ]] || breach "$page:$line: $path: there is no such file"
  done < <(grep -noE "\`($folders)/[A-Za-z0-9_./-]+\.(h|cc|proto|sh|toml|md)\`" "$page" | tr -d '`' || true)
done

if [[ -f common/result.cc ]]; then
  while read -r code; do
    grep -qF "| \`$code\` |" docs/errors.md || [[ $code == none || $code == unknown ]] ||
      breach "docs/errors.md:1: no row for $code: say what has happened and what to do"
  done < <(sed -nE 's/.*return "([a-z_]+)";/\1/p' common/result.cc)
fi
((breaches == 0))
