# Our image in the place of NVIDIA's under what their chart makes of a cluster (nvidia_chart.yaml): their rights, commands,
# environment and mounts; controller, kubelet plugin and daemons are pods. Sourced by realnodes_test.sh.
# shellcheck shell=bash disable=SC2154

readonly kChartNamespace=nvidia-dra-driver
chart() { kubectl -n "$kChartNamespace" "$@"; }
chart_yaml() {
  sed "s|@driver@|/run/nvidia/driver|; s|@parent@|/run/nvidia|; s|@devices@|/run/nvidia/driver/devices|" "$here/nvidia_chart.yaml"
}
chart_daemons() { chart get pods -l resource.nvidia.com/computeDomain "$@"; }
plugin_pods_are_ready() {
  [[ $(chart get daemonset chart-kubelet-plugin -o 'jsonpath={.status.numberReady} {.status.desiredNumberScheduled}') == "$kMembers $kMembers" ]]
}
controller_runs() { [[ $(chart get deployment chart-controller -o 'jsonpath={.status.readyReplicas}') == 1 ]]; }
nothing_is_left_under_the_chart() {
  no_workers && [[ -z $(kubectl get cdom,resourceclaims,resourceclaimtemplates,computedomaincliques -A --no-headers 2>/dev/null) &&
    -z $(kubectl get daemonsets,pods -A -l resource.nvidia.com/computeDomain --no-headers 2>/dev/null) &&
    -z $(kubectl get nodes -l resource.nvidia.com/computeDomain --no-headers 2>/dev/null) ]]
}
what_keeps_the_chart() {
  kubectl get cdom,pods,resourceclaims,computedomaincliques,resourceslices -A -o wide
  kubectl get cdom -A -o yaml
  kubectl get events -A --sort-by=.lastTimestamp | tail -n 20
  chart logs -l chart-component=controller --tail=40
  chart logs -l chart-component=kubelet-plugin --all-containers --prefix --tail=30
  chart_daemons -o name | xargs -r -n 1 "$here/realnodes" kubectl "$cluster" -n "$kChartNamespace" logs --tail=20
}
# Their requests that were refused: "account verb resource/subresource", once for each.
refused_under_the_chart() {
  jq -r --arg prefix "system:serviceaccount:$kChartNamespace:" 'select(.responseStatus.code == 403 and (.user.username | startswith($prefix)))
    | (.user.username | ltrimstr($prefix)) + " " + .verb + " " + .objectRef.resource
      + (if .objectRef.subresource then "/" + .objectRef.subresource else "" end)' "$audit" | sort
}

our_image_starts_in_the_place_of_nvidias_and_publishes_the_devices_of_each_node() {
  local node
  load_image driver || return 1
  for node in "${nodes[@]}"; do
    in_node "$node" test -d /run/nvidia/driver/dev || { driver_on "$node" && imex_on "$node"; } || return 1
    printf '#!/bin/bash\necho stand-in\n' | in_node "$node" bash -c 'cat >/run/nvidia/driver/usr/bin/nvidia-smi && chmod 755 /run/nvidia/driver/usr/bin/nvidia-smi' || return 1
  done
  kubectl apply -k "$repo/crds" || return 1
  chart_yaml | kubectl apply -f - || return 1
  wait_for 120 "the controller runs" controller_runs || { what_keeps_the_chart; return 1; }
  wait_for 120 "the plugin's pods are ready by their probes" plugin_pods_are_ready || { what_keeps_the_chart; return 1; }
  wait_for 60 "each node publishes its devices" each_has_own_devices || { what_keeps_the_chart; return 1; }
  grep -q 'The driver is there' < <(chart logs -l chart-component=kubelet-plugin -c init-container)
}

# In each daemon's pod: no lookup of a name of nodes.cfg leaves it, also of those that no daemon has.
chart_names_are_known() {
  local pod asked known
  for pod in $(chart_daemons -o 'jsonpath={.items[*].metadata.name}'); do
    asked=$(chart exec "$pod" -- cat /imexd/nodes.cfg) && ((kMembers < $(wc -w <<<"$asked"))) || return 1
    known=$(chart exec "$pod" -- cat /etc/hosts | awk '!/^#/ { print $2 }')
    [[ -z $(comm -23 <(sort <<<"$asked") <(sort <<<"$known")) ]] || return 1
  done
}

a_domain_lives_on_real_nodes_under_nvidias_chart_and_leaves_nothing() {
  imex_domain | kubectl apply -f - || return 1
  wait_for 120 "the workers run" workers_run || { what_keeps_the_chart; return 1; }
  wait_for 30 "the domain is ready" is_ready || { what_keeps_the_chart; return 1; }
  has_channel || return 1
  wait_for 30 "each name that IMEX may look up has an address" chart_names_are_known || return 1
  # The daemons write membership, as in NVIDIA's driver.
  [[ $(kubectl get computedomaincliques -A -o 'jsonpath={.items[*].metadata.ownerReferences[0].kind}') == Pod ]] || return 1
  [[ $(kubectl get cdom real -o 'jsonpath={.status.conditions[?(@.type=="InUse")].reason}') == PermissionMissing ]] || return 1
  [[ $(kubectl get cdom real -o 'jsonpath={.status.conditions[?(@.type=="InUse")].message}') == *'each node with its label counts as a member'* ]] || return 1
  imex_domain | kubectl delete --timeout=120s -f - || { what_keeps_the_chart; return 1; }
  wait_for 60 "nothing is left of it" nothing_is_left_under_the_chart || { what_keeps_the_chart; return 1; }
}

