#!/usr/bin/env bash
# room.sh FOLDER COMMAND...: runs the command under a root that also has /bats-libraries, where the reference's suite looks for
# them. The root is mounted on FOLDER in a mount namespace, and is the machine's otherwise.
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
