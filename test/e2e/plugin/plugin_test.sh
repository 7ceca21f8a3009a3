#!/usr/bin/env bash
# The kubelet plugin as a process, under the rights that docs/node.md names, on a real control plane; in the place of a
# kubelet ask-plugin, and in that of scheduler and controller whoever runs this. Needs root.
#
#   plugin_test.sh BIN_FOLDER [PATTERN...]
#
# CDOM_CYCLES=N       so often a claim is prepared and taken back (1000)
# CDOM_REST=SECONDS   for so long it is counted what a plugin without work asks for (10)
set -euo pipefail

repo=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../../.." && pwd)
bin=$(cd -- "$1" && pwd)
shift
# shellcheck source=../cases.sh
source "$repo/test/e2e/cases.sh"
# shellcheck source=../stage.sh
source "$repo/test/e2e/stage.sh"

stage=$(mktemp -d "${TMPDIR:-/tmp}/cdom-plugin.XXXXXX")
cases_in "$stage/cases" "$@"
readonly kNode=lonely kAccount=cdom-kubelet-plugin kDriver=compute-domain.nvidia.com
readonly kClique=01010101-0101-0101-0101-010101010101.1
plugin_pid=
domain=

leave() {
  local status=$?
  trap - EXIT INT TERM
  stop "$plugin_pid"
  clear_stage plugin "$status"
  exit "$status"
}
trap leave EXIT
trap 'exit 130' INT TERM
tell_more() {
  tail -n 30 "$stage/plugin.log" 2>/dev/null || true
  kubectl get node "$kNode" -o jsonpath='{.metadata.labels}{"\n"}' || true
  files || true
}

# ---- What there is of a node

make_driver() {
  local driver=$stage/driver
  mkdir -p "$driver"/{dev,opt/bin,usr/bin,usr/lib64,proc/driver/nvidia/capabilities}
  ln -s /dev/null "$driver/dev/nvidia0"
  gcc -static -Os -o "$driver/opt/bin/nvidia-imex-ctl" "$repo/test/cluster/stubs/imex/host_imex.c"
  cp "$bin/imex/nvidia-imex" "$driver/usr/bin/"
  cp "$bin/../node/nvml/libnvml_stand_in.so" "$driver/usr/lib64/libnvidia-ml.so.580.95.05"
  ln -s libnvidia-ml.so.580.95.05 "$driver/usr/lib64/libnvidia-ml.so.1"
  printf 'DeviceFileMinor: 512\nDeviceFileMode: 438\nDeviceFileModify: 0\n' >"$driver/proc/driver/nvidia/capabilities/fabric-imex-mgmt"
  printf 'Character devices:\n235 nvidia-caps-imex-channels\n236 nvidia-caps\n\nBlock devices:\n' >"$stage/devices"
  echo WAITING >"$driver/imex-state"
}
within=() devices=(--proc-devices "$stage/devices")
plugin_up() {  # plugin_up [FLAG...]
  mkdir -p "$stage"/{registry,plugins,cdi}
  "${within[@]}" env -i PATH="$PATH" STAND_IN_NVML_GPUS=GB200,0,3,0,1,1 "$bin/compute-domain-kubelet-plugin" -v 4 --node-name "$kNode" \
    --namespace cdom-system --kubeconfig "$stage/plugin.kubeconfig" \
    --kubelet-registrar-directory-path "$stage/registry" --kubelet-plugins-directory-path "$stage/plugins" --cdi-root "$stage/cdi" \
    --nvidia-driver-root "$stage/driver" --container-driver-root "$stage/driver" "${devices[@]}" \
    --config-template "$repo/node/imex/imexd.cfg.tmpl" --healthcheck-port -1 "$@" >>"$stage/plugin.log" 2>&1 &
  plugin_pid=$!
  wait_for 60 "its devices are published" has_devices || return 1
  wait_for 20 "it can be asked" test -S "$stage/plugins/$kDriver/dra.sock"
}
plugin_down() {
  kill -TERM "$plugin_pid" && wait "$plugin_pid" || return 1
  plugin_pid=
  kubectl delete resourceslices --all --wait=true >/dev/null
}
has_devices() { [[ $(kubectl get resourceslices -o json | jq -r '[.items[].spec.devices[]?.name] | sort | join(",")') =~ ^channel-0 ]]; }
ask() { "$bin/ask-plugin" "$stage/plugins/$kDriver/dra.sock" "$@"; }
label_of_node() { kubectl get node "$kNode" -o json | jq -r --arg key "$1" '.metadata.labels[$key] // ""'; }
has_label() { [[ $(label_of_node "$1") == "$2" ]]; }  # has_label LABEL VALUE
files() { (cd "$stage" && find cdi plugins registry -type f -o -type s | sort); }
log_says() { grep -qE "$1" "$stage/plugin.log"; }

