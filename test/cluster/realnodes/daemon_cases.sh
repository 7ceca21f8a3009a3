# The daemon in the driver's image, as pods of a domain on three nodes, with cdom's kubelet plugin and stand-ins for IMEX
# (test/cluster/stubs/imex), which connect over the pods' network. Sourced by realnodes_test.sh. plugin_cases.sh runs the cases among its own.
# shellcheck shell=bash disable=SC2154

readonly kMembers=3 kGpuDriver=gpu.nvidia.com
nodes=(node-1 node-2 node-3)

imex_domain() {  # imex_domain: a domain and a job that takes a channel on each node
  cat <<YAML
apiVersion: resource.nvidia.com/v1beta1
kind: ComputeDomain
metadata: {name: real, namespace: default}
spec: {numNodes: 0, channel: {resourceClaimTemplate: {name: real-channel}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: real, namespace: default}
spec:
  replicas: $kMembers
  selector: {matchLabels: {app: real}}
  template:
    metadata: {labels: {app: real}}
    spec:
      terminationGracePeriodSeconds: 2
      containers: [{name: work, image: "cdom.test/work:1", resources: {claims: [{name: channel}]}}]
      resourceClaims: [{name: channel, resourceClaimTemplateName: real-channel}]
YAML
}
domain_uid() { kubectl get cdom real -o 'jsonpath={.metadata.uid}'; }
workers_run() { (($(kubectl get pods -l app=real --no-headers | awk '$3 == "Running"' | wc -l) == kMembers)); }
no_workers() { [[ -z $(kubectl get pods -l app=real --no-headers 2>/dev/null) ]]; }
is_ready() { [[ $(kubectl get cdom real -o 'jsonpath={.status.status} {.status.members}') == "Ready $kMembers/$kMembers" ]]; }
says_members() {  # says_members REASON PATTERN
  local said
  said=$(kubectl get cdom real -o 'jsonpath={.status.conditions[?(@.type=="MembersReady")].reason} {.status.conditions[?(@.type=="MembersReady")].message}')
  [[ ${said%% *} == "$1" && $said =~ $2 ]]
}

daemons() { system get pods -l resource.nvidia.com/computeDomain -o "$@"; }
daemon_on() { daemons json | jq -er --arg node "$1" '.items[] | select(.spec.nodeName == $node and .metadata.deletionTimestamp == null) | .metadata.name'; }
in_daemon() { system exec "$(daemon_on "$1")" -- "${@:2}"; }  # in_daemon NODE COMMAND...
report() { system get pod "$(daemon_on "$1")" -o json | jq -r '.metadata.annotations["cdom.dev/imex"] // "{}"'; }
reports() { [[ $(report "$1" | jq -r "$2") == "$3" ]]; }  # reports NODE JQ VALUE
all_report() {
  local node
  for node in "${nodes[@]}"; do reports "$node" '"\(.state) \(.unreachableCount)"' 'READY 0' || return 1; done
}
# Connections that IMEX has, by its own words: each with each, and with itself.
connections() {
  in_daemon node-1 nvidia-imex-ctl -c /imexd/imexd.cfg -N -j |
    jq '[.nodes[] | select(.status == "READY") | .connections[] | select(.status == "CONNECTED")] | length'
}
all_connected() { (($(connections) == kMembers * kMembers)); }
index_of() { system get computedomaincliques -o json | jq -r --arg node "$1" '.items[].daemons[]? | select(.nodeName == $node) | .index'; }

# --- What has to be there ----------------------------------------------------------------------------------------

load_image() {  # load_image controller|driver: made once, and in every node
  [[ ! -d $root/image-$1 ]] || return 0
  "$repo/scripts/image.sh" "$(dpkg --print-architecture)" --image "$1" --output "$root/image-$1" &&
    "$here/realnodes" load "$cluster" "$root/image-$1" "registry.example.com/cdom-$1"
}
# As docs/install.md has it for daemons of ours.
site() {
  mkdir -p "$root/site"
  cat >"$root/site/kustomization.yaml" <<YAML
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [$(realpath --relative-to "$root/site" "$repo/manifests/standalone")]
components: [$(realpath --relative-to "$root/site" "$repo/manifests/controller-writes")]
configMapGenerator:
- name: cdom-settings
  namespace: cdom-system
  behavior: merge
  literals: [IMAGE_NAME=registry.example.com/cdom-driver:0.2.0]
YAML
}
# config_with TOKEN: a kubeconfig of who has this token, and nothing else; for the networks of the nodes, too.
config_with() {
  kubectl config view --raw -o json | jq --arg token "$1" --arg server "https://$kServiceAddress" '
    .users = [{name: "u", user: {token: $token}}] | .contexts[0].context.user = "u" | .clusters[0].cluster.server = $server'
}
slices() { kubectl get resourceslices --no-headers 2>/dev/null | wc -l; }
none_has_devices() { (($(slices) == 0)); }

both_images_get_into_every_node_and_the_controller_serves() {
  load_image controller && load_image driver || return 1
  site
  kubectl apply -k "$root/site" || return 1
  wait_for 120 "both replicas are ready" are_ready || { controller_pods -o yaml; return 1; }
}

# --- A domain's life ---------------------------------------------------------------------------------------------

pods_of_three_nodes_get_their_channels_once_real_daemons_have_connected_their_imex() {
  domain_runs || return 1
  # A channel is handed out when the node's own IMEX is ready; the others may be a moment later.
  wait_for 30 "all are connected" all_connected || { what_keeps_our_plugin; return 1; }
  wait_for 30 "the domain is ready" is_ready || { what_keeps_our_plugin; return 1; }
  wait_for 30 "all have reported" all_report || { what_keeps_our_plugin; return 1; }
  [[ $(daemons 'jsonpath={.items[*].spec.containers[0].image}' | tr ' ' '\n' | sort -u) == registry.example.com/cdom-driver:0.2.0 ]] || return 1
  [[ $(daemons 'jsonpath={.items[*].spec.nodeName}' | tr ' ' '\n' | sort | tr '\n' ' ') == "${nodes[*]} " ]] || return 1
  has_channel
}
# Each worker sees the device, and a pod without a claim would not.
has_channel() {
  local pod node
  while read -r pod node; do
    channel_in "$pod" "$node" || return 1
  done < <(kubectl get pods -l app=real -o 'jsonpath={range .items[*]}{.metadata.name} {.spec.nodeName}{"\n"}{end}')
}
channel_in() {  # channel_in POD NODE
  local pid
  pid=$(in_node "$2" "$cluster/containerd/ctr" --namespace k8s.io tasks ls |
    awk -v id="$(kubectl get pod "$1" -o 'jsonpath={.status.containerStatuses[0].containerID}' | sed 's#containerd://##')" '$1 == id { print $2 }')
  in_node "$2" test -c "/proc/$pid/root/dev/nvidia-caps-imex-channels/channel0" || { echo "$1 has no channel"; return 1; }
}

the_log_of_a_daemon_is_read_through_the_kubelet_with_imexs_own_words() {
  system logs "$(daemon_on node-2)" | tee "$root/daemon.log"
  grep -q Starting "$root/daemon.log" && grep -qE '^\[INFO\] \[tid [0-9]+\]' "$root/daemon.log"
}

# The token that the kubelet gave it: what it may do beside what anybody may, and what it has done.
a_daemons_token_may_do_what_daemons_did_and_nothing_else() {
  local may did
  config_with "$(in_daemon node-1 cat /var/run/secrets/kubernetes.io/serviceaccount/token)" >"$root/daemon.kubeconfig" || return 1
  as_daemon auth can-i --list -n cdom-system >"$root/may.daemon" || return 1
  cat "$root/may.daemon"
  # Each account may ask about itself and, since Kubernetes 1.37, read the cluster's roots of trust.
  may=$(sed 1d "$root/may.daemon" | awk '$1 !~ /^selfsubject|^clustertrustbundles|^\[/' | tr -d '[]' | awk '{ for (i = 2; i <= NF; ++i) print $i, $1 }' | sort -u)
  did=$(jq -r 'select(.user.username == "system:serviceaccount:cdom-system:compute-domain-daemon-service-account"
      and .user.extra["authentication.kubernetes.io/pod-name"] != null and (.userAgent | startswith("cdom/")))
    | "\(.verb) \(.objectRef.resource)\(if .objectRef.apiGroup then "." + .objectRef.apiGroup else "" end) \(.responseStatus.code)"' "$audit" | sort -u)
  printf 'did:\n%s\n' "$did"
  # None of it was refused.
  grep -q ' 40[13]$' <<<"$did" && return 1
  [[ -n $may && $may == "$(awk '{ print $1, $2 }' <<<"$did" | sort -u)" ]] || return 1
  refused_patch "$(daemon_on node-2)" '{"metadata": {"annotations": {"cdom.dev/imex": "x"}}}' || return 1
  refused_patch "$(daemon_on node-1)" '{"metadata": {"annotations": {"cdom.dev/other": "x"}}}' || return 1
  refused Forbidden as_daemon -n cdom-system get pods || return 1
  refused Forbidden as_daemon -n cdom-system create -f <(printf 'apiVersion: resource.nvidia.com/v1beta1\nkind: ComputeDomainClique\nmetadata: {name: x}\n') || return 1
  refused Forbidden as_daemon get cdom real
}
refused_patch() {  # refused_patch POD BODY: kubectl would read the pod first, which it may not
  "$here/realnodes" in "$cluster" plane curl -sk -X PATCH -H 'Content-Type: application/merge-patch+json' -d "$2" \
    -H "Authorization: Bearer $(jq -r '.users[0].user.token' "$root/daemon.kubeconfig")" \
    "https://$kServiceAddress/api/v1/namespaces/cdom-system/pods/$1" | tee "$root/refused.json"
  [[ $(jq -r .code "$root/refused.json") == 403 ]] && grep -q cdom-daemon-account "$root/refused.json"
}
as_daemon() { "$here/realnodes" kubectl "$cluster" --kubeconfig "$root/daemon.kubeconfig" "$@"; }

an_imex_that_is_killed_is_started_again_in_its_container_told_and_ends_its_peers_sessions() {
  local index ended
  index=$(report node-2 | jq .index) && ended=$(ended_sessions node-1 "$index") || return 1
  kill_imex node-2 || return 1
  wait_for 30 "it is told" reports node-2 '"\(.state) \(.restarts)"' 'READY 1' || return 1
  [[ $(system get pod "$(daemon_on node-2)" -o 'jsonpath={.status.containerStatuses[0].restartCount}') == 0 ]] || return 1
  wait_for 30 "its peers say what is lost" has_ended_more node-1 "$index" "$ended" || return 1
  wait_for 30 "all are connected again" all_connected || return 1
  wait_for 30 "the domain says so" says_members ImexRestartedUnderJob 'node-2\.' || { kubectl get cdom real -o yaml; return 1; }
}
# ended_sessions ON INDEX: how many with the node of that index IMEX has told. Each daemon that leaves a node ends one.
ended_sessions() { system logs "$(daemon_on "$1")" | awk -v words="Session with node $2 has ended" 'index($0, words) { ++count } END { print count + 0 }'; }
has_ended_more() { (($(ended_sessions "$1" "$2") > $3)); }  # has_ended_more ON INDEX COUNT
kill_imex() {
  # shellcheck disable=SC2016
  in_daemon "$1" bash -c 'for process in /proc/[0-9]*; do
    read -r name <"$process/comm" && [[ $name == nvidia-imex ]] && kill -KILL "${process#/proc/}" && exit
  done; exit 1'
}

a_daemon_that_is_deleted_comes_back_under_its_index_and_is_connected_again() {
  local pod index
  pod=$(daemon_on node-3) && index=$(index_of node-3) || return 1
  system delete pod "$pod" --timeout=60s || return 1
  wait_for 60 "another is ready" another_serves node-3 "$pod" || { what_keeps_our_plugin; return 1; }
  [[ -n $index && $(index_of node-3) == "$index" ]] || return 1
  reports node-3 .index "$index" || wait_for 30 "it says so itself" reports node-3 .index "$index" || return 1
  wait_for 60 "all are connected" all_connected || { what_keeps_our_plugin; return 1; }
  wait_for 60 "all have reported" all_report || return 1
  # The job went on.
  workers_run
}
another_serves() {
  local now
  now=$(daemon_on "$1") && [[ $now != "$2" ]] &&
    [[ $(system get computedomaincliques -o json | jq -r --arg node "$1" '.items[].daemons[]? | select(.nodeName == $node) | .status + " " + .ipAddress') == \
      "Ready $(system get pod "$now" -o 'jsonpath={.status.podIP}')" ]]
}

# --- A GPU beside the channel -----------------------------------------------------------------------------------

# A driver of GPUs beside the plugin: one node publishes a GPU, which is /dev/null under the name of one.
gpu_driver_up() {  # gpu_driver_up NODE
  in_node "$1" mkdir -p "/var/lib/kubelet/plugins/$kGpuDriver" || return 1
  jq -n --arg kind "k8s.$kGpuDriver/device" '{cdiVersion: "0.5.0", kind: $kind, devices: [{name: "gpu-0", containerEdits: {deviceNodes:
    [{path: "/dev/nvidia0", type: "c", major: 1, minor: 3, fileMode: 438}]}}]}' | in_node "$1" bash -c "cat >/run/cdi/k8s.$kGpuDriver.yaml" || return 1
  "$here/realnodes" in "$cluster" "$1" bash -c 'echo $$ >/run/gpu_driver.pid && exec "$@" >>/var/log/gpu_driver.log 2>&1' gpu-driver "$bin/gpu-driver" "$1" &
  gpu_driver=$!
  wait_for 30 "the kubelet has taken it" in_node "$1" grep -q '^registered: $' /var/log/gpu_driver.log || return 1
  kubectl create -f - <<YAML
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: $1-gpu}
spec:
  driver: $kGpuDriver
  nodeName: $1
  pool: {name: $1, generation: 1, resourceSliceCount: 1}
  devices: [{name: gpu-0, attributes: {type: {string: gpu}}}]
