# Cases with workloads that come, go and lose their nodes, on a control plane of their own: what NVIDIA's
# end-to-end tests and its platform's acceptance tests (SDN...) ask of a domain, as far as no GPU is needed.
# Sourced by e2e.sh. Membership cases run once with each membership writer, daemon and controller.
# shellcheck shell=bash disable=SC2154

driver=cdom-system

# What a case left that failed must not make the next one fail.
clean_up() {
  local all
  stop_controller
  kubectl apply -k "$repo/crds"
  with_membership_writer daemon
  kubectl get nodes -o name | cut -d/ -f2 | while read -r node; do
    nodesim "revive?node=$node"
    nodesim "unstall-daemon?node=$node"
    nodesim "start-plugin?node=$node"
  done >/dev/null
  all=$(kubectl get cdom --all-namespaces -o json | jq -r '.items[] | .metadata.namespace + " " + .metadata.name')
  while read -r ns name; do
    [[ -z $name ]] || kubectl annotate cdom -n "$ns" "$name" cdom.dev/deletion-grace=0 --overwrite
  done <<<"$all"
  kubectl delete deployments,jobs,pods,cdom -n default --all --wait=false
  kubectl get nodes -o name | xargs "$plane_bin/kubectl" --kubeconfig "$stage/plane/admin.kubeconfig" uncordon
  kubectl taint nodes --all karpenter.sh/disrupted- cloud.google.com/impending-node-termination- ToBeDeletedByClusterAutoscaler- example.com/tuned-
  wait_for 60 "the failed case is cleaned up" empty
}
empty() { [[ -z $(kubectl get cdom,deployments,jobs,pods -n default -o name) ]]; }

# ---- What a cluster shows

all_ready() { condition_says "$1" AllMembersReady "All $2/$2"; }  # all_ready DOMAIN COUNT
member_nodes() { kubectl get cdom "$1" -o jsonpath='{range .status.nodes[*]}{.name}{"\n"}{end}' | sort; }
member() {  # member DOMAIN NODE FIELD
  kubectl get cdom "$1" -o jsonpath="{.status.nodes[?(@.name==\"$2\")].$3}"
}
daemon_on() {  # daemon_on NODE: UIDs of the daemon pods there
  kubectl get pods -n "$driver" -l resource.nvidia.com/computeDomain --field-selector "spec.nodeName=$1" \
    -o jsonpath='{.items[*].metadata.uid}'
}
# lives_of [OPTIONS of kubectl get pods]: of each pod the life that it lives now. One that was made again, has restarted,
# has ended or is about to has another.
lives_of() {
  kubectl get pods "$@" -o json |
    jq -cS '[.items[] | [.metadata.uid, .metadata.deletionTimestamp, .status.phase, .status.containerStatuses[0].restartCount]] | sort'
}
# watch_of DOMAIN JSONPATH FILE: writes it down at each change, until `stop "$watcher"` or the CRD's next change.
watch_of() {
  (exec "$plane_bin/kubectl" --kubeconfig "$stage/plane/admin.kubeconfig" get computedomain "$1" --watch \
    -o jsonpath="$2{\"\\n\"}" >>"$3" 2>/dev/null) &
  watcher=$!
}
workers_on() {  # workers_on APP: the nodes where its pods are ready
  kubectl get pods -l "app=$1" -o json | jq -r '.items[] | select(.metadata.deletionTimestamp == null
    and any(.status.conditions[]?; .type == "Ready" and .status == "True")) | .spec.nodeName' | sort
}
# Members are the nodes where workers are ready, that many, and all are ready.
in_step() {  # in_step NAME COUNT
  all_ready "$1" "$2" && [[ $(workers_on "$1" | wc -l) == "$2" && $(workers_on "$1") == "$(member_nodes "$1")" ]]
}
no_pods() { [[ -z $(kubectl get pods -l "app=$1" -o name) ]]; }
is_ready() { kubectl wait --for=condition=Ready "$@" --timeout=1s; }
nothing_more_than() {  # nothing_more_than SNAPSHOT
  wait_for 90 "nothing is left" same_as "$1" || {
    diff "$1" "$stage/after.json" | head -n 60
    return 1
  }
}
same_as() { snapshot "$stage/after.json" && cmp -s "$1" "$stage/after.json"; }
# The same where objects may have been made anew: their names, and what a node carries.
shapes_in() {
  jq -c '.[] | [.kind, .metadata.namespace, .metadata.name, if .kind == "Node" then .metadata.labels, .spec.taints, .spec.unschedulable else empty end]' "$1" |
    grep -vE '^\["(ResourceSlice|CSINode)"' | sort
}
nothing_more_in_shape_than() {  # nothing_more_in_shape_than SNAPSHOT
  wait_for 90 "nothing is left" same_in_shape_as "$1" || {
    diff <(shapes_in "$1") <(shapes_in "$stage/after.json") | head -n 60
    return 1
  }
}
same_in_shape_as() { snapshot "$stage/after.json" && [[ $(shapes_in "$1") == "$(shapes_in "$stage/after.json")" ]]; }

