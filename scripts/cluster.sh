#!/usr/bin/env bash
# A Kubernetes cluster on this machine, to play with: real etcd, kube-apiserver, kube-controller-manager and
# kube-scheduler, with simulated GPU nodes and cdom; with nothing else; or with real kubelets that run containers. For people;
# tests call test/cluster/controlplane/controlplane and test/cluster/realnodes/realnodes themselves.
set -euo pipefail

repo=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
bin=$repo/build/release/bin
controlplane=$repo/test/cluster/controlplane
realnodes=$repo/test/cluster/realnodes/realnodes

usage() {
  cat <<'USAGE'
Usage: scripts/cluster.sh up [options]         start a cluster with 36 simulated GPU nodes and cdom's CRDs, policies and
                                               controller; options as of test/cluster/controlplane/controlplane up
       scripts/cluster.sh up --bare [options]  a control plane and nothing else
       scripts/cluster.sh up --real-nodes N    with N nodes that run containers, 1 to 4, in namespaces of this machine
       scripts/cluster.sh kubectl ARGUMENTS    run the cluster's own kubectl as its administrator
       scripts/cluster.sh node COMMAND NODE    what befalls a simulated node: kill, revive, reboot, remove, stall-daemon,
                                               unstall-daemon, stop-plugin or start-plugin, such as `node kill node-003`;
                                               the node `member` is the first member of a domain
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
  up | down | kubectl | node | load | in) command=$1 ;;
  '') misuse "say 'up', 'kubectl', 'node', 'load', 'in' or 'down'" ;;
  *) misuse "'$1' is none of 'up', 'kubectl', 'node', 'load', 'in' and 'down'" ;;
esac
shift

[[ -n ${CDOM_CLUSTER_DIR:-} || -n ${XDG_STATE_HOME:-} || -n ${HOME:-} ]] ||
  die "knows no place for the cluster. Set HOME, or CDOM_CLUSTER_DIR to a directory for it."
stage=$(realpath -m -- "${CDOM_CLUSTER_DIR:-${XDG_STATE_HOME:-${HOME:-}/.local/state}/cdom/cluster}")
admin_kubeconfig=$stage/plane/admin.kubeconfig
has_real_nodes() { [[ -e $stage/.realnodes ]]; }
# shellcheck source=../test/e2e/stage.sh
source "$repo/test/e2e/stage.sh"
# shellcheck source=../test/cluster/controlplane/quietly.sh
source "$controlplane/quietly.sh"
# shellcheck source=../test/cluster/playground.sh
source "$repo/test/cluster/playground.sh"

case $command in
  up)
    for argument; do
      if [[ $argument == -h || $argument == --help ]]; then
        usage
        printf '\n'
        exec "$controlplane/controlplane" --help
      fi
    done
    if [[ -e $admin_kubeconfig ]] || has_real_nodes; then
      die "there is a cluster in $stage already. End it first: scripts/cluster.sh down"
    fi
    if [[ ${1-} == --real-nodes ]]; then
      (($# == 2)) || misuse "--real-nodes needs a number, and takes no other options"
      printf 'cluster.sh: starting a cluster in %s\n' "$stage" >&2
      "$realnodes" up "$stage" --nodes "$2"
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
    printf 'cluster.sh: starting a cluster in %s\n' "$stage" >&2
    if [[ ${1-} == --bare ]]; then
      mkdir -p "$stage"
      plane_up "${@:2}"
      cat <<NEXT

The cluster has no nodes, and nothing of cdom. Go on with:
  scripts/cluster.sh kubectl get namespaces   the kubectl of the cluster's own version
  export KUBECONFIG=${admin_kubeconfig@Q}
  scripts/cluster.sh down                     when you are done; nothing is kept
NEXT
      exit 0
    fi
    playground_up "$@"
    controller_log=$stage/controller.log
    cat <<NEXT

cdom runs on 36 simulated nodes with four GPUs each, in two NVLink cliques. Try:
  scripts/cluster.sh kubectl apply -f examples/quickstart.yaml    a ComputeDomain, and four pods that share it for 10 minutes
  scripts/cluster.sh kubectl get cdom -o wide --watch             see it become ready
  scripts/cluster.sh node kill member                             a member is lost; the watch shows it after 10 seconds

  export KUBECONFIG=${admin_kubeconfig@Q}    for a kubectl of yours
  tail -f ${controller_log@Q}    the controller's log; it is started again when it ends
  scripts/cluster.sh down              when you are done; nothing is kept
NEXT
    ;;
  down)
    (($# == 0)) || misuse "down takes no arguments, got '$1'"
    outcome="the cluster in $stage has ended, and its data is removed"
    if has_real_nodes; then
      "$realnodes" down "$stage"
    else
      [[ -e $admin_kubeconfig ]] || outcome="there was no cluster in $stage"
      # Also then: one that was cut off while it was starting may have left something.
      playground_down
    fi
    printf 'cluster.sh: %s\n' "$outcome" >&2
    ;;
  node)
    (($# == 2)) || misuse "node needs a command and the name of a node, such as: node kill node-003"
    [[ -e $stage/running ]] || die "there is no cluster with simulated nodes in $stage. Start it: scripts/cluster.sh up"
    happens=(kill revive reboot remove stall-daemon unstall-daemon stop-plugin start-plugin)
    [[ " ${happens[*]} " == *" $1 "* ]] || die "a node knows no '$1', but: ${happens[*]}"
    node=$2
    if [[ $node == member ]]; then
      plane_bin=$("$controlplane/build.sh")
      node=$(kubectl get computedomains --all-namespaces -o 'jsonpath={.items[*].status.nodes[*].name}')
      node=${node%% *}
      [[ -n $node ]] || die "no domain has a member. Make one: scripts/cluster.sh kubectl apply -f examples/quickstart.yaml"
    fi
    said=$(nodesim "$1?node=$node") || die "$1 $node: $said"
    echo "$1 $node: done"
    if [[ $1 == kill ]]; then
      echo "Kubernetes notices it after 10 seconds. To bring it back: scripts/cluster.sh node revive $node"
    fi
    ;;
  load | in)
    has_real_nodes || die "there is no cluster with real nodes in $stage. Start it: scripts/cluster.sh up --real-nodes 2"
    if [[ $command == load ]]; then
      (($# == 2)) || misuse "load needs the folder of an OCI layout, and a name for the image"
    fi
    exec "$realnodes" "$command" "$stage" "$@"
    ;;
  kubectl)
    if has_real_nodes; then exec "$realnodes" kubectl "$stage" "$@"; fi
    [[ -r $admin_kubeconfig ]] || die "there is no cluster in $stage. Start it: scripts/cluster.sh up"
    # Never one from PATH: it may be of any version. KUBECONFIG instead of a flag, so that plugins get it too.
    bin=$("$controlplane/build.sh")
    KUBECONFIG=$admin_kubeconfig exec "$bin/kubectl" "$@"
    ;;
esac
