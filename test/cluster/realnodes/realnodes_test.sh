#!/usr/bin/env bash
# Real nodes, and the controller in a cluster of them, from its image. Prints PASS or FAIL for each case.
#
#   realnodes_test.sh BIN_FOLDER [PATTERN...]   all cases, or those whose name matches a regular expression
#
# CDOM_NIGHTLY=1: cases that take many minutes, too.
set -euo pipefail

repo=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../../.." && pwd)
here=$repo/test/cluster/realnodes
bin=$(cd -- "$1" && pwd)
shift
# shellcheck source=guard.sh
source "$here/guard.sh"
# shellcheck source=layout.sh
source "$here/layout.sh"

# shellcheck source=../../e2e/cases.sh
source "$repo/test/e2e/cases.sh"

root=$(mktemp -d "${TMPDIR:-/tmp}/cdom-realnodes.XXXXXX")
cluster=$root/cluster
cases_in "$root/cases" "$@"
after_failure=keep_logs
export KUBECACHEDIR=$root/cache KUBERC=off

leave() {
  local status=$?
  trap - EXIT INT TERM
  "$here/realnodes" down "$cluster" || true
  "$here/realnodes" down "$root/other" || true
  if ((status == 0)); then rm -rf "$root"; else echo "realnodes: logs are in $root" >&2; fi
  exit "$status"
}
trap leave EXIT
trap 'exit 130' INT TERM