# ---- What controller and scheduler would write

# A claim NAME of the domain's channel, as the scheduler leaves it for this node; prints NAMESPACE/NAME/UID.
channel_claim() {
  local config="{apiVersion: resource.nvidia.com/v1beta1, kind: ComputeDomainChannelConfig, domainID: $domain, allocationMode: Single}"
  kubectl apply -f - >/dev/null <<YAML || return 1
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: $1, namespace: default}
spec:
  devices:
    requests: [{name: channel, exactly: {deviceClassName: compute-domain-default-channel.nvidia.com}}]
    config: [{requests: [channel], opaque: {driver: $kDriver, parameters: $config}}]
YAML
  kubectl patch resourceclaim "$1" --subresource status --type merge -p "$(kubectl get resourceclaim "$1" -o json | jq -c --arg node "$kNode" --arg driver "$kDriver" '
    {status: {allocation: {devices: {
      results: [{request: "channel", driver: $driver, pool: $node, device: "channel-0"}],
      config: [.spec.devices.config[0] + {source: "FromClaim"}]}}}}')" >/dev/null || return 1
  kubectl get resourceclaim "$1" -o jsonpath='default/{.metadata.name}/{.metadata.uid}'
}
node_serves() {  # node_serves READY|NotReady: what its daemon would say in the clique
  jq -n --arg name "$domain.$kClique" --arg node "$kNode" --arg status "$1" --arg uid "$domain" '
    {apiVersion: "resource.nvidia.com/v1beta1", kind: "ComputeDomainClique",
     metadata: {name: $name, namespace: "cdom-system", labels: {"resource.nvidia.com/computeDomain": $uid}},
     daemons: [{nodeName: $node, ipAddress: "10.0.0.1", cliqueID: ($name | split(".")[1:] | join(".")), index: 0, status: $status}]}' |
    kubectl apply -f - >/dev/null
}
make_cluster() {
  local server token
  kubectl apply -k "$repo/manifests/local" && kubectl apply -f "$repo/manifests/kubelet-plugin/access.yaml" || return 1
  wait_for 30 "the CRDs are served" kubectl get computedomains || return 1
  jq -n --arg node "$kNode" '{apiVersion: "v1", kind: "Node", metadata: {name: $node}}' | kubectl apply -f - || return 1
  server=$(kubectl config view --raw -o json | jq '.clusters[0].cluster')
  # Of this node, as a pod's token is: the policies want that.
  token=$(kubectl create token "$kAccount" -n cdom-system --duration 4h --bound-object-kind Node --bound-object-name "$kNode") || return 1
  jq -n --argjson cluster "$server" --arg token "$token" '
    {apiVersion: "v1", kind: "Config", "current-context": "c", clusters: [{name: "c", cluster: $cluster}],
     users: [{name: "u", user: {token: $token}}], contexts: [{name: "c", context: {cluster: "c", user: "u"}}]}' >"$stage/plugin.kubeconfig"
  kubectl apply -f - <<'YAML' || return 1
{apiVersion: resource.nvidia.com/v1beta1, kind: ComputeDomain, metadata: {name: shared, namespace: default},
 spec: {numNodes: 0, channel: {resourceClaimTemplate: {name: shared-channel}}}}
YAML
  domain=$(kubectl get computedomain shared -o jsonpath='{.metadata.uid}')
}

