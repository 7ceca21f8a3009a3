# compute-domain-kubelet-plugin in the place of the stand-in (plugin/), on the same three nodes: a process in the namespaces of
# each. It is told of a driver by files (ALT_PROC_DEVICES_PATH) and of GPUs by test/nvml's stand-in for NVIDIA's library.
# Sourced by daemon_cases.sh, whose functions it uses.
# shellcheck shell=bash disable=SC2154

readonly kDriver=compute-domain.nvidia.com
readonly kOwnClique=01010101-0101-0101-0101-010101010101.1

# What a node with NVIDIA's driver has, as far as the plugin looks at it.
own_driver() {
  local driver=$root/driver
  mkdir -p "$driver"/{dev,usr/bin,usr/lib64,proc/driver/nvidia/capabilities} || return 1
  cp "$bin/imex/nvidia-imex" "$bin/imex/nvidia-imex-ctl" "$driver/usr/bin/" || return 1
  cp "$bin/../node/nvml/libnvml_stand_in.so" "$driver/usr/lib64/libnvidia-ml.so.580.95.05" || return 1
  ln -s libnvidia-ml.so.580.95.05 "$driver/usr/lib64/libnvidia-ml.so.1" || return 1
  printf 'DeviceFileMinor: 512\nDeviceFileMode: 438\nDeviceFileModify: 0\n' >"$driver/proc/driver/nvidia/capabilities/fabric-imex-mgmt"
  printf 'Character devices:\n  1 mem\n235 nvidia-caps-imex-channels\n236 nvidia-caps\n\nBlock devices:\n' >"$root/devices"
}
own_plugin_up() {  # own_plugin_up NODE [FLAG...]
  "$here/realnodes" in "$cluster" "$1" env -i PATH="$PATH" STAND_IN_NVML_GPUS=GB200,0,3,0,1,1 bash -c \
    'echo $$ >/run/plugin.pid && exec "$@" >>/var/log/own-plugin.log 2>&1' plugin \
    "$bin/compute-domain-kubelet-plugin" -v 4 --node-name "$1" --namespace cdom-system --kubeconfig "$root/own-plugin.kubeconfig" \
    --cdi-root /var/run/cdi --nvidia-driver-root "$root/driver" --container-driver-root "$root/driver" --proc-devices "$root/devices" \
    --config-template "$repo/node/imex/imexd.cfg.tmpl" --healthcheck-port 51515 --http-endpoint 127.0.0.1:8081 "${@:2}" &
  plugin_pids[$1]=$!
}
own_plugin_killed() {  # own_plugin_killed NODE
  in_node "$1" bash -c 'kill -KILL "$(cat /run/plugin.pid)"'
  wait "${plugin_pids[$1]}" || true
}
own_slices() { kubectl get resourceslices --field-selector "spec.driver=$kDriver" -o "$@"; }
each_has_own_devices() {
  [[ $(own_slices json | jq -r '.items[] | .spec.nodeName + " " + (.spec.devices | map(.name + "=" + .attributes.clique.string) | join(","))' | sort) == \
    "$(printf "%s channel-0=$kOwnClique,daemon-0=$kOwnClique\n" "${nodes[@]}")" ]]
}
what_keeps_our_plugin() {
  what_keeps_them
  tail -n 40 "$cluster"/nodes/*/log/own-plugin.log
  own_slices yaml
}
# What they left under their own names on the nodes, which both have at rest.
on_nodes_at_rest() { on_nodes >"$root/rest.$1"; }
nodes_are_at_rest() { on_nodes_at_rest after && cmp -s "$root/rest.before" "$root/rest.after"; }
rounds_began=0
own_rest() { wait_for 60 "nodes hold what they held before" nodes_are_at_rest || { diff "$root/rest.before" "$root/rest.after"; return 1; }; }

our_plugin_takes_the_place_of_the_stand_in_and_publishes_the_devices_of_each_node() {
  local node
  for node in "${nodes[@]}"; do plugin_down "$node" || return 1; done
  wait_for 90 "no node publishes devices" none_has_devices || return 1
  # It notes claims in files of its own.
  for node in "${nodes[@]}"; do in_node "$node" rm -r "/var/lib/kubelet/plugins/$kDriver" || return 1; done
  own_driver && kubectl apply -f "$here/plugin_access.yaml" || return 1
  config_with "$(system create token own-plugin --duration 4h)" >"$root/own-plugin.kubeconfig" || return 1
  for node in "${nodes[@]}"; do own_plugin_up "$node"; done
  wait_for 60 "each node publishes its devices" each_has_own_devices || { what_keeps_our_plugin; return 1; }
  for node in "${nodes[@]}"; do
    wait_for 30 "the kubelet has taken it" in_node "$node" grep -q 'has registered the plugin' /var/log/own-plugin.log || { what_keeps_our_plugin; return 1; }
  done
  on_nodes_at_rest before
}

pods_of_three_nodes_get_their_channels_from_our_plugin() {
  imex_domain | kubectl apply -f - || return 1
  wait_for 120 "the workers run" workers_run || { what_keeps_our_plugin; return 1; }
  wait_for 30 "all are connected" all_connected || { what_keeps_our_plugin; return 1; }
  wait_for 30 "the domain is ready" is_ready || { what_keeps_our_plugin; return 1; }
  has_channel
}

# By the stream that the kubelet listens to.
a_pods_status_says_that_its_channel_is_healthy() {
  wait_for 60 "all say so" all_are_healthy || { kubectl get pods -l app=real -o json | jq '.items[].status'; return 1; }
}
all_are_healthy() {
  [[ $(kubectl get pods -l app=real -o json | jq -r '.items[].status.containerStatuses[].allocatedResourcesStatus[]?.resources[]?.health') == \
    $'Healthy\nHealthy\nHealthy' ]]
}

# Kubelets do that when they start.
a_slice_that_is_deleted_is_put_back_within_a_second() {
  local began took
  own_slices name | xargs "$here/realnodes" kubectl "$cluster" delete --wait=false || return 1
  began=$(date +%s%N)
  wait_for 30 "each node publishes its devices" each_has_own_devices || { what_keeps_our_plugin; return 1; }
  took=$((($(date +%s%N) - began) / 1000000))
  echo "$took ms"
  ((took < 2000))  # kubectl takes its time, too.
}

our_plugin_that_is_killed_goes_on_from_what_it_noted() {
  local node=node-2 pod
  own_plugin_killed "$node"
  own_plugin_up "$node"
  wait_for 30 "it has read its notes" in_node "$node" grep -q 'The checkpoint is read.*claims="2"' /var/log/own-plugin.log || { what_keeps_our_plugin; return 1; }
  # The label of the node was not taken for one that nobody needs.
  [[ $(kubectl get node "$node" -o 'jsonpath={.metadata.labels.resource\.nvidia\.com/computeDomain}') == "$(domain_uid)" ]] || return 1
  # Another pod takes the place of the one there: its claim is taken back, and the next one is prepared.
  pod=$(kubectl get pods -l app=real -o json | jq -r --arg node "$node" '.items[] | select(.spec.nodeName == $node) | .metadata.name')
  kubectl delete pod "$pod" --timeout=60s || return 1
  wait_for 120 "the workers run" workers_run || { what_keeps_our_plugin; return 1; }
  has_channel
}

notes_of() { in_node "$1" jq -c '.v2.preparedClaims // {} | map_values([.checkpointState, .preparedDevices])' "/var/lib/kubelet/plugins/$kDriver/checkpoint.json"; }
a_torn_checkpoint_is_made_again_out_of_claims_and_cdi_files() {
  local node=node-1 before
  before=$(notes_of "$node") || return 1
  [[ $(jq length <<<"$before") == 2 ]] || { echo "$before"; return 1; }
  own_plugin_killed "$node"
  in_node "$node" truncate --size=100 "/var/lib/kubelet/plugins/$kDriver/checkpoint.json" || return 1
  own_plugin_up "$node"
  wait_for 30 "it has found out what was prepared" in_node "$node" grep -q 'What was prepared is found out.*claims="2"' /var/log/own-plugin.log || { what_keeps_our_plugin; return 1; }
  [[ $(notes_of "$node" | jq -S .) == "$(jq -S . <<<"$before")" ]] || { notes_of "$node"; echo "$before"; return 1; }
}

# As if the node had been started again while its plugin was away: what was prepared then is gone, and so is the reason for its label.
a_node_that_was_started_again_loses_the_label_and_the_files_of_before() {
  local node=node-3
  imex_domain | kubectl apply -f - || return 1
  wait_for 120 "the workers run" workers_run || { what_keeps_our_plugin; return 1; }
  [[ $(claim_files "$node" | wc -l) == 2 ]] || return 1
  own_plugin_killed "$node"
  cat /proc/sys/kernel/random/uuid >"$root/boot_id" && own_plugin_up "$node" --boot-id "$root/boot_id"
  wait_for 30 "the label has gone" has_no_label "$node" || { what_keeps_our_plugin; return 1; }
  wait_for 30 "the files have gone" has_no_claim_files "$node" || { claim_files "$node"; return 1; }
  imex_domain | kubectl delete --timeout=90s -f - || return 1
  wait_for 60 "nothing is left of it" is_gone || { what_keeps_our_plugin; return 1; }
  own_rest
}
claim_files() { in_node "$1" find /run/cdi -name "k8s.$kDriver-claim_*"; }
has_no_claim_files() { [[ -z $(claim_files "$1") ]]; }
has_no_label() { [[ -z $(kubectl get node "$1" -o 'jsonpath={.metadata.labels.resource\.nvidia\.com/computeDomain}') ]]; }

its_token_has_done_nothing_that_was_refused() {
  local did
  did=$(jq -r 'select(.user.username == "system:serviceaccount:cdom-system:own-plugin" and (.userAgent | startswith("cdom/")))
    | "\(.verb) \(.objectRef.resource) \(.responseStatus.code)"' "$audit" | sort | uniq -c)
  echo "$did"
  [[ -n $did ]] && ! grep -E ' (401|403)$' <<<"$did"
}

a_domain_leaves_nothing_on_nodes_of_our_plugin() {
  local node
  imex_domain | kubectl delete --timeout=90s -f - || return 1
  wait_for 60 "nothing is left of it" is_gone || { what_keeps_our_plugin; return 1; }
  own_rest || { what_keeps_our_plugin; return 1; }
  for node in "${nodes[@]}"; do
    in_node "$node" bash -c 'jq -e ".v2.preparedClaims // {} | map_values(select(.checkpointState != \"PrepareAborted\")) == {}" /var/lib/kubelet/plugins/'"$kDriver"'/checkpoint.json' || return 1
  done
}

from_apply_to_the_last_of_three_pods_that_runs_with_our_plugin() {
  local round times=() ends=() began
  rounds_began=$(date +%s%6N)
  for round in 1 2 3 4 5; do
    watch_workers
    began=$(date +%s%N)
    imex_domain | kubectl apply -f - || return 1
    until_workers_run || { what_keeps_our_plugin; return 1; }
    times+=("$((($(date +%s%N) - began) / 1000000))")
    began=$(date +%s%N)
    imex_domain | kubectl delete --timeout=90s -f - || return 1
    wait_for 60 "nothing is left of it" is_gone || { what_keeps_our_plugin; return 1; }
    ends+=("$((($(date +%s%N) - began) / 1000000))")
    own_rest || return 1
  done
  figure="apply to $kMembers pods Running: median $(median "${times[@]}"); delete to nothing left: median $(median "${ends[@]}")"
}

# From when the API server answered who wrote that the nodes are ready until their channels were prepared. Asking every so often
# would take longer in one of fifteen.
a_prepare_that_waits_is_woken_by_the_write_that_it_waits_for() {
  local writes at write last most=0
  mapfile -t writes < <(jq -r 'select(.objectRef.resource == "computedomaincliques" and (.verb == "patch" or .verb == "create") and .responseStatus.code < 300)
    | .stageTimestamp' "$audit" | while read -r at; do date -d "$at" +%s%6N; done | sort -n)
  while read -r at; do
    at=$(date -d "$at" +%s%6N)
    # Before, nodes may have been ready already.
    ((at > rounds_began)) || continue
    last=
    for write in "${writes[@]}"; do ((write <= at)) && last=$write; done
    [[ -n $last ]] || return 1
    if ((at - last > most)); then most=$((at - last)); fi
  done < <(grep -h 'A claim is prepared claim="default/real-' "$cluster"/nodes/*/log/own-plugin.log | awk -v day="$(date +%F)" '{ print day "T" $2 }')
  figure="at most $((most / 1000)) ms"
  ((most > 0 && most < 500000))
}

