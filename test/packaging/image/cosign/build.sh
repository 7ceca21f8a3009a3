#!/usr/bin/env bash
# Builds cosign, with which a test signs an image as docs/images.md shows, and prints the directory it is in. Standard output is
# that one line.
#
#   dir=$(test/packaging/image/cosign/build.sh)
#
# The result is kept outside the tree, as those of test/cluster/controlplane/build.sh are; the first build takes about three
# minutes.
set -euo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
name=image/cosign/build.sh

# shellcheck source=../../../cluster/controlplane/go_cache.sh
source "$here/../../../cluster/controlplane/go_cache.sh"

module=github.com/sigstore/cosign/v2
version=$(version_of "$module")
options=(-ldflags "-s -w")
dir=$(go_cache cosign)/$(go_key)
build_once "$dir" build_packages "cosign $version" 'about 3 minutes' "$module/cmd/cosign"
printf '%s\n' "$dir"
