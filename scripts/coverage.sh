#!/usr/bin/env bash
# Line and branch coverage of the planner by its own unit tests (llvm-cov 19). Exit status 0 only if every line and every
# branch was taken; what was not is printed.
set -euo pipefail

repo=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
cd "$repo"
build=build/asan
rules=(plan acceptance caveats children clique_content clique_pace clique_write daemon_pods deletion findings imex_reports labels members
  membership ownership plugins roll rooms roster status usage)
sources=("${rules[@]/#/controller/compute_domain/}")
sources=("${sources[@]/%/.cc}")
mapfile -t tests < <(printf '%s_test\n' "${rules[@]}" | while read -r test; do
  if [[ -e controller/compute_domain/$test.cc ]]; then echo "$test"; fi
done)

scripts/build.sh asan "${tests[@]}"
profiles=$(mktemp -d)
trap 'rm -rf "$profiles"' EXIT
objects=()  # The first program by itself, each other one behind --object.
for test in "${tests[@]}"; do
  program=$build/controller/compute_domain/$test
  LLVM_PROFILE_FILE=$profiles/$test.profraw "$program" --gtest_brief=1
  if ((${#objects[@]} > 0)); then objects+=(--object); fi
  objects+=("$program")
done
llvm-profdata-19 merge -sparse "$profiles"/*.profraw -o "$profiles/all.profdata"
llvm-cov-19 report "${objects[@]}" --instr-profile="$profiles/all.profdata" --show-region-summary=false "${sources[@]}"
missed=$(llvm-cov-19 export "${objects[@]}" --instr-profile="$profiles/all.profdata" --format=lcov "${sources[@]}" |
  awk -F'[:,]' '
    $1 == "SF" { file = $2; sub(/.*\/controller\//, "controller/", file) }
    $1 == "DA" && $3 == 0 { print file ":" $2 ": line not run" }
    $1 == "BRDA" && ($5 == "-" || $5 == 0) { print file ":" $2 ": a branch not taken" }' |
  grep -vFf <(grep -n '^ *CHECK(' "${sources[@]}" | sed -E 's/^([^:]+:[0-9]+):.*/\1: a branch/') || true)  # None is false.
if [[ -n $missed ]]; then
  echo "$missed"
  exit 1
fi
echo "every line and branch of ${#sources[@]} files was taken"
