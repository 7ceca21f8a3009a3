# What happens to a domain under our kubelet plugin from outside: two nodes that no longer reach each other, a disk that is full,
# NVIDIA's plugin in its place and back, a drain. Sourced by plugin_cases.sh, which runs the cases among its own; its functions are used.
# shellcheck shell=bash disable=SC2154

readonly kPluginFolder=/var/lib/kubelet/plugins/$kDriver
# On one node the plugin has a disk of its own, small enough to be filled; on the others NVIDIA's takes its place. The one that is
# drained of these has no controller, which would not come back to it.
small_disk=
swapped=()
controllers_node() { controller_pods -o 'jsonpath={.items[0].spec.nodeName}'; }
make_small_disk() {
  small_disk=$(controllers_node) && mapfile -t swapped < <(printf '%s\n' "${nodes[@]}" | grep -vx "$small_disk") || return 1
  in_node "$small_disk" mkdir -p "$kPluginFolder" && in_node "$small_disk" mount -n -t tmpfs -o mode=750,size=256k tmpfs "$kPluginFolder"
}

# --- Two nodes that do not reach each other ----------------------------------------------------------------------

# cut_off FROM TO, put_back FROM TO: by the numbers of two nodes. Each still reaches the API server.
cut_off() { in_node "node-$1" ip route replace blackhole "$(pods_of "$2")" && in_node "node-$1" ip route replace blackhole "$(address_of "$2")/32"; }
put_back() {
  in_node "node-$1" ip route replace "$(pods_of "$2")" via "$(address_of "$2")" && in_node "node-$1" ip route delete blackhole "$(address_of "$2")/32"
}
containers_of() {  # containers_of PODS: a list of them, with what would be another after any restart
  jq -r '.items[] | select(.metadata.deletionTimestamp == null) | .metadata.name + " " + (.status.containerStatuses[] | "\(.containerID) \(.restartCount)")' <<<"$1" | sort
}
containers_on() {  # containers_on NODE...: of the domain
  local node
  for node; do
    containers_of "$(daemons json | jq --arg node "$node" '.items |= map(select(.spec.nodeName == $node))')"
    containers_of "$(kubectl get pods -l app=real -o json | jq --arg node "$node" '.items |= map(select(.spec.nodeName == $node))')"
  done
}
connection_was_lost() { grep -q "Connection lost to node $(index_of "$2"): " < <(system logs "$(daemon_on "$1")"); }  # connection_was_lost ON WITH

# The cases behind this one go on meanwhile, on node-2, too: a daemon asks its IMEX every half a minute.
a_partition_between_two_nodes_begins() {
  containers_on node-1 >"$root/partition.begin"
  (($(wc -l <"$root/partition.begin") == 2)) || { cat "$root/partition.begin"; return 1; }
  cut_off 1 2 && cut_off 2 1
}

a_partition_is_told_by_its_pairs_while_both_nodes_are_ready_and_the_job_runs() {
  wait_for 60 "the domain says it" says_members ImexPeersUnreachable 'from (node-1 to node-2, node-2 to node-1|node-2 to node-1, node-1 to node-2)\. ' || { what_keeps_our_plugin; return 1; }
  is_ready && workers_run || { what_keeps_our_plugin; return 1; }
  connection_was_lost node-1 node-2 && ! connection_was_lost node-1 node-3 || return 1
  [[ $(kubectl get nodes --no-headers | awk '$2 == "Ready"' | wc -l) == 3 ]] || return 1
  diff "$root/partition.begin" <(containers_on node-1) && containers_on node-1 node-2 >"$root/partition.end"
}

a_partition_ends() { put_back 1 2 && put_back 2 1; }

a_partition_that_is_over_is_no_more_told_and_nothing_was_started_again() {
  wait_for 30 "all are connected" all_connected || { what_keeps_our_plugin; return 1; }
  wait_for 60 "the domain is well" says_members AllMembersReady . || { what_keeps_our_plugin; return 1; }
  is_ready && all_report || { what_keeps_our_plugin; return 1; }
  (($(wc -l <"$root/partition.end") == 4)) && diff "$root/partition.end" <(containers_on node-1 node-2)
}

# --- A disk that is full -----------------------------------------------------------------------------------------

readonly kDiskWords="write $kPluginFolder/.checkpoint.json[^:]*: No space left on device"
on_small_disk() { in_node "$small_disk" find "$kPluginFolder" -type f -not -name ballast -exec sha256sum {} + | sort; }
holds_on_small_disk() { [[ $(on_small_disk) == "$1" ]]; }
told_of_the_disk() {
  kubectl get events --field-selector reason=FailedPrepareDynamicResources -o 'jsonpath={range .items[*]}{.message}{"\n"}{end}' |
    grep "$kDiskWords"
}
workers_run_beside() {  # workers_run_beside NODE
  [[ $(kubectl get pods -l app=real -o json | jq -r --arg node "$1" '[.items[] | select(.status.phase == "Running" and .metadata.deletionTimestamp == null and .spec.nodeName != $node)] | length') == $((kMembers - 1)) ]]
}

