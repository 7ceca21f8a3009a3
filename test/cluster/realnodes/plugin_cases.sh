# compute-domain-kubelet-plugin from manifests/kubelet-plugin and the driver's image, on three nodes that look to it as GPU nodes do
# (gpu_nodes.sh). Sourced by daemon_cases.sh, whose functions it uses and whose cases it runs.
# shellcheck shell=bash disable=SC2154

# shellcheck source=gpu_nodes.sh
source "$here/gpu_nodes.sh"

readonly kDriver=compute-domain.nvidia.com
# shellcheck source=trouble_cases.sh
source "$here/trouble_cases.sh"

readonly kOwnClique=01010101-0101-0101-0101-010101010101.1
readonly kHostImex=/sys/fs/cgroup/systemd/system.slice/nvidia-imex.service

own_pods() { system get pods -l app.kubernetes.io/component=kubelet-plugin -o "$@"; }
own_pod_on() { own_pods json | jq -er --arg node "$1" '.items[] | select(.spec.nodeName == $node and .metadata.deletionTimestamp == null) | .metadata.name'; }
own_logs() { system logs "$(own_pod_on "$1")" -c compute-domains; }
own_logged() { grep -q "$2" < <(own_logs "$1"); }  # own_logged NODE PATTERN: by the container that is there now
own_container() { system get pod "$(own_pod_on "$1")" -o 'jsonpath={.status.containerStatuses[0].containerID}' | sed 's#containerd://##'; }
own_process() { in_node "$1" "$cluster/containerd/ctr" --namespace k8s.io tasks ls | awk -v id="$(own_container "$1")" '$1 == id { print $2 }'; }
own_plugin_killed() { in_node "$1" "$cluster/containerd/ctr" --namespace k8s.io tasks kill --signal SIGKILL "$(own_container "$1")"; }
own_slices() { kubectl get resourceslices --field-selector "spec.driver=$kDriver" -o "$@"; }
own_slice_uids() { own_slices 'jsonpath={.items[*].metadata.uid}' | tr ' ' '\n' | sort; }
have_own_devices() {  # have_own_devices NODE...: these nodes publish theirs, and no other
  [[ $(own_slices json | jq -r '.items[] | .spec.nodeName + " " + (.spec.devices | map(.name + "=" + .attributes.clique.string) | join(","))' | sort) == \
    "$(printf "%s channel-0=$kOwnClique,daemon-0=$kOwnClique\n" "$@")" ]]
}
each_has_own_devices() { have_own_devices "${nodes[@]}"; }
what_keeps_our_plugin() {
  kubectl get cdom,pods,resourceclaims,computedomaincliques -A -o wide
  kubectl get cdom real -o yaml
  kubectl get events -A --sort-by=.lastTimestamp | tail -n 20
  system logs -l app.kubernetes.io/component=kubelet-plugin --all-containers --prefix --tail=25
  system logs -l resource.nvidia.com/computeDomain --tail=20 --prefix
  own_slices yaml
}

nodes_are_at_rest() { on_nodes_at_rest >"$root/rest.after" && cmp -s "$root/rest.before" "$root/rest.after"; }
own_rest() { wait_for 90 "nodes hold what they held before" nodes_are_at_rest || { diff "$root/rest.before" "$root/rest.after"; return 1; }; }
domain_runs() {
  imex_domain | kubectl apply -f - || return 1
  wait_for 120 "the workers run" workers_run || { what_keeps_our_plugin; return 1; }
}
domain_goes() {
  imex_domain | kubectl delete --ignore-not-found --timeout=90s -f - || return 1
  wait_for 60 "nothing is left of it" own_is_gone || { what_keeps_our_plugin; return 1; }
  own_rest
}
own_is_gone() {
  [[ -z $(kubectl get pods -l 'app in (real, next)' -o name)$(daemons name)$(kubectl get cdom,resourceclaims,computedomaincliques -A --no-headers 2>/dev/null) &&
    $(kubectl get daemonsets -A --no-headers | wc -l) == 1 && -z $(kubectl get nodes -l resource.nvidia.com/computeDomain --no-headers 2>/dev/null) ]]
}
worker_on() { kubectl get pods -l app=real -o json | jq -r --arg node "$1" '.items[] | select(.spec.nodeName == $node and .metadata.deletionTimestamp == null) | .metadata.name'; }
# Who runs since when, but for the one on NODE.
workers_beside() { kubectl get pods -l app=real -o json | jq -r --arg node "$1" '.items[] | select(.spec.nodeName != $node) | "\(.metadata.uid) \(.status.containerStatuses[0].restartCount) \(.status.containerStatuses[0].state.running.startedAt)"' | sort; }
another_gets_its_channel_on() {  # ... NODE: as the one there is deleted
  kubectl delete pod "$(worker_on "$1")" --timeout=60s || return 1
  wait_for 120 "the workers run" workers_run || { what_keeps_our_plugin; return 1; }
  has_channel
}