# ---- Cases

a_channel_is_given_once_the_nodes_daemon_is_ready_and_taken_back_with_all_its_traces() {
  local claim given before
  before=$(files)
  claim=$(channel_claim first) || return 1
  node_serves NotReady || return 1
  ask prepare "$claim" >"$stage/given" &
  given=$!
  wait_for 20 "the node has the domain's label" has_label resource.nvidia.com/computeDomain "$domain" || return 1
  wait_for 10 "it says what it waits for" log_says "$(cut -d/ -f2 <<<"$claim")" || return 1
  kill -0 "$given" || return 1  # It waits.
  node_serves Ready || return 1
  wait "$given" || return 1
  grep -q "^k8s.$kDriver/claim=" "$stage/given" || { cat "$stage/given"; return 1; }
  [[ $(jq -r '.devices[].containerEdits.deviceNodes[].path' "$stage"/cdi/k8s."$kDriver"-claim_*) == /dev/nvidia-caps-imex-channels/channel0 ]] || return 1
  ask unprepare "$claim" || return 1
  wait_for 20 "the node has no label" has_label resource.nvidia.com/computeDomain '' || return 1
  kubectl delete resourceclaim first --wait=true || return 1
  diff <(echo "$before") <(files)
}

# As NVIDIA's roles have it: cliques may be got, and not watched.
a_clique_that_may_not_be_watched_is_asked_for_and_a_watch_of_it_is_refused_once() {
  local claim rules line given
  rules=$(system get role "$kAccount" -o json | jq -c .rules)
  system patch role "$kAccount" --type merge -p "$(jq -c '{rules: map(if .resources == ["computedomaincliques"] then .verbs = ["get"] else . end)}' <<<"$rules")" || return 1
  wait_for 20 "the right is gone" cannot_list_cliques || return 1
  plugin_down && line=$(wc -l <"$stage/plane/audit.log") && plugin_up || return 1
  claim=$(channel_claim polled) && node_serves NotReady || return 1
  for _ in 1 2; do
    ask prepare "$claim" >"$stage/given" &
    given=$!
    wait_for 20 "it is asked for" clique_was_got "$line" || return 1
    node_serves Ready && wait "$given" && ask unprepare "$claim" && node_serves NotReady || return 1
  done
  [[ $(cliques_asked "$line" | grep -cE '^(list|watch) 403$') == 1 ]] || { cliques_asked "$line" | sort | uniq -c; return 1; }
  system patch role "$kAccount" --type merge -p "{\"rules\": $rules}" && kubectl delete resourceclaim polled --wait=true || return 1
  plugin_down && polled=$((line + 1)),$(wc -l <"$stage/plane/audit.log") && plugin_up
}
polled=0  # Lines of the audit log under that role.
system() { kubectl -n cdom-system "$@"; }
cannot_list_cliques() { [[ $(kubectl auth can-i list computedomaincliques.resource.nvidia.com --as "system:serviceaccount:cdom-system:$kAccount" -n cdom-system) == no ]]; }
cliques_asked() {  # cliques_asked LINE: "VERB CODE" of its requests since then
  tail -n +$(($1 + 1)) "$stage/plane/audit.log" | jq -r --arg account "$kAccount" \
    'select((.user.username | endswith(":" + $account)) and .objectRef.resource == "computedomaincliques" and .stage == "ResponseComplete") | "\(.verb) \(.responseStatus.code)"'
}
clique_was_got() { grep -q '^get 200' < <(cliques_asked "$1"); }

