#!/usr/bin/env bash
# Installs what is missing, builds, tests; the last line is "N passed, N failed", where N counts cases that ran.
#
#   scripts/test.sh                     what CI runs on each commit; test/README.md says what each part shows, and its minutes
#   scripts/test.sh PATTERN             of that, the steps whose name matches: 'e2e: actors', '^lint'
#   scripts/test.sh quick               unit tests and simulation without sanitizers, rules over the sources
#   scripts/test.sh nightly             what takes hours, in steps of an hour at most. What passed on this commit is not run again
#   scripts/test.sh nightly PATTERN     of that, the steps whose name matches
#   scripts/test.sh one NAME [--gdb] [--times N]
#                                       one GoogleTest or pytest case, simulated scenario or fuzz target
#   scripts/test.sh list                the steps there are
set -uo pipefail

repo=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
cd "$repo" || exit
suite=build/suite

misuse() {
  echo "test: $*; the head of scripts/test.sh says what there is" >&2
  exit 2
}

configure() { scripts/deps.sh && cmake -S test/suite -B "$suite" >/dev/null; }

# run OPTIONS...: the steps that these options of CTest choose, and what came of them. Whole output goes into a file, for
# report.py to read; the console has a line for each step.
run() {
  local results=$repo/$suite/results.xml
  rm -f "$results"
  # One lane of what computes, one of kubelets, two of clusters.
  ctest --test-dir "$suite" --parallel 4 --no-tests=error --output-junit "$results" \
    --test-output-size-passed 100000000 --test-output-size-failed 100000000 "$@"
  grep -qs '<testcase' "$results" || misuse "no step matches; scripts/test.sh list prints the steps"
  test/suite/report.py "$results" "$SECONDS" "${limit:-}"
}

case ${1:-} in
  '' )
    configure || exit
    limit=60 run -LE nightly
    ;;
  quick)
    scripts/deps.sh && cmake --preset dev && scripts/build.sh dev tests || exit
    results=$repo/build/dev/results.xml
    rm -f "$results"
    ctest --preset dev --output-junit "$results" --test-output-size-passed 1000000
    [[ -f $results ]] || { echo "test: ctest did not start: there is no $results" >&2; exit 1; }
    test/suite/report.py "$results" "$SECONDS"
    ;;
  nightly)
    (($# <= 2)) || misuse "nightly takes one pattern"
    configure || exit
    [[ -z $(git status --porcelain) ]] || misuse "what nightly has seen is kept by commit, and there are changes that are none"
    cache=${CDOM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/cdom}
    export CDOM_RESUME=$cache/nightly/$(git rev-parse HEAD) CDOM_SEED=${CDOM_SEED:-$(date +%y%m%d00)}
    export CDOM_FUZZ_SEED=$CDOM_SEED CDOM_FUZZ_KEEP=$cache/fuzz
    run -L nightly -R "${2:-}"
    ;;
  one) exec test/suite/one.py "${@:2}" ;;
  list)
    configure || exit
    ctest --test-dir "$suite" -N
    ;;
  -*) misuse "unknown option $1" ;;
  *)
    (($# == 1)) || misuse "one pattern at a time"
    configure || exit
    run -LE nightly -R "$1"
    ;;
esac