YAML
}
gpu_driver_down() {  # gpu_driver_down NODE
  in_node "$1" bash -c 'kill "$(cat /run/gpu_driver.pid)"' || return 1
  wait "$gpu_driver"
  in_node "$1" rm -r "/run/cdi/k8s.$kGpuDriver.yaml" "/var/lib/kubelet/plugins/$kGpuDriver" || return 1
  kubectl delete resourceslice "$1-gpu" --ignore-not-found
}
gpu_driver=

gpu_domain() {  # One claim for a GPU and the channel, one container that sees both and one that sees the GPU alone.
  cat <<'YAML'
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu.nvidia.com}
spec: {selectors: [{cel: {expression: "device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].type == 'gpu'"}}]}
---
apiVersion: resource.nvidia.com/v1beta1
kind: ComputeDomain
metadata: {name: both, namespace: default, annotations: {cdom.dev/gpus: "1"}}
spec: {numNodes: 0, channel: {resourceClaimTemplate: {name: both-channel}}}
---
apiVersion: v1
kind: Pod
metadata: {name: both, namespace: default}
spec:
  terminationGracePeriodSeconds: 2
  resourceClaims: [{name: channel, resourceClaimTemplateName: both-channel}]
  containers:
  - {name: both, image: "cdom.test/work:1", resources: {claims: [{name: channel}]}}
  - {name: gpu, image: "cdom.test/work:1", resources: {claims: [{name: channel, request: gpus}]}}
