# Deals source files into batches that are compiled as one: awk -v most=8 -f unity_batches.awk FILE...
# prints "FILE BATCH" for each. A name of a file's own (in `namespace {` or a using-declaration) that
# two files have keeps them apart, so nobody need choose names for the sake of the build.

function own(name, text) {
  if (!((FILENAME, name) in said)) names[FILENAME] = names[FILENAME] " " name
  said[FILENAME, name] = text
}

FNR == 1 { files[++count] = FILENAME; inside = 0 }
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

function fits(batch, file,    i, n, list) {
  if (size[batch] >= most) return 0
  n = split(names[file], list, " ")
  for (i = 1; i <= n; ++i)
    if ((batch, list[i]) in taken &&
        (said[file, list[i]] == "" || taken[batch, list[i]] != said[file, list[i]])) return 0
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
    print file, batch
  }
}