under_the_chart_each_right_that_is_missing_is_said_once() {
  # Once at the level that people read.
  chart logs -l chart-component=controller --tail=-1 >"$root/chart.log" || return 1
  local right
  for right in 'Continuing without a permission.*patch computedomains"' 'Continuing without a permission.*patch computedomains/status"' \
    'Cannot list a resource.*resourceclaims\..*; without it' 'Cannot list a resource.*resourceslices\..*; without it' 'Events were lost'; do
    (($(grep -cE "^W.*$right" "$root/chart.log") == 1)) || { echo "$right"; cat "$root/chart.log"; return 1; }
  done
}

# What controller and plugins, all of which serve, say of feature gates: one line for the unknown ones, then these.
gates_without_effect_are() {  # gates_without_effect_are GATE=VALUE...
  local pod says gate
  for pod in $(chart get pods -l 'chart-component in (controller, kubelet-plugin)' -o name); do
    says=$(chart logs "$pod" --tail=-1 | grep -E '^W.*feature gate') || return 1
    for gate in FabricTelemetry GpuHotPlug LinkScores RackQuota WarmStandby; do
      [[ $says == *'Ignoring unknown feature gates gates="'*"$gate=true"* ]] || { echo "$pod, $gate: $says"; return 1; }
    done
    for gate in "$@"; do [[ $says == *"gate=\"$gate\" cost="* ]] || { echo "$pod, $gate: $says"; return 1; }; done
    [[ $(wc -l <<<"$says") == $(($# + 1)) ]] || { echo "$pod: $says"; return 1; }
  done
}

# All gates of their driver, most with the value that is not their default, and five that nobody has.
under_the_chart_each_feature_gate_without_effect_is_said_once() {
  gates_without_effect_are ComputeDomainCliques=false NodeLocalFabricIPC=true
}

# The values that the other ones exclude there.
under_the_chart_a_domain_lives_with_the_other_values_of_its_gates_too() {
  local what gates
  gates=$(chart_yaml | sed -nE 's/.*name: FEATURE_GATES, value: "(.*),".*/\1/p' | head -n 1) || return 1
  gates=$(sed -E 's/=true/=on/g; s/=false/=true/g; s/=on/=false/g; s/(FabricTelemetry|GpuHotPlug|LinkScores|RackQuota|WarmStandby)=false/\1=true/g' <<<"$gates")
  for what in deployment/chart-controller daemonset/chart-kubelet-plugin; do
    chart set env "$what" FEATURE_GATES="$gates" || return 1
    chart rollout status "$what" --timeout=120s || { what_keeps_the_chart; return 1; }
  done
  gates_without_effect_are IMEXDaemonsWithDNSNames=false || return 1
  imex_domain | kubectl apply -f - || return 1
  wait_for 120 "the workers run" workers_run || { what_keeps_the_chart; return 1; }
  has_channel || return 1
  imex_domain | kubectl delete --timeout=120s -f - || { what_keeps_the_chart; return 1; }
  wait_for 60 "nothing is left of it" nothing_is_left_under_the_chart || { what_keeps_the_chart; return 1; }
}

# Over two lives, of which the second is as fast as it comes.
under_the_chart_nothing_is_refused_again_and_again() {
  local before after
  before=$(refused_under_the_chart | wc -l)
  imex_domain | kubectl apply -f - || return 1
  wait_for 120 "the workers run" workers_run || { what_keeps_the_chart; return 1; }
  imex_domain | kubectl delete --timeout=120s -f - || return 1
  wait_for 60 "nothing is left of it" nothing_is_left_under_the_chart || { what_keeps_the_chart; return 1; }
  after=$(refused_under_the_chart | wc -l)
  refused_under_the_chart | uniq -c
  # Each of the three plugins asks once whether it may patch its node.
  ! refused_under_the_chart | uniq -c | awk '$1 > (/plugin patch nodes$/ ? 3 : 16) { found = 1 } END { exit !found }' || return 1
  figure="$before refused before a life, $((after - before)) in it"
}

what_the_chart_made_goes() {
  chart_yaml | kubectl delete --timeout=90s -f - || return 1
  wait_for 90 "no node publishes devices" none_has_devices || return 1
  kubectl delete -k "$repo/crds" --timeout=60s
}

run_case our_image_starts_in_the_place_of_nvidias_and_publishes_the_devices_of_each_node
run_case a_domain_lives_on_real_nodes_under_nvidias_chart_and_leaves_nothing
run_case under_the_chart_each_right_that_is_missing_is_said_once
run_case under_the_chart_each_feature_gate_without_effect_is_said_once
run_case under_the_chart_nothing_is_refused_again_and_again
run_case under_the_chart_a_domain_lives_with_the_other_values_of_its_gates_too
run_case what_the_chart_made_goes
