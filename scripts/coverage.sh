#!/usr/bin/env bash
# What unit tests reach of code that must be right (llvm-cov 19): of the planner every line and branch, by its own tests; of
# the simulation's oracles each sentence that they can say, by tests that show them red, and the case in which they do not.
# Exit status 0 only if nothing is missed; what is, is printed.
set -euo pipefail

repo=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
cd "$repo"
build=build/asan
# What decides, by folder: none can be forgotten.
core=controller/compute_domain
mapfile -t planner < <(ls "$core"/plan/{next_memory,planner}.cc && find "$core"/{model,rules,status} -name '*.cc' ! -name '*_test.cc' ! -path "$core/status/events.cc" \
  ! -path "$core/status/debug_page.cc" | sort)
planner_tests=("$core"/{plan/tests,model/tests,rules/tests,status/tests,pass/threads_tests,threads_tests})
# Of the last two, what is about the planner: that the controller's own tests pass through it shows nothing of it.
own=$(sed -nE 's/^TEST(_F|_P)?\( *(\w+),.*/\2.*:*\/\2.*/p' "$core"/freshness_test.cc "$core"/pass/{concerns,deletion_requests,missing_daemons,orphans,repetition,unread_kinds,write_outcomes}_test.cc | sort -u | paste -sd:)
declare -A cases=(["$core/pass/threads_tests"]=$own ["$core/threads_tests"]=$own)
mapfile -t oracles < <(find test/simulation/{oracles,driver,plugin,gpu} -name '*oracles.cc' | sort)
oracles+=(test/simulation/oracles/end_state.cc)
oracle_tests=(test/simulation/{oracles,plugin,gpu}/tests)

targets=("${planner_tests[@]}" "${oracle_tests[@]}")
scripts/build.sh asan "${targets[@]//\//_}"
profiles=$(mktemp -d)
trap 'rm -rf "$profiles"' EXIT

# run NAME TEST...: in $objects what llvm-cov wants to know of them.
objects=()
run() {
  local name=$1 test
  shift
  objects=(--compilation-dir="$repo/$build" --instr-profile="$profiles/$name.profdata" "$build/$1")  # Each other one stands behind --object.
  for test in "$@"; do
    # Their cases are counted where they are run as tests.
    LLVM_PROFILE_FILE=$profiles/$name.${test//\//_}.profraw "$build/$test" --gtest_brief=1 --gtest_filter="${cases[$test]:-*}" >"$profiles/output" ||
      { cat "$profiles/output"; return 1; }
    if [[ $test != "$1" ]]; then objects+=(--object "$build/$test"); fi
  done
  llvm-profdata-19 merge -sparse "$profiles/$name".*.profraw -o "$profiles/$name.profdata"
}

# missed SOURCE...: "FILE:LINE: line not run", and "FILE:LINE: a branch not taken".
missed() {
  llvm-cov-19 export "${objects[@]}" --format=lcov "$@" |
    awk -F'[:,]' -v repo="$repo/" '
      $1 == "SF" { file = $2; if (index(file, repo) == 1) file = substr(file, length(repo) + 1) }
      $1 == "DA" && $3 == 0 { print file ":" $2 ": line not run" }
      $1 == "BRDA" && ($5 == "-" || $5 == 0) { print file ":" $2 ": a branch not taken" }'
}

# places REGEX SOURCE...: "FILE:LINE:" of the lines that it matches.
places() { grep -nE "$@" | sed -E 's/^([^:]+:[0-9]+):.*/\1:/'; }

run planner "${planner_tests[@]}"
llvm-cov-19 report "${objects[@]}" --show-region-summary=false "${planner[@]}"
lacks=$(missed "${planner[@]}" |
  grep -vFf <(places '^ *(CHECK\(|switch \(kind\))' "${planner[@]}" | sed 's/$/ a branch/') || true)  # None is false; all kinds are named.

run oracles "${oracle_tests[@]}"
sentence='(Say|violations_?\.push_back)\(|\<add\("'
said=$(places "$sentence" "${oracles[@]}")
unsaid=$(missed "${oracles[@]}" | grep -Ff <(echo "$said") || true)

if [[ -n $lacks$unsaid ]]; then
  printf '%s\n' "$lacks" "$unsaid" | grep .
  exit 1
fi
echo "every line and branch of ${#planner[@]} files was taken, and each of $(wc -l <<<"$said") sentences of oracles was said"
