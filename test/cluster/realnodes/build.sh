#!/usr/bin/env bash
# Builds containerd, its shim for runc and ctr, and prints the directory they are in. Standard output is that one line.
#
#   dir=$(test/cluster/realnodes/build.sh)
#
# Debian 12 has containerd 1.6, which passes over CDI devices without a word. The result is kept outside the tree, as that
# of test/cluster/controlplane/build.sh is; the first build takes about five minutes.
set -euo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
name=realnodes/build.sh

# shellcheck source=../controlplane/go_cache.sh
source "$here/../controlplane/go_cache.sh"

module=github.com/containerd/containerd/v2
version=$(version_of "$module")
# Snapshotters that need C or a device of their own are left out; overlayfs is what the nodes use.
options=(-tags no_btrfs,no_devmapper,no_zfs,no_aufs,no_blockfile -ldflags "-s -w -X $module/version.Version=$version")
dir=$(go_cache containerd)/$(go_key)

build() {
  build_packages "containerd $version" 'about 5 minutes' "$module"/cmd/{containerd,containerd-shim-runc-v2,ctr} "$1"
  "$1/containerd" --version >/dev/null || die "the program that was built does not run: '$1/containerd --version' failed."
}

build_once "$dir" build
printf '%s\n' "$dir"
