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

# The rows "exactly one leader among two replicas" and "standby takes over".
lease_holder() { kubectl get lease -n "$driver" cdom-controller -o jsonpath='{.spec.holderIdentity}'; }

# A plugin that is not registered: nothing starts and nothing ends there.
a_node_whose_kubelet_plugin_is_gone_is_named_with_the_pods_that_hang_and_all_heals_when_it_is_back() {
  local daemon lives
  with_membership_writer controller || return 1
  snapshot "$stage/before.json" || return 1
  domain_in default lonely lonely-channel | kubectl apply -f - || return 1
  pod_on lonely node-008 lonely-channel | kubectl apply -f - || return 1
  wait_for 60 "it is used" ready_in_use lonely || return 1
  lives=$(lives_of --all-namespaces)
  nodesim "stop-plugin?node=node-008" || return 1
  wait_for 100 "the node is named" says MembersReady lonely PluginMissing 'registered on node-008:.*Look whether' || return 1
  # Its daemon goes on, and so does the workload.
  [[ $(lives_of --all-namespaces) == "$lives" ]] || { echo "other pods than $lives"; return 1; }
  [[ $(condition MembersReady lonely status) == True && $(kubectl get cdom lonely -o jsonpath='{.status.status}') == Ready ]] || return 1
  wait_for 10 "an event tells of it" tells lonely 'Warning +PluginMissing .*node-008' || return 1
  # Back and gone again for less than the patience: nobody is told a second time.
  nodesim "start-plugin?node=node-008" || return 1
  wait_for 30 "it is healed" all_ready lonely 1 || return 1
  nodesim "stop-plugin?node=node-008" || return 1
  wait_for 60 "its slice is gone" slices_of node-008 0 || return 1
  nodesim "start-plugin?node=node-008" || return 1
  wait_for 60 "its slice is back" slices_of node-008 1 || return 1
  counts lonely PluginMissing 1 || return 1

  nodesim "stop-plugin?node=node-008" || return 1
  wait_for 100 "the node is named again" says MembersReady lonely PluginMissing 'node-008' || return 1
  daemon=$(kubectl get pods -n "$driver" -l resource.nvidia.com/computeDomain --field-selector spec.nodeName=node-008 -o jsonpath='{.items[0].metadata.name}')
  kubectl delete pod -n "$driver" "$daemon" --grace-period=1 --wait=false || return 1
  kubectl delete pod lonely --grace-period=1 --wait=false || return 1
  kubectl delete cdom lonely --wait=false || return 1
  wait_for 30 "the deletion says what it waits for, and why" \
    says DeletionBlocked lonely DeletionBlocked 'pods/lonely on node-008.*registered on node-008' || return 1
  wait_for 180 "pods that hang are named" says MembersReady lonely PodsStuckTerminating "pods/$driver/$daemon on node-008" || return 1
  wait_for 10 "an event tells of it" tells lonely 'Warning +PodsStuckTerminating .*node-008' || return 1
  nodesim "start-plugin?node=node-008" || return 1
  wait_for 60 "the domain is gone" gone cdom lonely || return 1
  nothing_more_in_shape_than "$stage/before.json"
}

# What a kubelet plugin says of its node's fabric, by a taint on its devices.
a_fabric_error_is_told_with_its_node_and_goes_with_the_taint() {
  local slice lives
  with_membership_writer controller || return 1
  snapshot "$stage/before.json" || return 1
  domain_in default broken broken-channel | kubectl apply -f - || return 1
  pod_on broken node-007 broken-channel | kubectl apply -f - || return 1
  wait_for 60 "it is used" ready_in_use broken || return 1
  lives=$(lives_of --all-namespaces)
  slice=$(kubectl get resourceslices --field-selector spec.nodeName=node-007 -o name)
  kubectl patch "$slice" --type=json -p '[{"op":"add","path":"/spec/devices/0/taints","value":[
    {"key":"cdom.dev/fabric-error","value":"gpu-3","effect":"NoSchedule"}]}]' || return 1
  wait_for 10 "it is told" says MembersReady broken FabricError 'node-007 \(gpu-3\).*nvidia-smi' || return 1
  wait_for 10 "an event tells of it" tells broken 'Warning +FabricError .*node-007' || return 1
  [[ $(condition MembersReady broken status) == True && $(lives_of --all-namespaces) == "$lives" ]] || return 1
  kubectl patch "$slice" --type=json -p '[{"op":"remove","path":"/spec/devices/0/taints"}]' || return 1
  wait_for 10 "it is well again" all_ready broken 1 || return 1
  kubectl delete pod broken --grace-period=1 || return 1
  kubectl delete cdom broken || return 1
  nothing_more_in_shape_than "$stage/before.json"
}

