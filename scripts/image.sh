#!/usr/bin/env bash
# Makes an image as an OCI layout, without a container engine: of our programs, and of Debian 12's packages, which apt
# fetches. The last line is its digest, and the same sources and packages give the same one: for one architecture that
# of the image's manifest, for several that of the index over them.
#
#   scripts/image.sh amd64|arm64... [--image controller] [--output FOLDER] [--packages FILE]
#
#   --image    which one; `scripts/image/images.py` has the table of them
#   --output   the layout; build/image/<image>-<architectures> by default. What was there goes. What is in the image lies
#              beside it as FOLDER.<architecture>.spdx.json, and which packages it was made of as .packages.txt
#   --packages such a .packages.txt: these versions, and not the newest ones. For one architecture; or a folder, with a
#              packages.<architecture>.txt for each. Without it Debian must answer: lists of packages are at most an
#              hour old, and their date is a label of the image
#
# Environment: CDOM_REVISION and SOURCE_DATE_EPOCH where git cannot tell them; CDOM_SOURCE, the address of the sources
# for the image's labels; CDOM_APT_SOURCES, a list of a mirror's sources in apt's form; CDOM_CACHE.
set -euo pipefail

repo=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
python=/usr/bin/python3
image=controller
output=
packages=
architectures=()

misuse() {
  echo "image: $*; --help shows what there is" >&2
  exit 2
}
while (($# > 0)); do
  case $1 in
    amd64 | arm64) architectures+=("$1") ;;
    --image | --output | --packages)
      [[ -n ${2:-} ]] || misuse "$1 needs a value"
      declare "${1#--}=$2"
      shift
      ;;
    -h | --help)
      sed -n '2,/^set/p' "${BASH_SOURCE[0]}" | sed '$d; s/^# \{0,1\}//'
      exit 0
      ;;
    *) misuse "unknown word $1" ;;
  esac
  shift
done
((${#architectures[@]} > 0)) || misuse "say for which architecture: amd64, arm64"
[[ -z $packages || -d $packages || ${#architectures[@]} == 1 ]] ||
  misuse "--packages is the record of one architecture: make the images one by one, or name a folder of records"
# record ARCHITECTURE: the file of that architecture's packages; empty: the newest are wanted.
record() { if [[ -d $packages ]]; then echo "$packages/packages.$1.txt"; else echo "$packages"; fi; }
for architecture in "${architectures[@]}"; do
  [[ -z $packages || -r $(record "$architecture") ]] || misuse "--packages $(record "$architecture"): there is no such file"
done
: "${output:=$repo/build/image/$image-$(IFS=-; echo "${architectures[*]}")}"
mkdir -p "$(dirname -- "$output")"
output=$(realpath -m -- "$output")

umask 022
export PYTHONDONTWRITEBYTECODE=1
CDOM_REVISION=$(cmake "-DSOURCE=$repo" -P "$repo/cmake/revision.cmake" 2>&1)
: "${SOURCE_DATE_EPOCH:=$(git -C "$repo" log -1 --format=%ct 2>/dev/null || echo 0)}"
export CDOM_REVISION SOURCE_DATE_EPOCH
version=$(sed -nE 's/^project\(cdom VERSION ([0-9.]+).*/\1/p' "$repo/CMakeLists.txt")
cache=${CDOM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/cdom}/image
mkdir -p "$cache"

"$repo/scripts/deps.sh" image "${architectures[@]}"
work=$(mktemp -d "${TMPDIR:-/tmp}/cdom-image.XXXXXX")
trap 'rm -rf -- "$work"' EXIT
trap 'exit 130' INT TERM

# program ARCHITECTURE PACKAGES: builds what is in the image, and lays it down without symbols.
program() {
  local preset=release
  local -a options=()
  if [[ $1 != "$(dpkg --print-architecture)" ]]; then
    preset=release-$1
    options=(--fresh)  # Where the libraries lie changes with their versions.
  fi
  cd "$repo" && export CDOM_SYSROOT=$2/root
  scripts/build.sh "${options[@]}" "$preset" "image_$image" &&
    DESTDIR=$work/$1/program cmake --install "build/$preset" --prefix /usr --strip --component "$image"
}

built=()
for architecture in "${architectures[@]}"; do
  mkdir -p "$work/$architecture"
  found=$("$python" "$repo/scripts/image/debian.py" "$architecture" "$cache" --record "$work/$architecture/packages.txt" \
    ${packages:+--packages "$(record "$architecture")"})
  ln -s "$found" "$work/$architecture/packages"
  program "$architecture" "$found" >"$work/build.log" 2>&1 || {
    tail -n 40 "$work/build.log" >&2
    echo "image: the program does not build for $architecture" >&2
    exit 1
  }
  built+=("$architecture=$work/$architecture")
done
"$python" "$repo/scripts/image/image.py" --image "$image" --output "$output" --version "$version" \
  --revision "$CDOM_REVISION" --epoch "$SOURCE_DATE_EPOCH" --source "${CDOM_SOURCE:-}" --license "$repo/LICENSE" "${built[@]}"