# ---- Workloads

domain_in() {  # domain_in NAMESPACE NAME TEMPLATE [NUM_NODES] [ALLOCATION_MODE]
  cat <<YAML
apiVersion: resource.nvidia.com/v1beta1
kind: ComputeDomain
metadata: {name: $2, namespace: $1}
spec: {numNodes: ${4:-0}, channel: {allocationMode: ${5:-Single}, resourceClaimTemplate: {name: $3}}}
YAML
}

# Workers, all in one clique, that never end, or after so many seconds.
worker_spec() {  # worker_spec APP TEMPLATE [SECONDS]
  cat <<YAML
    metadata: {labels: {app: $1}, annotations: {nodesim.cdom.dev/run-seconds: "${3:--1}"}}
    spec:
      terminationGracePeriodSeconds: 1
      resourceClaims: [{name: channel, resourceClaimTemplateName: $2}]
      affinity:
        podAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
          - {topologyKey: nvidia.com/gpu.clique, labelSelector: {matchLabels: {app: $1}}}
      tolerations: [{key: nvidia.com/gpu, operator: Exists}]
      containers: [{name: worker, image: busybox, resources: {claims: [{name: channel}]}}]
YAML
}
deployment() {  # deployment NAME TEMPLATE COUNT
  cat <<YAML
apiVersion: apps/v1
kind: Deployment
metadata: {name: $1, namespace: default}
spec:
  replicas: $3
  selector: {matchLabels: {app: $1}}
  template:
$(worker_spec "$1" "$2")
YAML
}
job() {  # job NAME TEMPLATE COUNT SECONDS
  cat <<YAML
apiVersion: batch/v1
kind: Job
metadata: {name: $1, namespace: default}
spec:
  completions: $3
  parallelism: $3
  backoffLimit: 20
  template:
$(worker_spec "$1" "$2" "$4")
      restartPolicy: Never
YAML
}

# A domain with one pod, which never ends, on a node that is ready; made if it is not there.
used_domain() {  # used_domain NAME NODE
  domain_in default "$1" "$1-channel" | kubectl apply -f - || return 1
  pod_on "$1" "$2" "$1-channel" | kubectl apply -f - || return 1
  wait_for 90 "$1 is used" ready_in_use "$1"
}
ready_in_use() { all_ready "$1" 1 && in_use "$1" True; }
end_domain() {  # end_domain NAME: with its pod
  kubectl delete pod "$1" --timeout=60s && kubectl delete computedomain "$1" --timeout=60s
}

# A domain with a Deployment of that many workers: made if it is not there, each of them a ready member.
crew() {  # crew MEMBERSHIP_WRITER COUNT
  with_membership_writer "$1" || return 1
  if gone cdom crew; then
    snapshot "$stage/before-crew.json" || return 1
    domain_in default crew crew-channel | kubectl apply -f - || return 1
    deployment crew crew-channel "$2" | kubectl apply -f - || return 1
  fi
  kubectl scale deployment crew --replicas "$2" || return 1
  wait_for 90 "$2 workers and members are ready" in_step crew "$2"
}

# ---- Membership, with each writer

moved() { all_ready crew 4 && [[ $(member crew "$1" cliqueID) == "$2" ]]; }

# ---- What does not depend on who writes the cliques

on_hosts=(--imex-mode hostManaged --feature-gates HostManagedIMEXDaemon=true)
