#!/usr/bin/env bash
# Tests of scripts/check.sh and scripts/check_sizes.sh: a small tree that keeps the rules, then one
# breach of each at a time.
set -euo pipefail
check="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)/scripts/check.sh"
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
failures=0

# Fresh tree without a breach.
reset_tree() {
  rm -rf "${tree:?}"/*
  mkdir -p "$tree"/{common,routing,storage,tensor/{core,torch},actors/{net,node},config,apps,tests/actors}
  printf '#pragma once\n\n#include <string>\n' >"$tree/common/ids.h"
  printf '#pragma once\n\n#include "common/ids.h"\n' >"$tree/routing/estimates.h"
  printf '#pragma once\n\nnamespace swarm {\nstruct Once {\n  int x = 0;\n};\n}  // namespace swarm\n' >"$tree/common/once.h"
  printf '#include <rocksdb/db.h>\n\n#include "common/ids.h"\n' >"$tree/storage/rocksdb_store.cc"
  printf '#pragma once\n\n#include "swarm/tensor.pb.h"\n' >"$tree/tensor/core/stage.h"
  printf '#pragma once\n\n#include <torch/nn/module.h>\n' >"$tree/tensor/torch/block.h"
  printf '#pragma once\n\n#include "tensor/torch/block.h"\n' >"$tree/tensor/torch/model.h"
  printf '#include "tensor/core/stage.h"\n\n#include <torch/nn.h>\n' >"$tree/tensor/torch/stage.cc"
  printf '#pragma once\n\n#include "tensor/core/stage.h"\n' >"$tree/actors/node/options.h"
  printf '#include <caf/actor.hpp>\n\n#include "actors/node/options.h"\n' >"$tree/actors/node/node.cc"
  printf '#include "config/load.h"\n\n#include "actors/node/options.h"\n' >"$tree/config/load.cc"
  printf '#include <CLI/CLI.hpp>\n\n#include "config/load.h"\n' >"$tree/apps/main.cc"
  printf '#include <boost/test/unit_test.hpp>\n\n#include "actors/node/options.h"\n' >"$tree/tests/actors/a_test.cc"
  printf '#pragma once\n\n#include <caf/message.hpp>\n' >"$tree/actors/net/message.h"
  printf '#pragma once\n\n#include "actors/net/message.h"\n' >"$tree/actors/net/mail.h"
  printf 'BasedOnStyle: Google\nColumnLimit: 100\n' >"$tree/.clang-format"
}

# expect_breach FILE TEXT MESSAGE: TEXT in FILE, or beside it if there is one, is to be refused with a line
# "FILE:N: ...MESSAGE". All of them stand in one tree, each in a file of its own.
expected=()
expect_breach() {
  local file=$1 number=1
  while [[ -e $tree/$file ]]; do file=${1%.*}$((++number)).${1##*.}; done
  mkdir -p "$(dirname "$tree/$file")"
  printf '%b' "$2" >"$tree/$file"
  expected+=("$file:[0-9]+: .*$3")
}

# check_breaches: every one that is expected is found, and no file without one is named.
check_breaches() {
  local output line
  if output=$("$check" "$tree" 2>&1); then
    echo "FAILED: accepted a tree with ${#expected[@]} breaches"
    failures=$((failures + 1))
  fi
  for line in "${expected[@]}"; do
    grep -qE "^$line" <<<"$output" && continue
    echo "FAILED: no line '$line' in:"
    grep -E "^${line%%:*}:" <<<"$output" || echo "(no line of this file)"
    failures=$((failures + 1))
  done
  while read -r line; do
    [[ " ${expected[*]} " == *" ${line%%:*}:"* ]] && continue
    echo "FAILED: refused a file without a breach: $line"
    failures=$((failures + 1))
  done < <(grep -E '^[a-z_/0-9]+\.[a-z]+:[0-9]+: ' <<<"$output")
  expected=()
  reset_tree
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
expect_breach storage/z.cc '#include <rocksdb/db.h>\n' 'RocksDB headers in storage/z.cc'
expect_breach tensor/a.cc '#include <caf/actor.hpp>\n' 'tensor includes <caf/actor.hpp>'
expect_breach tensor/a.cc '#include <spdlog/spdlog.h>\n' 'libraries never log'
expect_breach tensor/torch/a.h '#pragma once\n\n#include <torch/torch.h>\n' 'torch.h> in a header'
expect_breach tensor/core/a.cc '#include <torch/nn.h>\n' 'tensor includes <torch/nn.h>'
expect_breach tensor/core/a.cc '#include "tensor/torch/block.h"\n' 'only the folders torch and reference'
expect_breach actors/a.cc '#include <torch/nn.h>\n' 'actors includes <torch/nn.h>'
expect_breach actors/a.cc '#include "tensor/torch/model.h"\n' 'private to tensor'
expect_breach actors/a.cc '#include "config/load.h"\n' 'actors includes config'
expect_breach actors/net/a.cc '#include "tensor/core/stage.h"\n' 'actors/net includes tensor'
expect_breach actors/net/options.h '#pragma once\n\n#include <caf/actor.hpp>\n' 'includes <caf/actor.hpp>'
expect_breach config/a.cc '#include "actors/trainer/trainer.h"\n' 'config includes actors/trainer/trainer.h'
expect_breach config/a.cc '#include "apps/run.h"\n' 'config includes apps'
expect_breach apps/a.cc '#include <torch/nn.h>\n' 'apps includes <torch/nn.h>'
expect_breach apps/report/a.cc '#include <caf/actor.hpp>\n' 'needs no actors'
expect_breach apps/sweep/a.cc '#include "actors/net/mail.h"\n' 'include of actors/net/mail.h: it shows CAF'
expect_breach tests/a_test.cc '#include <caf/all.hpp>\n' 'caf/all.hpp'
expect_breach actors/a.cc '#include "../common/ids.h"\n' 'from the root'
expect_breach actors/a.cc '#include <common/ids.h>\n' 'included with quotes'
expect_breach actors/a.cc '// TODO later\n' 'unfinished work'
expect_breach actors/a.cc '// A stub for now.\n' 'a stub'
expect_breach actors/a.cc 'f() {\n  auto p = self->make_response_promise();\n  if (x)\n    return to_caf(y);\n}\n' 'error returned after make_response_promise'
expect_breach actors/a.cc 'bool f() { return options.training.asynchronous(); }\n' 'training mode asked for'
expect_breach config/a.toml 'folder = "/home/me/runs"\n' 'developer'
expect_breach common/a.h '#include <string>\n' 'no #pragma once'
expect_breach common/a.cc "$(printf '// line\\n%.0s' $(seq 601))" '601 lines'
if command -v clang-format-14 >/dev/null; then
  expect_breach common/a.cc 'int  f( ) ;\n' 'format: run clang-format'
fi
check_breaches

if ! ctags --version 2>/dev/null | grep -q 'Universal Ctags'; then
  echo "sizes are not tested: needs Universal Ctags"
  ((failures == 0)) || exit 1
  exit 0
fi
sizes="${check%.sh}_sizes.sh"
expect_breach common/a.cc "$(printf '// line\\n%.0s' $(seq 401))" '401 lines: split it'
check_breaches

# lines N TEXT: TEXT in N lines, each % in it the line's number.
lines() { for ((i = 1; i <= $1; ++i)); do printf '%s\n' "${2//%/$i}"; done; }

# expect_size FILE TEXT [MESSAGE]: the tree with TEXT in FILE is measured with a line "FILE:N: MESSAGE",
# or with none where there is no MESSAGE.
expect_size() {
  reset_tree
  mkdir -p "$(dirname "$tree/$1")"
  printf '%s\n' "$2" >"$tree/$1"
  local output status=0
  output=$("$sizes" "$tree" 2>&1) || status=$?
  if [[ -z ${3:-} ]]; then
    [[ $status == 0 && -z $output ]] && return
    echo "FAILED: sizes refused of $1: $output"
  else
    [[ $status != 0 ]] && grep -qE "^$1:[0-9]+: $3" <<<"$output" && return
    echo "FAILED: no line '$1:N: $3' in: $output"
  fi
  failures=$((failures + 1))
}

class() { printf 'class Big {\n public:\n  Big();\n  ~Big();\n%s\n};\n' "$1"; }
long_function="void act() {
$(lines 49 '  call(%);')
}"
table="const int kRows[] = {
$(lines 500 '    %,')
};"

expect_size common/a.h "$(class "$(lines 30 '  [[nodiscard]] int f%(int a, int b);')")"
expect_size common/a.h "$(class "$(lines 31 '  int f%() const { return %; }')")" 'class Big has 31 member functions'
expect_size common/a.cc "namespace {
$(class "$(lines 31 '  void f%();')")
}" 'class Big has 31 member functions'
expect_size common/a.cc "$(class "$(lines 15 '  void f%();')")
$(lines 15 'void Big::f%() {}')
$(lines 15 'void g%(Big& big);')
$(lines 15 'void g%(Big& big) { big.f%(); }')"
expect_size common/a.cc "$(class "$(lines 15 '  void f%();')")
$(lines 16 'static void g%(const Big& big, int more) {}')" 'class Big has 31 member functions, 16 of them free functions'
expect_size actors/a.cc "$(class "$(lines 15 '  void f%();')")
$(lines 16 'void g%(caf::stateful_actor<Big>* self) {}')" 'class Big has 31 member functions, 16 of them free functions'
expect_size actors/a.cc "$(class "$(lines 15 '  void f%();')")
$(lines 16 'void g%(Big::Self* self) {}')" 'class Big has 31 member functions, 16 of them free functions'
expect_size actors/a.cc "struct Big { int number = 0; };
$(lines 31 'void g%(Big* big) {}')" 'class Big has 31 member functions, 31 of them free functions'
expect_size common/a.h "$(class "  void f();
$(lines 21 '  static const int kNumber% = 0;')
$(lines 20 '  int number%_ = 0;')")"
expect_size common/a.h "$(class "  void f();
$(lines 21 '  int number%_ = 0;')")" 'class Big has 21 data members'
expect_size common/a.h "struct BigOptions {
$(lines 21 '  int number%_ = 0;')
  int sum() const { return 0; }
};"
expect_size common/a.cc "struct Big {
$(lines 21 '  int number%_ = 0;')
};
void change(Big& big) {}" 'class Big has 21 data members'
expect_size common/a.cc "$long_function" 'function act has 51 lines'
expect_size common/a.cc "$(lines 401 '// line')" '401 lines'
expect_size common/a.cc "$table" '502 lines'
expect_size common/a.cc "// rows: one number each
$table
$(lines 400 '// line')"
expect_size common/a.cc "// rows: one call each
$long_function"
expect_size common/a.cc "// rows:
$long_function" 'function act has 51 lines'
expect_size common/a.cc "// rows: one call each
void act() {
  if (true) call();
}" 'control flow among rows'
expect_size tests/a_test.cc "$long_function"
once='struct Once {
  int y = 0;
};'
expect_size common/z.h "namespace swarm {
$once
}" 'another swarm::Once is in common/once.h'
expect_size common/z.cc "namespace swarm {
namespace {
$once
}
}"
expect_size common/z.h "namespace swarm::routing {
$once
}"

# excepting PATH...: a copy of the script that excepts these files.
excepting() {
  local path list=
  for path in "$@"; do list+="  \"$path: file: no reason\"\\n"; done
  sed "s,^exceptions=(,&\n$list," "${check%.sh}_sizes.sh" >"$copy"
}
copy=$(mktemp)
trap 'rm -rf "$tree" "$copy"' EXIT
chmod +x "$copy"
sizes=$copy
excepting common/a.cc
expect_size common/a.cc "$(lines 401 '// line')"
excepting common/b.cc
expect_size common/a.cc "$(lines 401 '// line')" '401 lines'
excepting a b c d
if output=$("$copy" "$tree" 2>&1) || ! grep -q '4 exceptions' <<<"$output"; then
  echo "FAILED: accepted a fourth exception"
  failures=$((failures + 1))
fi

((failures == 0)) || exit 1
echo "check.sh and check_sizes.sh find every breach"
