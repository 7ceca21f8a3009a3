#!/usr/bin/env bash
# Runs one step of the suite, and says at its end how many seconds of processor it took.
#
#   step.sh NAME COMMAND...       what it prints is also in build/suite/logs, from where run.py sees how far it is
#
# CDOM_RESUME=FOLDER    what a step that passed has printed is kept there; a step that is there is not run again, and its
#                       output is printed once more
set -uo pipefail

name=$1
shift
file=${name//[^a-zA-Z0-9]/_}
log=build/suite/logs/$file
kept=${CDOM_RESUME:+$CDOM_RESUME/$file}
# What is built may have been built for another commit since; a build that is up to date takes no time.
if [[ $name == build:* ]]; then kept=; fi
if [[ -n $kept && -f $kept ]]; then
  echo "step: passed before on this commit, so it is not run again; remove $kept to run it"
  cat "$kept"
  exit 0
fi
mkdir -p build/suite/logs
status=0
"$@" 2>&1 | tee "$log" || status=$?
if [[ -n $kept && $status == 0 ]]; then mkdir -p "$CDOM_RESUME" && cp "$log" "$kept.part" && mv "$kept.part" "$kept"; fi
# Not into a pipe, where `times` would tell of a shell that has run nothing.
times > >(awk -F'[ms ]+' '{ sum += $1 * 60 + $2 + $3 * 60 + $4 } END { printf "step: %d s of processor\n", sum }')
wait $!
exit "$status"
