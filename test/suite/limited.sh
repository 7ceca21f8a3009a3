#!/bin/sh
# limited.sh PROGRAM ARGUMENT...: how CTest starts a program of unit tests, which ends after two minutes of processor time. So what
# goes round for ever ends on a machine of any load, and is told from what waits.
seconds=${CDOM_PROCESSOR_SECONDS:-120}
ulimit -S -t "$seconds"
"$@"
status=$?
if [ "$status" -eq 152 ]; then  # 128 + SIGXCPU.
  echo "limited.sh: $1 was ended: a program of unit tests has $seconds s of processor time" >&2
fi
exit "$status"
