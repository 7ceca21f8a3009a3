#!/usr/bin/env bash
# Builds the controller of an earlier commit and prints the directory that holds it, as compute-domain-controller, with
# the manifests and crds of that commit. Standard output is that one line; everything else goes to standard error.
#
#   dir=$(test/e2e/build_before.sh COMMIT)
#
# The result is kept outside the tree, by commit, so a second call is quick.
set -euo pipefail

repo=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
die() {
  printf 'build_before.sh: %s\n' "$*" >&2
  exit 1
}

commit=$(git -C "$repo" rev-parse --verify --quiet "${1:?which commit?}^{commit}") ||
  die "commit $1 is not in this clone. Fetch it: git fetch --unshallow, or git fetch origin $1"
cache=${CDOM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/cdom}/before
dir=$cache/$commit
mkdir -p -- "$cache"
exec {lock}>"$cache/.lock"
flock "$lock"

# It appears in one rename, when it is complete.
if [[ ! -d $dir ]]; then
  rm -rf -- "$cache"/partial.*
  partial=$(mktemp -d -- "$cache/partial.XXXXXX")
  trap 'rm -rf -- "$partial"' EXIT
  git -C "$repo" archive "$commit" | tar -x -C "$partial"
  (
    cd -- "$partial"
    export CCACHE_BASEDIR=$partial CCACHE_NOHASHDIR=1
    cmake --preset release && cmake --build --preset release --target compute-domain-controller
  ) {lock}>&- >&2 || die "the controller of $1 does not build, see above"
  mkdir -- "$partial/result"
  mv -- "$partial/build/release/bin/compute-domain-controller" "$partial/manifests" "$partial/crds" "$partial/result/"
  mv -T -- "$partial/result" "$dir"
fi
printf '%s\n' "$dir"
