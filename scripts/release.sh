#!/usr/bin/env bash
# Makes a release: everything that somebody needs to install cdom from a registry of their own, in one folder.
#
#   scripts/release.sh REGISTRY [amd64|arm64...] [--output FOLDER] [--packages FOLDER] [--old-packages]
#
#   REGISTRY        where push.sh will push the images, such as registry.example.org/mine. cdom.yaml, the chart and the Debian
#                   package name the images there, by their digests
#   --output        the folder; build/release-<version> by default. A release that was there is replaced
#   --packages      the folder of an earlier release: its Debian packages (packages.<architecture>.txt), and not the newest
#                   ones. With them the same commit gives the same files
#   --old-packages  takes package lists that are older than a day. The release notes and a label of the images have their date
#
# Without an architecture it is for both; the one of this machine must be among them. The folder has:
#
#   cdom-controller-<version>.tar, cdom-driver-<version>.tar    the images as OCI archives, with a .spdx.json for each architecture
#   push.sh                          pushes them to REGISTRY, and checks their digests
#   cdom.yaml                        for `kubectl apply -f`: everything that a rack of GPU nodes needs
#   cdom-placement.yaml              the same on Kubernetes 1.36 or later: has the pods of a domain in one NVLink clique
#   cdom-<version>.tgz               the chart
#   cdom-controller_<version>_*.deb  the controller as a service of a Debian 12 host
#   packages.<architecture>.txt, release-notes.md, SHA256SUMS
#
# Environment: as of scripts/image.sh.
set -euo pipefail

repo=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
python=/usr/bin/python3
registry=
output=
packages=
old_packages=
architectures=()

misuse() {
  echo "release: $*; --help shows what there is" >&2
  exit 2
}
while (($# > 0)); do
  case $1 in
    amd64 | arm64) architectures+=("$1") ;;
    --output | --packages)
      [[ -n ${2:-} ]] || misuse "$1 needs a value"
      declare "${1#--}=$2"
      shift
      ;;
    --old-packages) old_packages=yes ;;
    -h | --help)
      sed -n '2,/^set/p' "${BASH_SOURCE[0]}" | sed '$d; s/^# \{0,1\}//'
      exit 0
      ;;
    -*) misuse "unknown option $1" ;;
    *)
      [[ -z $registry ]] || misuse "unknown word $1: the registry is $registry"
      registry=$1
      ;;
  esac
  shift
done
[[ -n $registry ]] || misuse "say which registry will have the images, such as registry.example.org/mine"
[[ $registry != *://* ]] || misuse "$registry: leave out ${registry%%://*}://, because names of images have no scheme"
# Without a dot or a port the first part would be a user of Docker Hub.
[[ $registry =~ ^[a-z0-9.-]+(:[0-9]+)?(/[a-z0-9]+([._-]+[a-z0-9]+)*)*$ && ${registry%%/*} =~ [.:]|^localhost$ ]] ||
  misuse "$registry is no name of a registry: give host[:port][/path] in lower case, such as registry.example.org/mine"
((${#architectures[@]} > 0)) || architectures=(amd64 arm64)
[[ " ${architectures[*]} " == *" $(dpkg --print-architecture) "* ]] ||
  misuse "add $(dpkg --print-architecture): the man page is made by a program that runs on this machine"
version=$(sed -nE 's/^project\(cdom VERSION ([0-9.]+).*/\1/p' "$repo/CMakeLists.txt")
: "${output:=$repo/build/release-$version}"
mkdir -p "$(dirname -- "$output")"
output=$(realpath -m -- "$output")
[[ ! -e $output || -f $output/SHA256SUMS ]] || misuse "--output $output has files of others: name a folder that does not exist"

work=$(mktemp -d "${TMPDIR:-/tmp}/cdom-release.XXXXXX")
trap 'rm -rf -- "$work"' EXIT
trap 'exit 130' INT TERM
umask 022
export PYTHONDONTWRITEBYTECODE=1

"$repo/scripts/deps.sh" release
# The Debian packages of each architecture, before anything is built of them.
cache=${CDOM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/cdom}/image
mkdir -p "$cache"
for architecture in "${architectures[@]}"; do
  record=$work/packages.$architecture.txt
  if [[ -n $packages ]]; then
    cp -- "$packages/packages.$architecture.txt" "$record" 2>/dev/null ||
      misuse "--packages $packages has no packages.$architecture.txt: name the folder of a release for $architecture"
  else
    "$python" "$repo/scripts/image/debian.py" "$architecture" "$cache" --record "$record" >/dev/null
  fi
  lists=$(sed -nE '1s/^.* Lists of (.*)\.$/\1/p' "$record")
  made=$(date -d "$lists" +%s 2>/dev/null || echo 0)
  (($(date +%s) - made <= 86400)) || [[ -n $old_packages ]] ||
    misuse "the package lists for $architecture are older than a day (${lists:-an unknown date}):" \
      "${packages:+leave out --packages, or }add --old-packages"
done

CDOM_REVISION=$(cmake "-DSOURCE=$repo" -P "$repo/cmake/revision.cmake" 2>&1)
[[ $CDOM_REVISION != *-dirty && $CDOM_REVISION != unknown ]] ||
  misuse "the sources are of revision $CDOM_REVISION: commit your changes, or name the revision in CDOM_REVISION"
: "${SOURCE_DATE_EPOCH:=$(git -C "$repo" log -1 --format=%ct 2>/dev/null || echo 0)}"
export CDOM_REVISION SOURCE_DATE_EPOCH

kustomize=$("$repo/scripts/release/kustomize/build.sh")/kustomize
for image in controller driver; do
  "$repo/scripts/image.sh" "${architectures[@]}" --image "$image" --packages "$work" --output "$work/$image" >"$work/$image.digest"
done
"$python" "$repo/scripts/release/release.py" "$registry" --images "$work" --output "$output" --version "$version" \
  --revision "$CDOM_REVISION" --epoch "$SOURCE_DATE_EPOCH" --kustomize "$kustomize build" --cache "$cache"
