# Cases of upgrades and the way back: between NVIDIA's controller and cdom, and between two versions of cdom. Each
# begins and ends with our CRDs installed. Sourced by e2e.sh.
# shellcheck shell=bash disable=SC2154

gpu_requests() { kubectl get resourceclaimtemplate "$1-channel" -o json | jq -c '[.spec.spec.devices.requests[] | {name, count: .exactly.count, mode: .exactly.allocationMode}]'; }  # gpu_requests DOMAIN
gpus_asked() { gpu_requests "$1" | jq -e ".[1] | $2"; }  # gpus_asked DOMAIN JQ: of its template's second request

# NVIDIA's: ours without what we add.
nvidias_crds() {
  kubectl create --dry-run=client -k "$repo/crds" -o json | jq '
    (if .kind == "List" then .items[] else . end)
    | del(.metadata.labels, .spec.names.shortNames, .spec.versions[].additionalPrinterColumns)
    | .spec.versions[].schema.openAPIV3Schema |= (
        del(."x-kubernetes-validations")
        | walk(if type == "object" then del(.maxItems, .maxLength, .minLength, .pattern) else . end)
        | if .properties.status then
            .properties.status.properties |= {status, nodes}
            | .properties.spec |= (.required = ["channel", "numNodes"] | del(.properties.numNodes.default))
            | del(.properties.spec.properties.channel.properties.resourceClaimTemplate.properties.name."x-kubernetes-validations")
          else . end)'
}
install_crds_of() {  # install_crds_of nvidia|cdom
  if [[ $1 == nvidia ]]; then
    nvidias_crds | kubectl replace -f - || return 1
  else
    kubectl apply -k "$repo/crds" || return 1
  fi
  wait_for 30 "the API server goes by them" status_has_conditions "$([[ $1 == cdom ]] && echo true || echo false)"
}
status_has_conditions() {
  [[ $(kubectl get --raw /openapi/v3/apis/resource.nvidia.com/v1beta1 |
    jq '.components.schemas["com.nvidia.resource.v1beta1.ComputeDomain"].properties.status.properties | has("conditions")') == "$1" ]]
}

