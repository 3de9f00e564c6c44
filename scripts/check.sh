#!/usr/bin/env bash
# The rules that a compiler does not know: formatting, who may include whom, sizes, leftovers.
#
#   scripts/check.sh [ROOT]     prints "file:line: what: what to do" per breach; exit 1 if any
#
# The include direction is apps -> config -> actors -> {tensor, routing, storage, records} -> {proto, common}.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "${1:-$here/..}"

# Formatting differs a little between versions of clang-format; this one decides.
format_version=14
max_lines=600

list_files() {
  if [[ -e .git ]]; then
    git ls-files --cached --others --exclude-standard
  else
    find . -type f -not -path './build*' -not -path './runs/*' | sed 's,^\./,,'
  fi
}
mapfile -t files < <(list_files | grep -E '\.(h|cc|proto|sh|cmake|toml|md|txt|json)$|^\.ci/run$' |
                     sort | while read -r file; do [[ -f $file ]] && echo "$file"; done)
breaches=$(mktemp)
trap 'rm -f "$breaches"' EXIT

# Which project folders a file may include, and which libraries.
rules='
function breach(what, todo) { printf "%s:%d: %s: %s\n", FILENAME, FNR, what, todo }
function allow(folders, libraries) { may = " " folders " "; uses = " " libraries " " }
function starts(path, prefix) { return index(path, prefix) == 1 }

