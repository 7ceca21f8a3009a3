# GPUs beside channels, on a control plane of its own whose simulated nodes have both. Sourced by e2e.sh.
# shellcheck shell=bash disable=SC2154

# What NVIDIA's driver for DRA brings with its GPUs.
gpu_class() {
  cat <<'YAML'
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu.nvidia.com}
spec:
  selectors:
  - cel: {expression: "device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].type == 'gpu'"}
YAML
}
gpu_domain() {  # gpu_domain NAME [GPUS]
  cat <<YAML
apiVersion: resource.nvidia.com/v1beta1
kind: ComputeDomain
metadata: {name: $1, namespace: default, annotations: {${2:+cdom.dev/gpus: '$2'}}}
spec: {numNodes: 0, channel: {resourceClaimTemplate: {name: $1-channel}}}
---
YAML
}
gpu_pod() {  # gpu_pod NAME DOMAIN: it never ends
  cat <<YAML
apiVersion: v1
kind: Pod
metadata: {name: $1, namespace: default, labels: {app: $2}, annotations: {nodesim.cdom.dev/run-seconds: "-1"}}
spec:
  terminationGracePeriodSeconds: 1
  resourceClaims: [{name: channel, resourceClaimTemplateName: $2-channel}]
  tolerations: [{key: nvidia.com/gpu, operator: Exists}]
  containers: [{name: c, image: busybox, resources: {claims: [{name: channel}]}}]
---
YAML
}
# gpu_grants: each allocated claim of the namespace, as "NODES CHANNELS GPUS".
gpu_grants() {
  kubectl get resourceclaims -n default -o json | jq -r '.items[] | .status.allocation.devices.results // [] | select(. != []) |
    ([.[].pool] | unique | join(",")) + " " + ([.[] | select(.driver == "compute-domain.nvidia.com")] | length | tostring) +
    " " + ([.[] | select(.driver == "gpu.nvidia.com")] | length | tostring)' | sort
}
gpu_requests() { kubectl get resourceclaimtemplate "$1-channel" -o json | jq -c '[.spec.spec.devices.requests[] | {name, count: .exactly.count, mode: .exactly.allocationMode}]'; }  # gpu_requests DOMAIN
gpus_asked() { gpu_requests "$1" | jq -e ".[1] | $2"; }  # gpus_asked DOMAIN JQ: of its template's second request
grants_are() { [[ $(gpu_grants | cut -d' ' -f2- | sort | uniq -c | tr -s ' ') == "$1" ]]; }
on_nodes() { [[ $(gpu_grants | cut -d' ' -f1 | sort -u | wc -l) == "$1" ]]; }

each_claim_of_a_job_of_four_has_a_channel_and_four_gpus_of_one_node() {
  kubectl apply -f "$repo/examples/gpu-and-channel.yaml" || return 1
  wait_for 60 "four claims have a channel and four GPUs each" grants_are ' 4 1 4' || { gpu_grants; return 1; }
  on_nodes 4 && [[ $(gpu_grants) != *,* ]] || { gpu_grants; return 1; }
  kubectl wait --for=condition=Complete job/gpu-and-channel --timeout=90s || return 1
  kubectl delete -f "$repo/examples/gpu-and-channel.yaml" --timeout=60s
}

gpus_that_change_make_the_template_again_and_pods_that_run_are_not_touched() {
  local lives template
  { gpu_domain change 2; gpu_pod first change; } | kubectl apply -f - || return 1
  wait_for 60 "its pod runs with two GPUs" is_ready pod/first || return 1
  grants_are ' 1 1 2' || { gpu_grants; return 1; }
  lives=$(lives_of -l app=change)
  template=$(kubectl get resourceclaimtemplate change-channel -o jsonpath='{.metadata.uid}')

  kubectl annotate cdom change --overwrite cdom.dev/gpus=two || return 1
  wait_for 30 "what does not read is named with its form" says Accepted change AnnotationInvalid 'cdom.dev/gpus .*use a number from 1 to 31, or All' || return 1
  [[ $(kubectl get resourceclaimtemplate change-channel -o jsonpath='{.metadata.uid}') == "$template" ]] || { echo "the template is another"; return 1; }

  kubectl annotate cdom change --overwrite cdom.dev/gpus=All || return 1
  wait_for 30 "the template asks for all" gpus_asked change '.mode == "All"' || return 1
  gpu_pod second change | kubectl apply -f - || return 1
  wait_for 60 "the next pod runs with all four" is_ready pod/second || return 1
  [[ $(gpu_grants | cut -d' ' -f2- | sort | paste -sd,) == '1 2,1 4' ]] || { gpu_grants; return 1; }
  kubectl delete pod second --timeout=30s || return 1

  kubectl annotate cdom change cdom.dev/gpus- || return 1
  wait_for 30 "the template asks for a channel alone" gpus_asked change '. == null' || return 1
  [[ $(lives_of -l app=change) == "$lives" ]] || { echo "was $lives"; lives_of -l app=change; return 1; }
  kubectl delete pod first --timeout=30s && kubectl delete cdom change --timeout=60s
}

