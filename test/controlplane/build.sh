#!/usr/bin/env bash
# Builds etcd, kube-apiserver, kube-controller-manager, kube-scheduler and kubectl as one program and prints
# the directory they are in. Standard output is that one line; everything else goes to standard error.
#
#   dir=$(test/controlplane/build.sh)
#
# The result is kept outside the tree, under a name made from all that decides what is built, so a second call
# is quick and two versions can lie side by side. The first build needs Go and takes several minutes.
set -euo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)

die() {
  printf 'controlplane/build.sh: %s\n' "$*" >&2
  exit 1
}

case ${1-} in
  '') ;;
  -h | --help)
    sed -n '2,8s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
    exit 0
    ;;
  *) die "takes no arguments, got '$1'. Call it as: dir=\$(test/controlplane/build.sh)" ;;
esac

# go.mod is the one place that names the versions.
required() { awk -v module="$1" '$1 == module && $2 ~ /^v/ { print $2; exit }' "$here/go.mod"; }
version=$(required k8s.io/kubernetes)
[[ $version =~ ^v([0-9]+)\.([0-9]+)\. ]] ||
  die "$here/go.mod names no version of k8s.io/kubernetes. Restore the file."
major=${BASH_REMATCH[1]}
minor=${BASH_REMATCH[2]}
go_needed=$(awk '$1 == "go" { print $2; exit }' "$here/go.mod")

# A module's build has no git tag to read, so the versions that the programs report are set here.
# client-go's is the one in the User-Agent, which audit logs show.
component=k8s.io/component-base/version
client=k8s.io/client-go/pkg/version
ldflags="-s -w"
ldflags+=" -X $component.gitVersion=$version -X $component.gitMajor=$major -X $component.gitMinor=$minor"
ldflags+=" -X $client.gitVersion=$version -X $client.gitMajor=$major -X $client.gitMinor=$minor"

[[ -n ${CDOM_CACHE:-} || -n ${XDG_CACHE_HOME:-} || -n ${HOME:-} ]] ||
  die "knows no place for the result. Set HOME, or CDOM_CACHE to a directory for it."
cache=${CDOM_CACHE:-${XDG_CACHE_HOME:-${HOME:-}/.cache}/cdom}/controlplane
key=$({
  cat -- "$here/go.sum" "$here/go.mod" "$here/main.go"
  printf '%s\n' "$ldflags"
} | sha256sum)
key=${key:0:16}
dir=$cache/$key

# The directory appears in one rename, when it is complete: if it is there, it is usable.
if [[ -x $dir/controlplane ]]; then
  printf '%s\n' "$dir"
  exit 0
fi

# Go 1.21 and later fetch the toolchain that go.mod asks for; an older one fails on go.mod in words that do
# not say so.
go_fix="Install Go $go_needed or later (https://go.dev/dl) and put its bin directory on PATH"
command -v go >/dev/null || die "needs 'go' for the first build and finds none on PATH. $go_fix."
go_found=$(GOTOOLCHAIN=local go env GOVERSION 2>/dev/null || true)
[[ $go_found =~ ^go([0-9]+)\.([0-9]+) ]] || die "cannot tell the version of $(command -v go). $go_fix."
if ((BASH_REMATCH[1] == 1 && BASH_REMATCH[2] < 21)); then
  die "$(command -v go) is $go_found, which is too old. $go_fix."
fi

mkdir -p -- "$cache" || die "cannot make $cache. Set CDOM_CACHE to a directory that you can write."
exec {lock}>"$cache/.lock"
if ! flock --nonblock "$lock"; then
  printf 'controlplane/build.sh: another build is running; waiting for it\n' >&2
  flock "$lock"
fi
if [[ -x $dir/controlplane ]]; then
  printf '%s\n' "$dir"
  exit 0
fi

# Under the lock, any other partial build is what a killed one left behind.
rm -rf -- "$cache"/partial.*
partial=$(mktemp -d -- "$cache/partial.XXXXXX")
trap 'rm -rf -- "$partial"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

printf 'controlplane/build.sh: building Kubernetes %s and etcd %s; the first time takes 5 to 10 minutes\n' \
  "$version" "$(required go.etcd.io/etcd/server/v3)" >&2
started=$SECONDS
# -p 2: each compiler takes up to 1 GB. GOOS and GOARCH are emptied because the programs run here, and GOWORK
# because a workspace around this tree would replace the versions in go.mod.
(
  cd -- "$here"
  GOOS='' GOARCH='' GOWORK=off CGO_ENABLED=0 \
    go build -p 2 -mod=readonly -buildvcs=false -trimpath -ldflags "$ldflags" \
    -o "$partial/controlplane" . {lock}>&-
) >&2 || die "'go build' in $here failed: see its messages above. It needs a Go module proxy (go env GOPROXY)."

for name in etcd kube-apiserver kube-controller-manager kube-scheduler kubectl; do
  ln -s controlplane "$partial/$name"
done
"$partial/kubectl" version --client >/dev/null ||
  die "the program that was built does not run: '$partial/kubectl version --client' failed, see above."
chmod 755 "$partial"
mv -T -- "$partial" "$dir"
printf 'controlplane/build.sh: built in %d s\n' $((SECONDS - started)) >&2
printf '%s\n' "$dir"
