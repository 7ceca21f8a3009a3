#!/usr/bin/env bash
# Builds the controller of an earlier commit and prints the directory that holds it, as compute-domain-controller, with
# the manifests and crds of that commit. Standard output is that one line; everything else goes to standard error.
#
#   dir=$(test/e2e/build_before.sh COMMIT [--images])
#
#   --images    beside the manifests there are the images of that commit instead, as image-controller and image-driver
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
case ${2:-} in
  '') what=controller ;;
  --images) what=images ;;
  *) die "unknown word $2" ;;
esac
cache=${CDOM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/cdom}/before
dir=$cache/$commit${2:+-images}
mkdir -p -- "$cache"
exec {lock}>"$cache/.lock"
flock "$lock"

controller() {
  export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
  cmake --preset release && cmake --build --preset release --target compute-domain-controller &&
    mv -- build/release/bin/compute-domain-controller result/
}
images() {
  local image
  # The script asks git for these.
  CDOM_REVISION=$commit SOURCE_DATE_EPOCH=$(git -C "$repo" log -1 --format=%ct "$commit")
  export CDOM_REVISION SOURCE_DATE_EPOCH
  for image in controller driver; do
    scripts/image.sh "$(dpkg --print-architecture)" --image "$image" --output "result/image-$image" || return 1
  done
}

# It appears in one rename, when it is complete.
if [[ ! -d $dir ]]; then
  rm -rf -- "$cache"/partial.*
  partial=$(mktemp -d -- "$cache/partial.XXXXXX")
  trap 'rm -rf -- "$partial"' EXIT
  git -C "$repo" archive "$commit" | tar -x -C "$partial"
  mkdir -- "$partial/result"
  (cd -- "$partial" && $what) {lock}>&- >&2 || die "commit $1 does not build, see above"
  mv -- "$partial/manifests" "$partial/crds" "$partial/result/"
  mv -T -- "$partial/result" "$dir"
fi
printf '%s\n' "$dir"
