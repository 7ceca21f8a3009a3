#!/usr/bin/env bash
# Builds kube-router, a network plugin of which real nodes use the part that enforces NetworkPolicies, and prints the directory it
# is in. Standard output is that one line.
#
#   dir=$(test/cluster/realnodes/netpol/build.sh)
#
# The result is kept outside the tree, as those of test/cluster/controlplane/build.sh are; the first build takes about three
# minutes.
set -euo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
name=realnodes/netpol/build.sh

# shellcheck source=../../controlplane/go_cache.sh
source "$here/../../controlplane/go_cache.sh"

module=github.com/cloudnativelabs/kube-router/v2
version=$(version_of "$module")
options=(-ldflags "-s -w")
dir=$(go_cache netpol)/$(go_key)
build_once "$dir" build_packages "kube-router $version" 'about 3 minutes' "$module/cmd/kube-router"
printf '%s\n' "$dir"
