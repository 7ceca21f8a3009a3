#!/usr/bin/env bash
# Builds cosign, with which a test signs an image as docs/install.md shows, and prints the directory it is in. Standard output is
# that one line.
#
#   dir=$(test/packaging/image/cosign/build.sh)
#
# The result is kept outside the tree, as those of test/cluster/controlplane/build.sh are; the first build takes about three
# minutes.
set -euo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)

die() {
  printf 'image/cosign/build.sh: %s\n' "$*" >&2
  exit 1
}

# shellcheck source=../../../cluster/controlplane/go_cache.sh
source "$here/../../../cluster/controlplane/go_cache.sh"

module=github.com/sigstore/cosign/v2
version=$(required "$module")
[[ -n $version ]] || die "$here/go.mod names no version of $module. Restore the file."
options=(-ldflags "-s -w")
key=$({
  cat -- "$here/go.sum" "$here/go.mod"
  printf '%s\n' "${options[@]}" "${go_options[@]}"
} | sha256sum)
dir=$(go_cache cosign)/${key:0:16}

build() {
  local started=$SECONDS
  printf 'image/cosign/build.sh: building cosign %s; the first time takes about 3 minutes\n' "$version" >&2
  go_build "$1" "$module/cmd/cosign" "${options[@]}"
  printf 'image/cosign/build.sh: built in %d s\n' $((SECONDS - started)) >&2
}

build_once "$dir" build
printf '%s\n' "$dir"
