#!/usr/bin/env bash
# Gives everything that reads bytes of others the worst of them: builds preset asan, and for each target replays
# what test/fuzz/corpus and test/fuzz/found hold; with seconds, it searches on from there. Prints PASS or FAIL for each target, and
# for one that fails what it said, the input, and the command that repeats it. The last line is "N passed, N failed",
# where only what ran is counted.
#
#   scripts/fuzz.sh [SECONDS_EACH [TARGET...]]    no seconds: corpora alone; no target: all
#
# CDOM_FUZZ_SEED=N            the search begins elsewhere than with 1
# CDOM_FUZZ_UNIT_SECONDS=N    one input takes longer than that: it hangs (10)
# CDOM_FUZZ_PROGRAM=FILE      that is built already
# CDOM_FUZZ_KEEP=FOLDER       inputs that reach new code stay in FOLDER/TARGET, and are searched on from the next time
set -uo pipefail

repo=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
cd "$repo" || exit
seconds=${1:-0}
(($# == 0)) || shift
if [[ ! $seconds =~ ^[0-9]+$ ]]; then
  echo "fuzz: '$seconds' is no number of seconds" >&2
  exit 2
fi

work=$(mktemp -d "${TMPDIR:-/tmp}/cdom-fuzz.XXXXXX")
finish() {  # finish PASSED FAILED
  if (($2 > 0)); then echo "logs and inputs are in $work"; else rm -rf "$work"; fi
  echo "$1 passed, $2 failed"
  (($2 == 0 && $1 > 0))
  exit
}

if [[ -z ${CDOM_FUZZ_PROGRAM:-} ]] && ! scripts/build.sh asan cdom-fuzz >"$work/build.log" 2>&1; then
  echo "FAIL build of preset asan"
  tail -n 60 "$work/build.log"
  finish 0 1
fi

export repo work seconds program=${CDOM_FUZZ_PROGRAM:-$repo/build/asan/bin/cdom-fuzz} seed=${CDOM_FUZZ_SEED:-1}
export ASAN_OPTIONS=detect_leaks=1:strict_string_checks=1:symbolize=1
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
export LLVM_PROFILE_FILE=/dev/null  # What is counted for scripts/coverage.sh is not of these runs.
export ASAN_SYMBOLIZER_PATH=/usr/lib/llvm-19/bin/llvm-symbolizer
# Shorter inputs say the same sooner, and what is longer than this has a bound of its own.
readonly bytes_max=4096 megabytes_max=1024

run() {  # run TARGET
  local target=$1 began=$SECONDS status=0 runs input
  local own=$work/$target log=$work/$target.log corpus=$repo/test/fuzz/corpus/$target
  local found=${CDOM_FUZZ_KEEP:+$CDOM_FUZZ_KEEP/$target}
  found=${found:-$own/found}
  mkdir -p "$own" "$found" "$own/chosen"
  "$repo/test/fuzz/corpus.py" unpack "$target" "$own/chosen"
  local -a folders=("$found" "$own/chosen") until=("-max_total_time=$seconds")
  [[ -d $corpus ]] && folders+=("$corpus")
  ((seconds > 0)) || until=(-runs=0)
  "$program" "--target=$target" "${until[@]}" -seed="$seed" -max_len="$bytes_max" \
    -timeout="${CDOM_FUZZ_UNIT_SECONDS:-10}" -rss_limit_mb="$megabytes_max" -artifact_prefix="$own/" \
    -dict="$repo/test/fuzz/words.dict" -print_final_stats=1 "${folders[@]}" >"$log" 2>&1 </dev/null || status=$?
  runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
  if ((status == 0 && ${runs:-0} > 0)); then
    echo "PASS $target: $runs runs, seed $seed ($((SECONDS - began)) s)"
    return
  fi
  input=$(find "$own" -maxdepth 1 -type f | head -n 1)
  {
    echo "FAIL $target: status $status, seed $seed"
    grep -vE '^(#[0-9]+|INFO:|stat::|###### |\(dict|	|NEW_FUNC)' "$log" | head -n 60
    if [[ -n $input ]]; then echo "input: $input"; echo "again: $program --target=$target $input"; fi
  } >"$own/report"
  cat "$own/report"
}
export -f run
export bytes_max megabytes_max

targets=("$@")
if ((${#targets[@]} == 0)); then mapfile -t targets < <("$program" --list); fi
printf '%s\n' "${targets[@]}" | xargs -P 2 -I{} bash -c 'run "$1"' fuzz {} | tee "$work/results"
finish "$(grep -c '^PASS ' "$work/results")" "$(grep -c '^FAIL ' "$work/results")"
