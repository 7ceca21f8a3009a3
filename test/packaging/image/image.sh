# What the tests of the image share. Sourced by bash with `set -euo pipefail`, with `repo` set; sets `work`, a scratch
# folder that goes at the end.
# shellcheck shell=bash disable=SC2034,SC2154

# shellcheck source=../../e2e/cases.sh
source "$repo/test/e2e/cases.sh"
work=$(mktemp -d "${TMPDIR:-/tmp}/cdom-image-test.XXXXXX")
cache=${CDOM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/cdom}/image
version=$(sed -nE 's/^project\(cdom VERSION ([0-9.]+).*/\1/p' "$repo/CMakeLists.txt")
revision=$(cmake "-DSOURCE=$repo" -P "$repo/cmake/revision.cmake" 2>&1)
architecture=$(dpkg --print-architecture)
layout=$work/image   # As it was made, and
rootfs=$work/rootfs  # what is in it.
registry=
lines_shown=60

leave() {
  local status=$?
  trap - EXIT
  rm -rf -- "$work"
  exit "$status"
}
trap leave EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

image_in() {  # image_in TREE WORD...: makes an image of the tree, and prints its digest
  "$1/scripts/image.sh" "${@:2}" | tail -n 1
}
elsewhere() {  # elsewhere FOLDER: the tree as it is now, without its history, which is told
  mkdir -p "$1"
  (cd "$repo" && git ls-files -z --cached --others --exclude-standard | tar --null --ignore-failed-read -T - -cf -) | tar -xf - -C "$1"
  export CDOM_REVISION=$revision SOURCE_DATE_EPOCH
  SOURCE_DATE_EPOCH=$(git -C "$repo" log -1 --format=%ct)
}

manifest_of() {  # manifest_of LAYOUT: of one image
  local at
  at=$(jq -r '.manifests[0].digest[7:]' "$1/index.json")
  cat "$1/blobs/sha256/$at"
}
layers_of() { manifest_of "$1" | jq -c '.layers[]'; }
config_of() { cat "$1/blobs/sha256/$(manifest_of "$1" | jq -r '.config.digest[7:]')"; }
unpack() {  # unpack LAYOUT FOLDER
  local layer
  mkdir -p "$2"
  for layer in $(layers_of "$1" | jq -r '.digest[7:]'); do tar -xzf "$1/blobs/sha256/$layer" -C "$2"; done
}

has_compressed_at_most() {  # ... BYTES
  local size
  size=$(layers_of "$layout" | jq -s 'map(.size) | add')
  echo "$size bytes"
  ((size <= $1))
}
# As the layers say it: an unpacked copy is its owner's.
root_owns_it_all_and_nobody_else_may_write() {  # ... AT_LEAST, of files and folders
  local layer
  for layer in $(layers_of "$layout" | jq -r '.digest[7:]'); do
    tar --numeric-owner -tvzf "$layout/blobs/sha256/$layer"
  done >"$work/listed.txt"
  [[ $(wc -l <"$work/listed.txt") -gt $1 ]]
  ! grep -vE '^(drwxr-xr-x|-rw-r--r--|-rwxr-xr-x|lrwxrwxrwx) 0/0 ' "$work/listed.txt"
}

triplet=$(uname -m)-linux-gnu
# closed FOLDER: every library that an ELF file in it needs, and the loader, are in it too.
closed() {
  local file needed status=0
  while read -r file; do
    for needed in $(readelf --wide --dynamic "$1/$file" | sed -nE 's/.*\(NEEDED\).*\[(.*)\]/\1/p'); do
      [[ -e $1/usr/lib/$triplet/$needed || -e $1/usr/lib/$needed || -e $(dirname -- "$1/$file")/$needed ]] || { echo "$file needs $needed"; status=1; }
    done
    for needed in $(readelf --wide --program-headers "$1/$file" | sed -nE 's/.*program interpreter: (.*)\]/\1/p'); do
      [[ -e $1$needed ]] || { echo "$file needs $needed"; status=1; }
    done
  done < <(cd "$1" && find . -type f \( -perm /111 -o -name '*.so*' \) -printf '%P\n')
  return "$status"
}

# in_image PROGRAM ARGUMENT...: runs it in the unpacked image, as its user, with an empty environment.
in_image() { env -i LD_BIND_NOW=1 "$(command -v chroot)" --userspec="${user:-65532}:${user:-65532}" "$rootfs" "$@"; }

# Debian's docker-registry, unpacked: installed, it would be a service that listens on every address.
registry_program() {
  local there=$cache/docker-registry
  if [[ ! -x $there/usr/bin/docker-registry ]]; then
    mkdir -p "$work/download" "$cache"
    (cd "$work/download" && apt-get -qq -o APT::Sandbox::User=root download docker-registry) >&2
    dpkg-deb -x "$work"/download/docker-registry_*.deb "$work/download/root"
    mv -T "$work/download/root" "$there"
  fi
  echo "$there/usr/bin/docker-registry"
}
# A registry on loopback, under a port that is free, for as long as the case lasts. Sets `registry`.
registry_up() {
  local deadline=$((SECONDS + 60))
  # The log of a registry before this one names a port of its own.
  : >"$work/registry.log"
  cat >"$work/registry.yml" <<CONFIG
version: 0.1
log: {accesslog: {disabled: true}}
storage: {filesystem: {rootdirectory: $work/registry}}
http: {addr: "127.0.0.1:0"}
CONFIG
  "$(registry_program)" serve "$work/registry.yml" >>"$work/registry.log" 2>&1 &
  # shellcheck disable=SC2064
  trap "kill $! || true" EXIT
  until registry=$(grep -oE '127\.0\.0\.1:[0-9]+' "$work/registry.log" | grep -v ':0$' | head -n 1) && [[ -n $registry ]]; do
    ((SECONDS < deadline)) || { cat "$work/registry.log"; return 1; }
    read -rt 0.1 <> <(:) || true
  done
}
