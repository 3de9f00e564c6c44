# Deals source files into batches that are compiled as one:
#   awk -v most=8 -v root=DIR -f unity_batches.awk FILE...
# prints "FILE BATCH" for each. A name of a file's own (in `namespace {` or a using-declaration) keeps
# it apart from every file that says the same word, or whose headers name a type so: so nobody need choose names for the sake of the build and
# none is taken for another.

function own(name, text) {
  if (!((FILENAME, name) in said)) names[FILENAME] = names[FILENAME] " " name
  said[FILENAME, name] = text
}

# What a line says without qualification, less what its comments and texts say.
function bare(line) {
  sub(/\/\/.*/, "", line)
  gsub(/"([^"\\]|\\.)*"/, " ", line)
  gsub(/(\.|->|::) *[A-Za-z_][A-Za-z_0-9]*/, " ", line)
  return line
}

function says_also(file, word) {
  if (!((file, word) in says)) words[file] = words[file] " " word
  says[file, word] = 1
}

# The types, and what looks like one, that a header of the project says, and those that it includes.
function types_of(header,    line, rest, found, own_types, path, i, n, list) {
  if (header in types) return types[header]
  types[header] = ""
  path = root "/" header
  while ((getline line < path) > 0) {
    if (line ~ /^#include "/) {
      split(line, quoted, "\"")
      found = found " " quoted[2]
      continue
    }
    rest = bare(line)
    while (match(rest, /[A-Z][A-Za-z_0-9]*/)) {
      own_types = own_types " " substr(rest, RSTART, RLENGTH)
      rest = substr(rest, RSTART + RLENGTH)
    }
  }
  close(path)
  n = split(found, list, " ")
  for (i = 1; i <= n; ++i) own_types = own_types " " types_of(list[i])
  delete seen_types
  n = split(own_types, list, " ")
  own_types = ""
  for (i = 1; i <= n; ++i)
    if (!(list[i] in seen_types)) {
      seen_types[list[i]] = 1
      own_types = own_types " " list[i]
    }
  types[header] = own_types
  return own_types
}

FNR == 1 { files[++count] = FILENAME; inside = 0 }
/^#include "/ {
  split($0, quoted, "\"")
  n = split(types_of(quoted[2]), list, " ")
  for (i = 1; i <= n; ++i) says_also(FILENAME, list[i])
}
!/^#include/ {
  rest = bare($0)
  while (match(rest, /[A-Za-z_][A-Za-z_0-9]*/)) {
    says_also(FILENAME, substr(rest, RSTART, RLENGTH))
    rest = substr(rest, RSTART + RLENGTH)
  }
}
/^namespace \{$/ { inside = 1; next }
/^}  \/\/ namespace$/ { inside = 0; next }

/^using [A-Za-z_:0-9]+;/ || /^using [A-Za-z_0-9]+ = / || /^namespace [A-Za-z_0-9]+ = / {
  name = $2
  sub(/;$/, "", name)
  sub(/.*::/, "", name)
  own(name, $0)
  next
}
/^#define / { name = $2; sub(/\(.*/, "", name); own(name, ""); next }
!inside || /^template/ || /^ *\/\// { next }
/^(struct|class|enum|enum class) [A-Za-z_0-9]+/ {
  own($1 == "enum" && $2 == "class" ? $3 : $2, "")
  next
}
{
  rest = $0
  if (rest ~ /^[A-Za-z]/ && match(rest, /[A-Za-z_0-9]+(\(| =|\{|;|\[)/)) {
    name = substr(rest, RSTART, RLENGTH)
    sub(/(\(| =|\{|;|\[)$/, "", name)
    own(name, "")
  }
  while (match(rest, /k[A-Z][A-Za-z0-9]*( =|\{|\[)/)) {
    name = substr(rest, RSTART, RLENGTH)
    sub(/( =|\{|\[)$/, "", name)
    own(name, "")
    rest = substr(rest, RSTART + RLENGTH)
  }
}

# A using-declaration does no harm but to a name of another's own.
function fits(batch, file,    i, n, list, name) {
  if (size[batch] >= most) return 0
  n = split(names[file], list, " ")
  for (i = 1; i <= n; ++i) {
    name = list[i]
    if ((batch, name) in taken && (said[file, name] == "" || taken[batch, name] != said[file, name])) return 0
    if (said[file, name] == "" && (batch, name) in spoken) return 0
  }
  n = split(words[file], list, " ")
  for (i = 1; i <= n; ++i)
    if ((batch, list[i]) in taken && taken[batch, list[i]] == "") return 0
  return 1
}

END {
  batches = 0
  for (f = 1; f <= count; ++f) {
    file = files[f]
    for (batch = 1; batch <= batches; ++batch)
      if (fits(batch, file)) break
    if (batch > batches) batches = batch
    ++size[batch]
    n = split(names[file], list, " ")
    for (i = 1; i <= n; ++i) taken[batch, list[i]] = said[file, list[i]]
    n = split(words[file], list, " ")
    for (i = 1; i <= n; ++i) spoken[batch, list[i]] = 1
    print file, batch
  }
}
