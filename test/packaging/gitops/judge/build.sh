#!/usr/bin/env bash
# Builds a program that judges the health of objects as Argo CD, Flux and kstatus do, and prints the directory it is in. Standard
# output is that one line.
#
#   dir=$(test/packaging/gitops/judge/build.sh)
#
# The result is kept outside the tree, as those of test/cluster/controlplane/build.sh are; the first build takes about three
# minutes.
set -euo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
name=gitops/judge/build.sh

# shellcheck source=../../../cluster/controlplane/go_cache.sh
source "$here/../../../cluster/controlplane/go_cache.sh"

options=(-ldflags "-s -w")
dir=$(go_cache gitops)/$(go_key "$here"/*.go)
build_once "$dir" build_packages "the evaluators of Argo CD $(version_of github.com/argoproj/argo-cd/v3) and Flux" 'about 3 minutes' .
printf '%s\n' "$dir"