YAML
}
a_pod_whose_claim_has_a_gpu_and_the_channel_runs_and_sees_both() {
  local node=node-2
  gpu_driver_up "$node" || { in_node "$node" cat /var/log/gpu_driver.log; return 1; }
  gpu_domain | kubectl apply -f - || return 1
  wait_for 120 "the pod runs" both_runs || { what_keeps_our_plugin; return 1; }
  sees both /dev/nvidia-caps-imex-channels/channel0 && sees both /dev/nvidia0 || { echo "it does not see both"; return 1; }
  sees gpu /dev/nvidia0 || { echo "the other does not see the GPU"; return 1; }
  ! sees gpu /dev/nvidia-caps-imex-channels/channel0 || { echo "the other sees the channel"; return 1; }
  gpu_domain | kubectl delete --timeout=90s -f - || return 1
  gpu_driver_down "$node" || return 1
  wait_for 60 "nothing is left of it" own_is_gone || { what_keeps_our_plugin; return 1; }
  own_rest
}
both_runs() { [[ $(phase both) == Running ]]; }
sees() {  # sees CONTAINER DEVICE
  local node pid id
  node=$(kubectl get pod both -o 'jsonpath={.spec.nodeName}')
  id=$(kubectl get pod both -o "jsonpath={.status.containerStatuses[?(@.name==\"$1\")].containerID}")
  pid=$(in_node "$node" "$cluster/containerd/ctr" --namespace k8s.io tasks ls | awk -v id="${id#containerd://}" '$1 == id { print $2 }')
  in_node "$node" test -c "/proc/$pid/root$2"
}

# --- The end -----------------------------------------------------------------------------------------------------

what_was_installed_for_daemons_goes_without_a_trace() {
  # A kubelet takes its node's slices back 30 s after its plugin has gone.
  wait_for 90 "no node publishes devices" none_has_devices || return 1
  kubectl delete -k "$root/site" --timeout=90s || return 1
  is_as_before
}

run_case both_images_get_into_every_node_and_the_controller_serves
# shellcheck source=plugin_cases.sh
source "$here/plugin_cases.sh"
run_case what_was_installed_for_daemons_goes_without_a_trace