# The node authorizer says so of a claim whose pod it has not heard of yet.
a_claim_that_may_not_be_read_yet_is_prepared_once_it_may() {
  local claim rules given
  claim=$(channel_claim refused) && node_serves Ready || return 1
  rules=$(kubectl get clusterrole "$kAccount" -o json | jq -c .rules)
  kubectl patch clusterrole "$kAccount" --type merge -p "$(jq -c '{rules: map(select(.resources != ["resourceclaims"]))}' <<<"$rules")" || return 1
  wait_for 20 "the right is gone" cannot_read_claims || return 1
  ask prepare "$claim" >"$stage/given" &
  given=$!
  wait_for 20 "it was refused" refused_by_the_server || return 1
  kill -0 "$given" || return 1
  kubectl patch clusterrole "$kAccount" --type merge -p "{\"rules\": $rules}" || return 1
  wait "$given" && grep -q "^k8s.$kDriver/claim=" "$stage/given" || return 1
  ask unprepare "$claim" && kubectl delete resourceclaim refused --wait=true
}
cannot_read_claims() { [[ $(kubectl auth can-i get resourceclaims.resource.k8s.io --as system:serviceaccount:cdom-system:$kAccount -n default) == no ]]; }
refused_by_the_server() {
  jq -e --slurp 'any(.[]; .objectRef.resource == "resourceclaims" and .objectRef.name == "refused" and .responseStatus.code == 403 and .stage == "ResponseComplete")' \
    <(grep '"refused"' "$stage/plane/audit.log")
}

a_thousand_channels_given_and_taken_back_leave_no_file_no_descriptor_and_no_memory() {
  local claims=() i before after times growth threads
  node_serves Ready || return 1
  for i in 1 2 3 4 5; do claims+=("$(channel_claim "cycle-$i")") || return 1; done
  # What is allocated once, and kept, is not growth.
  ask cycle $((kCycles / 5)) "${claims[@]}" || return 1
  before=$(state_of_process)
  times=$(ask cycle "$kCycles" "${claims[@]}") || return 1
  after=$(state_of_process)
  kubectl delete resourceclaims --all --wait=true || return 1
  growth=$(($(sed -n 's/^RssAnon //p' <<<"$after") - $(sed -n 's/^RssAnon //p' <<<"$before")))
  threads=$(($(sed -n 's/^threads //p' <<<"$after") - $(sed -n 's/^threads //p' <<<"$before")))
  figure="$kCycles cycles: $times; RssAnon $(sed -n 's/^RssAnon //p' <<<"$after") KiB, grown by $growth"
  diff <(grep -vE '^(RssAnon|threads)' <<<"$before") <(grep -vE '^(RssAnon|threads)' <<<"$after") || return 1
  # gRPC runs the ends of calls on threads that it starts when they lag: two for each processor, at most.
  ((threads <= 2 * $(nproc))) || { echo "$threads more threads"; return 1; }
  # Pages that the allocator happens to touch; a byte a cycle that is never given back would be a KiB.
  ((growth < 512))
}
state_of_process() {
  awk '$1 == "RssAnon:" { print "RssAnon", $2 } $1 == "Threads:" { print "threads", $2 }' "/proc/$plugin_pid/status"
  find "/proc/$plugin_pid/fd" -type l | wc -l
  files
  wc -c <"$stage/plugins/$kDriver/checkpoint.json"
}

a_plugin_without_work_asks_for_nothing_but_watches() {
  local line requests
  wait_for 20 "the label of the last domain is gone" has_label resource.nvidia.com/computeDomain '' || return 1
  line=$(wc -l <"$stage/plane/audit.log")
  read -rt "$kRest" <> <(:) || true
  requests=$(tail -n +$((line + 1)) "$stage/plane/audit.log" |
    jq -r --arg account "$kAccount" 'select((.user.username | endswith(":" + $account)) and .verb != "watch") | "\(.verb) \(.objectRef.resource)"')
  figure="${kRest} s"
  [[ -z $requests ]] || { echo "$requests"; return 1; }
  # What was asked before is there, so it is counted under this name.
  grep -q "\"username\":\"system:serviceaccount:cdom-system:$kAccount\"" "$stage/plane/audit.log"
}

a_node_gets_its_cliques_label_where_that_is_asked_for() {
  has_label nvidia.com/gpu.clique '' || return 1
  plugin_down && plugin_up --gpu-clique-label-enabled=true || return 1
  wait_for 20 "the node has the clique's label" has_label nvidia.com/gpu.clique "$kClique" || return 1
  plugin_down && plugin_up
}

