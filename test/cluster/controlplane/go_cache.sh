# What is built with Go once and kept outside of the tree. Sourced by each build.sh, with `set -euo pipefail`, `here` (the folder
# of its go.mod) and `name` (its own, for messages); `modfile`, if another file than that go.mod says the versions; `cgo=1`, if a
# package needs a C compiler.
# shellcheck shell=bash disable=SC2154

# shellcheck source=quietly.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/quietly.sh"

modfile=${modfile:-$here/go.mod}

die() {
  printf '%s: %s\n' "$name" "$*" >&2
  exit 1
}

# Where the results called NAME are kept.
go_cache() {
  [[ -n ${CDOM_CACHE:-} || -n ${XDG_CACHE_HOME:-} || -n ${HOME:-} ]] ||
    die "knows no place for the result. Set HOME, or CDOM_CACHE to a directory for it."
  printf '%s\n' "${CDOM_CACHE:-${XDG_CACHE_HOME:-${HOME:-}/.cache}/cdom}/$1"
}

# The version of a module in go.mod, which is the one place that names them.
required() { awk -v module="$1" '$1 == module && $2 ~ /^v/ { print $2; exit }' "$modfile"; }
version_of() {  # version_of MODULE: the same, which must be there
  local version
  version=$(required "$1")
  [[ -n $version ]] || die "$modfile names no version of $1. Restore the file."
  printf '%s\n' "$version"
}

# Go 1.21 and later fetch the toolchain that go.mod asks for; an older one fails on go.mod in words that do not say so.
need_go() {
  local needed found fix
  needed=$(awk '$1 == "go" { print $2; exit }' "$modfile")
  fix="Install Go $needed or later (https://go.dev/dl) and put its bin directory on PATH"
  command -v go >/dev/null || die "needs 'go' for the first build and finds none on PATH. $fix."
  found=$(GOTOOLCHAIN=local go env GOVERSION 2>/dev/null || true)
  [[ $found =~ ^go([0-9]+)\.([0-9]+) ]] || die "cannot tell the version of $(command -v go). $fix."
  if ((BASH_REMATCH[1] == 1 && BASH_REMATCH[2] < 21)); then
    die "$(command -v go) is $found, which is too old. $fix."
  fi
}

# build_once DIR COMMAND...: unless DIR is there, runs COMMAND with a directory as its last argument, which becomes DIR in one
# rename when it is complete: if DIR is there, it is usable.
build_once() {
  local dir=$1 cache
  shift
  [[ ! -d $dir ]] || return 0
  need_go
  cache=$(dirname -- "$dir")
  mkdir -p -- "$cache" || die "cannot make $cache. Set CDOM_CACHE to a directory that you can write."
  exec {lock}>"$cache/.lock"
  if ! flock --nonblock "$lock"; then
    printf '%s: another build is running; waiting for it\n' "$here/build.sh" >&2
    flock "$lock"
  fi
  [[ ! -d $dir ]] || return 0
  # Under the lock, any other partial build is what a killed one left behind.
  rm -rf -- "$cache"/partial.*
  partial=$(mktemp -d -- "$cache/partial.XXXXXX")
  trap 'rm -rf -- "$partial"' EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
  "$@" "$partial"
  chmod 755 "$partial"
  mv -T -- "$partial" "$dir"
}

# What every build has beside its own options; a result's key holds it. Debugging information is cut off at the end anyway,
# and making it takes an eighth of the time.
go_options=(-buildvcs=false -trimpath -gcflags=all=-dwarf=false)

# go_key [FILE]...: the name of a result that is made from these files beside go.mod and go.sum, with `options`.
go_key() {
  local key
  key=$({
    cat -- "${modfile%.mod}.sum" "$modfile" "$@"
    printf '%s\n' "${options[@]}" "${go_options[@]}"
  } | sha256sum)
  printf '%s\n' "${key:0:16}"
}

# build_packages WHAT TIME PACKAGE... OUT: with `options`. TIME is what the first build takes; empty: hardly any.
build_packages() {
  local what=$1 time=$2 out=${!#} package started=$SECONDS
  printf '%s: building %s%s\n' "$name" "$what" "${time:+; the first time takes $time}" >&2
  for package in "${@:3:$#-3}"; do go_build "$out" "$package" "${options[@]}"; done
  printf '%s: built in %d s\n' "$name" $((SECONDS - started)) >&2
}

# go_build OUT PACKAGE [options of go build]...: OUT/build.log has what Go says.
go_build() {
  local out=$1 package=$2
  shift 2
  local failed="'go build' in $here failed: see its messages above. It needs a Go module proxy (go env GOPROXY)."
  quietly "$out/build.log" modules_fetched in_module "$out/packages" list -deps "$@" "$package" || die "$failed"
  quietly "$out/build.log" packages_compiled in_module /dev/null build -p 2 -v "$@" -o "$out/" "$package" || die "$failed"
  rm -- "$out/packages"
}

modules_fetched() { printf '%d modules fetched' "$(grep -c '^go: downloading' "$1")"; }
packages_compiled() {
  printf '%d packages compiled, of at most %d' "$(grep -vc '^go: ' "$1")" "$(wc -l <"${1%/*}/packages")"
}

# in_module OUTPUT ARGUMENTS of go...: GOOS and GOARCH are emptied because the programs run here, and GOWORK because a workspace
# around this tree would replace the versions in go.mod. Each compiler takes up to 1 GB, hence -p 2 above; as long as it
# takes less it collects its garbage seldom, which saves it a seventh of its time.
in_module() {
  local output=$1
  shift
  (
    cd -- "$here" || exit
    GOOS='' GOARCH='' GOWORK=off CGO_ENABLED=${cgo:-0} GOGC=400 GOMEMLIMIT=1GiB go "$1" -modfile="$modfile" -mod=readonly "${go_options[@]}" "${@:2}" >"$output" {lock}>&-
  )
}
