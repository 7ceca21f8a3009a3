#!/bin/sh
# limited.sh PROGRAM ARGUMENT...: how CTest starts a program of unit tests. It ends the program after two minutes of processor time, so
# an endless loop ends, and a slow machine ends no program early.
seconds=${CDOM_PROCESSOR_SECONDS:-120}
ulimit -S -t "$seconds"
"$@"
status=$?
if [ "$status" -eq 152 ]; then  # 128 + SIGXCPU.
  echo "limited.sh: $1 was ended: a program of unit tests has $seconds s of processor time" >&2
fi
exit "$status"
