#!/usr/bin/env bash
# Builds the reader and writer of NVIDIA's checkpoints, and prints the directory it is in. Standard output is that one line.
#
#   dir=$(test/cluster/controlplane/checkpoint/build.sh)
#
# The result is kept as that of ../build.sh, whose module it is part of; it takes some seconds after that one.
set -euo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
name=controlplane/checkpoint/build.sh

# shellcheck source=../go_cache.sh
source "$here/go_cache.sh"

options=(-ldflags "-s -w")
dir=$(go_cache checkpoint)/$(go_key "$here"/checkpoint/*.go)
build_once "$dir" build_packages 'the reader of checkpoints' '' ./checkpoint
printf '%s\n' "$dir"