# --- It is installed ---------------------------------------------------------------------------------------------

a_node_that_lacks_something_is_told_what_by_its_pod_and_the_others_serve() {
  local node
  for node in "${nodes[@]}"; do driver_on "$node" || return 1; done
  make_small_disk || return 1
  imex_on node-1 && imex_on node-3 || return 1
  # As systemd makes it for a service that runs.
  in_node node-3 mkdir -p "$kHostImex" || return 1
  own_site "$root/own" manifests/kubelet-plugin
  kubectl apply -k "$root/own" || return 1
  [[ -z $(own_pods name) ]] || return 1
  kubectl label nodes --all nvidia.com/gpu.present=true || return 1
  wait_for 60 "node-1 publishes its devices" have_own_devices node-1 || { what_keeps_our_plugin; return 1; }
  wait_for 60 "node-2 is told of IMEX" lacks node-2 'MISSING IMEX: nvidia-imex and nvidia-imex-ctl are not under the driver.s root, /run/nvidia/driver of the host: install NVIDIA.s package nvidia-imex there, of the driver.s version 580.95.05' ||
    { own_pods yaml; return 1; }
  wait_for 60 "node-3 is told of its service" lacks node-3 'MISSING IMEX runs on the host, as nvidia-imex.service.*systemctl disable --now nvidia-imex.service' || { own_pods yaml; return 1; }
  [[ $(kubectl -n cdom-system describe pod "$(own_pod_on node-2)") =~ 'Message:'[[:space:]]+'MISSING IMEX' ]] || return 1
  have_own_devices node-1
}
lacks() {  # lacks NODE PATTERN
  system get pod "$(own_pod_on "$1")" -o json | jq -r '.status.initContainerStatuses[0] | (.lastState.terminated // .state.terminated // {}) | select(.exitCode == 1) | .message' | grep -E "$2"
}

once_that_is_put_right_each_node_publishes_its_devices() {
  local node
  imex_on node-2 && in_node node-3 rmdir "$kHostImex" || return 1
  wait_for 60 "each node publishes its devices" each_has_own_devices || { what_keeps_our_plugin; return 1; }
  system rollout status daemonset/cdom-kubelet-plugin --timeout=60s || { what_keeps_our_plugin; return 1; }
  for node in "${nodes[@]}"; do
    wait_for 30 "the kubelet has taken it" own_logged "$node" 'kubelet registered the plugin' || { what_keeps_our_plugin; return 1; }
  done
  # Containers that have ended stay for a while.
  wait_for 90 "the pods of before are gone" at_rest_twice || return 1
}
# The same for some seconds.
at_rest_twice() {
  on_nodes_at_rest >"$root/rest.before" && read -rt 3 <> <(:)
  nodes_are_at_rest
}

# --- Domains -----------------------------------------------------------------------------------------------------

