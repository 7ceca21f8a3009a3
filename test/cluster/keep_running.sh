#!/usr/bin/env bash
# Runs a program, and starts it again when it has ended, as a kubelet does with a container, for as long as FILE is there. When
# FILE has been removed, and on SIGTERM, the program is ended, and then this ends. Meanwhile both have a shared lock on FILE.
#
#   keep_running.sh FILE COMMAND...
set -uo pipefail

file=$1
shift
stopping=false
trap 'stopping=true' INT TERM
exec {lock}<"$file"
flock --shared "$lock"
exec {pause}<> <(:)  # For a pause without a process.

should_run() { [[ -e $file ]] && ! $stopping; }
while should_run; do
  "$@" {pause}>&- &
  program=$!
  while should_run && kill -0 "$program" 2>/dev/null; do read -rt 0.2 -u "$pause"; done
  if ! should_run; then break; fi
  status=0
  wait "$program" || status=$?
  echo "keep_running: ${1##*/} has ended with status $status and starts again in a second" >&2
  read -rt 1 -u "$pause"
done

# Sent once: the controller takes a second signal for "at once".
kill -TERM "$program" 2>/dev/null
deadline=$((SECONDS + 30))
while kill -0 "$program" 2>/dev/null; do
  if ((SECONDS >= deadline)); then kill -KILL "$program"; fi
  read -rt 0.2 -u "$pause"
done
exit 0