probes_and_metrics_of_our_plugin_are_answered() {
  in_node node-1 curl -sf http://127.0.0.1:8081/metrics | tee "$root/own-plugin.metrics"
  grep -q '^nvidia_dra_requests_total{driver="compute-domain.nvidia.com",operation="prepare"} [1-9]' "$root/own-plugin.metrics" || return 1
  grep -q '^nvidia_dra_prepared_devices{device_type="channel",driver="compute-domain.nvidia.com",node="node-1"} 0' "$root/own-plugin.metrics" || return 1
  in_node node-1 bash -c 'exec 3<>/dev/tcp/127.0.0.1/51515'
  figure="$(in_node node-1 bash -c 'grep -h RssAnon "/proc/$(cat /run/plugin.pid)/status"' | tr -s '\t ' ' ')"
}

# As in a rolling update of pods that pass their UID: the kubelet knows both, and goes on with the one that is left.
the_next_instance_serves_before_the_one_before_has_ended() {
  local node=node-2 uid=22222222-7b1d-4f39-8a55-3f3d0a4a9e10
  replaces "$node" --pod-uid "$uid" --healthcheck-port -1 --http-endpoint 127.0.0.1:8082 || { what_keeps_our_plugin; return 1; }
  [[ $(own_sockets "$node") == "$kDriver-$uid-reg.sock dra-$uid.sock " ]] || { own_sockets "$node"; return 1; }
  imex_domain | kubectl apply -f - || return 1
  wait_for 120 "the workers run" workers_run || { what_keeps_our_plugin; return 1; }
  replaces "$node" || { what_keeps_our_plugin; return 1; }
  [[ $(own_sockets "$node") == "$kDriver-reg.sock dra.sock " ]] || { own_sockets "$node"; return 1; }
  each_has_own_devices || { what_keeps_our_plugin; return 1; }
  imex_domain | kubectl delete --timeout=90s -f - || return 1
  wait_for 60 "nothing is left of it" is_gone || { what_keeps_our_plugin; return 1; }
  own_rest
}
replaces() {  # replaces NODE [FLAG...]: another instance takes the place of the one there
  local before process registered
  before=${plugin_pids[$1]}
  process=$(in_node "$1" cat /run/plugin.pid) && registered=$(times_registered "$1") || return 1
  own_plugin_up "$@"
  wait_for 30 "the kubelet has taken it" has_registered_more "$1" "$registered" || return 1
  in_node "$1" bash -c "kill $process" && wait "$before"
}
times_registered() { in_node "$1" grep -c 'has registered the plugin' /var/log/own-plugin.log; }
has_registered_more() { (($(times_registered "$1") > $2)); }
own_sockets() { in_node "$1" find /var/lib/kubelet/plugins_registry "/var/lib/kubelet/plugins/$kDriver" -type s -printf '%f\n' | sort | tr '\n' ' '; }

