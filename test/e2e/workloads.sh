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
is_member() { grep -qx "$2" < <(member_nodes "$1"); }
is_no_member() { ! is_member "$1" "$2"; }
member() {  # member DOMAIN NODE FIELD
  kubectl get cdom "$1" -o jsonpath="{.status.nodes[?(@.name==\"$2\")].$3}"
}
indices() { kubectl get cdom "$1" -o json | jq -c '[.status.nodes[] | {name, index}] | sort_by(.name)'; }
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
another_daemon_on() {  # another_daemon_on NODE UID: one daemon, and it is not that
  local now
  now=$(daemon_on "$1") && [[ -n $now && $now != *"$2"* && $now != *' '* ]]
}
no_daemon_on() { [[ -z $(daemon_on "$1") ]]; }
# watch_of DOMAIN JSONPATH FILE: writes it down at each change, until `stop "$watcher"` or the CRD's next change.
watch_of() {
  (exec "$plane_bin/kubectl" --kubeconfig "$stage/plane/admin.kubeconfig" get computedomain "$1" --watch \
    -o jsonpath="$2{\"\\n\"}" >>"$3" 2>/dev/null) &
  watcher=$!
}
running() {  # running APP: names of its pods that are ready
  kubectl get pods -l "app=$1" -o json | jq -r '[.items[] | select(.metadata.deletionTimestamp == null
    and any(.status.conditions[]?; .type == "Ready" and .status == "True")) | .metadata.name] | join(" ")'
}
two_run() { [[ $(running "$1") == *' '* ]]; }
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
crew_node() { member_nodes crew | head -n 1; }

# ---- Membership, with each writer

joins_and_rejoins() {
  local began=$SECONDS bound node was before
  crew "$1" 4 || return 1
  bound=$((3 * (SECONDS - began) + 30))
  for node in $(member_nodes crew); do
    [[ -n $(daemon_on "$node") && $(member crew "$node" status) == Ready ]] || { echo "$node has no daemon"; return 1; }
  done
  node=$(crew_node) was=$(daemon_on "$(crew_node)") before=$(indices crew)
  kubectl delete pod -n "$driver" --wait=false \
    "$(kubectl get pods -n "$driver" --field-selector "spec.nodeName=$node" -o name | head -n 1 | cut -d/ -f2)" || return 1
  wait_for "$bound" "the daemon is scheduled again" another_daemon_on "$node" "$was" || return 1
  wait_for "$bound" "its node has rejoined" in_step crew 4 || return 1
  [[ $(indices crew) == "$before" ]] || { echo "indices moved: $before"; indices crew; return 1; }
}
sdn18_02_each_node_of_the_workload_is_a_member_and_rejoins_after_its_daemon_was_deleted_in_the_manner_of_the_reference() { joins_and_rejoins daemon; }
sdn18_02_each_node_of_the_workload_is_a_member_and_rejoins_after_its_daemon_was_deleted_in_the_manner_of_cdom() { joins_and_rejoins controller; }

shrinks_and_grows() {
  local before left rest
  crew "$1" 4 || return 1
  before=$(member_nodes crew)
  kubectl scale deployment crew --replicas 3 || return 1
  wait_for 60 "one node has left and three go on" in_step crew 3 || return 1
  rest=$(member_nodes crew)
  left=$(comm -23 <(echo "$before") <(echo "$rest"))
  [[ $left == node-??? && -z $(comm -13 <(echo "$before") <(echo "$rest")) ]] || { echo "left: $left"; return 1; }
  wait_for 30 "its daemon has ended" no_daemon_on "$left" || return 1
  wait_for 30 "its label is off" unlabelled "$left" || return 1
  kubectl get cdom crew -o json | jq -c '[.status.nodes[] | [.name, .index]]' >"$stage/kept.json"
  kubectl scale deployment crew --replicas 6 || return 1
  wait_for 60 "six nodes are in" in_step crew 6 || return 1
  # Who stayed has kept its index, and none is given twice.
  kubectl get cdom crew -o json | jq -e --slurpfile kept "$stage/kept.json" \
    '[.status.nodes[] | [.name, .index]] as $now | ($kept[0] - $now == []) and ($now | map(.[1]) | unique | length == 6)' || return 1
  kubectl scale deployment crew --replicas 4 || return 1
  wait_for 60 "four nodes are left" in_step crew 4
}
sdn19_02_a_node_whose_channel_is_withdrawn_leaves_and_the_others_go_on_in_the_manner_of_the_reference() { shrinks_and_grows daemon; }
sdn19_02_a_node_whose_channel_is_withdrawn_leaves_and_the_others_go_on_in_the_manner_of_cdom() { shrinks_and_grows controller; }