keep_logs() {  # keep_logs CASE
  mkdir -p "$root/$1.logs"
  cp -r "$cluster"/plane.log "$cluster"/nodes/*/log "$root/$1.logs" 2>/dev/null || true
}

# shellcheck source=../../e2e/stage.sh
source "$repo/test/e2e/stage.sh"
kubectl() { "$here/realnodes" kubectl "$cluster" "$@"; }
in_node() { "$here/realnodes" in "$cluster" "$@"; }
phase() { kubectl get pod "$1" -o 'jsonpath={.status.phase}'; }

# --- The nodes ---------------------------------------------------------------------------------------------------

# What a cluster could change of the machine, or leave behind on it.
machine() {
  ip -br link
  ip -br address
  ip route show table all
  sort /proc/self/mountinfo
  hostname
  cat /proc/sys/vm/{overcommit_memory,panic_on_oom} /proc/sys/kernel/{panic,panic_on_oops,keys/root_max*}
  cat /proc/sys/net/ipv4/ip_forward /proc/sys/kernel/random/boot_id
  # What the programs of nodes make where they are left to themselves. Others make other folders meanwhile.
  find /etc /opt /run /usr/libexec /var/lib /var/log -maxdepth 3 -type d |
    awk '/\/(containerd|kube[a-z]*|cni|cdi|nri|runc|netns|pods)/' | sort
}
cgroups() {  # Of the clusters of this test, as realnodes calls them; others may run meanwhile.
  local dir id
  for dir in "$cluster" "$root/other"; do
    id=$(sha256sum <<<"$dir")
    find /sys/fs/cgroup -type d -name "cdom-${id:0:8}-*"
  done | sort
}
namespaces() {  # Those that processes of the cluster are in and we are not.
  local process kind
  for process in "$cluster"/plane.pid "$cluster"/nodes/*/pid; do
    read -r process _ <"$process"
    for kind in mnt net pid_for_children uts ipc cgroup; do readlink "/proc/$process/ns/$kind"; done
  done | sort -u | grep -vxFf <(readlink /proc/self/ns/*)
}
inhabited() {  # inhabited FILE: which of the namespaces in FILE have a process
  find /proc -maxdepth 3 -path '/proc/[0-9]*/ns/*' -printf '%l\n' 2>/dev/null | sort -u | grep -xFf "$1"
}

a_machine_that_lacks_something_is_told_what_by_name() {
  mkdir "$root/tools" || return 1
  local tool
  for tool in bash cat curl dirname env flock gcc grep ip mkdir mknod mktemp mount nsenter openssl rm runc setsid true unshare; do
    ln -s "$(type -P "$tool")" "$root/tools/$tool" || return 1
  done
  env PATH="$root/tools" "$here/realnodes" check || return 1
  rm "$root/tools/runc" || return 1
  refused_with 69 'this machine lacks the program runc' env PATH="$root/tools" "$here/realnodes" check || return 1
  ln -sf "$(type -P false)" "$root/tools/unshare" || return 1
  refused_with 69 'this machine lacks the right to make namespaces' env PATH="$root/tools" "$here/realnodes" check || return 1
}

an_up_that_is_ended_or_killed_leaves_nothing() {
  local signal pid
  for signal in TERM KILL; do
    "$here/realnodes" up "$root/other" &
    pid=$!
    wait_for 60 "its first node has namespaces" test -e "$root/other/nodes/node-1/pid" || return 1
    [[ -n $(cgroups) ]] || return 1
    kill "-$signal" "$pid"
    wait "$pid" && return 1
    [[ $signal == TERM ]] || refused_with 1 'has a cluster already' "$here/realnodes" up "$root/other" || return 1
    "$here/realnodes" down "$root/other" || return 1
    [[ ! -e $root/other && -z $(cgroups) ]] || { ls -R "$root/other"; cgroups; return 1; }
  done
}

nodes_run_the_kubelet_and_containerd_of_our_versions_each_with_a_boot_of_its_own() {
  [[ $(kubectl get nodes -o 'jsonpath={.items[*].status.nodeInfo.kubeletVersion}') == 'v1.37.2 v1.37.2 v1.37.2' ]] || return 1
  local version
  version=$(awk '$1 == "github.com/containerd/containerd/v2" { print $2; exit }' "$here/go.mod")
  [[ $(kubectl get nodes -o 'jsonpath={.items[*].status.nodeInfo.containerRuntimeVersion}') == \
    "containerd://${version#v} containerd://${version#v} containerd://${version#v}" ]] || return 1
  [[ $({ kubectl get nodes -o 'jsonpath={range .items[*]}{.status.nodeInfo.bootID}{"\n"}{end}'
    cat /proc/sys/kernel/random/boot_id; } | sort -u | wc -l) == 4 ]]
}

who_speaks_to_it_from_another_network_is_refused() {
  local requests
  requests=$(wc -l <"$cluster/plane/audit.log")
  refused_with "$kRefused" 'this is not the network of the cluster' \
    "$here/inside.sh" "$cluster" "$cluster/bin/kubectl" --kubeconfig "$cluster/plane/admin.kubeconfig" get nodes || return 1
  # Nor does anybody become a node or a control plane outside of namespaces.
  refused_with "$kRefused" 'this is the network of the machine' "$here/node_init.sh" "$cluster" 1 2 "$(network)" /var/lib/kubelet || return 1
  refused_with "$kRefused" 'this is the network of the machine' "$here/plane_init.sh" "$cluster" 2 "$(network)" || return 1
  refused_with "$kRefused" 'this is the network of the machine' "$here/plane_init.sh" "$cluster" 2 '' || return 1
  # Nor from another node's network, though that is one of ours.
  refused_with "$kRefused" 'this is not the network of the cluster' in_node node-1 "$here/inside.sh" "$cluster" true || return 1
  [[ $(network) != "$("$here/realnodes" in "$cluster" plane readlink /proc/self/ns/net)" ]] || return 1
  # What is there comes from the cluster itself: kubectl calls itself so.
  ! tail -n "+$((requests + 1))" "$cluster/plane/audit.log" | grep '"userAgent":"kubectl/'
}

the_machine_itself_is_unchanged_while_they_run() {
  machine >"$root/machine.during"
  diff "$root/machine.before" "$root/machine.during"
}

pod() {  # pod NAME NODE ARGUMENTS...: runs work with these
  local name=$1 node=$2
  shift 2
  kubectl create -f - <<YAML
apiVersion: v1
kind: Pod
metadata: {name: $name, labels: {app: work}}
spec:
  nodeName: $node
  restartPolicy: Never
  terminationGracePeriodSeconds: 5
  containers: [{name: main, image: "cdom.test/work:1", args: [$(printf '"%s",' "$@")]}]
YAML
}
pod_is() { [[ $(phase "$1") == "$2" ]]; }

pods_of_two_nodes_reach_one_another_and_nobody_outside() {
  pod listens node-1 listen 80 || return 1
  wait_for 60 "a pod runs" pod_is listens Running || return 1
  local address
  address=$(kubectl get pod listens -o 'jsonpath={.status.podIP}')
  [[ $address == 10.244.1.* ]] || return 1
  pod asks node-2 ask "$address" 80 || return 1
  # An address of which the machine's network may know the way.
  pod strays node-2 ask "$(outside)" 80 || return 1
  wait_for 60 "a pod has asked" pod_is asks Succeeded || return 1
  [[ $(kubectl logs asks) == 'this is a pod' ]] || return 1
  wait_for 60 "a pod has asked outside" pod_is strays Failed || return 1
  kubectl logs strays | grep -E 'unreachable|No route' || return 1
  [[ $(kubectl exec listens -- /work ask 127.0.0.1 80) == 'this is a pod' ]]
}
outside() { ip -o route get 192.0.2.9 | sed -nE 's/.* via ([0-9.]+) .*/\1/p; t; s/.*/192.0.2.9/p' | head -n 1; }

# Said by name: who wants one enforced runs a network plugin, as test_real_nodes.py does.
a_network_policy_is_enforced_by_nobody_here() {
  kubectl create -f - <<'YAML' || return 1
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: nothing}
spec: {podSelector: {}, policyTypes: [Ingress, Egress]}
YAML
  pod asks-again node-2 ask "$(kubectl get pod listens -o 'jsonpath={.status.podIP}')" 80 || return 1
  wait_for 60 "a pod has asked" pod_is asks-again Succeeded || return 1
  [[ $(kubectl logs asks-again) == 'this is a pod' ]] || return 1
  kubectl delete networkpolicy/nothing pod/listens pod/asks pod/strays pod/asks-again --timeout=60s
}

nothing_is_left_of_them_on_the_machine() {
  namespaces >"$root/namespaces" || return 1
  (($(inhabited "$root/namespaces" | wc -l) >= 6 * 3)) || return 1
  (($(cgroups | wc -l) > 0)) || return 1
  "$here/realnodes" down "$cluster" || return 1
  [[ ! -e $cluster ]] || { find "$cluster"; return 1; }
  machine >"$root/machine.after"
  diff "$root/machine.before" "$root/machine.after" || return 1
  [[ -z $(cgroups) ]] || { cgroups; return 1; }
  ! inhabited "$root/namespaces" || return 1
  "$here/realnodes" down "$cluster"  # May be repeated.
}

# --- Run ---------------------------------------------------------------------------------------------------------

# Not a case that is left out: the caller needs to know.
if ! "$here/realnodes" check; then
  came_out FAIL the_machine_can_run_real_nodes "$SECONDS"
  exit 1
fi
machine >"$root/machine.before"
run_case a_machine_that_lacks_something_is_told_what_by_name
run_case an_up_that_is_ended_or_killed_leaves_nothing
the_cluster_comes_up() { CDOM_KEEP_LOGS=$root/up.logs "$here/realnodes" up "$cluster" --nodes 3; }
began=$SECONDS
if ! the_cluster_comes_up; then
  came_out FAIL the_cluster_comes_up "$began"
  exit 1
fi
came_out PASS the_cluster_comes_up "$began"
run_case nodes_run_the_kubelet_and_containerd_of_our_versions_each_with_a_boot_of_its_own
run_case who_speaks_to_it_from_another_network_is_refused
run_case the_machine_itself_is_unchanged_while_they_run
run_case pods_of_two_nodes_reach_one_another_and_nobody_outside
run_case a_network_policy_is_enforced_by_nobody_here
# shellcheck source=controller_cases.sh
source "$here/controller_cases.sh"
# shellcheck source=daemon_cases.sh
source "$here/daemon_cases.sh"
# shellcheck source=chart_cases.sh
source "$here/chart_cases.sh"
run_case nothing_is_left_of_them_on_the_machine
summary
