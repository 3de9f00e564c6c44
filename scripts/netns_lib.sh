# A real swarm in network namespaces (netns.sh), shared by cuts.sh and reach.sh; sourced with the
# repository's root as working directory, after NETNS and NETNS_PREFIX are exported. The script that sources
# it sets `folder` to one that is made for each case, and `key` to what nodes and tools say for the run's key.
# shellcheck disable=SC2034  # what is declared here is used there
# shellcheck source=scripts/trial_lib.sh
source scripts/trial_lib.sh
build=${BUILD:-build/release}
net=scripts/netns.sh
folder=
key=()
pids=()
declare -A machine address pid_of

say() { echo "$NETNS: $*"; }
since() { awk "BEGIN { printf \"%.1f\", $(date +%s.%N) - $1 }"; }

# Exits with 77 and a word where it cannot run.
may_run() {
  local program
  for program in swarm swarm-compute; do
    [[ -x $build/apps/$program ]] || { say "skipped: needs $build/apps/$program"; exit 77; }
  done
  "$net" check || exit 77
}

# Node $1 on machine $2. The first is t1, which all others join.
start() {
  local join=()
  [[ $1 == t1 ]] || join=(--join "${address[t1]}")
  machine[$1]=$2
  address[$1]=$NETNS_PREFIX.$2:$((7000 + ${#pids[@]}))
  "$net" exec "$2" "$build/apps/swarm" node "$folder/config.toml" --name "$1" --listen "${address[$1]}" \
    --run-folder "$folder/run" "${key[@]}" "${join[@]}" >"$folder/$1.txt" 2>&1 &
  pids+=($!)
  pid_of[$1]=$!
}

# kill -9 of node $1 and of the program that it has become.
kill_node() {
  kill -9 "${pid_of[$1]}" 2>/dev/null || true
  wait "${pid_of[$1]}" 2>/dev/null || true
}

stop_all() {
  local pid
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  for pid in "${pids[@]}"; do wait "$pid" 2>/dev/null || true; done
  pids=()
}

# For `trap clean_up EXIT`.
clean_up() {
  stop_all
  "$net" down
  [[ -z $folder ]] || rm -rf "$folder"
}

# The newest step that one of the nodes named (none: of all) has closed as the coordinator; -1: none.
newest_step() {
  local files=("$folder"/run/nodes/*/metrics.jsonl)
  (($# == 0)) || files=("${@/#/$folder/run/nodes/}")
  (($# == 0)) || files=("${files[@]/%//metrics.jsonl}")
  newest_step_in "${files[@]}"
}

# Until one of the nodes from $3 on (none: any) has closed step $1; fails after $2 s.
wait_for_step() {
  local step=$1 until=$((SECONDS + $2))
  shift 2
  while (($(newest_step "$@") < step)); do
    ((SECONDS < until)) || return 1
    sleep 0.2
  done
}

# Machines $1 and $2 lose their packets to each other, without a word.
part() { "$net" block "$1" "$2"; "$net" block "$2" "$1"; }

# How often each of the events $1 ("this|that") was written.
count_events() {
  cat "$folder"/run/nodes/*/events.jsonl | grep -oE "\"event\": ?\"($1)\"" | sort | uniq -c | tr -s ' \n' ' '
}

# Makes the run's folder of the nodes' ones, and audits it.
audit() {
  local name
  "$build/apps/swarm" config show "$folder/config.toml" >"$folder/run/config.toml"
  for name in metrics events audit; do
    cat "$folder"/run/nodes/*/"$name.jsonl" >"$folder/run/$name.jsonl" 2>/dev/null || true
  done
  "$build/apps/swarm" audit "$folder/run"
}