boot_id() { kubectl get node "$1" -o jsonpath='{.status.nodeInfo.bootID}'; }
another_boot() { [[ $(boot_id "$1") != "$2" ]]; }
reboots() {
  local node boot other workers
  crew "$1" 4 || return 1
  node=$(crew_node) boot=$(boot_id "$(crew_node)")
  workers=$(kubectl get pods -l app=crew -o jsonpath='{.items[*].metadata.uid}')
  # First what a kubelet says that has just begun, before any pod runs again.
  other=$(cat /proc/sys/kernel/random/uuid)
  nodesim "kill?node=$node" || return 1
  kubectl patch node "$node" --subresource=status --type=merge -p "{\"status\": {\"nodeInfo\": {\"bootID\": \"$other\"}}}" || return 1
  wait_for 8 "the condition names it" condition_says crew NodeRebooted "$node" || return 1
  [[ $(member crew "$node" status) == NotReady ]] || return 1
  nodesim "reboot?node=$node" || return 1
  wait_for 60 "the node registers with a boot of its own" another_boot "$node" "$other" || return 1
  wait_for 60 "the node is Ready" is_ready "node/$node" || return 1
  wait_for 90 "the domain is ready for the same workload" in_step crew 4 || return 1
  another_boot "$node" "$boot" && is_member crew "$node" || return 1
  [[ $(kubectl get node "$node" -o json | jq '.metadata.labels | has("nvidia.com/gpu.clique")') == true ]] || return 1
  [[ $(kubectl get pods -l app=crew -o jsonpath='{.items[*].metadata.uid}') == "$workers" ]] || { echo "other workers"; return 1; }
  wait_for 10 "an event tells of it" tells crew "Warning +NodeRebooted .*$node"
}
sdn20_02_a_node_that_reboots_is_named_and_rejoins_for_the_same_workload_in_the_manner_of_the_reference() { reboots daemon; }
sdn20_02_a_node_that_reboots_is_named_and_rejoins_for_the_same_workload_in_the_manner_of_cdom() { reboots controller; }

# The node dies and comes back; then its Node is deleted.
loses_nodes() {
  local node
  crew "$1" 4 || return 1
  node=$(crew_node)
  nodesim "kill?node=$node" || return 1
  wait_for 60 "the condition names the lost node" condition_says crew NodeLost "$node" || return 1
  [[ $(member crew "$node" status) == NotReady ]] || return 1
  wait_for 60 "another node takes its place" condition_says crew NodeLost '4/5 members' || return 1
  nodesim "revive?node=$node" || return 1
  wait_for 90 "the node has left in peace" in_step crew 4 || return 1
  is_no_member crew "$node" || return 1
  wait_for 60 "the node is free" unlabelled "$node" || return 1

  node=$(crew_node)
  nodesim "remove?node=$node" || return 1
  wait_for 60 "the condition says that it is gone" condition_says crew NodeLost "$node \(gone\)" || return 1
  # The garbage collector of pods would wait for 40 s.
  kubectl delete pods --all-namespaces --field-selector "spec.nodeName=$node" --grace-period=0 --force || return 1
  wait_for 90 "another node has taken its place" in_step crew 4 || return 1
  is_no_member crew "$node" || return 1
  nodesim "revive?node=$node" || return 1
  wait_for 60 "the node is back" is_ready "node/$node" || return 1
  is_no_member crew "$node" && unlabelled "$node"
}
a_node_that_is_lost_or_deleted_is_replaced_and_returns_free_in_the_manner_of_the_reference() { loses_nodes daemon; }
a_node_that_is_lost_or_deleted_is_replaced_and_returns_free_in_the_manner_of_cdom() { loses_nodes controller; }

