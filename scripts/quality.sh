#!/usr/bin/env bash
# What narrow boundaries between stages cost in loss, and what they save in time where links are slow: the sweeps
# of config/quality/ and a table of each. Hours; stopped, it goes on where it was. Nothing else should run while
# speeds are measured. The text is to be in data/wikitext-2/ (two raw files or more).
#
#   scripts/quality.sh [NAME]...
#
# NAME: sync_4, async_4, sync_2; all of them if none is given. Results: runs/sweeps/quality-NAME/ and
# quality-speed-NAME/, the table in runs/sweeps/quality-NAME/time.md. BUILD: the build folder (build/release).
#
# A setting's time to the fixed loss is the tokens that it took to it, of the one sweep, by the tokens per second
# where fp32 has a transfer four times as long as computing, of the other: which path the loss takes does not
# depend on the speed (asynchronous: hardly).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/lib.sh
source scripts/lib.sh
swarm=${BUILD:-build/release}/apps/swarm
names=("$@")
((${#names[@]} > 0)) || names=(sync_4 async_4 sync_2)

# The table of speeds $1 and that of losses $2 as one.
join_tables() {
  awk -F, '
    FNR == 1 { delete at; for (i = 1; i <= NF; ++i) at[$i] = i }
    FNR == 1 { next }
    FILENAME == ARGV[1] {
      speed[$1] = $at["tokens_per_second_mean"]
      bytes[$1] = $at["bytes_per_token_mean"]
      next
    }
    !head++ {
      print "| setting | seeds | validation loss | less that of none | bytes/token | tokens to the loss | tokens/s | hours to the loss | of none |"
      print "|---|---|---|---|---|---|---|---|---|"
    }
    {
      tokens = $at["tokens_to_target_mean"]
      hours = tokens != "" && speed[$1] > 0 ? tokens / speed[$1] / 3600 : ""
      if ($1 == "none") none = hours
      difference = $at["difference"] == "" ? "-" : sprintf("%+.4f ± %.4f", $at["difference"], $at["difference_half_width"])
      printf "| %s | %s | %.4f | %s | %.0f | %s | %.0f | %s | %s |\n", $1, $at["finished"],
        $at["validation_loss_mean"], difference, bytes[$1], tokens == "" ? "-" : sprintf("%.0f", tokens), speed[$1],
        hours == "" ? "-" : sprintf("%.2f", hours), hours == "" || none == "" ? "-" : sprintf("%.2f", hours / none)
    }' "$1/table.csv" "$2/table.csv"
}

for name in "${names[@]}"; do
  [[ -f config/quality/$name.toml ]] || { echo "quality.sh: there is no config/quality/$name.toml" >&2; exit 2; }
  loss=runs/sweeps/quality-${name//_/-} speed=runs/sweeps/quality-speed-${name//_/-}
  say "how fast: config/quality/speed_$name.toml"
  "$swarm" sweep "config/quality/speed_$name.toml" --output "$speed"
  say "how good: config/quality/$name.toml"
  "$swarm" sweep "config/quality/$name.toml" --output "$loss"
  join_tables "$speed" "$loss" | tee "$loss/time.md"
done
