#!/usr/bin/env bash
# Installs what is missing, builds, tests; the last line is "N passed, N failed", where N counts cases
# that ran.
#
#   scripts/test.sh            what CI runs: unit tests, tidy, simulation, the same under ASan+UBSan and TSan,
#                              coverage of the planner, clang-tidy, the control plane, end to end, the demo,
#                              a small run of the benchmarks
#   scripts/test.sh quick      only unit tests, tidy and simulation
set -uo pipefail

repo=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
cd "$repo"
quick=false
case ${1:-} in
  '') ;;
  quick) quick=true ;;
  *)
    echo "test: unknown word '$1'; use nothing or quick" >&2
    exit 2
    ;;
esac

# Objects built in another checkout serve here too.
export CCACHE_BASEDIR=$repo CCACHE_NOHASHDIR=1
logs=$(mktemp -d "${TMPDIR:-/tmp}/cdom-test.XXXXXX")
passed=0
failed=0
count() {  # count PASSED FAILED
  passed=$((passed + $1))
  failed=$((failed + $2))
}
finish() {
  if ((failed > 0)); then echo "logs are in $logs"; else rm -rf "$logs"; fi
  echo "$passed passed, $failed failed"
  ((failed == 0 && passed > 0))
  exit
}

# step NAME COMMAND...: one case that is a command, such as a build; its output is shown if it fails.
step() {
  local name=$1 began=$SECONDS log=$logs/${1//[^a-zA-Z0-9]/_}.log
  shift
  if "$@" >"$log" 2>&1; then
    count 1 0
    echo "PASS $name ($((SECONDS - began)) s)"
    return 0
  fi
  count 0 1
  echo "FAIL $name ($((SECONDS - began)) s)"
  tail -n 60 "$log"
  return 1
}

# ctest of a preset: its cases are counted one by one.
cases() {
  local preset=$1 began=$SECONDS log=$logs/ctest-$1.log summary total bad
  shift
  ctest --preset "$preset" "$@" >"$log" 2>&1
  summary=$(grep -E '^[0-9]+% tests passed, [0-9]+ tests? failed out of [0-9]+' "$log" | tail -n 1)
  if [[ -z $summary ]]; then
    count 0 1
    echo "FAIL tests of $preset did not run"
    tail -n 30 "$log"
    return
  fi
  bad=$(sed -E 's/.*, ([0-9]+) tests? failed.*/\1/' <<<"$summary")
  total=$(sed -E 's/.*out of ([0-9]+).*/\1/' <<<"$summary")
  count $((total - bad)) "$bad"
  echo "$([[ $bad == 0 ]] && echo PASS || echo FAIL) $total tests of preset $preset, $bad failed ($((SECONDS - began)) s)"
  if ((bad > 0)); then grep -E '\*\*\*|^\s+[0-9]+ - |Failure|FAILED' "$log" | head -n 60; fi
}

# A script that prints a line PASS or FAIL for each of its cases.
script() {
  local name=$1 log=$logs/${1//[^a-zA-Z0-9]/_}.log good bad status
  shift
  "$@" 2>&1 | tee "$log"
  status=${PIPESTATUS[0]}
  good=$(grep -c '^PASS ' "$log")
  bad=$(grep -c '^FAIL ' "$log")
  if ((bad == 0 && (status != 0 || good == 0))); then
    echo "FAIL $name ended with status $status"
    bad=1
  fi
  count "$good" "$bad"
}

build() {  # build PRESET
  step "build of preset $1" bash -c "cmake --preset $1 && cmake --build --preset $1"
}

release() {  # What users run, and what plays the nodes around it.
  step "build of preset release" \
    bash -c "cmake --preset release && cmake --build --preset release --target compute-domain-controller nodesim cdom-bench"
}

coverage() {  # With the table by file, which is worth a look when all is well, too.
  local name="the planner's files are covered whole"
  step "$name" "$repo/scripts/coverage.sh" || return
  grep -E '^(Filename|TOTAL|[a-z_]+\.cc) ' "$logs/${name//[^a-zA-Z0-9]/_}.log"
}

format() {
  git ls-files '*.h' '*.cc' | xargs -P 2 -n 20 clang-format-19 --dry-run --Werror
}

# clang-tidy over the product's sources, each one again only when it or its settings changed: the result
# is kept outside the tree, under a hash of the preprocessed source.
lint() {
  local cache=${CDOM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/cdom}/tidy
  mkdir -p "$cache"
  export cache repo
  git ls-files 'pkg/*.cc' 'controller/*.cc' | grep -vE '_test\.cc$|/testing/' |
    xargs -P 2 -I{} "$repo/test/tidy/lint.sh" {}
}

step "dependencies are installed" "$repo/scripts/deps.sh" || finish
build dev && cases dev
step "clang-format finds nothing" format
if $quick; then
  echo "NOT RUN: coverage, sanitizers, clang-tidy, control plane, end to end, demo, benchmarks (scripts/test.sh)"
  finish
fi
coverage
if release && step "the test control plane is built" "$repo/test/controlplane/build.sh"; then
  script "control plane" "$repo/test/controlplane/controlplane_test.sh"
  script "end to end" "$repo/test/e2e/e2e.sh" "$repo/build/release/bin"
  step "the demo sees every step" "$repo/scripts/demo.sh"
  script "benchmarks" "$repo/scripts/bench.sh" --smoke
fi
build asan && cases asan
build tsan && cases tsan
# What clang-tidy reads; it reports what clang warns about, thread-safety analysis included.
step "configuration of preset clang" cmake --preset clang && step "clang-tidy finds nothing" lint
finish