drains() {
  local node
  crew "$1" 4 || return 1
  node=$(crew_node)
  nodesim "stall-daemon?node=$node" || return 1
  wait_for 30 "the condition names the node" condition_says crew MembersNotReady "$node" || return 1
  kubectl cordon "$node" || return 1
  wait_for 30 "the condition says that it is cordoned" condition_says crew NodeDrained "$node" || return 1
  nodesim "unstall-daemon?node=$node" || return 1
  wait_for 60 "a cordoned node that serves is as good as any, and about to go" \
    condition_says crew NodeLeaving "All 4/4 members are ready\. About to leave: $node \(cordoned\)" || return 1
  [[ $(condition Ready crew status) == True ]] || return 1
  is_member crew "$node" || return 1
  kubectl drain "$node" --ignore-daemonsets --timeout=60s || return 1
  wait_for 90 "another node has taken its place" in_step crew 4 || return 1
  is_no_member crew "$node" || return 1
  wait_for 30 "its daemon has ended" no_daemon_on "$node" || return 1
  kubectl uncordon "$node"
}
a_cordoned_node_is_named_if_it_does_not_serve_and_replaced_when_it_is_drained_in_the_manner_of_the_reference() { drains daemon; }
a_cordoned_node_is_named_if_it_does_not_serve_and_replaced_when_it_is_drained_in_the_manner_of_cdom() { drains controller; }

moves() {
  local node old new
  crew "$1" 4 || return 1
  node=$(crew_node) old=$(member crew "$(crew_node)" cliqueID)
  new=$(kubectl get nodes -o json | jq -r --arg old "$old" '[.items[].metadata.labels["nvidia.com/gpu.clique"]] | unique - [$old] | .[0]')
  nodesim "move?node=$node&clique=$new" || return 1
  wait_for 60 "the node is in its new clique" moved "$node" "$new" || return 1
  [[ $(kubectl get cdom crew -o json | jq -c '[.status.cliques[] | [.members, .ready]] | sort') == '[[1,1],[3,3]]' ]] || return 1
  # And in the old one no more.
  [[ $(kubectl get computedomaincliques -n "$driver" -o json | jq --arg node "$node" '[.items[].daemons[] | select(.nodeName == $node)] | length') == 1 ]] || return 1
  nodesim "move?node=$node&clique=$old" || return 1
  wait_for 60 "it is back" moved "$node" "$old" || return 1
  [[ $(kubectl get cdom crew -o jsonpath='{.status.cliqueCount}') == 1 ]]
}
moved() { all_ready crew 4 && [[ $(member crew "$1" cliqueID) == "$2" ]]; }
a_node_that_moves_to_another_clique_is_counted_there_and_nowhere_else_in_the_manner_of_the_reference() { moves daemon; }
a_node_that_moves_to_another_clique_is_counted_there_and_nowhere_else_in_the_manner_of_cdom() { moves controller; }

# The crew is there from case to case; with it everything goes.
crew_goes() {
  crew "$1" 4 || return 1
  kubectl delete deployment crew --timeout=60s || return 1
  kubectl delete cdom crew --timeout=90s || return 1
  nothing_more_in_shape_than "$stage/before-crew.json"
}
a_domain_that_went_through_all_this_leaves_nothing_in_the_manner_of_the_reference() { crew_goes daemon; }
a_domain_that_went_through_all_this_leaves_nothing_in_the_manner_of_cdom() { crew_goes controller; }

# Failover: the rows "force-delete worker pod 0", "force-delete all IMEX daemons", "regular-delete worker pod 1".
fails_over() {
  local workers
  with_membership_writer "$1" || return 1
  snapshot "$stage/before.json" || return 1
  domain_in default failover failover-channel | kubectl apply -f - || return 1
  job failover failover-channel 4 8 | kubectl apply -f - || return 1
  # Not all of them: on a busy machine the first may end before the last begins.
  wait_for 60 "two workers run" two_run failover || return 1
  workers=$(running failover)
  kubectl delete pod "${workers%% *}" --grace-period=0 --force || return 1
  kubectl delete pods -n "$driver" -l resource.nvidia.com/computeDomain --grace-period=0 --force || return 1
  kubectl delete pod "${workers##* }" || return 1
  # No worker starts where no daemon is ready, so this is proof that the domain has healed.
  wait_for 120 "the job has succeeded" succeeded failover 4 || return 1
  kubectl delete job failover --timeout=60s || return 1
  kubectl delete cdom failover --timeout=60s || return 1
  nothing_more_than "$stage/before.json"
}
a_job_survives_that_workers_and_all_daemons_are_force_deleted_in_the_manner_of_the_reference() { fails_over daemon; }
a_job_survives_that_workers_and_all_daemons_are_force_deleted_in_the_manner_of_cdom() { fails_over controller; }

