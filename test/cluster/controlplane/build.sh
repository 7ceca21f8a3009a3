#!/usr/bin/env bash
# Builds etcd, kube-apiserver, kube-controller-manager, kube-scheduler and kubelet as one program, and kubectl, and
# prints the directory they are in. Standard output is that one line; everything else goes to standard error.
#
#   dir=$(test/cluster/controlplane/build.sh)
#   dir=$(CDOM_KUBERNETES=1.36.3 test/cluster/controlplane/build.sh)    another version than that of go.mod: see versions/
#
# The result is kept outside the tree, under a name made from all that decides what is built, so a second call
# is quick and two versions can lie side by side. The first build needs Go and takes several minutes.
set -euo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
name=controlplane/build.sh

modfile=$here/${CDOM_KUBERNETES:+versions/$CDOM_KUBERNETES/}go.mod

# shellcheck source=go_cache.sh
source "$here/go_cache.sh"
[[ -f $modfile ]] || die "CDOM_KUBERNETES: there is no version ${CDOM_KUBERNETES:-}, but: $(cd -- "$here/versions" && echo *)"

case ${1-} in
  '') ;;
  -h | --help)
    sed -n '2,9s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
    exit 0
    ;;
  *) die "takes no arguments, got '$1'. Call it as: dir=\$(test/cluster/controlplane/build.sh)" ;;
esac

version=$(required k8s.io/kubernetes)
[[ $version =~ ^v([0-9]+)\.([0-9]+)\. ]] ||
  die "$modfile names no version of k8s.io/kubernetes. Restore the file."
major=${BASH_REMATCH[1]}
minor=${BASH_REMATCH[2]}

# A module's build has no git tag to read, so the versions that the programs report are set here.
# client-go's is the one in the User-Agent, which audit logs show.
component=k8s.io/component-base/version
client=k8s.io/client-go/pkg/version
ldflags="-s -w"
ldflags+=" -X $component.gitVersion=$version -X $component.gitMajor=$major -X $component.gitMinor=$minor"
ldflags+=" -X $client.gitVersion=$version -X $client.gitMajor=$major -X $client.gitMinor=$minor"

key=$({
  cat -- "${modfile%.mod}.sum" "$modfile" "$here/main.go" "$here/kubectl/main.go"
  printf '%s\n' "$ldflags" "${go_options[@]}"
} | sha256sum)
dir=$(go_cache controlplane)/${key:0:16}

build() {
  local out=$1 program started=$SECONDS
  printf 'controlplane/build.sh: building Kubernetes %s and etcd %s; the first time takes 5 to 10 minutes\n' \
    "$version" "$(required go.etcd.io/etcd/server/v3)" >&2
  go_build "$out" . -ldflags "$ldflags"
  go_build "$out" ./kubectl -ldflags "$ldflags"
  for program in etcd kube-apiserver kube-controller-manager kube-scheduler kubelet; do
    ln -s controlplane "$out/$program"
  done
  "$out/kubectl" version --client >/dev/null ||
    die "the program that was built does not run: '$out/kubectl version --client' failed, see above."
  printf 'controlplane/build.sh: built in %d s\n' $((SECONDS - started)) >&2
}

build_once "$dir" build
printf '%s\n' "$dir"
