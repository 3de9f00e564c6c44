#!/usr/bin/env bash
# Builds Swarm and trains the small model of config/quickstart.toml on this machine: eight stage
# peers and two trainers, one process each. Arguments go to `swarm run`, e.g.
#   scripts/quickstart.sh --set training.steps=40
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/lib.sh
source scripts/lib.sh

scripts/install_deps.sh
build release swarm swarm-compute
say "swarm run config/quickstart.toml $*"
exec build/release/apps/swarm run config/quickstart.toml "$@"
