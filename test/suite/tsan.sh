#!/usr/bin/env bash
# Builds and runs what has threads under ThreadSanitizer: the test programs that changed.py names, and the whole controller if it
# names that.
set -euo pipefail

repo=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$repo"
controller=controller/main.cc
cmake --preset tsan >/dev/null  # So that CTest knows its programs.
tests=$(ctest --preset tsan -L threads --show-only=json-v1 | jq -r '.tests[].name | sub(": .*"; ".cc")' | sort -u)
[[ -n $tests ]] || { echo "tsan: no test has the label threads" >&2; exit 1; }
chosen=$(printf '%s\n' "$tests" "$controller" | test/suite/changed.py tests)
targets=()
pattern=
for one in $chosen; do
  if [[ $one == "$controller" ]]; then
    targets+=(compute-domain-controller)
  else
    one=${one%.cc}
    targets+=("${one//\//_}")
    pattern+="${pattern:+|}$one"
  fi
done
((${#targets[@]} > 0)) || { echo "SKIP all tests with threads (no file of theirs has changed)"; exit 0; }
scripts/build.sh tsan "${targets[@]}"
if [[ -n $pattern ]]; then ctest --preset tsan --verbose -R "^($pattern): "; fi
if [[ " ${targets[*]} " == *' compute-domain-controller '* ]]; then
  test/e2e/tsan.sh "$repo/build/tsan/bin" "$repo/build/release/bin"
fi
