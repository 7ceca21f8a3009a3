# Long work without noise. Sourced by bash with `set -euo pipefail`.
# shellcheck shell=bash

# quietly LOG HOW_FAR COMMAND...: runs COMMAND with all that it prints in LOG. Once a minute standard error gets a line with
# what HOW_FAR says, a function that reads LOG; and, if COMMAND fails, the end of LOG.
quietly() {
  local log=$1 how_far=$2 ticker status=0
  shift 2
  : >"$log"
  (
    trap 'exit 0' INT TERM
    minutes=0
    # A pause without a process, which would outlive this one.
    until read -rt "${quietly_every:-60}" <> <(:) || ! kill -0 "$$" 2>/dev/null; do
      printf '  %d min: %s\n' $((++minutes)) "$("$how_far" "$log")"
    done
  ) >&2 &
  ticker=$!
  "$@" >"$log" 2>&1 || status=$?
  kill "$ticker" 2>/dev/null || true
  wait "$ticker" 2>/dev/null || true
  ((status == 0)) || tail -n 40 "$log" >&2
  return "$status"
}

# build_quietly LOG PRESET TARGET...: scripts/build.sh. Says so at once if another build has to end first. Uses: repo.
build_quietly() {
  local lock=$repo/build/$2.lock
  if [[ -e $lock ]] && ! flock --nonblock "$lock" true; then
    echo "  another build runs in $repo/build/$2; this one begins when it has ended" >&2
  fi
  quietly "$1" steps_built "$repo/scripts/build.sh" "${@:2}"
}
steps_built() {
  local built
  built=$(grep -oE '^\[[0-9]+/[0-9]+\]' "$1" | tail -n 1)
  if [[ -n $built ]]; then echo "built $built"; else tail -n 1 "$1"; fi
}
