#!/usr/bin/env bash
# Builds and runs under ThreadSanitizer what has threads: of each folder in which a file changed, the test programs with label
# `threads`; and the whole controller, if controller/process or its main.cc did.
#
#   tsan.sh [BASE]            since that commit, or since CDOM_BASE; without either, all of it
#   tsan.sh --quiet [BASE]    of these programs, those with label `realtime`, which run only so; nothing may run beside them
set -euo pipefail

quiet=
if [[ ${1:-} == --quiet ]]; then quiet=1 && shift; fi

repo=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$repo"
base=${1:-${CDOM_BASE:-}}

# The folders, each with a CMakeLists.txt, in which a file changed.
folders_changed() {
  local file folder
  { git diff --name-only --no-renames "$base" -- && git ls-files --others --exclude-standard; } | while read -r file; do
    folder=$(dirname "$file")
    until [[ $folder == . || -e $folder/CMakeLists.txt ]]; do folder=$(dirname "$folder"); done
    echo "$folder"
  done | sort -u
}

# because PROGRAM: prints why it runs, if it does.
because() {
  local folder=${1%/*}
  if [[ -z $base ]]; then
    echo 'all run'
  elif [[ -n $flags ]]; then
    echo "$flags changed, which says how all are compiled"
  elif grep -qxF "$folder" <<<"$changed"; then
    echo "$folder changed"
  # In these the threads of all that lies there meet.
  elif [[ $1 == test/simulation/scenarios/threads_tests ]] && grep -qE '^controller/compute_domain(/|$)' <<<"$changed"; then
    echo 'controller/compute_domain changed'
  elif [[ $1 == compute-domain-controller ]] && grep -qxF controller/process <<<"$changed"; then
    echo 'controller/process changed'
  elif [[ $1 == compute-domain-controller && -n $main ]]; then
    echo "$main changed"
  fi
}

changed='' flags='' main=''
if [[ -n $base ]]; then
  git rev-parse --quiet --verify "$base^{commit}" >/dev/null || { echo "tsan: $base is no commit" >&2; exit 2; }
  changed=$(folders_changed)
  flags=$(git diff --name-only "$base" -- CMakePresets.json cmake | head -n 1)
  main=$(git diff --name-only "$base" -- controller/main.cc)
fi
cmake --preset tsan >/dev/null  # So that CTest knows its programs.
labelled() {  # labelled OPTION...: the programs with the label threads that ctest selects
  ctest --preset tsan -L threads "$@" --show-only=json-v1 | jq -r '.tests[].name | sub(": .*"; "")' | sort -u
}
tests=$(if [[ -n $quiet ]]; then labelled -L realtime; else labelled -LE realtime && echo compute-domain-controller; fi)
[[ $tests == */* ]] || { echo "tsan: no test has the labels" >&2; exit 1; }
targets=()
programs=()
for one in $tests; do
  why=$(because "$one")
  [[ -n $why ]] || continue
  echo "$one: $why"
  targets+=("${one//\//_}")
  [[ $one != */* ]] || programs+=("$one")
done
((${#targets[@]} > 0)) || { echo "SKIP all tests with threads (no file of theirs has changed since $base)"; exit 0; }
scripts/build.sh tsan "${targets[@]}"
export CDOM_PROCESSOR_SECONDS=600  # ThreadSanitizer takes several times as long.
if [[ -n $quiet ]]; then exec test/suite/quiet.py tsan "^($(IFS='|' && echo "${programs[*]}")): "; fi
if ((${#programs[@]} > 0)); then ctest --preset tsan --verbose -R "^($(IFS='|' && echo "${programs[*]}")): "; fi
if [[ " ${targets[*]} " == *' compute-domain-controller '* ]]; then
  test/e2e/tsan.sh "$repo/build/tsan/bin" "$repo/build/release/bin"
fi
