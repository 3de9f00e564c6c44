# shellcheck shell=bash
# The swarm that is small enough for trials of everything else, of two trainers and some peers a stage; sourced by
# local_run_lib.sh and netns_lib.sh.

# One layer in each of $1 stages.
small_model() {
  cat <<END_OF_FILE
[model]
layers = $1
width = 32
heads = 2
ffn = 64
sequence = 32
[pipeline]
stages = $1
[data]
train = ["/usr/share/common-licenses"]
END_OF_FILE
}

two_trainers() { printf '[[nodes]]\nname = "%s"\ntrainer = true\n' t1 t2; }

# Peers s0a, s0b, s1a ...: small_peers STAGES "a b" [LINE OF EACH].
small_peers() {
  local stage one
  for ((stage = 0; stage < $1; ++stage)); do
    for one in $2; do
      printf '[[nodes]]\nname = "s%s%s"\nstages = [%s]\n%s\n' "$stage" "$one" "$stage" "${3-}"
    done
  done
}

# The newest step that one of these metrics.jsonl has; -1: none.
newest_step_in() {
  { cat "$@" 2>/dev/null || true; } | grep -oE '"step": ?[0-9]+' | grep -oE '[0-9]+' | sort -n | tail -n 1 |
    grep . || echo -1
}

# The memory of every node of the run in folder $1 that is alive: NAME KB.
resident() {
  local file
  for file in "$1"/nodes/*/node.json; do
    [[ -f $file ]] || continue
    awk -v name="$(basename "$(dirname "$file")")" '
      match($0, /"pid": *[0-9]+/) {
        pid = substr($0, RSTART, RLENGTH); sub(/[^0-9]*/, "", pid)
        while ((getline line < ("/proc/" pid "/status")) > 0)
          if (line ~ /^VmRSS/) { split(line, words); print name, words[2] }
      }' "$file"
  done
}
