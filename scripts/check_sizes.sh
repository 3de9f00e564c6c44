#!/usr/bin/env bash
# Sizes that keep a part readable: of a file, a function and a class. Needs Universal Ctags.
#
#   scripts/check_sizes.sh [ROOT]   prints "file:line: what: what to do" per breach; exit 1 if any
#
# A class has at most 30 member functions and 20 data members. Constructors, destructors, operators
# and static data are not counted. A free function of the class's folder whose first parameter is
# the class (X&, const X&, X*) or its CAF actor counts as a member: a class taken apart into free
# functions is as large as before.
#
# And no two files have a class of one name in one namespace: each would be taken for the other (ODR).
#
# Exempt: tests; structs that nothing changes by a function of their own, such as options and
# messages; and rows of tables, which grow with the project. Such a table, a function or an array,
# says so in the line above it:
#
#   // rows: one codec each
#
# It reaches to the next line that begins with a brace, takes no if and no loop, and is not counted
# in the lines of its file.
set -euo pipefail

max_functions=30
max_members=20
max_function_lines=50
max_lines=400
max_coordinator_lines=300   # of actors/coordinator/coordinator.cc: its mail, and who is asked
max_exceptions=3

# "PATH: NAME: reason", where NAME is the class or the function, or "file" for the file's lines.
exceptions=(
)

