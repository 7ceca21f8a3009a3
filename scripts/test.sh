#!/usr/bin/env bash
# Installs what is missing, builds, tests; the last line is "N passed, N failed", where N counts cases that ran.
#
#   scripts/test.sh                     what CI runs on each commit: what every user meets, what changed, a fifth of the rest
#   scripts/test.sh all                 the same, with all of the rest
#   scripts/test.sh PATTERN             the steps and modules whose name matches: 'e2e: actors', '^lint'
#   scripts/test.sh quick               unit tests and simulation without sanitizers, rules over the sources
#   scripts/test.sh nightly             everything, with what takes hours. What passed on this commit is not run again
#                                       CDOM_REFERENCE=CHECKOUT: NVIDIA's end-to-end suite, too (test/reference)
#   scripts/test.sh nightly PATTERN     of that, the steps whose name matches
#   scripts/test.sh one NAME [--gdb] [--times N]
#                                       one GoogleTest or pytest case, simulated scenario or fuzz target
#   scripts/test.sh list                the steps and modules, and why each runs on this commit or not
set -uo pipefail

repo=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
cd "$repo" || exit
run() { scripts/deps.sh && exec test/suite/run.py "$@"; }

misuse() {
  echo "test: $*; the head of scripts/test.sh says what there is" >&2
  exit 2
}

case ${1:-} in
  '') run commit ;;
  all | list)
    (($# == 1)) || misuse "nothing follows $1"
    run "$1"
    ;;
  quick)
    scripts/deps.sh && cmake --preset dev && scripts/build.sh dev tests || exit
    exec ctest --preset dev
    ;;
  nightly)
    (($# <= 2)) || misuse "nightly takes one pattern"
    [[ -z $(git status --porcelain) ]] || misuse "what nightly has seen is kept by commit, and there are changes that are none"
    cache=${CDOM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/cdom}
    export CDOM_RESUME=$cache/nightly/$(git rev-parse HEAD) CDOM_SEED=${CDOM_SEED:-$(date +%y%m%d00)}
    export CDOM_FUZZ_SEED=$CDOM_SEED CDOM_FUZZ_KEEP=$cache/fuzz
    run "$@"
    ;;
  one) exec test/suite/one.py "${@:2}" ;;
  -*) misuse "unknown option $1" ;;
  *)
    (($# == 1)) || misuse "one pattern at a time"
    run match "$1"
    ;;
esac
