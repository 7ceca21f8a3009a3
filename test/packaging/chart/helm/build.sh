#!/usr/bin/env bash
# Builds Helm 3 and Helm 4, which install the chart in its tests, and prints the directory they are in, as 3/helm and 4/helm.
# Standard output is that one line.
#
#   dir=$(test/packaging/chart/helm/build.sh)
#
# The result is kept outside the tree, as those of test/cluster/controlplane/build.sh are; the first build takes about three
# minutes.
set -euo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
name=chart/helm/build.sh

# shellcheck source=../../../cluster/controlplane/go_cache.sh
source "$here/../../../cluster/controlplane/go_cache.sh"

# As Helm's own Makefile does: without a cluster `helm template` and `helm lint` of Helm 3 take the Kubernetes of its libraries.
minor=$(version_of k8s.io/client-go | cut -d. -f2)
flags="-s -w"
for package in chartutil lint/rules; do
  flags+=" -X helm.sh/helm/v3/pkg/$package.k8sVersionMajor=1 -X helm.sh/helm/v3/pkg/$package.k8sVersionMinor=$minor"
done
for major in 3 4; do flags+=" -X helm.sh/helm/v$major/internal/version.version=$(version_of "helm.sh/helm/v$major")"; done
options=(-ldflags "$flags")

build() {
  local out=$1 major
  for major in 3 4; do
    mkdir -- "$out/$major"
    build_packages "Helm $(version_of "helm.sh/helm/v$major")" 'about 2 minutes' "helm.sh/helm/v$major/cmd/helm" "$out/$major"
  done
}

dir=$(go_cache helm)/$(go_key)
build_once "$dir" build
printf '%s\n' "$dir"
