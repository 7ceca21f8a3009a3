#!/usr/bin/env bash
# Runs the simulation's sweeps, and says how many runs they had.
#
#   sweeps.sh [--preset asan] [--part 2/4 | --part any/5] [LEAST LEAST_FAULTED]
#
# --part: the second of four parts of the cases; any: the part that the commit's hash chooses.
# LEAST, LEAST_FAULTED: the sweeps of the controller must have at least so many runs, and at least so many of them with a fault,
# each another pair of a request and a fault.
set -uo pipefail

preset=release
part=1/1
commit=$(git rev-parse HEAD)
while [[ ${1:-} == --* ]]; do
  case $1 in
    --preset) preset=$2 ;;
    --part) part=$2 ;;
    *) echo "sweeps: unknown option $1" >&2 && exit 2 ;;
  esac
  shift 2
done
if [[ $part == any/* ]]; then part=$((16#${commit: -6} % ${part#*/} + 1))/${part#*/}; fi
echo "part $part"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
status=0
ctest --preset "$preset" --verbose -R 'sweep_test: ' -I "${part%/*},,${part#*/}" --timeout 3600 | tee "$log" || status=$?
(($# == 2)) || exit "$status"
read -r number faulted seconds < <(awk '
  /^ *Start +[0-9]+: / { of_controller[$2] = /\/wide_sweep_test: / }
  $2 == "[" && $3 == "runs" && of_controller[$1] { sum += $5; faulted += $7 }
  $2 == "[" && $3 == "sweep" && of_controller[$1] { seconds += $5 }
  END { printf "%d %d %d\n", sum, faulted, seconds + 1 }' "$log")
result=FAIL
if ((number >= $1 && faulted >= $2)); then result=PASS; else status=1; fi
echo "$result $number simulated runs of the controller, $faulted pairs of request and fault, in $seconds s of processor," \
  "$((number / seconds)) a second (at least $1 and $2)"
exit "$status"
