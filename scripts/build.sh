#!/usr/bin/env bash
# Configures a preset and builds targets of it. Who comes meanwhile for the same preset waits: two builds in one folder
# would take each other's half-written files.
#
#   scripts/build.sh [--fresh] PRESET TARGET...    --fresh: forgets what was found out when it was configured before
set -euo pipefail

repo=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
options=()
if [[ ${1:-} == --fresh ]]; then
  options=(--fresh)
  shift
fi
if (($# < 2)); then
  echo "build: say a preset and at least one target; CMakePresets.json has the presets" >&2
  exit 2
fi
preset=$1
shift

cd "$repo"
mkdir -p build
exec {lock}>"build/$preset.lock"
flock --nonblock "$lock" || {
  echo "build: waits for another build in build/$preset" >&2
  flock "$lock"
}
# Objects built in another checkout serve here too.
export CCACHE_BASEDIR=$repo CCACHE_NOHASHDIR=1
# A folder that is configured stays so: ninja itself sees when a CMakeLists.txt has changed, and while CMake writes its
# files again, a test run that reads them fails.
configured() {
  [[ ${#options[@]} == 0 && build/$preset/build.ninja -nt CMakePresets.json ]]
}
# A process that outlives the build, such as a compiler's server, must not keep others waiting.
configured || cmake "${options[@]}" --preset "$preset" {lock}>&-
cmake --build --preset "$preset" --target "$@" {lock}>&-