# By the stream that the kubelet listens to.
a_pods_status_says_that_its_channel_is_healthy() {
  wait_for 60 "all say so" all_are_healthy || { kubectl get pods -l app=real -o json | jq '.items[].status'; return 1; }
}
all_are_healthy() {
  [[ $(kubectl get pods -l app=real -o json | jq -r '.items[].status.containerStatuses[].allocatedResourcesStatus[]?.resources[]?.health') == \
    $'Healthy\nHealthy\nHealthy' ]]
}

# Kubelets do that when they start.
a_slice_that_is_deleted_is_put_back_by_the_watch() {
  local since
  since=$(wc -l <"$audit")
  own_slices name | xargs "$here/realnodes" kubectl "$cluster" delete --wait=false || return 1
  wait_for 60 "each node publishes its devices" each_has_own_devices || { what_keeps_our_plugin; return 1; }
  # What each plugin asked for meanwhile of slices: to make one, and nothing to find out that it must.
  own_requests "$since" resourceslices | sort | uniq -c | tee "$root/asked"
  [[ $(awk '{ print $1, $2 }' "$root/asked") == "$kMembers create" ]]
}
# own_requests SINCE RESOURCE: the verb of each request but watches that the plugins sent about it, since the audit log had so many lines.
own_requests() {
  tail -n "+$(($1 + 1))" "$audit" | jq -r --arg resource "$2" 'select(.objectRef.resource == $resource
    and .verb != "watch" and .user.username == "system:serviceaccount:cdom-system:cdom-kubelet-plugin") | .verb'
}

our_plugin_that_is_killed_goes_on_from_what_it_noted() {
  local node=node-2
  own_plugin_killed "$node" || return 1
  wait_for 30 "it has read its notes" own_logged "$node" 'Read the checkpoint.*claims="2"' || { what_keeps_our_plugin; return 1; }
  wait_for 30 "the kubelet has taken it" own_logged "$node" 'kubelet registered the plugin' || { what_keeps_our_plugin; return 1; }
  # The label of the node was not taken for one that nobody needs.
  [[ $(kubectl get node "$node" -o 'jsonpath={.metadata.labels.resource\.nvidia\.com/computeDomain}') == "$(domain_uid)" ]] || return 1
  # Another pod takes the place of the one there: its claim is taken back, and the next one is prepared.
  another_gets_its_channel_on "$node"
}

notes_of() { in_node "$1" jq -c '.v2.preparedClaims // {} | map_values([.checkpointState, .preparedDevices])' "/var/lib/kubelet/plugins/$kDriver/checkpoint.json"; }
a_torn_checkpoint_is_made_again_out_of_claims_and_cdi_files() {
  local node=node-1 before
  before=$(notes_of "$node") || return 1
  [[ $(jq length <<<"$before") == 2 ]] || { echo "$before"; return 1; }
  in_node "$node" truncate --size=100 "/var/lib/kubelet/plugins/$kDriver/checkpoint.json" && own_plugin_killed "$node" || return 1
  wait_for 30 "it asks for the permission" own_logged "$node" 'clusterrolebinding cdom-kubelet-plugin-recovery' || { what_keeps_our_plugin; return 1; }
  kubectl create clusterrolebinding cdom-kubelet-plugin-recovery --clusterrole=cdom-kubelet-plugin-recovery --serviceaccount=cdom-system:cdom-kubelet-plugin || return 1
  wait_for 30 "it has found out what was prepared" own_logged "$node" 'The checkpoint could not be read and is rebuilt from claims.*claims="2"' || { what_keeps_our_plugin; return 1; }
  kubectl delete clusterrolebinding cdom-kubelet-plugin-recovery || return 1
  [[ $(notes_of "$node" | jq -S .) == "$(jq -S . <<<"$before")" ]] || { notes_of "$node"; echo "$before"; return 1; }
}