a_disk_that_is_full_is_logged_with_the_file_and_nothing_half_written_stays() {
  local before
  before=$(on_small_disk) && [[ $before == *checkpoint.json* ]] || return 1
  in_node "$small_disk" bash -c "! head -c 1M /dev/zero >$kPluginFolder/ballast" || return 1
  imex_domain | kubectl apply -f - || return 1
  wait_for 60 "the workers of the others run" workers_run_beside "$small_disk" || { what_keeps_our_plugin; return 1; }
  wait_for 30 "it is logged" own_logged "$small_disk" "failed, will retry.*$kDiskWords" || { what_keeps_our_plugin; return 1; }
  # It tries again meanwhile, so one may just be there.
  wait_for 10 "nothing half-written is there" holds_on_small_disk "$before" || { on_small_disk; echo "$before"; return 1; }
  has_no_claim_files "$small_disk" && has_no_label "$small_disk"
}

# The cases in between take as long as the plugin tries before it answers. By itself a kubelet asks again after a minute or more.
a_disk_that_is_full_is_told_to_the_pod_and_once_there_is_room_the_kubelets_next_attempt_succeeds() {
  wait_for 60 "the pod is told" told_of_the_disk || { what_keeps_our_plugin; return 1; }
  in_node "$small_disk" rm "$kPluginFolder/ballast" || return 1
  kubectl annotate pod "$(worker_on "$small_disk")" test.cdom.dev/ask=again || return 1
  wait_for 60 "the workers run" workers_run || { what_keeps_our_plugin; return 1; }
  has_channel || return 1
  wait_for 30 "the domain is ready" is_ready || { what_keeps_our_plugin; return 1; }
  is_as_nvidias "$small_disk"
}

# --- NVIDIA's plugin, and back -----------------------------------------------------------------------------------

