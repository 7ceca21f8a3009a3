# Workloads of the cases of e2e.sh, which sources this.
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

uid_of() { kubectl get computedomain "$1" -o jsonpath='{.metadata.uid}'; }  # uid_of DOMAIN
all_ready() { condition_says "$1" AllMembersReady "All $2/$2"; }  # all_ready DOMAIN COUNT

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