# ---- What does not depend on who writes the cliques

sdn17_02_both_device_classes_are_there_and_every_node_of_a_clique_publishes_its_devices() {
  kubectl get deviceclass compute-domain-daemon.nvidia.com compute-domain-default-channel.nvidia.com || return 1
  local nodes
  nodes=$(kubectl get nodes -l nvidia.com/gpu.clique -o json | jq -c '[.items[].metadata.name] | sort')
  [[ $(jq length <<<"$nodes") == 16 ]] || { echo "nodes: $nodes"; return 1; }
  [[ $(kubectl get resourceslices -o json | jq -c '[.items[].spec | select(.driver == "compute-domain.nvidia.com"
    and ([.devices[].name] | sort) == ["channel-0", "daemon-0"]) | .nodeName] | sort') == "$nodes" ]]
}

# The rows "channel injection (single)" and "(all)", "daemon shutdown confirms CD status clean-up", "global CD status".
injects_channel() {  # injects_channel MODE
  local name=inject-${1,,}
  domain_in default "$name" "$name-channel" 1 "$1" | kubectl apply -f - || return 1
  [[ $(kubectl get cdom "$name" -o jsonpath='{.status.status}') != Ready ]] || { echo "Ready without a node"; return 1; }
  pod_on "$name" node-005 "$name-channel" | kubectl apply -f - || return 1
  wait_for 100 "the pod is ready" is_ready "pod/$name" || return 1
  wait_for 20 "the domain is ready" all_ready "$name" 1 || return 1
  [[ $(kubectl get cdom "$name" -o jsonpath='{.status.status}') == Ready ]] || return 1
  kubectl get resourceclaims -o json | jq -e --arg mode "$1" --arg uid "$(kubectl get cdom "$name" -o jsonpath='{.metadata.uid}')" \
    'any(.items[].spec.devices.config[].opaque.parameters; .domainID == $uid and .allocationMode == $mode)' || return 1
  [[ $(kubectl get pods -n "$driver" -o name) == *"$(kubectl get cdom "$name" -o jsonpath='{.metadata.uid}')"* ]] || return 1
  kubectl delete pod "$name" --timeout=10s || return 1
  wait_for 20 "status has no nodes any more" nodeless "$name" || return 1
  [[ $(kubectl get cdom "$name" -o jsonpath='{.status.status}') == NotReady ]] || return 1
  kubectl delete cdom "$name" --timeout=30s
}
nodeless() { kubectl get cdom "$1" -o json | jq -e '.status | has("status") and (has("nodes") | not)'; }
a_pod_gets_its_channel_and_when_it_goes_status_has_no_nodes() {
  with_membership_writer daemon || return 1
  snapshot "$stage/before.json" || return 1
  injects_channel Single || return 1
  injects_channel All || return 1
  nothing_more_than "$stage/before.json"
}

num_nodes_is_waited_for_and_does_not_limit() {
  with_membership_writer daemon || return 1
  snapshot "$stage/before.json" || return 1
  domain_in default counted counted-channel 2 | kubectl apply -f - || return 1
  deployment counted counted-channel 1 | kubectl apply -f - || return 1
  wait_for 60 "one of two has joined" condition_says counted WaitingForMembers '^1 of spec.numNodes 2' || return 1
  [[ $(kubectl get cdom counted -o jsonpath='{.status.status}') == NotReady ]] || return 1
  kubectl scale deployment counted --replicas 3 || return 1
  kubectl wait --for=condition=MembersReady cdom/counted --timeout=60s || return 1
  wait_for 60 "a third one joins" in_step counted 3 || return 1
  [[ $(kubectl get cdom counted -o jsonpath='{.status.status}') == Ready ]] || return 1
  kubectl delete deployment counted --timeout=60s || return 1
  kubectl delete cdom counted --timeout=60s || return 1
  nothing_more_than "$stage/before.json"
}

kubectl_shows_the_columns_that_the_readme_shows_and_describe_the_conditions_and_events() {
  local wide described readme
  with_membership_writer daemon || return 1
  used_domain columns node-006 || return 1
  [[ $(kubectl get cdom | tr -s ' ' | sed 's/ $//') =~ ^'NAME STATUS MEMBERS CLIQUES IN-USE AGE'$'\n''columns Ready 1/1 1 True '[0-9]+[sm][0-9s]*$ ]] || {
    kubectl get cdom
    return 1
  }
  wide=$(kubectl get cdom -o wide | tr -s ' ' | sed 's/ $//')
  [[ $wide =~ ^'NAME STATUS MEMBERS CLIQUES IN-USE AGE REASON MESSAGE'$'\n''columns Ready 1/1 1 True '[0-9]+[sm][0-9s]*' AllMembersReady All 1/1 members are ready.'$ ]] || {
    echo "$wide"
    return 1
  }
  readme=$(tr -s ' ' <"$repo/README.md")
  grep -qx "$(head -n 1 <<<"$wide")" <<<"$readme" &&
    grep -qE '^quickstart Ready 4/4 1 True [0-9]+s AllMembersReady All 4/4 members are ready\.$' <<<"$readme" ||
    { echo "not as in README.md"; return 1; }
  nodesim "stall-daemon?node=node-006" || return 1
  wait_for 30 "it is not ready" condition_says columns MembersNotReady node-006 || return 1
  wait_for 10 "an event tells of it" tells columns 'Warning +MembersNotReady .*node-006' || return 1
  described=$(kubectl describe cdom columns)
  for type in Accepted Provisioned MembersReady Ready InUse; do
    grep -qE "^ +Type: +$type$" <<<"$described" || { echo "$described"; return 1; }
  done
  grep -qE '^ +Reason: +MembersNotReady$' <<<"$described" && grep -qE '^ +Message: +Not ready: node-006' <<<"$described" ||
    { echo "$described"; return 1; }
  nodesim "unstall-daemon?node=node-006" || return 1
  end_domain columns
}

four_domains_that_compete_for_two_cliques_all_finish_and_say_meanwhile_who_waits_and_why() {
  local name names=(red green blue white)
  with_membership_writer controller || return 1
  snapshot "$stage/before.json" || return 1
  for name in "${names[@]}"; do
    domain_in default "$name" "$name-channel"
    echo ---
    job "$name" "$name-channel" 8 -1
    echo ---
  done | kubectl apply -f - || return 1
  wait_for 120 "each domain whose pods wait says so" each_that_waits_says_why || { kubectl get cdom -o wide; kubectl get pods -o wide; return 1; }
  # From here on each ends as soon as it runs.
  kubectl annotate pods --selector 'app in (red, green, blue, white)' --overwrite nodesim.cdom.dev/run-seconds=1 >/dev/null || return 1
  for name in "${names[@]}"; do
    wait_for 180 "$name has finished" succeeded "$name" 8 || return 1
  done
  kubectl delete job "${names[@]}" --timeout=60s || return 1
  kubectl delete cdom "${names[@]}" --timeout=60s || return 1
  nothing_more_than "$stage/before.json"
}
each_that_waits_says_why() {  # In one look, since it changes.
  kubectl get cdom,pods -o json | jq -e '
    ([.items[] | select(.kind == "Pod" and .spec.nodeName == null) | .metadata.labels.app] | unique) as $waiting
    | ([.items[] | select(.kind == "ComputeDomain" and (.metadata.name as $name | $waiting | index($name)))
        | [.metadata.name, (.status.conditions[]? | select(.type == "InUse").message)]]) as $said
    # 32 workers on 16 nodes.
    | ($waiting | length >= 2) and ($said | length == ($waiting | length))
      and all($said[]; .[0] as $name | .[1] | test("Waiting for a node: pods/" + $name + "-.*Unschedulable"))'
}

a_name_may_be_used_again_at_once_however_often() {
  local before after
  with_membership_writer controller || return 1
  snapshot "$stage/before.json" || return 1
  for _ in 1 2 3 4 5 6 7 8; do
    domain_in default again again-channel | kubectl create -f - || return 1
    kubectl delete cdom again --timeout=30s || return 1
  done
  # With a pod in it: the second domain comes as soon as the API server takes it.
  used_domain again node-007 || return 1
  before=$(kubectl get cdom again -o jsonpath='{.metadata.uid}')
  kubectl delete cdom again --wait=false || return 1
  kubectl delete pod again --wait=false || return 1
  domain_in default again again-channel >"$stage/again.yaml"
  wait_for 60 "the name is free" kubectl create -f "$stage/again.yaml" || return 1
  pod_on second node-007 again-channel | kubectl create -f - || return 1
  wait_for 60 "the new one is used" ready_in_use again || return 1
  after=$(kubectl get cdom again -o jsonpath='{.metadata.uid}')
  [[ $after != "$before" ]] || return 1
  [[ $(kubectl get node node-007 -o json | jq -r '.metadata.labels["resource.nvidia.com/computeDomain"]') == "$after" ]] || return 1
  [[ $(kubectl get daemonsets -n "$driver" -o name) == "daemonset.apps/computedomain-daemon-$after" ]] || return 1
  kubectl delete pod second --timeout=30s || return 1
  kubectl delete cdom again --timeout=60s || return 1
  nothing_more_than "$stage/before.json"
}

a_namespace_that_is_deleted_in_use_ends_and_the_same_names_elsewhere_go_on() {
  local ns version
  with_membership_writer controller || return 1
  snapshot "$stage/before.json" || return 1
  for ns in team-a team-b; do
    kubectl create namespace "$ns" || return 1
    domain_in "$ns" same same-channel | kubectl apply -f - || return 1
  done
  pod_on same node-001 same-channel | sed 's/namespace: default/namespace: team-a/' | kubectl apply -f - || return 1
  pod_on same node-009 same-channel | sed 's/namespace: default/namespace: team-b/' | kubectl apply -f - || return 1
  for ns in team-a team-b; do
    wait_for 60 "$ns is used" used_in "$ns" || return 1
  done
  version=$(kubectl get cdom same -n team-b -o jsonpath='{.metadata.resourceVersion}')
  kubectl delete namespace team-a --timeout=90s || return 1
  wait_for 30 "its node is free" unlabelled node-001 || return 1
  [[ $(kubectl get cdom same -n team-b -o jsonpath='{.metadata.resourceVersion}') == "$version" ]] || { echo "team-b was written"; return 1; }
  is_ready pod/same -n team-b || return 1
  kubectl delete namespace team-b --timeout=90s || return 1
  nothing_more_than "$stage/before.json"
}
used_in() { [[ $(kubectl get cdom same -n "$1" -o jsonpath='{.status.status} {.status.members} {.status.conditions[?(@.type=="InUse")].status}') == 'Ready 1/1 True' ]]; }

crds_that_are_deleted_and_made_again_take_the_domains_and_nothing_else() {
  with_membership_writer controller || return 1
  snapshot "$stage/before.json" || return 1
  used_domain swept node-002 || return 1
  kubectl annotate cdom swept cdom.dev/deletion-grace=0 || return 1
  kubectl delete -k "$repo/crds" --timeout=120s || return 1
  wait_for 60 "the controller has seen it" log_says 'computedomains\.resource\.nvidia\.com' || return 1
  [[ -z $(kubectl get daemonsets -n "$driver" -o name) ]] || { echo "a DaemonSet is left"; return 1; }
  kubectl delete pod swept --timeout=60s || return 1
  kubectl apply -k "$repo/crds" || return 1
  wait_for 60 "the CRDs are served" kubectl get cdom || return 1
  used_domain anew node-002 || return 1  # By the same process.
  kill -0 "$controller_pid" || return 1
  end_domain anew || return 1
  nothing_more_in_shape_than "$stage/before.json"
}

a_driver_namespace_that_is_deleted_ends_and_its_domains_heal_once_it_is_there_again() {
  local uid
  with_membership_writer controller || return 1
  snapshot "$stage/before.json" || return 1
  used_domain uprooted node-003 || return 1
  uid=$(kubectl get cdom uprooted -o jsonpath='{.metadata.uid}')
  kubectl delete namespace "$driver" --timeout=120s || return 1
  # Its account and Lease went as well: a controller in the cluster would be gone, ours ends or is refused.
  stop_controller
  kubectl apply -k "$repo/manifests/local" || return 1
  controller_kubeconfig || return 1
  with_membership_writer controller || return 1
  wait_for 90 "the domain has healed" ready_in_use uprooted || return 1
  [[ $(kubectl get cdom uprooted -o jsonpath='{.metadata.uid}') == "$uid" ]] || return 1
  end_domain uprooted || return 1
  nothing_more_in_shape_than "$stage/before.json"
}

# The rows "controller verbosity levels" and "daemon verbosity".
a_controller_that_starts_at_every_log_level_writes_nothing_to_a_domain_at_rest() {
  local level line version lives
  with_membership_writer daemon || return 1
  snapshot "$stage/before.json" || return 1
  used_domain rests node-004 || return 1
  version=$(kubectl get cdom rests -o jsonpath='{.metadata.resourceVersion}')
  lives=$(lives_of --all-namespaces)
  stop_controller
  line=$(audit_lines)
  for level in 0 1 2 3 4 5 6; do
    start_controller -v "$level"
    wait_for 60 "it has looked at the domain at level $level, and has nothing more to do" has_passed 1 || return 1
    stop_controller
  done
  written_nothing_since "$line" || return 1
  status_writes_since "$line" rests | tee "$stage/written.txt"
  [[ ! -s $stage/written.txt ]] || { echo "status was written"; return 1; }
  [[ $(kubectl get cdom rests -o jsonpath='{.metadata.resourceVersion}') == "$version" ]] || { echo "the domain was written"; return 1; }
  [[ $(lives_of --all-namespaces) == "$lives" ]] || { echo "other pods than $lives"; return 1; }
  start_controller --log-verbosity-cd-daemon 4
  wait_for 60 "the daemons are to log more" logs_at rests 4 || return 1
  end_domain rests || return 1
  nothing_more_than "$stage/before.json"
}
has_passed() {  # has_passed COUNT: so many passes over domains or more are over, and none waits or is under way
  log_says Reconciling && metrics_of_controller | awk -v count="$1" '
    /^controller_runtime_reconcile_total[{ ]/ { passes += $NF }
    /^(workqueue_depth|controller_runtime_active_workers)[{ ]/ { known++; busy += $NF }
    END { exit !(passes >= count && known == 2 && busy == 0) }'
}
metrics_of_controller() { curl -fsS --max-time 5 "http://127.0.0.1:$(port_of "health and metrics")/metrics"; }
logs_at() {  # logs_at DOMAIN LEVEL
  kubectl get daemonset -n "$driver" "computedomain-daemon-$(kubectl get cdom "$1" -o jsonpath='{.metadata.uid}')" -o json |
    jq -e --arg level "$2" '.spec.template.spec.containers[0].env | any(.name == "LOG_VERBOSITY" and .value == $level)'
}

# The rows "exactly one leader among two replicas" and "standby takes over".
lease_holder() { kubectl get lease -n "$driver" cdom-controller -o jsonpath='{.spec.holderIdentity}'; }
held_by() { [[ $(lease_holder) =~ ^$1-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$ ]]; }
a_leader_that_is_killed_is_replaced_by_the_other_replica_within_its_lease() {
  local first second renewed later
  stop_controller
  replica() {
    "$bin/compute-domain-controller" --kubeconfig "$stage/controller.kubeconfig" --pod-name "$1" \
      --namespace "$driver" --image-name cdom:0.1.0 --leader-election-lease-lock-name cdom-controller 2>"$stage/$1.log" &
  }
  replica leader
  first=$!
  wait_for 30 "the first leads" held_by leader || { stop "$first"; return 1; }
  replica standby
  second=$! controller_pid=$!
  wait_for 30 "the other stands by" grep -q 'Standing by' "$stage/standby.log" || { stop "$first"; return 1; }
  if ! held_by leader || grep -q Reconciling "$stage/standby.log"; then
    stop "$first"
    return 1
  fi
  kill -KILL "$first"
  wait "$first" || true
  # What the dead one wrote last, and the other first, by the clock that both have here.
  renewed=$(lease_time renewTime)
  wait_for 40 "the other leads" held_by standby || return 1
  later=$((($(date -d "$(lease_time acquireTime)" +%s%N) - $(date -d "$renewed" +%s%N)) / 1000000))
  echo "led again $later ms after the last renewal"
  # Its term is over then, and not before; 2 s are promised on top of it, and the machine may be busy for 2 s more.
  ((later >= 15000 && later <= 19000)) || return 1
  wait_for 20 "it works" grep -q Reconciling "$stage/standby.log" || return 1
  kill -0 "$second"
}
lease_time() { kubectl get lease -n "$driver" cdom-controller -o jsonpath="{.spec.$1}"; }

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