REV3_N12_where_the_host_runs_imex_a_channel_is_given_once_that_is_ready_and_no_node_is_labelled() {
  local claim given
  plugin_down && plugin_up --imex-mode hostManaged --feature-gates HostManagedIMEXDaemon=true || return 1
  [[ $(kubectl get resourceslices -o json | jq -r '[.items[].spec.devices[].name] | join(",")') == channel-0 ]] || return 1
  claim=$(channel_claim bare) || return 1
  echo 'NOT READY' >"$stage/driver/imex-state"
  ask prepare "$claim" >"$stage/given" &
  given=$!
  wait_for 20 "it waits for the host" log_says 'claim="default/bare".*IMEX|IMEX.*claim="default/bare"' || return 1
  kill -0 "$given" || return 1
  echo READY >"$stage/driver/imex-state"
  wait "$given" && grep -q "^k8s.$kDriver/claim=" "$stage/given" || return 1
  has_label resource.nvidia.com/computeDomain '' || return 1
  ask unprepare "$claim" && kubectl delete resourceclaim bare --wait=true || return 1
  plugin_down && plugin_up
}

# Which it asks under the driver's root. Of its capabilities it keeps this one alone then.
REV3_X14_where_the_host_runs_imex_a_plugin_without_the_capability_to_chroot_gives_no_channel() {
  local claim given within=(setpriv --bounding-set=-sys_chroot)
  plugin_down && plugin_up --imex-mode hostManaged --feature-gates HostManagedIMEXDaemon=true || return 1
  claim=$(channel_claim locked) && echo READY >"$stage/driver/imex-state" || return 1
  ask prepare "$claim" >"$stage/given" &
  given=$!
  wait_for 20 "it waits for the host" log_says 'claim="default/locked".*IMEX does not say READY' || return 1
  # Since then it has asked more than once.
  read -rt 3 <> <(:)
  kill -0 "$given" || return 1
  within=()
  plugin_down && plugin_up --imex-mode hostManaged --feature-gates HostManagedIMEXDaemon=true || return 1
  ! wait "$given" || return 1
  ask prepare "$claim" >"$stage/given" && grep -q "^k8s.$kDriver/claim=" "$stage/given" || return 1
  ask unprepare "$claim" && kubectl delete resourceclaim locked --wait=true || return 1
  plugin_down && plugin_up
}