FNR == 1 {
  finish()
  name = FILENAME; lines = 0; checked_size = (name ~ /\.(h|cc|proto|sh|cmake|toml)$/)
  own = name; sub(/\/.*/, "", own)
  source = (name ~ /\.(h|cc)$/); header = (name ~ /\.h$/)
  is_rule_text = (name == "scripts/check.sh" || name ~ /^tests\/scripts\//)
  pure = (own == "common" || own == "routing")
  if (own == "common") allow("common", "")
  else if (own == "routing") allow("common routing", "")
  else if (own == "records") allow("common records", "nlohmann zstd.h")
  else if (own == "storage") allow("common swarm storage", "google xxhash.h zstd.h rocksdb")
  else if (name ~ /^tensor\/([a-z_]+\/)*(torch|reference)\//)
    allow("common swarm tensor", "google xxhash.h torch ATen c10")
  else if (own == "tensor")
    allow("common swarm tensor", "google xxhash.h")
  else if (name ~ /^actors\/.*options\.(h|cc)$/) allow("common tensor routing storage actors", "")
  else if (name ~ /^actors\/net\//)
    allow("common swarm actors/net", "google caf spdlog openssl")
  else if (own == "actors")
    allow("common swarm tensor routing storage records actors", "google caf spdlog nlohmann xxhash.h")
  else if (own == "config") {
    allow("common swarm config", "google toml++ nlohmann xxhash.h")
  } else if (own == "apps")
    allow("common swarm tensor routing storage records actors config apps",
          "google caf spdlog nlohmann xxhash.h CLI histedit.h editline")
  else if (own == "tests") allow("*", "*")
  else allow("", "")
}
{ ++lines }

# What a configuration may know of the parts it configures: their options, nothing that acts.
function is_options(path) {
  return path ~ /^(actors|tensor|routing|storage)\/([a-z_]+\/)*([a-z_]*_)?options\.h$/ ||
         path == "routing/wiring/peer_estimates.h"
}

function check_project(path,   folder) {
  if (own == "config" || own == "records" || own == "apps" || header) { ++edges; edge_user[edges] = name; edge_line[edges] = FNR; edge_used[edges] = path }
  if (starts(path, "tensor/")) { ++uses_of_tensor; user[uses_of_tensor] = name; line[uses_of_tensor] = FNR; used[uses_of_tensor] = path }
  folder = path; sub(/\/.*/, "", folder)
  if (starts(path, "../") || path !~ /\//) {
    breach("include of \"" path "\"", "write the path from the root of the repository")
    return
  }
  if (own == "tensor" && path ~ /\/(torch|reference)\// && name !~ /\/(torch|reference)\//)
    breach("include of " path, "only the folders torch and reference of tensor/ know LibTorch")
  if (index(may, " * ") || index(may, " " folder " ")) return
  if (own == "config" && is_options(path)) return
  if (starts(path, "actors/net/") && index(may, " actors/net ")) return
  if (index(" common swarm tensor routing storage records actors config apps tests ", " " folder " ") == 0) {
    breach("include of \"" path "\"", "is no folder of the project; libraries are included with <>")
    return
  }
  if (own == "config")
    breach("config includes " path, "it may know Options headers only; move the option there")
  else if (index(may, " actors/net "))
    breach("actors/net includes " path, "it may include only common, swarm and its own files")
  else
    breach(own " includes " folder, "only includes of " substr(may, 2, length(may) - 2) \
           " are allowed; the direction is apps, config, actors, {tensor, routing, storage, records}, {proto, common}")
}

function check_library(path,   library) {
  library = path; sub(/\/.*/, "", library)
  if (library == "caf") with_caf[name] = 1
  if (library == "caf" && is_caf_free(name))
    breach("include of <" path ">", "what runs, judges and shows experiments needs no actors")
  if (path == "caf/all.hpp")
    breach("include of <caf/all.hpp>", "include the headers that are used; it costs seconds per file")
  if (path == "torch/torch.h" && header)
    breach("include of <torch/torch.h> in a header", "include the parts that are used, such as torch/nn/module.h")
  if (own == "tensor" && header && library ~ /^(torch|ATen|c10)$/) with_torch[name] = 1
  if (index(" common swarm tensor routing storage records actors config apps tests ", " " library " ")) {
    breach("include of <" path ">", "headers of the project are included with quotes")
    return
  }
  if (own == "routing" && path ~ /^(mutex|atomic)$/)
    breach("routing includes <" path ">", "policies have one owner and need no locks")
  if (pure && path != "sys/mman.h" && path ~ /^(thread|condition_variable|future|fstream|filesystem|iostream|sys\/.*|unistd\.h|fcntl\.h|poll\.h|netdb\.h|arpa\/.*|netinet\/.*)$/)
    breach(own " includes <" path ">", "it has no threads, files, sockets or clocks; pass what it needs as an argument")
  if (index(uses, " * ") || (own == "apps" && path ~ /^boost\/(crc|math\/distributions\/students_t)\.hpp$/)) return
  if (library ~ /^(caf|spdlog|google|rocksdb|torch|ATen|c10|nlohmann|toml\+\+|CLI|boost|openssl|xxhash\.h|zstd\.h|histedit\.h|editline|benchmark|rapidcheck|rapidcheck\.h)$/ &&
      index(uses, " " library " ") == 0)
    breach(own " includes <" path ">", library_advice(library))
  if (library == "rocksdb" && name !~ /^storage\/rocksdb_[a-z_]*\.(h|cc)$/)
    breach("RocksDB headers in " name, library_advice(library))
}
function library_advice(library) {
  if (library ~ /^(torch|ATen|c10)$/) return "LibTorch belongs into the folders torch and reference of tensor/; other code uses tensor/core/stage.h"
  if (library == "rocksdb") return "only storage/rocksdb_* may include them"
  if (library == "caf") return "actors live in actors/"
  if (library == "spdlog") return "libraries never log; return a Status that says what happened"
  if (library == "boost" || library ~ /rapidcheck|benchmark/) return "tests only"
  return "only" (uses == "  " ? " the standard library" : uses) "may be used here"
}

source && /^[ \t]*#[ \t]*include[ \t]*"/ { path = $0; sub(/^[^"]*"/, "", path); sub(/".*/, "", path); check_project(path) }
source && /^[ \t]*#[ \t]*include[ \t]*</ { path = $0; sub(/^[^<]*</, "", path); sub(/>.*/, "", path); check_library(path) }
header && /^#pragma once/ { guarded = name }

!is_rule_text && /(^|[^A-Za-z_])(TODO|FIXME|XXX|HACK)([^A-Za-z_]|$)/ {
  breach("a note of unfinished work", "finish it, or open an issue")
}
!is_rule_text && source && /(^|[^A-Za-z_])[Ss]tub([^A-Za-z_]|$)/ { breach("a stub", "write the real thing, or leave it out") }
!is_rule_text && /(^|[^A-Za-z0-9_.$}\/-])\/(home|Users|root)\// { breach("a path of a developer\047s machine", "make it relative or an option") }

# Modes are chosen when an actor is made; whoever asks later braids them through everything.
/(\.|->|[^a-z_])asynchronous\(\)/ && own ~ /^(actors|config|routing)$/ && name !~ /^actors\/(node\/options\.h|coordinator\/coordinator_modes\.cc|stage\/stage_updates\.cc)$/ {
  breach("the training mode asked for", "ask for what follows from it (TrainingOptions), or make it a part that the mode chooses")
}

# The promise takes the sender along: CAF drops what the handler returns instead.
own == "actors" && /[^ ]/ {
  match($0, /^ */)
  if (RLENGTH < promised) promised = 0
  if (promised && /return to_caf\(/)
    breach("an error returned after make_response_promise", "it never arrives; check first, or deliver it to the promise")
  if (!promised && /make_response_promise/) promised = RLENGTH
}

function finish() {
  promised = 0
  if (name == "") return
  if (checked_size && lines > max_lines)
    printf "%s:%d: %d lines: split it by responsibility; %d are allowed\n", name, max_lines + 1, lines, max_lines
  if (header && guarded != name) printf "%s:1: no #pragma once: add it before the first declaration\n", name
}

# Headers of tensor/ that show LibTorch, directly or through another one, are private to it.
function check_torch_headers(   i, grown) {
  do {
    grown = 0
    for (i = 1; i <= uses_of_tensor; ++i)
      if (used[i] in with_torch && user[i] ~ /^tensor\/.*\.h$/ && !(user[i] in with_torch)) {
        with_torch[user[i]] = 1
        grown = 1
      }
  } while (grown)
  for (i = 1; i <= uses_of_tensor; ++i)
    if (used[i] in with_torch && user[i] !~ /^(tensor|tests)\//)
      printf "%s:%d: include of %s: it needs LibTorch and is private to tensor/; use tensor/core/stage.h\n", user[i], line[i], used[i]
}

# What takes options from headers without CAF, so that it neither compiles nor links actors.
function is_caf_free(file) { return file ~ /^(config|records)\// || file ~ /^apps\/(launch|audit|plan|report|sweep|bench\/figures)\// }
function check_caf_headers(   i, grown) {
  do {
    grown = 0
    for (i = 1; i <= edges; ++i)
      if (edge_used[i] in with_caf && edge_user[i] ~ /\.h$/ && !(edge_user[i] in with_caf)) {
        with_caf[edge_user[i]] = 1
        grown = 1
      }
  } while (grown)
  for (i = 1; i <= edges; ++i)
    if (edge_used[i] in with_caf && is_caf_free(edge_user[i]))
      printf "%s:%d: include of %s: it shows CAF; put what is needed into a header without\n", edge_user[i], edge_line[i], edge_used[i]
}
END { finish(); check_torch_headers(); check_caf_headers() }
'
if ((${#files[@]})); then
  awk -v max_lines="$max_lines" "$rules" "${files[@]}" >>"$breaches"
fi

formatted=()
for file in "${files[@]}"; do [[ $file == *.h || $file == *.cc ]] && formatted+=("$file"); done
clang_format=$(command -v clang-format-$format_version || command -v clang-format || true)
found=$([[ -n $clang_format ]] && "$clang_format" --version | grep -oE 'version [0-9]+' | tr -dc 0-9 || true)
if [[ $found != "$format_version" ]]; then
  echo "check: formatting is not checked: clang-format $format_version decides, found: ${found:-none}"
elif ((${#formatted[@]})); then
  printf '%s\0' "${formatted[@]}" |
    xargs -0 -n 8 -P "$(nproc)" "$clang_format" --dry-run -Werror 2>&1 |
    sed -nE 's/^([^:]+:[0-9]+):[0-9]+: error: .*/\1: format: run clang-format -i on the file/p' |
    sort -t: -k1,1 -u >>"$breaches" || true
fi

"$here/check_docs.sh" . 2>>"$breaches" || true
"$here/check_sizes.sh" . 2>>"$breaches" || true

if [[ -s $breaches ]]; then
  cat "$breaches" >&2
  echo "check: $(wc -l <"$breaches") breaches of the rules" >&2
  exit 1
fi
echo "check: ${#files[@]} files keep the rules"