# What NVIDIA's controller makes for a domain: its finalizer on everything, no owners, no annotations.
nvidias_children() {  # nvidias_children DOMAIN TEMPLATE
  local uid
  uid=$(uid_of "$1")
  nvidias_template "$driver" "computedomain-daemon-$uid" "$uid" Daemon compute-domain-daemon.nvidia.com \
    '{apiVersion: resource.nvidia.com/v1beta1, kind: ComputeDomainDaemonConfig, domainID: '"$uid}"
  nvidias_template default "$2" "$uid" Workload compute-domain-default-channel.nvidia.com \
    '{apiVersion: resource.nvidia.com/v1beta1, kind: ComputeDomainChannelConfig, domainID: '"$uid, allocationMode: Single}"
  cat <<YAML
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: computedomain-daemon-$uid
  namespace: $driver
  finalizers: [resource.nvidia.com/computeDomain]
  labels: {resource.nvidia.com/computeDomain: $uid}
spec:
  selector: {matchLabels: {resource.nvidia.com/computeDomain: $uid}}
  template:
    metadata: {labels: {resource.nvidia.com/computeDomain: $uid}}
    spec:
      serviceAccountName: compute-domain-daemon-service-account
      nodeSelector: {resource.nvidia.com/computeDomain: $uid}
      tolerations:
      - {operator: Exists, effect: NoSchedule}
      - {operator: Exists, effect: NoExecute}
      - {operator: Exists, effect: PreferNoSchedule}
      containers:
      - name: compute-domain-daemon
        image: nvcr.io/nvidia/k8s-dra-driver-gpu:v25.8.0
        command: [compute-domain-daemon, -v, \$(LOG_VERBOSITY), run]
        env: [{name: MAX_NODES_PER_IMEX_DOMAIN, value: "18"}, {name: LOG_VERBOSITY, value: "4"}]
        resources: {claims: [{name: compute-domain-daemon}]}
      resourceClaims: [{name: compute-domain-daemon, resourceClaimTemplateName: computedomain-daemon-$uid}]
YAML
}
nvidias_template() {  # nvidias_template NAMESPACE NAME UID TARGET CLASS PARAMETERS
  local request=daemon
  [[ $4 == Daemon ]] || request=channel
  cat <<YAML
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata:
  name: $2
  namespace: $1
  finalizers: [resource.nvidia.com/computeDomain]
  labels: {resource.nvidia.com/computeDomain: $3, resource.nvidia.com/computeDomainTarget: $4}
spec:
  spec:
    devices:
      requests: [{name: $request, exactly: {deviceClassName: $5}}]
      config: [{requests: [$request], opaque: {driver: compute-domain.nvidia.com, parameters: $6}}]
---
YAML
}
# NVIDIA's controller knows the types, and writes them whole: what they have no field for is lost.
nvidias_write() {  # nvidias_write DOMAIN: it mirrors the cliques into status
  local nodes
  nodes=$(kubectl get computedomaincliques -n "$driver" -l "$(label_of "$1")" -o json |
    jq -c '[.items[].daemons[] | {name: .nodeName, ipAddress, cliqueID, index, status}]')
  kubectl get computedomain "$1" -o json |
    jq --argjson nodes "$nodes" '{apiVersion, kind, metadata, spec: (.spec | {numNodes, channel}), status: {status: "Ready", nodes: $nodes}}
      | .metadata.finalizers |= (. // [] | . + ["resource.nvidia.com/computeDomain"] | unique)' >"$stage/written.json"
  kubectl replace -f "$stage/written.json" || return 1
  kubectl get computedomain "$1" -o json | jq --slurpfile written "$stage/written.json" '.status = $written[0].status' |
    kubectl replace --subresource=status -f -
}
# What must not change while controllers do: everything that serves the workload.
serving() {  # serving APP
  kubectl get pods --all-namespaces -o json | jq -cS --arg app "$1" --arg driver "$driver" '
    [.items[] | select(.metadata.namespace == $driver or .metadata.labels.app == $app) | [.metadata.uid, .status.containerStatuses[0].restartCount]] | sort'
}
three_run() { [[ $(workers_on "$1" | wc -l) == 3 ]]; }
none_left() {  # none_left FILE: the same three nodes in every line
  [[ $(tr ' ' '\n' <"$1" | sort -u | wc -l) == 3 ]] && ! grep -vE '^(node-[0-9]+ ){2}node-[0-9]+$' "$1"
}
workload_and_domain_end() {  # workload_and_domain_end NAME, as an upgrade of NVIDIA's demands
  kubectl delete deployment "$1" --timeout=10s || return 1
  kubectl delete computedomain "$1" --timeout=60s || return 1
  wait_for 60 "its pods are gone" no_pods "$1" || return 1
  # And another one can be made, used and ended.
  domain_in default next next-channel | kubectl apply -f - || return 1
  pod_on next node-012 next-channel | kubectl apply -f - || return 1
  wait_for 100 "a new pod is ready" is_ready pod/next || return 1
  wait_for 20 "a new domain is Ready" status_is next 'Ready node-012' || return 1
  end_domain next
}
status_is() { [[ $(kubectl get computedomain "$1" -o jsonpath='{.status.status} {.status.nodes[*].name}') == "$2" ]]; }

a_downgrade_to_nvidias_controller_finds_what_it_needs_and_the_way_back_works_on_its_crds() {
  local uid set before template
  with_membership_writer daemon || return 1
  snapshot "$stage/before.json" || return 1
  domain_in default newer newer-channel | kubectl apply -f - || return 1
  # One that has GPUs in its template, for which NVIDIA's controller has no field.
  domain_in default wide wide-channel | kubectl apply -f - || return 1
  kubectl annotate computedomain wide cdom.dev/gpus=4 || return 1
  wait_for 30 "the template asks for four GPUs" gpus_asked wide '.count == 4' || return 1
  template=$(uid_and_spec resourceclaimtemplate wide-channel)
  deployment newer newer-channel 3 | kubectl apply -f - || return 1
  wait_for 90 "three workers and members are ready" in_step newer 3 || return 1
  uid=$(uid_of newer) set=$(set_of newer) before=$(serving newer)
  stop_controller
  install_crds_of nvidia || return 1
  # These demand a field that ours do not; the examples have it.
  if domain bare bare-channel | kubectl apply --dry-run=server -f -; then echo "numNodes is not demanded"; return 1; fi
  kubectl apply --dry-run=server -f "$repo/examples/quickstart.yaml" || return 1

  # The names, labels, finalizer and fields by which its controller, plugin and daemon find their own.
  kubectl get computedomain newer -o json | jq -e '
    .metadata.finalizers == ["resource.nvidia.com/computeDomain"]
    and .spec == {numNodes: 0, channel: {allocationMode: "Single", resourceClaimTemplate: {name: "newer-channel"}}}
    and (.status | keys == ["nodes", "status"] and .status == "Ready" and ([.nodes[].index] | sort == [0, 1, 2])
         and all(.nodes[]; .status == "Ready" and (.ipAddress | length > 0) and (.cliqueID | length > 0)))' || return 1
  nvidias_children newer newer-channel >"$stage/nvidias.yaml"
  as_nvidia_would_make_them || return 1
  nvidias_children wide wide-channel >"$stage/nvidias.yaml"
  as_nvidia_would_make_them || return 1
  kubectl get computedomaincliques -n "$driver" -l "$(label_of newer)" -o json | jq -e --arg uid "$uid" '[.items[] | select(
    .metadata.name == $uid + "." + .metadata.labels["resource.nvidia.com/computeDomain.cliqueID"]
    and (.daemons | length == 3))] | length == 1' || return 1
  [[ $(kubectl get nodes -l "resource.nvidia.com/computeDomain=$uid" -o name | cut -d/ -f2) == "$(workers_on newer)" ]] || return 1
  nvidias_write newer && nvidias_write wide || return 1

  watch_of newer '{.status.nodes[*].name}' "$stage/newer.txt"
  with_membership_writer daemon || return 1
  # On CRDs that drop conditions: a second domain shows that it works.
  domain_in default beside beside-channel | kubectl apply -f - || return 1
  wait_for 30 "a domain is made" kubectl get resourceclaimtemplate beside-channel || return 1
  wait_for 30 "its status is written" status_is beside 'Ready ' || return 1
  kubectl delete computedomain beside --timeout=30s || return 1
  log_says 'drops the conditions' || return 1
  [[ $(serving newer) == "$before" ]] || { echo "before $before"; serving newer; return 1; }
  stop "$watcher"
  none_left "$stage/newer.txt" || return 1
  [[ $(kubectl get computedomain wide -o jsonpath='{.metadata.annotations.cdom\.dev/gpus}') == 4 ]] || return 1
  [[ $(uid_and_spec resourceclaimtemplate wide-channel) == "$template" ]] || { echo "was $template"; uid_and_spec resourceclaimtemplate wide-channel; return 1; }
  kubectl delete computedomain wide --timeout=30s || return 1
  workload_and_domain_end newer || return 1
  install_crds_of cdom || return 1
  nothing_more_in_shape_than "$stage/before.json"
}
uid_and_spec() { kubectl get "$1" "$2" -o json | jq -cS '[.metadata.uid, .spec]'; }  # uid_and_spec KIND NAME
# Each child of ours is, in the fields that others read, what NVIDIA's controller would make, whatever GPUs are beside.
as_nvidia_would_make_them() {
  kubectl create --dry-run=client -o json -f "$stage/nvidias.yaml" | jq -c "$contract" | sort >"$stage/theirs.txt"
  kubectl get -o json -f "$stage/nvidias.yaml" | jq -c "$contract" | sort >"$stage/ours.txt"
  [[ $(wc -l <"$stage/ours.txt") == 3 ]] && diff "$stage/theirs.txt" "$stage/ours.txt"
}
# shellcheck disable=SC2016
contract='if .kind == "List" then .items[] else . end | [.kind, .metadata.namespace, .metadata.name, .metadata.labels,
  if .kind == "DaemonSet" then .spec | .selector, .template.metadata.labels, (.template.spec | .serviceAccountName, .nodeSelector,
      .tolerations, .resourceClaims, (.containers[0] | .name, .command, .resources))
  else .spec.spec.devices | {requests: [.requests[] | {name, class: .exactly.deviceClassName} | select(.class != "gpu.nvidia.com")], config} end]'

