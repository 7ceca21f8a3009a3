#!/usr/bin/env bash
# Builds containerd, its shim for runc and ctr, and prints the directory they are in. Standard output is that one line.
#
#   dir=$(test/cluster/realnodes/build.sh)
#
# Debian 12 has containerd 1.6, which passes over CDI devices without a word. The result is kept outside the tree, as that
# of test/cluster/controlplane/build.sh is; the first build takes about five minutes.
set -euo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)

die() {
  printf 'realnodes/build.sh: %s\n' "$*" >&2
  exit 1
}

# shellcheck source=../controlplane/go_cache.sh
source "$here/../controlplane/go_cache.sh"

module=github.com/containerd/containerd/v2
version=$(required "$module")
[[ -n $version ]] || die "$here/go.mod names no version of $module. Restore the file."
# Snapshotters that need C or a device of their own are left out; overlayfs is what the nodes use.
options=(-tags no_btrfs,no_devmapper,no_zfs,no_aufs,no_blockfile -ldflags "-s -w -X $module/version.Version=$version")
key=$({
  cat -- "$here/go.sum" "$here/go.mod"
  printf '%s\n' "${options[@]}" "${go_options[@]}"
} | sha256sum)
dir=$(go_cache containerd)/${key:0:16}

build() {
  local out=$1 program started=$SECONDS
  printf 'realnodes/build.sh: building containerd %s; the first time takes about 5 minutes\n' "$version" >&2
  for program in containerd containerd-shim-runc-v2 ctr; do
    go_build "$out" "$module/cmd/$program" "${options[@]}"
  done
  "$out/containerd" --version >/dev/null || die "the program that was built does not run: '$out/containerd --version' failed."
  printf 'realnodes/build.sh: built in %d s\n' $((SECONDS - started)) >&2
}

build_once "$dir" build
printf '%s\n' "$dir"
