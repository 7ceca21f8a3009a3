#!/usr/bin/env bash
# A release as scripts/release.sh makes it, for both architectures: made again elsewhere without the compiler's cache it is the
# same, and its Debian package is installed, upgraded and purged in a Debian 12 of its own. Needs root, for chroot, and Debian's
# servers. Prints PASS or FAIL and a name for each case.
#
#   nightly_test.sh [PATTERN...]   all cases, or those whose name matches a regular expression
set -euo pipefail

repo=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../../.." && pwd)
# shellcheck source=../image/image.sh
source "$repo/test/packaging/image/image.sh"
release=$work/release
root=$work/debian  # A Debian 12 with what the package depends on.
registry_name=registry.example.net/site
later=9.0.0

# --- What is checked -------------------------------------------------------------------------------------------

the_same_commit_and_packages_give_the_same_release_without_the_compilers_cache() {
  elsewhere "$work/elsewhere"
  # Also where it was made at another time, of lists that are old by now.
  CCACHE_DISABLE=1 "$work/elsewhere/scripts/release.sh" "$registry_name" --packages "$release" --old-packages --output "$work/again"
  diff "$release/SHA256SUMS" "$work/again/SHA256SUMS"
}

files_are_those_of_the_sums_and_for_both_architectures() {
  local name
  (cd "$release" && sha256sum --check --strict --quiet SHA256SUMS)
  for name in cdom-controller-"$version".tar cdom-driver-"$version".tar cdom-controller_"$version"_{amd64,arm64}.deb packages.{amd64,arm64}.txt \
    cdom-{controller,driver}-"$version".{amd64,arm64}.spdx.json cdom-"$version".tgz cdom.yaml cdom-placement.yaml push.sh release-notes.md; do
    [[ -s $release/$name ]] || { echo "no $name"; return 1; }
  done
  for name in amd64 arm64; do
    [[ $(dpkg-deb --field "$release/cdom-controller_${version}_$name.deb" Architecture) == "$name" ]]
    dpkg-deb --fsys-tarfile "$release/cdom-controller_${version}_$name.deb" | tar -xO ./usr/bin/compute-domain-controller >"$work/program"
    cmp "$work/program" <(image_file "$name" usr/bin/compute-domain-controller)
  done
}
# image_file ARCHITECTURE PATH: of the controller's image in the release.
image_file() {
  local folder=$work/unpacked-$1 manifest
  mkdir -p "$folder"
  tar -xf "$release/cdom-controller-$version.tar" -C "$folder"
  manifest=$(jq -r --arg architecture "$1" '.manifests[] | select(.platform.architecture == $architecture).digest[7:]' \
    "$folder/blobs/sha256/$(jq -r '.manifests[0].digest[7:]' "$folder/index.json")")
  tar -xzOf "$folder/blobs/sha256/$(jq -r '.layers[-1].digest[7:]' "$folder/blobs/sha256/$manifest")" "$2"
}

a_registry_takes_both_architectures() {
  registry_up
  # Made for it, only push.sh would differ, and what names images.
  cp -r "$release" "$work/local"
  sed -i "s|^registry=.*|registry=$registry/site|" "$work/local/push.sh"
  # shellcheck disable=SC2046
  (cd "$work/local" && sha256sum $(cut -d ' ' -f 3 "$release/SHA256SUMS") >SHA256SUMS)
  "$work/local/push.sh" --plain-http | tee "$work/pushed.txt"
  local image
  for image in $(grep -oE '^[^ ]+@sha256:[0-9a-f]{64}$' "$work/pushed.txt"); do
    skopeo inspect --raw --tls-verify=false "docker://$image" | jq -e '[.manifests[].platform.architecture] == ["amd64", "arm64"]'
  done
  [[ $(grep -c '@sha256:' "$work/pushed.txt") == 2 ]]
}