an_upgrade_from_nvidias_controller_keeps_the_workload_and_what_it_left_ends_in_time() {
  local set before generation
  stop_controller
  snapshot "$stage/before.json" || return 1
  install_crds_of nvidia || return 1
  domain_in default older older-channel | kubectl apply -f - || return 1
  nvidias_children older older-channel | kubectl apply -f - || return 1
  deployment older older-channel 3 | kubectl apply -f - || return 1
  wait_for 90 "three workers run" three_run older || return 1
  nvidias_write older || return 1
  set=$(set_of older) before=$(serving older)
  generation=$(kubectl get daemonset -n "$driver" "$set" -o jsonpath='{.metadata.generation}')

  watch_of older '{.status.nodes[*].name}' "$stage/older.txt"
  with_membership_writer daemon || return 1
  wait_for 30 "the workload's template is owned by its domain" owned_by older older-channel || return 1
  stop_controller
  install_crds_of cdom || return 1
  stop "$watcher"
  watch_of older '{.status.nodes[*].name}' "$stage/older.txt"
  with_membership_writer daemon || return 1
  wait_for 30 "the conditions are there" in_step older 3 || return 1
  stop "$watcher"
  none_left "$stage/older.txt" || return 1
  [[ $(serving older) == "$before" ]] || { echo "before $before"; serving older; return 1; }
  [[ $(kubectl get daemonset -n "$driver" "$set" -o jsonpath='{.metadata.generation}') == "$generation" ]] || return 1
  workload_and_domain_end older || return 1
  nothing_more_in_shape_than "$stage/before.json"
}
owned_by() {  # owned_by DOMAIN TEMPLATE
  [[ $(kubectl get resourceclaimtemplate "$2" -o jsonpath='{.metadata.ownerReferences[*].uid}') == "$(uid_of "$1")" ]]
}

