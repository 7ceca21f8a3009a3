#!/usr/bin/env bash
# Builds the reader and writer of CDI specs as NVIDIA's kubelet plugin has them, and prints the directory it is in. Standard output
# is that one line.
#
#   dir=$(test/cluster/stubs/cdi/build.sh)
#
# The result is kept outside the tree, as those of test/cluster/controlplane/build.sh are; the first build takes some seconds.
set -euo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
name=stubs/cdi/build.sh

# shellcheck source=../../controlplane/go_cache.sh
source "$here/../../controlplane/go_cache.sh"

options=(-ldflags "-s -w")
dir=$(go_cache cdi)/$(go_key "$here"/*.go)
build_once "$dir" build_packages 'the reader of CDI specs' '' .
printf '%s\n' "$dir"
