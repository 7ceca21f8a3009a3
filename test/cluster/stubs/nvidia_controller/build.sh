#!/usr/bin/env bash
# Builds the stand-in for NVIDIA's controller, and prints the directory it is in. Standard output is that one line.
#
#   dir=$(test/cluster/stubs/nvidia_controller/build.sh)
#
# The result is kept outside the tree, as those of test/cluster/controlplane/build.sh are; the first build takes a minute.
set -euo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
name=stubs/nvidia_controller/build.sh

# shellcheck source=../../controlplane/go_cache.sh
source "$here/../../controlplane/go_cache.sh"

options=(-ldflags "-s -w")
dir=$(go_cache nvidia-controller)/$(go_key "$here"/*.go)
build_once "$dir" build_packages "the stand-in for NVIDIA's controller" 'a minute' .
printf '%s\n' "$dir"
