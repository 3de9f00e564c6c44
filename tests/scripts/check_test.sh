#!/usr/bin/env bash
# Tests of scripts/check.sh: a small tree that keeps the rules, then one breach of each at a time.
set -euo pipefail
check="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)/scripts/check.sh"
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
failures=0

# Fresh tree without a breach.
reset_tree() {
  rm -rf "${tree:?}"/*
  mkdir -p "$tree"/{common,routing,storage,tensor,actors/links,config,apps,tests/actors}
  printf '#pragma once\n\n#include <string>\n' >"$tree/common/ids.h"
  printf '#pragma once\n\n#include "common/ids.h"\n' >"$tree/routing/estimates.h"
  printf '#include <rocksdb/db.h>\n\n#include "common/ids.h"\n' >"$tree/storage/store.cc"
  printf '#pragma once\n\n#include "swarm/tensor.pb.h"\n' >"$tree/tensor/core/stage.h"
  printf '#pragma once\n\n#include <torch/nn/module.h>\n' >"$tree/tensor/block.h"
  printf '#pragma once\n\n#include "tensor/block.h"\n' >"$tree/tensor/model.h"
  printf '#include "tensor/core/stage.h"\n\n#include <torch/nn.h>\n' >"$tree/tensor/core/stage.cc"
  printf '#pragma once\n\n#include <caf/actor.hpp>\n\n#include "tensor/core/stage.h"\n' >"$tree/actors/node/options.h"
  printf '#include "config/load.h"\n\n#include "actors/node/options.h"\n' >"$tree/config/load.cc"
  printf '#include <CLI/CLI.hpp>\n\n#include "config/load.h"\n' >"$tree/apps/main.cc"
  printf '#include <boost/test/unit_test.hpp>\n\n#include "actors/node/options.h"\n' >"$tree/tests/actors/a_test.cc"
  printf 'BasedOnStyle: Google\nColumnLimit: 100\n' >"$tree/.clang-format"
}

# expect_breach FILE TEXT MESSAGE: the tree with TEXT in FILE is refused with a line "FILE:N: ...MESSAGE".
expect_breach() {
  reset_tree
  mkdir -p "$(dirname "$tree/$1")"
  printf '%b' "$2" >"$tree/$1"
  local output
  if output=$("$check" "$tree" 2>&1); then
    echo "FAILED: accepted $1 with: $2"
    failures=$((failures + 1))
  elif ! grep -qE "^$1:[0-9]+: .*$3" <<<"$output"; then
    echo "FAILED: no line '$1:N: ...$3' for: $2"
    echo "$output"
    failures=$((failures + 1))
  fi
}

reset_tree
if ! output=$("$check" "$tree" 2>&1); then
  echo "FAILED: refused a tree that keeps the rules"
  echo "$output"
  failures=$((failures + 1))
fi

expect_breach common/a.cc '#include "routing/estimates.h"\n' 'common includes routing'
expect_breach routing/a.cc '#include "tensor/core/stage.h"\n' 'routing includes tensor'
expect_breach routing/a.cc '#include <thread>\n' 'routing includes <thread>'
expect_breach storage/a.cc '#include "tensor/core/stage.h"\n' 'storage includes tensor'
expect_breach storage/z.cc '#include <rocksdb/db.h>\n' 'second file with RocksDB headers'
expect_breach tensor/a.cc '#include <caf/actor.hpp>\n' 'tensor includes <caf/actor.hpp>'
expect_breach tensor/a.cc '#include <spdlog/spdlog.h>\n' 'libraries never log'
expect_breach tensor/a.h '#pragma once\n\n#include <torch/torch.h>\n' 'torch.h> in a header'
expect_breach actors/a.cc '#include <torch/nn.h>\n' 'actors includes <torch/nn.h>'
expect_breach actors/a.cc '#include "tensor/model.h"\n' 'private to tensor'
expect_breach actors/a.cc '#include "config/load.h"\n' 'actors includes config'
expect_breach actors/links/a.cc '#include "tensor/core/stage.h"\n' 'links, mail and errors include tensor'
expect_breach config/a.cc '#include "actors/trainer/trainer.h"\n' 'config includes actors/trainer/trainer.h'
expect_breach config/a.cc '#include "apps/run.h"\n' 'config includes apps'
expect_breach apps/a.cc '#include <torch/nn.h>\n' 'apps includes <torch/nn.h>'
expect_breach tests/a_test.cc '#include <caf/all.hpp>\n' 'caf/all.hpp'
expect_breach actors/a.cc '#include "../common/ids.h"\n' 'from the root'
expect_breach actors/a.cc '#include <common/ids.h>\n' 'included with quotes'
expect_breach actors/a.cc '// TODO later\n' 'unfinished work'
expect_breach actors/a.cc '// A stub for now.\n' 'a stub'
expect_breach config/a.toml 'folder = "/home/me/runs"\n' 'developer'
expect_breach common/a.h '#include <string>\n' 'no #pragma once'
expect_breach common/a.cc "$(printf '// line\\n%.0s' $(seq 601))" '601 lines'
if command -v clang-format-14 >/dev/null; then
  expect_breach common/a.cc 'int  f( ) ;\n' 'format: run clang-format'
fi

((failures == 0)) || exit 1
echo "check.sh finds every breach"
