# Shared by quickstart.sh and test.sh; sourced with the repository's root as working directory.
export HOME="${HOME:-$PWD/build}"   # ccache wants one; CI runners may have none
export CMAKE_COLOR_DIAGNOSTICS=OFF

# Compile jobs: one per core, but no more than memory allows; a file with LibTorch needs 1.5 GB.
compile_jobs() {
  local cores memory_kib jobs
  cores=$(nproc)
  memory_kib=$(awk '/^MemAvailable:/ {print $2}' /proc/meminfo 2>/dev/null || true)
  jobs=$((${memory_kib:-4000000} / 1600000))
  echo "${SWARM_JOBS:-$((jobs < 1 ? 1 : jobs < cores ? jobs : cores))}"
}

# build PRESET [TARGET...]: configures, then builds; ninja itself notices what changed, but not that the
# files of a batch (cmake/UnityBatches.cmake) no longer go together.
build() {
  local preset=$1
  shift
  local configure=("build/$preset")
  if [[ ! -f build/$preset/build.ninja ]]; then
    say "configure $preset"
    mkdir -p "build/$preset"
    rm -f "build/$preset/CMakeCache.txt"   # of a configure run that failed half-way
    configure=(--preset "$preset" ${CI:+-DSWARM_WERROR=ON})
  fi
  configure+=("-DSWARM_TESTS_ONCE=${tests_once:-OFF}")
  cmake "${configure[@]}" >"build/$preset/configure.log" 2>&1 ||
    { cat "build/$preset/configure.log" >&2; exit 1; }
  say "build $preset ${*:-(everything)}"
  cmake --build "build/$preset" --parallel "$(compile_jobs)" ${1:+--target "$@"}
}

say() { printf '== %s (after %d s)\n' "$*" "$SECONDS"; }
