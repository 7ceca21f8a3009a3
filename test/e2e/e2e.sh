#!/usr/bin/env bash
# The controller as users run it: the real binary, under its ServiceAccount's token, on a real control
# plane, with simulated nodes. Prints PASS or FAIL for each case, and a last line with the counts of those
# that ran.
#
#   e2e.sh BIN_FOLDER [PATTERN...]   all cases, or those whose name matches a regular expression
set -euo pipefail

repo=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
bin=$(cd -- "$1" && pwd)
shift
# shellcheck source=cases.sh
source "$repo/test/e2e/cases.sh"
# shellcheck source=stage.sh
source "$repo/test/e2e/stage.sh"

root=$(mktemp -d "${TMPDIR:-/tmp}/cdom-e2e.XXXXXX")
cases_in "$root/cases" "$@"
stage=
lanes=()        # Who run beside this shell.
membership_writer=none  # With which the controller runs: daemon or controller, and its other flags.

stop_what_was_started() {
  local pid
  for pid in "$controller_pid" "$nodesim_pid"; do stop "$pid"; done
}
leave() {
  local status=$? pid plane
  trap - EXIT INT TERM
  for pid in "${lanes[@]}"; do stop "$pid"; done
  stop_what_was_started
  for plane in "$root"/*/plane; do
    [[ -d $plane ]] && "$repo/test/cluster/controlplane/controlplane" down "$plane" >/dev/null
  done
  if ((status == 0)); then rm -rf "$root"; else echo "e2e: logs are in $root" >&2; fi
  exit "$status"
}
trap leave EXIT
trap 'exit 130' INT TERM

any_wanted() {  # any_wanted STAGE: a function that runs a wanted case
  local name
  for name in $(declare -f "$1" | sed -nE 's/^ *run_case ([a-zA-Z0-9_]+);?$/\1/p'); do
    if is_wanted "$name"; then return 0; fi
  done
  return 1
}

# Beside the lines that it prints it keeps what is gone when the stage ends.
tell_more() {
  tail -n 15 "$stage/controller.log" 2>/dev/null || true
  tail -n 5 "$stage/nodesim.log" 2>/dev/null || true
  tail -n 30000 "$stage/plane/audit.log" 2>/dev/null | gzip >"$stage/audit.$SECONDS.gz" || true
  curl --silent --max-time 10 "$nodesim_url/state" >"$stage/nodesim.$SECONDS.json" || true
}

lane() {  # lane STAGE...: those of which a case is wanted, one after another
  local each
  for each in "$@"; do
    if any_wanted "$each"; then "$each"; fi
  done
}
# A lane in a shell of its own, beside what follows, since cases wait more than they compute. What it starts ends with it.
beside() {  # beside STAGE...
  (
    trap stop_what_was_started EXIT
    trap 'exit 130' INT TERM
    lane "$@"
  ) &
  lanes+=($!)
}

condition() {  # condition TYPE NAME FIELD
  kubectl get cdom "$2" -o jsonpath="{.status.conditions[?(@.type==\"$1\")].$3}"
}
says() {  # says TYPE NAME REASON PATTERN
  [[ $(condition "$1" "$2" reason) == "$3" && $(condition "$1" "$2" message) =~ $4 ]]
}
condition_says() {  # condition_says NAME REASON PATTERN: its condition Ready
  says Ready "$@"
}
log_says() { grep -qE "$1" "$stage/controller.log"; }
log_count() { grep -cE "$1" "$stage/controller.log" || true; }
leads() { log_says 'Reconciling'; }

fresh_log() { : >"$stage/controller.log"; }
start_controller() {
  fresh_log
  controller_up "$@"
}
stop_controller() {
  stop "$controller_pid"
  controller_pid=
  membership_writer=none
}
with_membership_writer() {  # with_membership_writer daemon|controller [flags]: a controller runs with this writer
  [[ $membership_writer != "$*" ]] || return 0
  stop_controller
  start_controller --membership-writer "$1" "${@:2}"
  wait_for 60 "the controller leads" leads || return 1
  membership_writer=$*
}

domain() {  # domain NAME TEMPLATE
  cat <<YAML
apiVersion: resource.nvidia.com/v1beta1
kind: ComputeDomain
metadata: {name: $1, namespace: default}
spec: {channel: {resourceClaimTemplate: {name: $2}}}
YAML
}

succeeded() { [[ $(kubectl get job "$1" -o jsonpath='{.status.succeeded}') == "$2" ]]; }
in_use() { [[ $(condition InUse "$1" status) == "$2" ]]; }
nothing_left() { snapshot "$stage/after.json" && cmp -s "$stage/before.json" "$stage/after.json"; }

pod_on() {  # pod_on NAME NODE TEMPLATE: a pod that claims a channel and may run on this node alone
  cat <<YAML
apiVersion: v1
kind: Pod
metadata: {name: $1, namespace: default}
spec:
  nodeSelector: {kubernetes.io/hostname: $2}
  resourceClaims: [{name: channel, resourceClaimTemplateName: $3}]
  containers:
  - name: main
    image: busybox
    resources: {claims: [{name: channel}]}
YAML
}

port_of() {  # port_of WHAT: where the controller serves it
  sed -nE "s/.*Serving $1.*port[=\"]+([0-9]+).*/\1/p" "$stage/controller.log" | tail -n 1
}

