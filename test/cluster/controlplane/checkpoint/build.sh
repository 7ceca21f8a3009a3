#!/usr/bin/env bash
# Builds the reader and writer of NVIDIA's checkpoints, and prints the directory it is in. Standard output is that one line.
#
#   dir=$(test/cluster/controlplane/checkpoint/build.sh)
#
# The result is kept as that of ../build.sh, whose module it is part of; it takes some seconds after that one.
set -euo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)

die() {
  printf 'controlplane/checkpoint/build.sh: %s\n' "$*" >&2
  exit 1
}

# shellcheck source=../go_cache.sh
source "$here/go_cache.sh"

options=(-ldflags "-s -w")
key=$({
  cat -- "$here/go.sum" "$here/go.mod" "$here"/checkpoint/*.go
  printf '%s\n' "${options[@]}" "${go_options[@]}"
} | sha256sum)
dir=$(go_cache checkpoint)/${key:0:16}

build() {
  local started=$SECONDS
  printf 'controlplane/checkpoint/build.sh: building the reader of checkpoints\n' >&2
  go_build "$1" ./checkpoint "${options[@]}"
  printf 'controlplane/checkpoint/build.sh: built in %d s\n' $((SECONDS - started)) >&2
}

build_once "$dir" build
printf '%s\n' "$dir"