# Where daemons report what their IMEX runs with.
a_daemon_that_is_deleted_under_a_pod_is_told_as_imex_that_was_started_again_until_the_pod_is_another() {
  with_membership_writer controller || return 1
  snapshot "$stage/before.json" || return 1
  used_domain again node-006 || return 1
  kubectl delete pods -n "$driver" --field-selector spec.nodeName=node-006 --grace-period=1 || return 1
  wait_for 60 "it is told" says MembersReady again ImexRestartedUnderJob 'All 1/1 members are ready\. IMEX was started again under pods that use it: node-006\.' || return 1
  wait_for 10 "an event tells of it" tells again 'Warning +ImexRestartedUnderJob .*node-006' || return 1
  [[ $(condition MembersReady again status) == True ]] || return 1
  kubectl delete pod again --grace-period=1 || return 1
  pod_on again node-006 again-channel | kubectl apply -f - || return 1
  wait_for 60 "of another pod nothing is told" ready_in_use again || return 1
  end_domain again || return 1
  nothing_more_in_shape_than "$stage/before.json"
}

on_hosts=(--imex-mode hostManaged --feature-gates HostManagedIMEXDaemon=true)
ends_and_names() {  # ends_and_names PATTERN [flags]: a controller that does not begin
  local pattern=$1 log=$stage/refused.log status=0
  shift
  stop_controller
  rm -f "$log"
  log=$log controller_up "$@"
  wait_for 60 "it ends" has_ended "$controller_pid" || return 1
  wait "$controller_pid" || status=$?
  controller_pid=
  tail -n 3 "$log"
  ((status == 1)) && grep -qE "Domains are served in the other mode of --imex-mode.*$pattern" "$log"
}
has_ended() { ! kill -0 "$1" 2>/dev/null || [[ $(ps -o stat= -p "$1") == Z* ]]; }  # has_ended PID
nothing_but_the_template_of() {  # nothing_but_the_template_of DOMAIN
  [[ -z $(kubectl get daemonsets,computedomaincliques -n "$driver" -o name) ]] &&
    [[ -z $(kubectl get nodes -l resource.nvidia.com/computeDomain -o name) ]] &&
    [[ $(kubectl get resourceclaimtemplates -A -o name) == "resourceclaimtemplate.resource.k8s.io/$1-channel" ]]
}
runs_on() { [[ $(kubectl get pod "$1" -o jsonpath='{.status.phase} {.spec.nodeName}') == "Running $2" ]]; }
a_domain_lives_where_imex_runs_on_the_hosts_and_neither_mode_begins_over_the_other() {
  with_membership_writer controller || return 1
  snapshot "$stage/before.json" || return 1
  domain_in default daemons daemons-channel | kubectl apply -f - || return 1
  wait_for 30 "it is provided for" is_idle daemons || return 1
  ends_and_names "DaemonSet $driver/computedomain-daemon-$(uid_of daemons)" --membership-writer controller "${on_hosts[@]}" || return 1
  with_membership_writer controller || return 1
  kubectl delete cdom daemons --timeout=60s || return 1

  with_membership_writer controller "${on_hosts[@]}" || return 1
  domain_in default hosted hosted-channel | kubectl apply -f - || return 1
  pod_on hosted node-004 hosted-channel | kubectl apply -f - || return 1
  wait_for 60 "its pod runs" runs_on hosted node-004 || return 1
  wait_for 10 "the condition says so" says MembersReady hosted HostManaged '^IMEX runs on the hosts.* Pods use it on node-004\.$' || return 1
  [[ $(kubectl get cdom hosted -o jsonpath='{.status.status} {.status.nodes}{.status.members}') == 'Ready ' ]] || return 1
  [[ $(condition MembersReady hosted status) == Unknown && $(condition Ready hosted status) == True ]] || return 1
  [[ $(condition Ready hosted reason) == HostManaged && $(condition Provisioned hosted message) == 'The claim template exists.' ]] || return 1
  nothing_but_the_template_of hosted || { kubectl get daemonsets,computedomaincliques,resourceclaimtemplates -A; return 1; }

  ends_and_names 'ComputeDomain default/hosted' --membership-writer controller || return 1
  with_membership_writer controller "${on_hosts[@]}" || return 1
  end_domain hosted || return 1
  with_membership_writer controller || return 1
  nothing_more_in_shape_than "$stage/before.json"
}
slices_of() {  # slices_of NODE COUNT
  [[ $(kubectl get resourceslices --field-selector "spec.nodeName=$1" -o name | wc -l) == "$2" ]]
}
