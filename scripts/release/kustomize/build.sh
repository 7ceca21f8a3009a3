#!/usr/bin/env bash
# Builds kustomize, with which scripts/release.sh renders cdom.yaml, and prints the directory it is in. Standard output is that
# one line. It is the version that is part of the kubectl of the tests (test/cluster/controlplane/go.mod).
#
#   dir=$(scripts/release/kustomize/build.sh)
#
# The result is kept outside the tree, as those of test/cluster/controlplane/build.sh are; the first build takes about a minute.
set -euo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
name=release/kustomize/build.sh

# shellcheck source=../../../test/cluster/controlplane/go_cache.sh
source "$here/../../../test/cluster/controlplane/go_cache.sh"

package=sigs.k8s.io/kustomize/kustomize/v5
options=(-ldflags "-s -w -X sigs.k8s.io/kustomize/api/provenance.version=$(version_of "$package")")

dir=$(go_cache kustomize)/$(go_key)
build_once "$dir" build_packages "kustomize $(version_of "$package")" 'about a minute' "$package"
printf '%s\n' "$dir"
