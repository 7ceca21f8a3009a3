#!/usr/bin/env bash
# A Kubernetes cluster on this machine, to play with: real etcd, kube-apiserver, kube-controller-manager and
# kube-scheduler; and with --real-nodes kubelets that run containers, else none. For people; tests call
# test/cluster/controlplane/controlplane and test/cluster/realnodes/realnodes themselves.
set -euo pipefail

tests=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../test" && pwd)
controlplane=$tests/cluster/controlplane
realnodes=$tests/cluster/realnodes/realnodes

usage() {
  cat <<'USAGE'
Usage: scripts/cluster.sh up [options]         start the cluster; options as of test/cluster/controlplane/controlplane up
       scripts/cluster.sh up --real-nodes N    with N nodes that run containers, 1 to 4, in namespaces of this machine
       scripts/cluster.sh kubectl ARGUMENTS    run the cluster's own kubectl as its administrator
       scripts/cluster.sh load FOLDER NAME     give all real nodes an image: an OCI layout, as scripts/image.sh makes it,
                                               under a name to which its tag is added
       scripts/cluster.sh in NODE COMMAND...   run a command in a real node, such as `in node-1 bash`
       scripts/cluster.sh down                 end the cluster and remove all it holds

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
  up | down | kubectl | load | in) command=$1 ;;
  '') misuse "say 'up', 'kubectl', 'load', 'in' or 'down'" ;;
  *) misuse "'$1' is none of 'up', 'kubectl', 'load', 'in' and 'down'" ;;
esac
shift

[[ -n ${CDOM_CLUSTER_DIR:-} || -n ${XDG_STATE_HOME:-} || -n ${HOME:-} ]] ||
  die "knows no place for the cluster. Set HOME, or CDOM_CLUSTER_DIR to a directory for it."
dir=$(realpath -m -- "${CDOM_CLUSTER_DIR:-${XDG_STATE_HOME:-${HOME:-}/.local/state}/cdom/cluster}")
kubeconfig=$dir/admin.kubeconfig
has_real_nodes() { [[ -e $dir/.realnodes ]]; }

case $command in
  up)
    for argument; do
      if [[ $argument == -h || $argument == --help ]]; then
        usage
        printf '\n'
        exec "$controlplane/controlplane" --help
      fi
    done
    if [[ -e $kubeconfig ]] || has_real_nodes; then
      die "there is a cluster in $dir already. End it first: scripts/cluster.sh down"
    fi
    if [[ ${1-} == --real-nodes ]]; then
      (($# == 2)) || misuse "--real-nodes needs a number, and takes no other options"
      printf 'cluster.sh: starting a cluster in %s\n' "$dir" >&2
      "$realnodes" up "$dir" --nodes "$2"
      cat <<'NEXT'

Go on with:
  scripts/cluster.sh kubectl get nodes        the kubectl of the cluster's own version, in the cluster's own network
  scripts/cluster.sh in node-1 bash           a shell in a node
  scripts/image.sh amd64 && scripts/cluster.sh load build/image/controller-amd64 registry.example.com/cdom-controller
  scripts/cluster.sh kubectl apply -k manifests/standalone
  scripts/cluster.sh down                     when you are done; nothing is kept
The nodes have the images cdom.test/pause:1 and cdom.test/work:1, and can pull none: no network leads out.
NEXT
      exit 0
    fi
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
    if has_real_nodes; then
      "$realnodes" down "$dir"
    else
      [[ -e $kubeconfig ]] || outcome="there was no cluster in $dir"
      # Also then: one that was cut off while it was starting may have left something.
      "$controlplane/controlplane" down "$dir"
    fi
    printf 'cluster.sh: %s\n' "$outcome" >&2
    ;;
  load | in)
    has_real_nodes || die "there is no cluster with real nodes in $dir. Start it: scripts/cluster.sh up --real-nodes 2"
    if [[ $command == load ]]; then
      (($# == 2)) || misuse "load needs the folder of an OCI layout, and a name for the image"
    fi
    exec "$realnodes" "$command" "$dir" "$@"
    ;;
  kubectl)
    if has_real_nodes; then exec "$realnodes" kubectl "$dir" "$@"; fi
    [[ -r $kubeconfig ]] || die "there is no cluster in $dir. Start it: scripts/cluster.sh up"
    # Never one from PATH: it may be of any version. KUBECONFIG instead of a flag, so that plugins get it too.
    bin=$("$controlplane/build.sh")
    KUBECONFIG=$kubeconfig exec "$bin/kubectl" "$@"
    ;;
esac
