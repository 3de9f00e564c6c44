#!/usr/bin/env bash
# Installs the Debian packages that Swarm is built from (Debian 12 or 13).
#
#   scripts/install_deps.sh          what building and running the program needs
#   scripts/install_deps.sh test     that, and what the tests and checks need
#
# Asks nothing. Only packages that dpkg misses are installed, so a second call neither opens a
# connection nor needs root.
set -euo pipefail

packages=(
  g++ cmake ninja-build ccache git pkg-config
  libtorch-dev libopenblas0-openmp   # OpenBLAS on OpenMP threads, the pool that LibTorch uses
  libcaf-dev protobuf-compiler libprotobuf-dev librocksdb-dev
  libspdlog-dev libfmt-dev libtomlplusplus-dev libcli11-dev nlohmann-json3-dev libedit-dev
  libxxhash-dev libzstd-dev libssl-dev libboost-dev
  libboost-test-dev librapidcheck-dev   # the configure step looks for them, tests or not
)
case "${1:-build}" in
  build) ;;
  # llvm has the symbolizer: without it the sanitizers know no function's name, and no suppression.
  test) packages+=(clang libclang-rt-dev llvm clang-format universal-ctags iproute2) ;;
  *) echo "usage: scripts/install_deps.sh [build|test]" >&2; exit 2 ;;
esac

installed=$(dpkg-query -W -f='${db:Status-Status} ${Package}\n' "${packages[@]}" 2>/dev/null || true)
missing=()
for package in "${packages[@]}"; do
  grep -qx "installed $package" <<<"$installed" || missing+=("$package")
done

if ((${#missing[@]})); then
  as_root=()
  if ((EUID != 0)); then
    if ! command -v sudo >/dev/null; then
      echo "install_deps: these packages are missing: ${missing[*]}" >&2
      echo "install_deps: run 'apt-get install ${missing[*]}' as root, then try again" >&2
      exit 1
    fi
    as_root=(sudo)
  fi
  echo "install_deps: installing ${missing[*]}"
  apt() {
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -y -qq \
      -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 -o Dpkg::Use-Pty=0 "$@" </dev/null
  }
  apt update
  apt install --no-install-recommends "${missing[@]}" >/dev/null
fi

blas=$(readlink -f "/usr/lib/$(uname -m)-linux-gnu/libblas.so.3" 2>/dev/null || true)
if [[ -n $blas && $blas != */openblas-openmp/* ]]; then
  echo "install_deps: warning: BLAS is $blas, so matrix products do not share LibTorch's threads;" >&2
  echo "  'update-alternatives --config libblas.so.3-$(uname -m)-linux-gnu' chooses openblas-openmp" >&2
fi
