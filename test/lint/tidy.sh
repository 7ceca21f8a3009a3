#!/usr/bin/env bash
# clang-tidy finds nothing in the product's sources in whose folder a file changed since the commit CDOM_BASE or that include a header
# that did, and in the others that are in part CDOM_PART of five; without CDOM_BASE, in all. What passed is not read again until it or its settings change: the
# result is kept outside the tree, under a hash of the preprocessed source.
set -euo pipefail

repo=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
cache=${CDOM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/cdom}/tidy
cd "$repo"
mkdir -p "$cache"
export cache repo
# A change of these is a change of everything.
for_all='^(\.clang-tidy|CMakePresets\.json|cmake/.*|CMakeLists\.txt|test/lint/clang_tidy\.sh)$'

sources() { git ls-files -co --exclude-standard 'pkg/*.cc' 'controller/*.cc' 'node/*.cc' | grep -vE '_test\.cc$|/testing/'; }
chosen() {
  local changed
  if [[ -z ${CDOM_BASE:-} ]]; then sources && return; fi
  changed=$(git diff --name-only --no-renames "$CDOM_BASE" && git ls-files -o --exclude-standard)
  if grep -qE "$for_all" <<<"$changed"; then sources && return; fi
  {
    sources | awk -v part="${CDOM_PART:-1}" '
      NR == FNR { sub("/[^/]*$", ""); folders[$0]; next }
      { folder = $0; sub("/[^/]*$", "", folder) }
      folder in folders || FNR % 5 == part % 5' <(printf '%s\n' "$changed") -
    sources | xargs grep -lF -f <(grep '\.h$' <<<"$changed" | sed 's/.*/#include "&"/' || echo '#include "no such header"') || true
  } | sort -u
}
mapfile -t files < <(chosen)
echo "${#files[@]} of $(sources | wc -l) sources"
# It reports what clang warns about, thread-safety analysis included.
cmake --preset clang >/dev/null
printf '%s\n' "${files[@]}" | xargs -r -P 2 -I{} test/lint/clang_tidy.sh {}