our_plugin_ends_and_leaves_no_socket() {
  local node
  for node in "${nodes[@]}"; do
    plugin_down "$node" || return 1
    [[ -z $(in_node "$node" find /var/lib/kubelet/plugins_registry "/var/lib/kubelet/plugins/$kDriver" -type s) ]] || return 1
  done
  kubectl delete -f "$here/plugin_access.yaml" --timeout=60s || return 1
}

run_case our_plugin_takes_the_place_of_the_stand_in_and_publishes_the_devices_of_each_node
run_case pods_of_three_nodes_get_their_channels_from_our_plugin
run_case a_pods_status_says_that_its_channel_is_healthy
run_case a_slice_that_is_deleted_is_put_back_within_a_second
run_case our_plugin_that_is_killed_goes_on_from_what_it_noted
run_case a_torn_checkpoint_is_made_again_out_of_claims_and_cdi_files
run_case its_token_has_done_nothing_that_was_refused
run_case a_domain_leaves_nothing_on_nodes_of_our_plugin
run_case from_apply_to_the_last_of_three_pods_that_runs_with_our_plugin
run_case a_prepare_that_waits_is_woken_by_the_write_that_it_waits_for
run_case probes_and_metrics_of_our_plugin_are_answered
run_case a_node_that_was_started_again_loses_the_label_and_the_files_of_before
run_case the_next_instance_serves_before_the_one_before_has_ended
run_case our_plugin_ends_and_leaves_no_socket
