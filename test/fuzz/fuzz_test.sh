#!/usr/bin/env bash
# scripts/fuzz.sh finds what is broken, says so and counts it: with the targets of targets/canary.cc, each of which
# is broken in a way of its own. Prints PASS or FAIL for each case. scripts/fuzz.sh has built them before.
set -euo pipefail

repo=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
root=$(mktemp -d "${TMPDIR:-/tmp}/cdom-fuzz-test.XXXXXX")
trap 'rm -rf "$root"' EXIT
export TMPDIR=$root LLVM_PROFILE_FILE=/dev/null CDOM_FUZZ_UNIT_SECONDS=2 CDOM_FUZZ_PROGRAM=$repo/build/asan/bin/cdom-fuzz
# shellcheck source=../e2e/cases.sh
source "$repo/test/e2e/cases.sh"
cases_in "$root/cases"

# finds TARGET WORDS: the target fails, and the report has these words, an input, and a command that repeats it.
finds() {
  local output status=0 again
  output=$("$repo/scripts/fuzz.sh" 120 "$1" 2>&1) || status=$?
  printf '%s\n' "$output"
  [[ $status != 0 && $output == *"FAIL $1: "* && $output == *"$2"* ]] || return 1
  [[ $(tail -n 1 <<<"$output") == "0 passed, 1 failed" ]] || return 1
  again=$(sed -n 's/^again: //p' <<<"$output")
  [[ -n $again ]] || return 1
  if output=$(timeout 30 $again -timeout=2 2>&1); then return 1; fi
  [[ $output == *"$2"* ]]
}

a_check_that_is_false_is_found() { finds canary_check 'CHECK failed: bytes != "cdom"'; }
a_read_behind_the_end_is_found() { finds canary_overrun heap-buffer-overflow; }
an_overflow_is_found() { finds canary_overflow 'signed integer overflow'; }
a_hang_is_found() { finds canary_hang 'timeout after'; }

a_target_that_there_is_not_is_no_success() {
  local output
  if output=$("$repo/scripts/fuzz.sh" 1 no_such_target 2>&1); then return 1; fi
  [[ $(tail -n 1 <<<"$output") == "0 passed, 1 failed" ]]
}

# What is kept of each target is there to be replayed.
every_target_has_a_corpus() {
  local target missing=0
  while read -r target; do
    if [[ ! -s $repo/test/fuzz/found/$target && -z $(find "$repo/test/fuzz/corpus/$target" -type f 2>/dev/null | head -n 1) ]]; then
      echo "no corpus: $target"
      missing=1
    fi
  done < <("$repo/build/asan/bin/cdom-fuzz" --list)
  return "$missing"
}

run_case a_check_that_is_false_is_found
run_case a_read_behind_the_end_is_found
run_case an_overflow_is_found
run_case a_hang_is_found
run_case a_target_that_there_is_not_is_no_success
run_case every_target_has_a_corpus
summary