# The kubelet knows the old pod and the new one, and goes on with the one that is left.
plugins_are_replaced_under_a_running_job_and_a_pod_made_meanwhile_gets_its_channel() {
  local node others slices before began refused
  each_has_own_devices && others=$(workers_beside node-2) && slices=$(own_slice_uids) && before=$(own_pods name | sort) || return 1
  system rollout restart daemonset/cdom-kubelet-plugin || return 1
  wait_for 60 "both are on one node" two_on_node_2 || { what_keeps_our_plugin; return 1; }
  began=$SECONDS
  another_gets_its_channel_on node-2 || return 1
  # The old one answers what it was asked: the kubelet is not told to ask again, which it would do after a minute.
  figure="the pod's channel after $((SECONDS - began)) s"
  refused=$(refused_prepares "$(worker_on node-2)") || return 1
  [[ -z $refused ]] || { echo "$refused"; what_keeps_our_plugin; return 1; }
  system rollout status daemonset/cdom-kubelet-plugin --timeout=120s || { what_keeps_our_plugin; return 1; }
  wait_for 60 "the old pods are gone" one_on_each_node || { own_pods wide; return 1; }
  [[ -z $(comm -12 <(own_pods name | sort) <(printf '%s\n' "$before")) ]] || return 1
  [[ $(workers_beside node-2) == "$others" ]] || { echo "$others"; workers_beside node-2; return 1; }
  # Nobody took the devices for gone.
  [[ $(own_slice_uids) == "$slices" ]] || return 1
  for node in "${nodes[@]}"; do
    [[ $(own_sockets "$node") == "$kDriver-$(own_uid "$node")-reg.sock dra-$(own_uid "$node").sock " ]] || { own_sockets "$node"; return 1; }
  done
}
refused_prepares() { kubectl get events --field-selector "reason=FailedPrepareDynamicResources,involvedObject.name=$1" -o name; }
two_on_node_2() { [[ $(own_pods json | jq '[.items[] | select(.spec.nodeName == "node-2")] | length') == 2 ]]; }
one_on_each_node() { (($(own_pods name | wc -l) == kMembers)); }
own_uid() { system get pod "$(own_pod_on "$1")" -o 'jsonpath={.metadata.uid}'; }
own_sockets() { in_node "$1" find /var/lib/kubelet/plugins_registry "/var/lib/kubelet/plugins/$kDriver" -type s -printf '%f\n' | sort | tr '\n' ' '; }

a_kubelet_and_a_containerd_that_start_again_leave_the_job_alone_and_serve_the_next_pod() {
  local node=node-3 others registered
  others=$(workers_beside none) && registered=$(times_registered "$node") || return 1
  in_node "$node" bash -c 'kill -KILL "$(cat /run/containerd.pid)"' || return 1
  in_node "$node" bash -c 'kill -KILL "$(cat /run/kubelet.pid)"' || return 1
  wait_for 60 "the kubelet has taken it again" has_registered_more "$node" "$registered" || { what_keeps_our_plugin; return 1; }
  wait_for 30 "each node publishes its devices" each_has_own_devices || { what_keeps_our_plugin; return 1; }
  kubectl wait --for=condition=Ready "node/$node" --timeout=60s || return 1
  [[ $(workers_beside none) == "$others" ]] || { echo "$others"; workers_beside none; return 1; }
  another_gets_its_channel_on "$node"
}
times_registered() { own_logs "$1" | grep -c 'kubelet registered the plugin'; }
has_registered_more() { (($(times_registered "$1") > $2)); }

pods_that_are_deleted_by_force_come_back_with_their_channels() {
  local daemon
  daemon=$(daemon_on node-1) || return 1
  kubectl delete pods -l app=real --force --grace-period=0 || return 1
  # With its last worker the node may have lost its label, and the daemon its place, by now.
  system delete pod "$daemon" --force --grace-period=0 --ignore-not-found || return 1
  wait_for 120 "the workers run" workers_run || { what_keeps_our_plugin; return 1; }
  wait_for 120 "the domain is ready" is_ready || { what_keeps_our_plugin; return 1; }
  has_channel
}

