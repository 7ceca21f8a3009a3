# The cases of a script, and the lines that say what came of them, which scripts/test.sh counts: "PASS name (3 s)" or
# "FAIL name (3 s)" with the end of what it printed. Sourced by bash with `set -euo pipefail`.
#
# Who sources this calls cases_in, then run_case or check for each case, and summary as its last command.
# shellcheck shell=bash

case_root=      # What each case printed, and `results`: a line PASS or FAIL for each.
wanted=()       # Regular expressions of names; none: all.
figure=         # What a case measured, if it says so; behind its line.
lines_shown=40  # Of one that fails.
after_failure=  # A function that makes good, or keeps, what a case left that failed: after_failure NAME.

cases_in() {  # cases_in FOLDER [PATTERN...]
  case_root=$1
  wanted=("${@:2}")
  mkdir -p "$case_root"
  : >"$case_root/results"
}
is_wanted() {
  local pattern
  ((${#wanted[@]} > 0)) || return 0
  for pattern in "${wanted[@]}"; do
    if [[ $1 =~ $pattern ]]; then return 0; fi
  done
  return 1
}

# run_case NAME: a function. It runs in this shell, so that the processes that it starts are known; set -e does not hold in a
# condition, so each step of it ends in `|| return 1`.
run_case() {
  local began=$SECONDS outcome=PASS
  is_wanted "$1" || return 0
  figure=
  "$1" >"$case_root/$1.out" 2>&1 || outcome=FAIL
  came_out "$outcome" "$1" "$began"
}

# check NAME: a function. It runs with errexit on, in a shell of its own, with which its traps and variables end.
check() {
  local began=$SECONDS outcome=PASS code
  is_wanted "$1" || return 0
  figure=
  # Not in a condition: that would turn errexit off inside.
  set +e
  (
    set -eE
    # Not where only output is taken, $(grep -c ...), of which it would become a part.
    level=$BASH_SUBSHELL
    trap '((BASH_SUBSHELL > level)) || where_it_failed "${BASH_SOURCE[0]}:$LINENO"' ERR
    "$1"
  ) >"$case_root/$1.out" 2>&1
  code=$?
  set -e
  ((code == 0)) || outcome=FAIL
  came_out "$outcome" "$1" "$began"
}

where_it_failed() {  # where_it_failed FILE:LINE
  echo "at ${1##*/}: $(sed -n "${1##*:}p" "${1%:*}" | sed 's/^ *//')"
}

came_out() {  # came_out PASS|FAIL NAME BEGAN: of a case that began at that value of SECONDS
  echo "$1 $2" >>"$case_root/results"
  # In one piece: others may write meanwhile.
  echo "$1 $2 ($((SECONDS - $3)) s)${figure:+: $figure}$([[ $1 == PASS ]] || what_failed "$2")"
  if [[ $1 == FAIL && -n $after_failure ]]; then "$after_failure" "$2" >"$case_root/$2.after.out" 2>&1 || true; fi
}
what_failed() {
  echo
  tail -n "$lines_shown" "$case_root/$1.out" || true
  tell_more
}
tell_more() { :; }  # For who sources this: what else helps where a case failed, such as a log.

all_passed() { grep -q '^PASS ' "$case_root/results" && ! grep -q '^FAIL ' "$case_root/results"; }
summary() {
  echo "$(grep -c '^PASS ' "$case_root/results" || true) passed, $(grep -c '^FAIL ' "$case_root/results" || true) failed"
  all_passed
}

# refused TEXT COMMAND...: the command fails and says TEXT.
refused() { refused_with '[1-9]*' "$@"; }
# refused_with STATUS TEXT COMMAND...: it ends with this status, which is a pattern, and says TEXT.
refused_with() {
  local status=0 output
  output=$("${@:3}" 2>&1) || status=$?
  # shellcheck disable=SC2053
  if [[ $status == $1 && $output == *"$2"* ]]; then return 0; fi
  printf 'status %d, not %s with "%s": %s\n%s\n' "$status" "$1" "$2" "${*:3}" "$output"
  return 1
}
