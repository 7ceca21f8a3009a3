#!/usr/bin/env bash
# clang-tidy finds nothing in the product's sources that test/suite/changed.py names. What passed is not read again until it or its
# settings change: the result is kept outside the tree, under a hash of the preprocessed source.
set -euo pipefail

repo=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
cache=${CDOM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/cdom}/tidy
cd "$repo"
mkdir -p "$cache"
export cache repo
# It reports what clang warns about, thread-safety analysis included.
cmake --preset clang >/dev/null
test/suite/changed.py sources | xargs -r -P 2 -I{} test/lint/clang_tidy.sh {}