a_domain_that_is_deleted_under_its_job_waits_for_it_and_then_leaves_nothing() {
  local before
  before=$(workers_beside none) || return 1
  kubectl delete cdom real --wait=false || return 1
  wait_for 30 "the domain says that it is being deleted" is_being_deleted || { kubectl get cdom real -o yaml; return 1; }
  [[ $(workers_beside none) == "$before" ]] && has_channel || return 1
  domain_goes || return 1
  local node
  for node in "${nodes[@]}"; do
    in_node "$node" bash -c 'jq -e ".v2.preparedClaims // {} | map_values(select(.checkpointState != \"PrepareAborted\")) == {}" /var/lib/kubelet/plugins/'"$kDriver"'/checkpoint.json' || return 1
  done
}
is_being_deleted() { [[ -n $(kubectl get cdom real -o 'jsonpath={.metadata.deletionTimestamp}') ]]; }

its_token_has_done_nothing_that_was_refused() {
  local did
  did=$(jq -r 'select(.user.username == "system:serviceaccount:cdom-system:cdom-kubelet-plugin" and (.userAgent | startswith("cdom/")))
    | "\(.verb) \(.objectRef.resource) \(.responseStatus.code)"' "$audit" | sort | uniq -c)
  echo "$did"
  # But for the list that only a torn checkpoint needs, before it was granted.
  [[ -n $did ]] && ! grep -E ' (401|403)$' <<<"$did" | grep -v 'list resourceclaims'
}

# Printed, and not judged: a machine is as fast as it is. P19 and P20 of scripts/bench.sh read the line.
from_apply_to_the_last_of_three_pods_that_runs_with_our_plugin() {
  local round times=() ends=() phases began
  rounds_began=$(date +%s%6N)
  for round in 1 2 3 4 5; do
    watch_workers
    began=$(date +%s%N)
    imex_domain | kubectl apply -f - || return 1
    until_workers_run || { what_keeps_our_plugin; return 1; }
    times+=("$((($(date +%s%N) - began) / 1000000))")
    # A kubelet takes two seconds longer to end a pod that has only just begun.
    wait_for 30 "they have run for three seconds" have_run 3 || { what_keeps_our_plugin; return 1; }
    began=$(date +%s%N)
    imex_domain | kubectl delete --timeout=90s -f - || return 1
    wait_for 60 "nothing is left of it" own_is_gone || { what_keeps_our_plugin; return 1; }
    ends+=("$((($(date +%s%N) - began) / 1000000))")
  done
  own_rest || return 1
  mapfile -t phases < <(jq -rn --argjson began "$rounds_began" -f "$here/phases.jq" "$audit")
  ((${#phases[@]} == 2)) || return 1
  figure="apply to $kMembers pods Running: median $(median "${times[@]}"), ${phases[0]}; delete to nothing left: median $(median "${ends[@]}"), ${phases[1]}"
}
rounds_began=0
median() {  # median VALUE...: of five, in ms, with the least and the greatest
  local -a sorted
  mapfile -t sorted < <(printf '%s\n' "$@" | sort -n)
  printf '%d ms (%d-%d)' "${sorted[2]}" "${sorted[0]}" "${sorted[4]}"
}
watch_workers() {
  exec {workers}< <(exec "$here/realnodes" kubectl "$cluster" get pods -l app=real --watch --no-headers --request-timeout=120s \
    -o custom-columns=NAME:.metadata.name,PHASE:.status.phase)
  watcher=$!
}
until_workers_run() {
  local name phase
  local -A running=()
  while ((${#running[@]} < kMembers)) && read -t 120 -ru "$workers" name phase; do
    if [[ $phase == Running ]]; then running[$name]=1; fi
  done
  kill "$watcher" || true
  exec {workers}<&-
  ((${#running[@]} == kMembers))
}
# The pods of the domain, its daemons' and its workers'.
have_run() {  # have_run SECONDS
  kubectl get pods -A -o json | jq -e --argjson seconds "$1" '
    [.items[] | select(.metadata.labels.app == "real" or .metadata.labels["resource.nvidia.com/computeDomain"] != null)
      | .status.containerStatuses[].state.running.startedAt | fromdate] | length > 0 and now - max >= $seconds'
}

# The plugin reads nothing of its own between that write and its answer. The time is printed.
a_prepare_that_waits_is_woken_by_the_write_that_it_waits_for() {
  local node
  for node in "${nodes[@]}"; do own_logs "$node" >"$root/$node.own-log" || return 1; done
  figure=$("$here/woken.py" "$audit" "$rounds_began" "$root"/*.own-log)
}

# The second while the first one goes.
two_domains_have_the_same_nodes_one_after_the_other() {
  domain_runs || return 1
  imex_domain | kubectl delete --wait=false -f - || return 1
  imex_domain | sed 's/real/next/g' | kubectl apply -f - || return 1
  wait_for 120 "the workers of the second run" next_runs || { kubectl get cdom next -o yaml; what_keeps_our_plugin; return 1; }
  imex_domain | sed 's/real/next/g' | kubectl delete --timeout=90s -f - || return 1
  wait_for 60 "nothing is left of both" own_is_gone || { what_keeps_our_plugin; return 1; }
  own_rest
}
next_runs() { (($(kubectl get pods -l app=next --no-headers | awk '$3 == "Running"' | wc -l) == kMembers)); }

# After several domains: of each kind of object, the same ones. What lies on nodes was compared after each of them.
domains_that_are_deleted_leave_nothing_in_the_cluster_and_on_no_node() {
  wait_for 60 "the cluster holds what it held before" cluster_holds_what_it_held || { diff "$root/idle.before" "$root/idle.after" | head -n 60; return 1; }
  own_rest
}
cluster_holds_what_it_held() { holds "$root/idle.after" && cmp -s "$root/idle.before" "$root/idle.after"; }

probes_and_metrics_of_our_plugin_are_answered() {
  local address
  address=$(system get pod "$(own_pod_on node-1)" -o 'jsonpath={.status.podIP}')
  in_node node-1 curl -sf "http://$address:8081/metrics" | tee "$root/own-plugin.metrics"
  grep -q '^nvidia_dra_requests_total{driver="compute-domain.nvidia.com",operation="prepare"} [1-9]' "$root/own-plugin.metrics" || return 1
  grep -q '^nvidia_dra_prepared_devices{device_type="channel",driver="compute-domain.nvidia.com",node="node-1"} 0' "$root/own-plugin.metrics" || return 1
  probed_plugin node-1 Startup && probed_plugin node-1 Liveness && probed_plugin node-1 Readiness || return 1
  # Nobody was found dead, and nothing ended but what was killed.
  [[ $(own_pods 'jsonpath={.items[*].status.containerStatuses[0].restartCount}') == '0 0 0' ]] || { own_pods wide; return 1; }
  figure="$(in_node node-1 grep -h RssAnon "/proc/$(own_process node-1)/status" | tr -s '\t ' ' ')"
}
probed_plugin() {  # probed_plugin NODE KIND
  grep "^prober_probe_total.*pod=\"$(own_pod_on "$1")\".*probe_type=\"$2\".*result=\"successful\"" < <(kubectl get --raw "/api/v1/nodes/$1/proxy/metrics/probes")
}

# As if the node had been started again: what was prepared then is gone, and so is the reason for its label.
a_node_that_was_started_again_loses_the_label_and_the_files_of_before() {
  local node=node-3
  domain_runs || return 1
  [[ $(claim_files "$node" | wc -l) == 2 ]] || return 1
  cp /proc/sys/kernel/random/uuid "$root/boot_id" && in_node "$node" cp "$root/boot_id" /run/nvidia/driver/boot_id || return 1
  own_plugin_killed "$node" || return 1
  wait_for 30 "the label has gone" has_no_label "$node" || { what_keeps_our_plugin; return 1; }
  wait_for 30 "the files have gone" has_no_claim_files "$node" || { claim_files "$node"; return 1; }
  domain_goes
}
claim_files() { in_node "$1" find /run/cdi -name "k8s.$kDriver-claim_*"; }
has_no_claim_files() { [[ -z $(claim_files "$1") ]]; }
has_no_label() { [[ -z $(kubectl get node "$1" -o 'jsonpath={.metadata.labels.resource\.nvidia\.com/computeDomain}') ]]; }

our_plugin_is_removed_and_leaves_its_notes_alone() {
  local node
  kubectl delete -k "$root/own" --timeout=90s || return 1
  kubectl label nodes --all nvidia.com/gpu.present- || return 1
  for node in "${nodes[@]}"; do
    wait_for 60 "its notes alone are left" has_notes_alone "$node" || { in_node "$node" find /var/lib/kubelet/plugins_registry /var/lib/kubelet/plugins /run/cdi; return 1; }
  done
  in_node "$small_disk" umount -n "$kPluginFolder"
}
has_notes_alone() {
  [[ $(in_node "$1" find /var/lib/kubelet/plugins_registry /var/lib/kubelet/plugins /run/cdi -not -type d -printf '%f\n' | sort | tr '\n' ' ') == \
    "checkpoint.json k8s.$kDriver-device_base.yaml pu.lock " ]]
}

run_case a_node_that_lacks_something_is_told_what_by_its_pod_and_the_others_serve
run_case once_that_is_put_right_each_node_publishes_its_devices
run_case pods_of_three_nodes_get_their_channels_once_real_daemons_have_connected_their_imex
run_case a_pods_status_says_that_its_channel_is_healthy
run_case the_log_of_a_daemon_is_read_through_the_kubelet_with_imexs_own_words
run_case a_daemons_token_may_do_what_daemons_did_and_nothing_else
run_case a_partition_between_two_nodes_begins
run_case a_slice_that_is_deleted_is_put_back_by_the_watch
run_case our_plugin_that_is_killed_goes_on_from_what_it_noted
run_case a_torn_checkpoint_is_made_again_out_of_claims_and_cdi_files
run_case plugins_are_replaced_under_a_running_job_and_a_pod_made_meanwhile_gets_its_channel
run_case a_partition_is_told_by_its_pairs_while_both_nodes_are_ready_and_the_job_runs
run_case a_partition_ends
run_case a_kubelet_and_a_containerd_that_start_again_leave_the_job_alone_and_serve_the_next_pod
run_case a_partition_that_is_over_is_no_more_told_and_nothing_was_started_again
run_case an_imex_that_is_killed_is_started_again_in_its_container_told_and_ends_its_peers_sessions
run_case a_daemon_that_is_deleted_comes_back_under_its_index_and_is_connected_again
run_case pods_that_are_deleted_by_force_come_back_with_their_channels
run_case a_domain_that_is_deleted_under_its_job_waits_for_it_and_then_leaves_nothing
run_case its_token_has_done_nothing_that_was_refused
holds "$root/idle.before" 2>"$root/holds.err"
run_case from_apply_to_the_last_of_three_pods_that_runs_with_our_plugin
run_case a_prepare_that_waits_is_woken_by_the_write_that_it_waits_for
run_case two_domains_have_the_same_nodes_one_after_the_other
run_case a_pod_whose_claim_has_a_gpu_and_the_channel_runs_and_sees_both
run_case domains_that_are_deleted_leave_nothing_in_the_cluster_and_on_no_node
run_case probes_and_metrics_of_our_plugin_are_answered
run_case a_disk_that_is_full_is_logged_with_the_file_and_nothing_half_written_stays
run_case what_our_plugin_notes_under_a_job_is_what_nvidias_would_have_written
run_case a_job_whose_claims_nvidias_plugin_prepared_goes_on_under_ours
run_case a_container_of_such_a_job_that_ends_is_started_again_with_its_channel
run_case claims_that_nvidias_plugin_prepared_are_taken_back_without_a_trace_by_a_deletion_and_by_a_drain
run_case a_disk_that_is_full_is_told_to_the_pod_and_once_there_is_room_the_kubelets_next_attempt_succeeds
run_case a_node_that_was_started_again_loses_the_label_and_the_files_of_before
run_case our_plugin_is_removed_and_leaves_its_notes_alone