# stage_up NAME [options of controlplane up]: a control plane with our manifests, in a folder of its own.
stage_up() {
  stop_controller
  stage=$root/$1
  mkdir -p "$stage"
  plane_up "${@:2}"
  kubectl apply -k "$repo/manifests/local" >/dev/null
  controller_kubeconfig
}

nvidia_permissions() {
  stage_up nvidia
  kubectl delete -k "$repo/manifests/policies" >/dev/null  # NVIDIA's chart has others.
  kubectl apply -k "$repo/manifests/placement" >/dev/null  # The example's workers are to be in one clique.
  after_failure=clean_up
  nodesim_up --nodes 8 --cliques 1 --job-duration 12000 --daemon-account
  start_with_nvidia_permissions
  run_case a_domain_lives_and_goes_under_the_rights_of_nvidias_chart
  run_case each_right_that_is_missing_is_said_once_with_what_it_costs
  run_case what_was_refused_is_hardly_asked_for_again
  run_case nothing_but_those_was_refused
  after_failure=
  stop "$nodesim_pid"
  nodesim_pid=
}

faults() {
  stage_up faults
  after_failure=clean_up
  nodesim_up --nodes 16 --cliques 2 --daemon-account
  run_case what_a_tenant_makes_unreadable_does_not_keep_another_tenants_domain_from_going
  after_failure=
  stop_controller
  stop "$nodesim_pid"
  nodesim_pid=
  plane_down
}

# shellcheck source=workloads.sh
source "$repo/test/e2e/workloads.sh"
# shellcheck source=hostile.sh
source "$repo/test/e2e/hostile.sh"
# shellcheck source=nvidia_permissions.sh
source "$repo/test/e2e/nvidia_permissions.sh"
# The later one of two would do the work of both, and a case might ask nothing of what it means to. cases.sh has defaults that are
# meant to be replaced.
mapfile -t sourced < <(sed -nE '/cases\.sh/d; s|^source "\$repo/(test/e2e/.*)"$|\1|p' "${BASH_SOURCE[0]}")
twice=$(cd "$repo" && sed -nE 's/^([a-z0-9_]+)\(\).*/\1/p' test/e2e/e2e.sh "${sourced[@]}" | sort | uniq -d | tr '\n' ' ')
if [[ -n $twice ]]; then
  echo "FAIL two functions have one name: $twice" >&2
  exit 1
fi

beside faults
lane nvidia_permissions
for pid in "${lanes[@]}"; do
  wait "$pid" || echo "FAIL stages that ran beside others ended before their last case" | tee -a "$case_root/results"
done
lanes=()

summary