swapped_run() { containers_of "$(kubectl get pods -l app=real -o json | jq --arg but "$small_disk" '.items |= map(select(.spec.nodeName != $but))')"; }
no_plugin_on_swapped() { [[ $(own_pods json | jq -r '.items[].spec.nodeName') == "$small_disk" ]]; }
# CDI specs as NVIDIA's plugin writes them, made of what the API server says and nothing else.
nvidias_spec() {  # nvidias_spec CLAIM_JSON: the text of its file
  local uid device
  uid=$(jq -r .metadata.uid <<<"$1") && device=$(jq -r '.status.allocation.devices.results[0].device' <<<"$1") || return 1
  printf '%s\n' '---' 'cdiVersion: 0.5.0' "kind: k8s.$kDriver/claim" 'devices:' "    - name: $uid-$device" '      containerEdits:'
  if [[ $device == channel-0 ]]; then
    yaml_of_node /dev/nvidia-caps-imex-channels/channel0 235
    return
  fi
  printf '        %s\n' 'env:' "    - CLIQUE_ID=$kOwnClique" "    - COMPUTE_DOMAIN_UUID=$(domain_uid)" '    - COMPUTE_DOMAIN_NAME=real' \
    '    - COMPUTE_DOMAIN_NAMESPACE=default'
  yaml_of_node /dev/nvidia-caps/nvidia-cap512 236 512
  printf '        %s\n' 'mounts:' "    - hostPath: $kPluginFolder/domains/$(domain_uid)" '      containerPath: /imexd' '      options:' \
    '        - rw' '        - nosuid' '        - nodev' '        - bind'
}
yaml_of_node() {  # yaml_of_node PATH MAJOR [MINOR]
  printf '        %s\n' 'deviceNodes:' "    - path: $1" "      hostPath: $1" '      type: c' "      major: $2" ${3:+"      minor: $3"} '      fileMode: 438'
}
# The same content as our plugin writes it: JSON on one line.
own_spec() {  # own_spec CLAIM_JSON: the text of its file
  jq -c --arg driver "$kDriver" --arg clique "$kOwnClique" --arg uid "$(domain_uid)" --arg folder "$kPluginFolder" '
    def node($path; $major): {path: $path, hostPath: $path, type: "c", major: $major};
    .status.allocation.devices.results[0].device as $device |
    {cdiVersion: "0.5.0", kind: "k8s.\($driver)/claim", devices: [{name: "\(.metadata.uid)-\($device)", containerEdits:
      (if $device == "channel-0" then {deviceNodes: [node("/dev/nvidia-caps-imex-channels/channel0"; 235) + {fileMode: 438}]}
       else {env: ["CLIQUE_ID=\($clique)", "COMPUTE_DOMAIN_UUID=\($uid)", "COMPUTE_DOMAIN_NAME=real", "COMPUTE_DOMAIN_NAMESPACE=default"],
         deviceNodes: [node("/dev/nvidia-caps/nvidia-cap512"; 236) + {minor: 512, fileMode: 438}],
         mounts: [{hostPath: "\($folder)/domains/\($uid)", containerPath: "/imexd", options: ["rw", "nosuid", "nodev", "bind"]}]}
       end)}]}' <<<"$1"
}
spec_file() { echo "/run/cdi/k8s.$kDriver-claim_$(jq -r .metadata.uid <<<"$1").yaml"; }
claims_on() {  # claims_on NODE: one a line
  kubectl get resourceclaims -A -o json | jq -c --arg node "$1" '.items[] | select(.status.allocation.devices.results[0].pool == $node)'
}
is_as_nvidias() {  # is_as_nvidias NODE: each claim is completed by NVIDIA's reader, and has a CDI file with NVIDIA's content
  local claim file
  local -a uids=()
  while read -r claim; do
    uids+=("$(jq -r .metadata.uid <<<"$claim") PrepareCompleted")
    file=$(spec_file "$claim")
    diff <(own_spec "$claim") <(in_node "$1" cat "$file") || return 1
    [[ $(in_node "$1" stat -c %a "$file") == 600 ]] || return 1
  done < <(claims_on "$1")
  ((${#uids[@]} == 2)) || { echo "$1 has ${#uids[@]} claims"; return 1; }
  in_node "$1" "$checkpoint/checkpoint" check "$kPluginFolder" >"$root/checkpoint.read" || { cat "$root/checkpoint.read"; return 1; }
  diff <(printf '%s\n' "${uids[@]}" | sort) <(grep -v ' PrepareAborted$' "$root/checkpoint.read")
}
base_spec_of() { in_node "$1" sha256sum "/run/cdi/k8s.$kDriver-device_base.yaml"; }

what_our_plugin_notes_under_a_job_is_what_nvidias_would_have_written() {
  local node empty=6f1c2b5e-0f6a-4d53-9f1e-0c8f2a1b3c4d
  checkpoint=$("$repo/test/cluster/controlplane/checkpoint/build.sh") || return 1
  # What reads and writes as NVIDIA's plugin is held to a text that was written down before.
  [[ $("$checkpoint/checkpoint" empty "$empty") == \
    '{"checksum":1083090442,"v1":{},"v2":{"checksum":1089322561,"nodeBootID":"'$empty'"}}' ]] || return 1
  for node in "${swapped[@]}"; do is_as_nvidias "$node" || { what_keeps_our_plugin; return 1; }; done
}

# It is ended on two nodes, and begins over what NVIDIA's would have left there: of one that knew neither states nor boots, and of one
# that says its layout's version, and was killed while it prepared a claim.
a_job_whose_claims_nvidias_plugin_prepared_goes_on_under_ours() {
  local node before bases claim begun=11111111-1111-4111-8111-111111111111 over=22222222-2222-4222-8222-222222222222
  before=$(swapped_run) && bases=$(for node in "${swapped[@]}"; do base_spec_of "$node"; done) || return 1
  kubectl label nodes "${swapped[@]}" nvidia.com/gpu.present- || return 1
  wait_for 60 "our plugin is gone from them" no_plugin_on_swapped || { own_pods wide; return 1; }
  in_node "${swapped[0]}" "$checkpoint/checkpoint" rewrite "$kPluginFolder" first || return 1
  in_node "${swapped[1]}" "$checkpoint/checkpoint" rewrite "$kPluginFolder" latest "$begun" "$over" || return 1
  for node in "${swapped[@]}"; do
    printf -- '---\ncdiVersion: 0.5.0\nkind: k8s.%s/device\ndevices:\n    - name: all\n      containerEdits: {env: [A=b]}\n' "$kDriver" |
      in_node "$node" bash -c "cat >/run/cdi/k8s.$kDriver-device_base.yaml" || return 1
    while read -r claim; do
      nvidias_spec "$claim" | in_node "$node" bash -c "cat >$(spec_file "$claim")" || return 1
    done < <(claims_on "$node")
  done
  kubectl label nodes "${swapped[@]}" nvidia.com/gpu.present=true || return 1
  wait_for 60 "ours has gone on from the first's notes" own_logged "${swapped[0]}" 'Read the checkpoint.*claims="2".*unreadable=""' || { what_keeps_our_plugin; return 1; }
  wait_for 60 "and from the latest's" own_logged "${swapped[1]}" 'Read the checkpoint.*claims="4".*unreadable=""' || { what_keeps_our_plugin; return 1; }
  for node in "${swapped[@]}"; do
    wait_for 30 "the kubelet has taken it" own_logged "$node" 'kubelet registered the plugin' || { what_keeps_our_plugin; return 1; }
  done
  [[ $(swapped_run) == "$before" ]] || { echo "$before"; swapped_run; return 1; }
  for node in "${swapped[@]}"; do channel_in "$(worker_on "$node")" "$node" || return 1; done
  wait_for 30 "what had been begun with is given up, and what was over is forgotten" is_put_right "${swapped[1]}" "$begun" "$over" || { what_keeps_our_plugin; return 1; }
  [[ $(for node in "${swapped[@]}"; do base_spec_of "$node"; done) == "$bases" ]]
}
is_put_right() {  # is_put_right NODE BEGUN OVER
  in_node "$1" "$checkpoint/checkpoint" check "$kPluginFolder" >"$root/checkpoint.read" &&
    grep -q "^$2 PrepareAborted" "$root/checkpoint.read" && ! grep -q "^$3" "$root/checkpoint.read"
}

# The kubelet has the CDI names from NVIDIA's plugin, and ours has its files.
a_container_of_such_a_job_that_ends_is_started_again_with_its_channel() {
  local node=${swapped[1]} worker
  worker=$(worker_on "$node") || return 1
  in_node "$node" "$cluster/containerd/ctr" --namespace k8s.io tasks kill --signal SIGKILL \
    "$(kubectl get pod "$worker" -o 'jsonpath={.status.containerStatuses[0].containerID}' | sed 's#containerd://##')" || return 1
  wait_for 30 "it runs again" was_restarted "$worker" || { what_keeps_our_plugin; return 1; }
  channel_in "$worker" "$node"
}
was_restarted() { [[ $(kubectl get pod "$1" -o 'jsonpath={.status.containerStatuses[0].restartCount} {.status.containerStatuses[0].state.running.startedAt}') =~ ^1\ . ]]; }

# Of one node by a deletion of the pod, of the other by a drain, under which the job elsewhere goes on.
claims_that_nvidias_plugin_prepared_are_taken_back_without_a_trace_by_a_deletion_and_by_a_drain() {
  local drained node uid
  local -a uids=() kept=()
  drained=$(printf '%s\n' "${swapped[@]}" | grep -vxF "$(controller_pods -o 'jsonpath={.items[*].spec.nodeName}' | tr ' ' '\n')" | head -n 1) && [[ -n $drained ]] || return 1
  mapfile -t uids < <(for node in "${swapped[@]}"; do claims_on "$node" | jq -r .metadata.uid; done)
  ((${#uids[@]} == 4)) || { printf '%s\n' "${uids[@]}"; return 1; }
  kubectl delete pod "$(worker_on "$(printf '%s\n' "${swapped[@]}" | grep -vx "$drained")")" --wait=false || return 1
  kubectl drain "$drained" --ignore-daemonsets --delete-emptydir-data --timeout=90s || return 1
  [[ $(kubectl get node "$drained" -o 'jsonpath={.spec.unschedulable}') == true ]] && has_no_worker "$drained" || return 1
  wait_for 30 "its label has gone" has_no_label "$drained" || { what_keeps_our_plugin; return 1; }
  wait_for 30 "its daemon has left" has_no_daemon "$drained" || { what_keeps_our_plugin; return 1; }
  wait_for 30 "its claims are taken back" has_no_claim_files "$drained" || { what_keeps_our_plugin; return 1; }
  in_node "$drained" "$checkpoint/checkpoint" check "$kPluginFolder" >"$root/checkpoint.read" && ! grep -v ' PrepareAborted$' "$root/checkpoint.read" || return 1
  # The plugin stays.
  own_pod_on "$drained" && kubectl uncordon "$drained" || return 1
  wait_for 60 "the workers of both run" workers_run_beside "$small_disk" || { what_keeps_our_plugin; return 1; }
  # Where the pod alone was replaced, the label stayed meanwhile, and with it the daemon and its claim.
  mapfile -t kept < <(for node in "${swapped[@]}"; do claims_on "$node" | jq -r .metadata.uid; done | grep -xF "$(printf '%s\n' "${uids[@]}")")
  ((${#kept[@]} <= 1)) || { printf 'kept: %s\n' "${kept[@]}"; return 1; }
  for node in "${swapped[@]}"; do
    channel_in "$(worker_on "$node")" "$node" || return 1
    for uid in "${uids[@]}"; do
      [[ $uid != "${kept[0]:-}" ]] || continue
      ! in_node "$node" grep -rl "$uid" /run/cdi "$kPluginFolder" || return 1
    done
  done
  # And back: NVIDIA's could go on from here. The claim that was kept has a file of its own making.
  is_as_nvidias "$drained" || { what_keeps_our_plugin; return 1; }
}
has_no_daemon() { ! daemons json | jq -e --arg node "$1" '.items[] | select(.spec.nodeName == $node)'; }
has_no_worker() { [[ -z $(worker_on "$1") ]]; }
