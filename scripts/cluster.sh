#!/usr/bin/env bash
# A Kubernetes control plane on this machine, to play with: real etcd, kube-apiserver, kube-controller-manager
# and kube-scheduler, but no kubelet, so no container ever runs. For people; tests call
# test/controlplane/controlplane themselves.
set -euo pipefail

controlplane=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../test/controlplane" && pwd)

usage() {
  cat <<'USAGE'
Usage: scripts/cluster.sh up [options]       start the cluster; options as of test/controlplane/controlplane up
       scripts/cluster.sh kubectl ARGUMENTS  run the cluster's own kubectl as its administrator
       scripts/cluster.sh down               end the cluster and remove all it holds

The cluster is in ${XDG_STATE_HOME:-~/.local/state}/cdom/cluster; set CDOM_CLUSTER_DIR to have it, or a second
one, elsewhere. The first `up` builds Kubernetes, which takes several minutes and needs Go.
USAGE
}

die() {
  printf 'cluster.sh: %s\n' "$*" >&2
  exit 1
}

misuse() {
  printf 'cluster.sh: %s\n\n' "$*" >&2
  usage >&2
  exit 2
}

case ${1-} in
  -h | --help)
    usage
    exit 0
    ;;
  up | down | kubectl) command=$1 ;;
  '') misuse "say 'up', 'kubectl' or 'down'" ;;
  *) misuse "'$1' is none of 'up', 'kubectl' and 'down'" ;;
esac
shift

[[ -n ${CDOM_CLUSTER_DIR:-} || -n ${XDG_STATE_HOME:-} || -n ${HOME:-} ]] ||
  die "knows no place for the cluster. Set HOME, or CDOM_CLUSTER_DIR to a directory for it."
dir=$(realpath -m -- "${CDOM_CLUSTER_DIR:-${XDG_STATE_HOME:-${HOME:-}/.local/state}/cdom/cluster}")
kubeconfig=$dir/admin.kubeconfig

case $command in
  up)
    for argument; do
      if [[ $argument == -h || $argument == --help ]]; then
        usage
        printf '\n'
        exec "$controlplane/controlplane" --help
      fi
    done
    [[ ! -e $kubeconfig ]] ||
      die "there is a cluster in $dir already. End it first: scripts/cluster.sh down"
    printf 'cluster.sh: starting a control plane in %s\n' "$dir" >&2
    "$controlplane/controlplane" up "$dir" "$@"
    cat <<NEXT

Go on with:
  scripts/cluster.sh kubectl get namespaces   the kubectl of the cluster's own version
  export KUBECONFIG=${kubeconfig@Q}
  scripts/cluster.sh down                     when you are done; nothing is kept
NEXT
    ;;
  down)
    (($# == 0)) || misuse "down takes no arguments, got '$1'"
    outcome="the cluster in $dir has ended, and its data is removed"
    [[ -e $kubeconfig ]] || outcome="there was no cluster in $dir"
    # Also then: one that was cut off while it was starting may have left something.
    "$controlplane/controlplane" down "$dir"
    printf 'cluster.sh: %s\n' "$outcome" >&2
    ;;
  kubectl)
    [[ -r $kubeconfig ]] || die "there is no cluster in $dir. Start it: scripts/cluster.sh up"
    # Never one from PATH: it may be of any version. KUBECONFIG instead of a flag, so that plugins get it too.
    bin=$("$controlplane/build.sh")
    KUBECONFIG=$kubeconfig exec "$bin/kubectl" "$@"
    ;;
esac