# The two differ in everything that can differ: the daemons' image and settings, who writes the cliques, and what is
# stored. Nothing of one version is in the code of the other, so what a version to come stores is made up.
older() { image=cdom:0.0.9 with_membership_writer daemon --config "$stage/older.yaml"; }
newer() { with_membership_writer controller; }
two_versions_take_turns_replacing_one_daemon_of_a_clique_at_a_time_and_keep_what_they_do_not_know() {
  local workers template serving
  cat >"$stage/older.yaml" <<<'{apiVersion: cdom.dev/v1alpha1, kind: ControllerConfiguration, daemons: {imex: {nodeDisconnectedGraceTime: 300}, priorityClassName: ""}}'
  stop_controller
  snapshot "$stage/before.json" || return 1
  older || return 1
  domain_in default lasting lasting-channel | kubectl apply -f - || return 1
  deployment lasting lasting-channel 3 | kubectl apply -f - || return 1
  wait_for 90 "three workers and members are ready" in_step lasting 3 || return 1
  workers=$(uids_of lasting) template=$(kubectl get resourceclaimtemplate lasting-channel -o jsonpath='{.metadata.uid}')
  stop_controller
  store_what_no_version_knows lasting || return 1
  # And one that did not say yet what it rendered.
  kubectl annotate resourceclaimtemplate lasting-channel cdom.dev/template-hash- || return 1

  watch_of lasting '{.status.members} {.status.nodes[*].name}' "$stage/lasting.txt"
  serving=$(serving lasting)
  newer || return 1
  # Under a job nothing restarts, unless somebody allows it.
  wait_for 30 "it says what daemons wait for" says Provisioned lasting Outdated 'once no pod uses their clique' || return 1
  domain_in default waited waited-channel | kubectl apply -f - || return 1
  wait_for 30 "a new domain is served" is_idle waited || return 1
  kubectl delete computedomain waited --timeout=30s || return 1
  [[ $(serving lasting) == "$serving" ]] || { echo "before $serving"; serving lasting; return 1; }
  if grep -vE '^3/3( node-[0-9]+){3}$' "$stage/lasting.txt"; then return 1; fi
  kubectl annotate computedomain lasting cdom.dev/daemon-roll=Always || return 1
  changes_over_to cdom:0.1.0 lasting || return 1
  older || return 1
  changes_over_to cdom:0.0.9 lasting || return 1
  stop "$watcher"
  # Never two away at once, and who is away is expected back.
  if grep -vE '^[23]/3( node-[0-9]+){2,3}$' "$stage/lasting.txt"; then return 1; fi
  grep -q '^2/3' "$stage/lasting.txt" || { echo "nobody was replaced"; return 1; }
  [[ $(uids_of lasting) == "$workers" ]] || { echo "other workers"; return 1; }
  [[ $(kubectl get resourceclaimtemplate lasting-channel -o jsonpath='{.metadata.uid}') == "$template" ]] || { echo "another template"; return 1; }
  keeps_what_no_version_knows lasting || return 1
  workload_and_domain_end lasting || return 1
  install_crds_of cdom || return 1
  nothing_more_in_shape_than "$stage/before.json"
}
uids_of() { kubectl get pods -l "app=$1" -o jsonpath='{.items[*].metadata.uid}'; }
changes_over_to() {  # changes_over_to IMAGE NAME
  wait_for 90 "every daemon runs $1" runs_image "$1" "$2" || return 1
  wait_for 30 "three members are ready" in_step "$2" 3 || return 1
  [[ $(kubectl get computedomain "$2" -o json | jq -c '[.status.nodes[].index] | sort') == '[0,1,2]' ]]
}
runs_image() {  # runs_image IMAGE NAME: each of three daemons
  [[ $(kubectl get pods -n "$driver" -l "$(label_of "$2")" -o json |
    jq -c --arg image "$1" '[.items[] | select(.spec.containers[0].image == $image and any(.status.conditions[]?; .type == "Ready" and .status == "True"))] | length') == 3 ]]
}
stored_children() {  # stored_children DOMAIN
  echo "daemonset -n $driver $(set_of "$1")
resourceclaimtemplate -n $driver $(set_of "$1")
$(clique_of "$1") -n $driver
computedomain $1"
}
store_what_no_version_knows() {  # store_what_no_version_knows DOMAIN
  local child
  kubectl patch crd computedomains.resource.nvidia.com --type=json -p '[{"op": "add", "value": {"type": "string"},
    "path": "/spec/versions/0/schema/openAPIV3Schema/properties/status/properties/forecast"}]' || return 1
  stored_children "$1" | while read -r child; do
    # shellcheck disable=SC2086
    kubectl annotate $child cdom.dev/forecast='{"v": 2}' || return 1
  done || return 1
  kubectl annotate "$(clique_of "$1")" -n "$driver" --overwrite 'cdom.dev/held-indices=v2;node-000:7' || return 1
  wait_for 30 "the field is kept" forecast "$1" || return 1
  kubectl get computedomain "$1" -o json | jq '.status.conditions += [.status.conditions[0] | .type = "Forecast" | .reason = "Fair"]' |
    kubectl replace --subresource=status -f -
}
forecast() {
  kubectl patch computedomain "$1" --subresource=status --type=merge -p '{"status": {"forecast": "fair"}}' -o json | jq -e '.status.forecast == "fair"'
}
keeps_what_no_version_knows() {  # keeps_what_no_version_knows DOMAIN
  local child
  stored_children "$1" | while read -r child; do
    # shellcheck disable=SC2086
    kubectl get $child -o json | jq -e '.metadata.annotations["cdom.dev/forecast"] == "{\"v\": 2}"' || { echo "not on $child"; return 1; }
  done || return 1
  kubectl get computedomain "$1" -o json | jq -e '.status.forecast == "fair" and any(.status.conditions[]; .type == "Forecast" and .reason == "Fair")'
}
