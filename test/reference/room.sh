#!/usr/bin/env bash
# room.sh FOLDER COMMAND...: runs the command under a root with /bats-libraries, from which NVIDIA's suite loads its libraries.
#
# The caller must be in a mount namespace of its own. The root is mounted on FOLDER; everything else in it is the machine's.
set -euo pipefail

root=$1
shift
mount -n -t tmpfs tmpfs "$root"
for entry in /*; do
  if [[ -L $entry ]]; then
    cp -P "$entry" "$root/"
  elif [[ -d $entry ]]; then
    mkdir "$root$entry"
    mount -n --rbind "$entry" "$root$entry"
  fi
done
ln -s usr/lib/bats "$root/bats-libraries"
exec chroot "$root" env -C "$PWD" "$@"