# As a container runtime leaves it to a container that it gives GPUs to.
what_masks_the_drivers_files_in_its_container_is_taken_away_as_it_starts() {
  local within=(unshare --mount --propagation private bash -c '
    mount -t tmpfs tmpfs /proc/driver && cp -r "$0/driver/proc/driver/nvidia" /proc/driver && echo ModifyDeviceFiles: 1 >/proc/driver/nvidia/params &&
      echo ModifyDeviceFiles: 0 >"$0/masked" && mount --bind "$0/masked" /proc/driver/nvidia/params &&
      mount -t tmpfs tmpfs /proc/driver/nvidia/capabilities && mount --bind "$0/devices" /proc/devices && exec "$@"' "$stage")
  plugin_down && devices=() && plugin_up || return 1
  awk '{ print $5 }' "/proc/$plugin_pid/mountinfo" | grep '^/proc/d' >"$stage/mounts"
  diff "$stage/mounts" - <<<$'/proc/driver\n/proc/devices' || return 1
  [[ $(cat "/proc/$plugin_pid/root/proc/driver/nvidia/params") == 'ModifyDeviceFiles: 1' ]] || return 1
  log_says 'taken away.*file="/proc/driver/nvidia/capabilities"' || return 1
  within=() devices=(--proc-devices "$stage/devices")
  plugin_down && plugin_up
}

# By whoever may write slices, as an administrator by mistake.
slices_that_others_change_are_put_right_and_one_too_many_is_deleted() {
  local first
  first=$(kubectl get resourceslices -o json | jq -c '.items[0]') || return 1
  kubectl patch resourceslice "$(jq -r .metadata.name <<<"$first")" --type json -p '[{"op": "remove", "path": "/spec/devices/0"}]' || return 1
  wait_for 20 "its devices are as before" has_the_devices_of "$first" || return 1
  jq '.metadata = {generateName: "another-"} | .spec.devices |= .[:1]' <<<"$first" | kubectl create -f - || return 1
  wait_for 20 "there is one slice again, with its devices" has_the_devices_of "$first"
}
has_the_devices_of() {  # has_the_devices_of SLICE: and there is no other one
  [[ $(kubectl get resourceslices -o json | jq -c '[.items[].spec.devices]') == "$(jq -c '[.spec.devices]' <<<"$1")" ]]
}

# As the init container of its pod.
the_preflight_asks_for_its_node_alone() {
  local said
  said=$(env -i PATH="$PATH" STAND_IN_NVML_GPUS=GB200,0,3,0,1,1 "$bin/compute-domain-kubelet-plugin" preflight --node-name "$kNode" \
    --namespace cdom-system --kubeconfig "$stage/plugin.kubeconfig" --kubelet-plugins-directory-path "$stage/plugins" --cdi-root "$stage/cdi" \
    --nvidia-driver-root "$stage/driver" --container-driver-root "$stage/driver" "${devices[@]}" --preflight-wait 0 2>&1) || true
  echo "$said"
  node_was_got
}
node_was_got() { grep -qx 'get nodes' < <(rights_used); }

# "VERB RESOURCE", of the roles in manifests/kubelet-plugin/access.yaml that are bound.
rights_granted() {
  { kubectl get clusterrole "$kAccount" -o json && system get role "$kAccount" -o json; } |
    jq -r '.rules[] | .verbs[] as $verb | .resources[] | $verb + " " + .' | sort -u
}
rights_used() {
  sed "${polled}d" "$stage/plane/audit.log" | jq -r --arg account "system:serviceaccount:cdom-system:$kAccount" '
    select(.user.username == $account and .responseStatus.code < 400) | .verb + " " + .objectRef.resource' | sort -u
}
# After all other cases: what nothing has asked for, it does not need.
REV3_X14_every_right_of_the_plugin_has_a_request_that_needed_it() {
  rights_granted >"$stage/granted.txt" && rights_used >"$stage/used.txt" || return 1
  [[ -s $stage/granted.txt ]] && comm -3 "$stage/granted.txt" "$stage/used.txt"
  diff "$stage/granted.txt" "$stage/used.txt" && figure="$(wc -l <"$stage/used.txt") rights"
}

readonly kCycles=${CDOM_CYCLES:-1000} kRest=${CDOM_REST:-10}
make_driver
plane_up >/dev/null
make_cluster >"$stage/cluster.out" 2>&1 || { cat "$stage/cluster.out"; exit 1; }
plugin_up || { tail -n 30 "$stage/plugin.log"; exit 1; }
run_case a_channel_is_given_once_the_nodes_daemon_is_ready_and_taken_back_with_all_its_traces
run_case a_clique_that_may_not_be_watched_is_asked_for_and_a_watch_of_it_is_refused_once
run_case a_claim_that_may_not_be_read_yet_is_prepared_once_it_may
run_case a_thousand_channels_given_and_taken_back_leave_no_file_no_descriptor_and_no_memory
run_case a_plugin_without_work_asks_for_nothing_but_watches
run_case a_node_gets_its_cliques_label_where_that_is_asked_for
run_case REV3_N12_where_the_host_runs_imex_a_channel_is_given_once_that_is_ready_and_no_node_is_labelled
run_case REV3_X14_where_the_host_runs_imex_a_plugin_without_the_capability_to_chroot_gives_no_channel
run_case what_masks_the_drivers_files_in_its_container_is_taken_away_as_it_starts
run_case slices_that_others_change_are_put_right_and_one_too_many_is_deleted
run_case the_preflight_asks_for_its_node_alone
run_case REV3_X14_every_right_of_the_plugin_has_a_request_that_needed_it
summary