lintian_finds_nothing() {
  lintian --fail-on error,warning "$release"/*.deb >"$work/lintian.txt"
  cat "$work/lintian.txt"
  [[ ! -s $work/lintian.txt ]]
}

# in_debian COMMAND...: there, with /proc, and without an environment.
in_debian() {
  # shellcheck disable=SC2016
  env -i PATH="$PATH" DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 unshare --mount bash -c \
    'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"' "$root" "$@"
}
debian_up() {
  mkdir -p "$cache/debootstrap"
  debootstrap --variant=minbase --include=ca-certificates,man-db,systemd --cache-dir="$cache/debootstrap" bookworm "$root" \
    http://deb.debian.org/debian >"$work/debootstrap.log" || { tail -n 20 "$work/debootstrap.log"; return 1; }
  (cd "$repo/scripts/image" && /usr/bin/python3 -Bc 'import debian; print(debian._sources())') >"$root/etc/apt/sources.list"
  cp /etc/resolv.conf "$root/etc/"
  in_debian apt-get -qq update
  # What it depends on stays when it is purged.
  # shellcheck disable=SC2046
  in_debian apt-get -qq install --no-install-recommends $(dpkg-deb --field "$deb" Depends | sed 's/([^)]*)//g; s/,//g') >/dev/null
  cp "$deb" "$work/"cdom-later.deb "$root/tmp/"
}
# What is in that Debian, without caches and logs.
everything() {
  (cd "$root" && find . -xdev \( -path ./proc -o -path ./run -o -path ./tmp -o -path ./var/cache -o -path ./var/log -o -path ./var/lib/apt \
    -o -path './var/lib/dpkg/*-old' -o -path './var/lib/dpkg/lock*' \) -prune -o -printf '%M %u %g %l ' \( -type f -exec sha256sum {} \; -o -printf '%p\n' \)) | sort
}
status_of_package() { in_debian dpkg-query -W -f '${db:Status-Status} ${Version}' cdom-controller; }

debian_package_is_installed_upgraded_and_purged_and_nothing_is_left() {
  local settings=$root/etc/cdom/controller.env
  dpkg-deb --raw-extract "$deb" "$work/later"
  sed -i "s/^Version: .*/Version: $later/" "$work/later/DEBIAN/control"
  dpkg-deb --root-owner-group --build "$work/later" "$work/cdom-later.deb"
  debian_up
  everything >"$work/before.txt"

  in_debian dpkg -i "/tmp/$(basename -- "$deb")"
  [[ $(status_of_package) == "installed $version" ]]
  [[ $(in_debian compute-domain-controller --version) == "cdom compute-domain-controller $version (revision $revision)" ]]
  in_debian man -P cat compute-domain-controller | tee "$work/page.txt"
  grep -q 'compute-domain-controller - controller of ComputeDomains' "$work/page.txt"
  grep -q /etc/cdom/kubeconfig "$work/page.txt"
  in_debian systemd-analyze verify cdom-controller.service >"$work/verified.txt" 2>&1
  cat "$work/verified.txt"
  [[ ! -s $work/verified.txt ]]
  [[ $(in_debian systemctl is-enabled cdom-controller.service) == enabled ]]

  echo IMAGE_NAME=registry.example.net/mine >>"$settings"
  touch "$root/etc/cdom/kubeconfig"
  in_debian dpkg -i /tmp/cdom-later.deb
  [[ $(status_of_package) == "installed $later" ]]
  grep -qx IMAGE_NAME=registry.example.net/mine "$settings"

  in_debian dpkg --remove cdom-controller
  [[ -f $settings && -f $root/etc/cdom/kubeconfig && ! -e $root/usr/bin/compute-domain-controller ]]
  in_debian dpkg --purge cdom-controller
  everything >"$work/after.txt"
  diff "$work/before.txt" "$work/after.txt"
}

# --- What is run ------------------------------------------------------------------------------------------------

cases_in "$work/cases" "$@"
"$repo/scripts/release.sh" "$registry_name" --old-packages --output "$release"
deb=$release/cdom-controller_${version}_$architecture.deb
check files_are_those_of_the_sums_and_for_both_architectures
check lintian_finds_nothing
check debian_package_is_installed_upgraded_and_purged_and_nothing_is_left
check a_registry_takes_both_architectures
check the_same_commit_and_packages_give_the_same_release_without_the_compilers_cache
summary