gpus_that_no_node_has_left_are_named_as_what_pods_may_wait_for() {
  { gpu_domain greedy 5; gpu_pod greedy greedy; } | kubectl apply -f - || return 1
  wait_for 60 "its condition names them" says InUse greedy NoChannelFree 'or without the GPUs that annotation cdom.dev/gpus asks for \(5 of DeviceClass gpu.nvidia.com\)' || return 1
  kubectl delete pod greedy --timeout=30s && kubectl delete cdom greedy --timeout=60s
}

# The example's claim in another version: those after v1beta1 have the class a level deeper.
gdc_claim_in() {  # gdc_claim_in VERSION
  kubectl create --dry-run=client --validate=false -f "$repo/examples/gdc/gpu-claim.yaml" -o json |
    jq --arg version "$1" 'if $version == "v1beta1" then . else
      .apiVersion = "resource.k8s.io/" + $version | .spec.devices.requests |= map({name, exactly: {deviceClassName}}) end'
}
a_pod_with_two_containers_shares_a_gpu_claim_and_a_channel_in_each_version_of_dra() {
  local version gdc=$repo/examples/gdc
  for version in v1 v1beta2 v1beta1; do
    gdc_claim_in "$version" | kubectl create --validate=strict -f - || return 1
    kubectl create --validate=strict -f "$gdc/domain.yaml" -f "$gdc/check.yaml" || return 1
    wait_for 60 "its claims are of one node ($version)" grants_of_one_node || { gpu_grants; return 1; }
    kubectl wait --for=jsonpath='{.status.phase}=Succeeded' pod/gdc-check --timeout=60s || return 1
    kubectl delete -f "$gdc/check.yaml" --timeout=30s || return 1
    wait_for 60 "the domain is idle afterwards" is_idle gdc-check || return 1
    kubectl delete -f "$gdc/domain.yaml" -f "$gdc/gpu-claim.yaml" --timeout=60s || return 1
  done
}
grants_of_one_node() { [[ $(gpu_grants | cut -d' ' -f2- | sort | paste -sd,) == '0 1,1 0' ]] && on_nodes 1; }

