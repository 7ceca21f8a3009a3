#!/usr/bin/env bash
# Builds the stand-in for the kubelet plugin, and prints the directory it is in. Standard output is that one line.
#
#   dir=$(test/cluster/realnodes/plugin/build.sh)
#
# The result is kept outside the tree, as those of test/cluster/controlplane/build.sh are; the first build takes about a minute.
set -euo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)

die() {
  printf 'realnodes/plugin/build.sh: %s\n' "$*" >&2
  exit 1
}

# shellcheck source=../../controlplane/go_cache.sh
source "$here/../../controlplane/go_cache.sh"

options=(-ldflags "-s -w")
key=$({
  cat -- "$here/go.sum" "$here/go.mod" "$here"/*.go
  printf '%s\n' "${options[@]}" "${go_options[@]}"
} | sha256sum)
dir=$(go_cache plugin)/${key:0:16}

build() {
  local started=$SECONDS
  printf 'realnodes/plugin/build.sh: building the stand-in for the kubelet plugin; the first time takes about a minute\n' >&2
  go_build "$1" . "${options[@]}"
  printf 'realnodes/plugin/build.sh: built in %d s\n' $((SECONDS - started)) >&2
}

build_once "$dir" build
printf '%s\n' "$dir"
