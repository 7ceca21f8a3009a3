#!/usr/bin/env bash
# Builds the reader of NVIDIA's library by NVIDIA's bindings for Go, and prints the directory it is in. Standard output is that one
# line.
#
#   dir=$(test/cluster/stubs/nvml/go/build.sh)
#
# The result is kept outside the tree, as those of test/cluster/controlplane/build.sh are; the first build takes a minute. It needs a
# C compiler, because the bindings are for a library of C.
set -euo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
name=stubs/nvml/go/build.sh

# shellcheck source=../../../controlplane/go_cache.sh
source "$here/../../../controlplane/go_cache.sh"

options=(-ldflags "-s -w")
cgo=1
dir=$(go_cache nvml)/$(go_key "$here"/*.go)
build_once "$dir" build_packages "the reader of NVIDIA's library" 'a minute' .
printf '%s\n' "$dir"