cd "${1:-$(dirname "${BASH_SOURCE[0]}")/..}"
if ((${#exceptions[@]} > max_exceptions)); then
  echo "scripts/check_sizes.sh:1: ${#exceptions[@]} exceptions: split one of them; $max_exceptions are allowed" >&2
  exit 1
fi
if ! ctags --version 2>/dev/null | grep -q 'Universal Ctags'; then
  echo "check_sizes: not measured: needs Universal Ctags (scripts/install_deps.sh test)"
  exit 0
fi

list_files() {
  if [[ -e .git ]]; then
    git ls-files --cached --others --exclude-standard
  else
    find . -type f -not -path './build*' -not -path './runs/*' | sed 's,^\./,,'
  fi
}
mapfile -t files < <(list_files | grep -E '(\.(h|cc|proto|sh|cmake)|CMakeLists\.txt)$' | grep -v '^tests/' |
                     sort -u | while read -r file; do [[ -f $file ]] && echo "$file"; done)
((${#files[@]})) || exit 0

tags=$(mktemp)
breaches=$(mktemp)
trap 'rm -f "$tags" "$breaches"' EXIT
printf '%s\n' "${files[@]}" | { grep -E '\.(h|cc)$' || true; } |
  ctags -L - -f "$tags" --excmd=number --sort=no --language-force=C++ --kinds-C++=csufpm \
    --fields=neKzsS --fields-C++=+'{properties}'

measure='
function breach(file, at, name, what, todo,   i, part) {
  for (i = 1; i <= exceptions; ++i)
    if (excepted[i] == file ": " name) { needed[i] = 1; return }
  printf "%s:%d: %s: %s\n", file, at, what, todo
}
function folder(file) { sub(/\/[^\/]*$/, "", file); return file }
function last_part(scope) { sub(/.*::/, "", scope); return scope }

# The class that the first parameter refers to, as it is written there; "" if it is no reference.
function first_parameter(signature,   text) {
  text = signature
  sub(/^\(/, "", text)
  sub(/\).*/, "", text)
  first_is_const = (text ~ /^const /)
  sub(/^const /, "", text)
  sub(/^(caf::)?stateful_actor *< */, "", text)
  sub(/::Self \*/, " *", text)
  sub(/ *(, *[A-Za-z_:]+ *)?> *\*/, " *", text)
  if (text !~ /^[A-Za-z_][A-Za-z_0-9:]* *[&*]/ || text ~ /^[^&]*&&/) return ""
  sub(/ *[&*].*/, "", text)
  return text
}

BEGIN {
  exceptions = split(exception_list, lines_of_list, "\n")
  for (i = 1; i <= exceptions; ++i) {
    split(lines_of_list[i], part, ": ")
    excepted[i] = part[1] ": " part[2]
  }
}

# First the files themselves: their lines, and which of them are rows of a table.
FILENAME != tags && FNR == 1 { ++file_count; name_of[file_count] = FILENAME; in_rows = 0 }
FILENAME != tags {
  length_of[FILENAME] = FNR
  if ($0 ~ /^ *\/\/ rows: [^ ]/) in_rows = 1
  if (in_rows) {
    row[FILENAME, FNR] = 1
    ++rows_of[FILENAME]
    if ($0 ~ /^ *(\} *else +)?(if|for|while|do)[ ({]/)
      printf "%s:%d: control flow among rows: rows are data; move it out of the table\n", FILENAME, FNR
    if ($0 ~ /^[})]/) in_rows = 0
  }
  next
}

/^!/ { next }
{
  split($0, field, "\t")
  name = field[1]; file = field[2]
  kind = scope = signature = properties = ""; line = end = 0
  count = split($0, field, "\t")
  for (i = 4; i <= count; ++i) {
    key = field[i]; sub(/:.*/, "", key)
    value = substr(field[i], length(key) + 2)
    if (key == "kind") kind = value
    else if (key == "line") line = value + 0
    else if (key == "end") end = value + 0
    else if (key == "signature") signature = value
    else if (key == "properties") properties = "," value ","
    else if (key == "namespace" || key == "class" || key == "struct" || key == "union" || key == "function") {
      scope = value; scope_kind = key
    }
  }
  if (scope == "") scope_kind = "namespace"
  local = (scope_kind == "function")
  member = (scope_kind == "class" || scope_kind == "struct" || scope_kind == "union")
}

# The tags are read twice, since those of a class follow those of its members.
pass == 1 && (kind == "class" || kind == "struct") {
  full = (scope == "" ? name : scope "::" name)
  if (!(full in class_file)) { ++classes; class_of[classes] = full }
  else if (class_file[full] != file && full !~ /__anon|^std::/)
    breach(file, line, name, "another " full " is in " class_file[full], "rename one: the linker takes either for both")
  class_file[full] = file; class_line[full] = line; class_end[full] = end; class_name[full] = name
  in_folder[folder(file)] = in_folder[folder(file)] " " full
}
pass == 2 && kind == "member" && member && index(properties, ",static,") == 0 { ++data[scope] }

pass == 2 && (kind == "prototype" || kind == "function") && !local && name !~ /^__anon/ {
  if (kind == "function" && end - line + 1 > max_function_lines && !((file, line) in row))
    breach(file, line, name, "function " name " has " end - line + 1 " lines",
           "split it; " max_function_lines " are allowed")
  if (member) {
    if (name == last_part(scope) || name ~ /^(~|operator)/ || index(properties, ",delete,")) next
    if (kind == "prototype" || (file == class_file[scope] && line >= class_line[scope] && line <= class_end[scope])) {
      ++functions[scope]
      if (scope_kind == "class" || properties !~ /,(const|static),/) behaves[scope] = 1
    }
    next
  }
  if (name ~ /^operator/) next
  takes = first_parameter(signature)
  if (takes != "") {
    ++free_count
    free_folder[free_count] = folder(file); free_takes[free_count] = takes; free_const[free_count] = first_is_const
    commas = signature; gsub(/[^,]/, "", commas)
    free_key[free_count] = folder(file) "|" name "|" takes "|" length(commas)
  }
}

function find_class(where, written,   candidates, i, count, found) {
  count = split(in_folder[where], candidates, " ")
  for (i = 1; i <= count; ++i) {
    found = candidates[i]
    if (("::" found) ~ ("::" written "$")) return found
  }
  return ""
}

END {
  for (i = 1; i <= file_count; ++i) {
    most = name_of[i] == "actors/coordinator/coordinator.cc" ? max_coordinator_lines : max_lines
    if (length_of[name_of[i]] - rows_of[name_of[i]] > most)
      breach(name_of[i], most + 1, "file", length_of[name_of[i]] - rows_of[name_of[i]] " lines",
             "split it by responsibility; " most " are allowed")
  }
  for (i = 1; i <= free_count; ++i) {
    if (free_key[i] in seen) continue
    seen[free_key[i]] = 1
    full = find_class(free_folder[i], free_takes[i])
    if (full == "") continue
    ++friends[full]
    if (!free_const[i]) behaves[full] = 1
  }
  for (i = 1; i <= classes; ++i) {
    full = class_of[i]
    if (!(full in behaves)) continue
    all = functions[full] + friends[full]
    if (all > max_functions)
      breach(class_file[full], class_line[full], class_name[full],
             "class " class_name[full] " has " all " member functions" \
             (friends[full] ? ", " friends[full] " of them free functions that take it" : ""),
             "split it by responsibility; " max_functions " are allowed")
    if (data[full] > max_members)
      breach(class_file[full], class_line[full], class_name[full],
             "class " class_name[full] " has " data[full] " data members",
             "split it by responsibility; " max_members " are allowed")
  }
  for (i = 1; i <= exceptions; ++i)
    if (!(i in needed))
      printf "scripts/check_sizes.sh:1: exception \"%s\": nothing there is too large; take it out\n", excepted[i]
}
'
awk -v tags="$tags" -v max_functions="$max_functions" -v max_members="$max_members" \
  -v max_function_lines="$max_function_lines" -v max_lines="$max_lines" \
  -v max_coordinator_lines="$max_coordinator_lines" \
  -v exception_list="$(printf '%s\n' "${exceptions[@]}")" "$measure" "${files[@]}" pass=1 "$tags" pass=2 "$tags" >"$breaches"

if [[ -s $breaches ]]; then
  sort -t: -k1,1 -k2,2n "$breaches" >&2
  exit 1
fi