# Each line of its console blocks by itself. What stands behind a `#` at the end is in what the command prints; after
# "refused:", and for the answer "no", the command must fail.
page_commands() { awk '/^```console$/ { inside = 1; next } /^```$/ { inside = 0 } inside' "$repo/docs/$1.md"; }  # page_commands PAGE
page_command_holds() {  # page_command_holds LINE
  local line=$1 wanted='' output status=0 fails=0
  if [[ $line =~ ^(.*[^\ ])\ +#\ (.*)$ ]]; then line=${BASH_REMATCH[1]} wanted=${BASH_REMATCH[2]}; fi
  [[ $wanted == no || $wanted == refused:* ]] && fails=1
  output=$(cd "$repo" && eval "$line" 2>&1) || status=1
  # The columns of a table are as wide as what is in them.
  ((status == fails)) && [[ $(tr -s ' ' <<<"$output") == *"${wanted#refused: }"* ]] && return 0
  printf '%s\nended with %s: %s\n' "$1" "$status" "$output"
  return 1
}
page_holds() {  # page_holds PAGE COUNT: each of its commands, so many or more
  local line count=0
  while IFS= read -r line; do
    ((++count))
    # A policy takes a moment to be in the API server.
    wait_for 20 "it does: $line" page_command_holds "$line" || { page_command_holds "$line"; return 1; }
  done < <(page_commands "$1")
  echo "$count commands"
  ((count >= $2))
}

each_command_of_the_page_of_bare_metal_does_what_it_says() { page_holds gdc 15; }

# The components on top of everything, by a kustomization as the page has it.
daemons_and_workload_have_the_type_of_selinux_that_nodes_with_it_need() {
  local folder=$stage/selinux daemon
  mkdir -p "$folder"
  printf 'apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [%s]\ncomponents: [%s]\n' \
    "$(realpath --relative-to="$folder" "$repo/manifests/standalone")" \
    "$(realpath --relative-to="$folder" "$repo/manifests/overlays/selinux")" >"$folder/kustomization.yaml"
  kubectl kustomize "$folder" | kubectl create --dry-run=client --validate=false -f - -o json |
    jq -s '[.[] | if .kind == "List" then .items[] else . end | select(.kind == "ConfigMap")]' >"$stage/maps.json" || return 1
  jq -e 'any(.[].data.CONFIG?; . == "/etc/cdom/configuration.yaml")' "$stage/maps.json" || return 1
  jq -er '.[].data["configuration.yaml"] // empty' "$stage/maps.json" >"$stage/configuration.yaml" || return 1
  stop_controller
  start_controller --config "$stage/configuration.yaml"
  wait_for 60 "the controller leads" leads || return 1
  gpu_domain selinux | kubectl apply -f - || return 1
  wait_for 30 "its children are made" is_idle selinux || return 1
  daemon=computedomain-daemon-$(kubectl get cdom selinux -o jsonpath='{.metadata.uid}')
  [[ $(kubectl get daemonset -n cdom-system "$daemon" -o json | jq -r '.spec.template.spec.containers[0].securityContext.seLinuxOptions.type') == nvidia_container_t ]] || return 1
  [[ $(kubectl create --dry-run=server -f "$repo/examples/gdc/check-selinux.yaml" -o jsonpath='{.spec.securityContext.seLinuxOptions.type}') == nvidia_container_t ]] || return 1
  kubectl delete cdom selinux --timeout=60s
}

# Each file of examples/, and each object that is written out on the page.
each_example_and_each_object_of_the_page_is_taken_by_strict_validation() {
  local file count=0
  kubectl apply -k "$repo/manifests/placement" || return 1
  awk '/^```yaml$/ { inside = 1; print "---"; next } /^```$/ { inside = 0 } inside' "$repo/docs/placement.md" "$repo/docs/gpus.md" >"$stage/page.yaml"
  while read -r file; do
    ((++count))
    kubectl create --dry-run=server --validate=strict -f "$file" 2>"$stage/strict.err" || { echo "$file"; cat "$stage/strict.err"; return 1; }
    # That newer clusters have a later version of resource.k8s.io is no fault of a file for older ones.
    refused '' grep -v 'is deprecated in' "$stage/strict.err" || { echo "$file"; cat "$stage/strict.err"; return 1; }
  done < <(echo "$stage/page.yaml"; find "$repo/examples" -name '*.yaml' | sort)
  ((count >= 4))
}

gpus() {
  stage_up gpus --runtime-config resource.k8s.io/v1beta1=true,resource.k8s.io/v1beta2=true
  gpu_class | kubectl apply -f - >/dev/null
  nodesim_up --nodes 8 --cliques 2 --gpus 4 --job-duration 2s --daemon-account
  start_controller
  wait_for 60 "the controller leads" leads
  run_case each_claim_of_a_job_of_four_has_a_channel_and_four_gpus_of_one_node
  run_case gpus_that_change_make_the_template_again_and_pods_that_run_are_not_touched
  run_case gpus_that_no_node_has_left_are_named_as_what_pods_may_wait_for
  run_case a_pod_with_two_containers_shares_a_gpu_claim_and_a_channel_in_each_version_of_dra
  run_case each_command_of_the_page_of_bare_metal_does_what_it_says
  run_case each_example_and_each_object_of_the_page_is_taken_by_strict_validation
  run_case daemons_and_workload_have_the_type_of_selinux_that_nodes_with_it_need
  stop_controller
  stop "$nodesim_pid"
  nodesim_pid=
  plane_down
}
