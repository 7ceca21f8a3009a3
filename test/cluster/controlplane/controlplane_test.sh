#!/usr/bin/env bash
# Checks of the control plane itself: what the tests that run on it rely on. Prints PASS or FAIL and a name
# for each, and exits non-zero if one failed.
set -euo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=../../e2e/cases.sh
source "$here/../../e2e/cases.sh"
controlplane=$here/controlplane
bin=$("$here/build.sh")
work=$(mktemp -d)
a="$work/plane a"  # The blank is on purpose: no path may be split at it.
b=$work/b
c=$work/c
# A cache of ours, because kubectl's own is by address, and another plane may have had the same port today.
export KUBECACHEDIR=$work/cache KUBERC=off
cases_in "$work/cases"

readonly kWait=180s  # How long a state may take; as a rule it takes under a second.

finish() {
  trap - EXIT
  local plane
  for plane in "$a" "$b" "$c"; do "$controlplane" down "$plane" || true; done
  rm -rf -- "$work"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# eventually COMMAND...: tries until it succeeds or three minutes are over.
eventually() {
  local deadline=$((SECONDS + 180))
  until "$@"; do
    ((SECONDS < deadline)) || {
      printf 'not so within three minutes: %s\n' "$*"
      return 1
    }
    sleep 0.2
  done
}

admin() { KUBECONFIG=$1/admin.kubeconfig "$bin/kubectl" "${@:2}"; }
nodesim() { KUBECONFIG=$1/nodesim.kubeconfig "$bin/kubectl" "${@:2}"; }
server_of() { admin "$1" config view --minify -o 'jsonpath={.clusters[0].cluster.server}'; }

# The processes that have the directory on their command line.
processes_of() {
  local path
  for path in /proc/[0-9]*/cmdline; do
    if grep -qzF -- "$1/" "$path" 2>/dev/null; then
      path=${path%/cmdline}
      # A child of this test that looks at the directory is no part of the plane.
      if [[ $(readlink "$path/exe") == "$bin/controlplane" ]]; then printf '%s\n' "${path##*/}"; fi
    fi
  done
}

# A node that is Ready, made with the rights of the simulator.
create_node() {
  nodesim "$1" create -f - <<OBJECT
apiVersion: v1
kind: Node
metadata: {name: $2}
OBJECT
  nodesim "$1" patch node "$2" --subresource=status --type=merge -p '{"status": {
    "conditions": [{"type": "Ready", "status": "True", "reason": "Simulated"}],
    "capacity": {"cpu": "8", "memory": "8Gi", "pods": "110"},
    "allocatable": {"cpu": "8", "memory": "8Gi", "pods": "110"}}}'
  nodesim "$1" create -f - <<OBJECT
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: $2, namespace: kube-node-lease}
spec: {holderIdentity: $2, leaseDurationSeconds: 10, renewTime: "2000-01-01T00:00:00.000000Z"}
OBJECT
}

# Keeps a node alive for another 10 s; what counts is that the lease changes. With curl, which is quick to start.
renew_lease() {
  as_nodesim "$server_a/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/$1" --output /dev/null \
    -X PATCH -H 'Content-Type: application/merge-patch+json' \
    --data "{\"spec\": {\"renewTime\": \"$(date -u +%FT%T.%6NZ)\"}}"
}

# A request to plane a with the simulator's certificate.
as_nodesim() {
  curl -q --silent --show-error --fail --noproxy '*' --cacert "$a/pki/ca.crt" --cert "$a/pki/nodesim.crt" \
    --key "$a/pki/nodesim.key" "$@"
}

# --- What is checked -------------------------------------------------------------------------------------------

two_planes_have_their_own_servers() {
  [[ -n $server_a && $server_a != "$server_b" ]]
  admin "$a" create configmap only-in-a
  refused 'not found' admin "$b" get configmap only-in-a
  # Of what each kind of program listens on, only the API server is told to users: compare all ports.
  local ports
  ports=$(for pid in $(processes_of "$a") $(processes_of "$b"); do
    tr '\0' '\n' <"/proc/$pid/cmdline" | sed -n 's/^--secure-port=//p'
  done)
  (($(wc -l <<<"$ports") == 6 && $(sort -u <<<"$ports" | wc -l) == 6))
}

summary_is_one_line() { [[ $(wc -l <"$work/up.a") == 1 && $(<"$work/up.a") == *"$server_a"* ]]; }

second_up_is_refused() {
  refused "has a control plane already" "$controlplane" up "$a"
  admin "$a" get --raw /readyz
}

daemon_set_reaches_the_node() {
  create_node "$a" node-1
  admin "$a" create -f - <<'OBJECT'
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: daemon}
spec:
  selector: {matchLabels: {app: daemon}}
  template:
    metadata: {labels: {app: daemon}}
    spec: {containers: [{name: main, image: none.invalid/none}]}
OBJECT
  eventually has_pod_on daemon node-1
  local pod
  pod=$(admin "$a" get pods -l app=daemon -o 'jsonpath={.items[0].metadata.name}')
  nodesim "$a" patch pod "$pod" --subresource=status --type=merge -p '{"status": {
    "phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}'
  admin "$a" wait daemonset/daemon --for='jsonpath={.status.numberReady}=1' --timeout="$kWait"
}

has_pod_on() {
  [[ $(admin "$a" get pods -l "app=$1" -o 'jsonpath={.items[*].spec.nodeName}') == "$2" ]]
}

job_completes() {
  admin "$a" create -f - <<'OBJECT'
apiVersion: batch/v1
kind: Job
metadata: {name: job}
spec:
  template:
    metadata: {labels: {app: job}}
    spec:
      tolerations: [{operator: Exists}]  # Nobody keeps node-1 alive.
      restartPolicy: Never
      containers: [{name: main, image: none.invalid/none}]
OBJECT
  eventually has_pod_on job node-1
  local pod
  pod=$(admin "$a" get pods -l app=job -o 'jsonpath={.items[0].metadata.name}')
  nodesim "$a" patch pod "$pod" --subresource=status --type=merge -p '{"status": {"phase": "Succeeded"}}'
  admin "$a" wait job/job --for=condition=Complete --timeout="$kWait"
}

claim_is_generated_allocated_and_prepared() {
  admin "$a" get --raw /apis/resource.k8s.io/v1
  nodesim "$a" create -f - <<'OBJECT'
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: node-1-slice}
spec:
  driver: driver.test
  nodeName: node-1
  pool: {name: node-1, generation: 1, resourceSliceCount: 1}
  devices: [{name: channel-0}]
OBJECT
  admin "$a" create -f - <<'OBJECT'
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: channel.test}
spec: {selectors: [{cel: {expression: device.driver == "driver.test"}}]}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: template}
spec:
  spec: {devices: {requests: [{name: channel, exactly: {deviceClassName: channel.test}}]}}
---
apiVersion: v1
kind: Pod
metadata: {name: claiming}
spec:
  tolerations: [{operator: Exists}]
  resourceClaims: [{name: channel, resourceClaimTemplateName: template}]
  containers:
  - {name: main, image: none.invalid/none, resources: {claims: [{name: channel}]}}
OBJECT
  admin "$a" wait pod/claiming --for='jsonpath={.spec.nodeName}=node-1' --timeout="$kWait"
  local claim
  claim=$(admin "$a" get pod claiming -o 'jsonpath={.status.resourceClaimStatuses[0].resourceClaimName}')
  [[ -n $claim ]]
  [[ $(claim_says "$claim" '{.metadata.ownerReferences[0].kind}/{.metadata.ownerReferences[0].name}') == Pod/claiming ]]
  [[ $(claim_says "$claim" '{.status.reservedFor[0].name}') == claiming ]]
  [[ $(claim_says "$claim" '{.status.allocation.devices.results[0].device}') == channel-0 ]]
  # The right to write what a driver writes is one of its own since 1.36.
  nodesim "$a" patch resourceclaim "$claim" --subresource=status --type=merge -p '{"status": {"devices": [{
    "driver": "driver.test", "pool": "node-1", "device": "channel-0",
    "conditions": [{"type": "Ready", "status": "True", "reason": "Prepared", "message": "",
      "lastTransitionTime": "2000-01-01T00:00:00Z"}]}]}}'
  admin "$a" delete pod claiming --grace-period=0 --force
  admin "$a" wait "resourceclaim/$claim" --for=delete --timeout="$kWait"
}

pod_runs_on_a_node_that_will_be_lost() {
  create_node "$a" lost-node
  nodesim "$a" create -f - <<'OBJECT'
apiVersion: v1
kind: Pod
metadata: {name: on-lost-node}
spec: {nodeName: lost-node, containers: [{name: main, image: none.invalid/none}]}
OBJECT
}

claim_says() { admin "$a" get resourceclaim "$1" -o "jsonpath=$2"; }

lost_node_is_noticed() {
  admin "$a" wait node/lost-node --for='jsonpath={.status.conditions[?(@.type=="Ready")].status}=Unknown' \
    --timeout="$kWait"
  # Where no node at all is alive, the node controller evicts nothing.
  create_node "$a" live-node
  eventually pod_is_evicted_while_another_node_lives
}

pod_is_evicted_while_another_node_lives() {
  renew_lease live-node
  [[ -n $(admin "$a" get pod on-lost-node -o 'jsonpath={.metadata.deletionTimestamp}') ]]
}

simulator_has_its_own_rights_only() {
  [[ $(nodesim "$a" auth whoami -o 'jsonpath={.status.userInfo.username}') == cdom-nodesim ]]
  local verb resource
  for verb in get list watch create update patch delete; do
    for resource in nodes nodes/status pods leases.coordination.k8s.io resourceclaims.resource.k8s.io \
      resourceslices.resource.k8s.io computedomains.resource.nvidia.com/status \
      computedomaincliques.resource.nvidia.com; do
      nodesim_may "$verb" "$resource" >>"$work/may" || {
        printf 'cdom-nodesim may not %s %s\n' "$verb" "$resource"
        return 1
      }
    done
  done
  refused 'is forbidden' nodesim "$a" create configmap not-mine
  refused 'is forbidden' nodesim "$a" get secrets
}

# Asks with curl, because there are many questions and a kubectl takes a while to start.
nodesim_may() {
  local group='' resource=$2 subresource=''
  [[ $resource != */* ]] || { subresource=${resource#*/} resource=${resource%%/*}; }
  [[ $resource != *.* ]] || { group=${resource#*.} resource=${resource%%.*}; }
  as_nodesim -H 'Content-Type: application/json' --data-binary @- \
    "$server_a/apis/authorization.k8s.io/v1/selfsubjectaccessreviews" <<REVIEW | grep '"allowed": *true'
{"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": {"resourceAttributes":
 {"verb": "$1", "group": "$group", "resource": "$resource", "subresource": "$subresource", "namespace": "default"}}}
REVIEW
}

wrong_ca_is_refused() {
  refused 'certificate signed by unknown authority' \
    env KUBECONFIG="$a/admin.kubeconfig" "$bin/kubectl" --server="$server_b" get --raw /readyz
}

unbound_token_is_refused() {
  local token
  token=$(admin "$a" create token default)
  local as_default=(env KUBECONFIG=/dev/null "$bin/kubectl" --server="$server_a"
    --certificate-authority="$a/pki/ca.crt" --token="$token")
  # It is known, so what follows is a refusal by RBAC.
  [[ $("${as_default[@]}" auth whoami -o 'jsonpath={.status.userInfo.username}') == \
    system:serviceaccount:default:default ]]
  refused 'is forbidden' "${as_default[@]}" get pods
}

nobody_gets_no_further_than_health() {
  local code
  for path in readyz api; do
    code=$(curl -q --silent --noproxy '*' --cacert "$a/pki/ca.crt" -o /dev/null -w '%{http_code}' "$server_a/$path")
    printf '%s %s\n' "$path" "$code" >>"$work/nobody"
  done
  [[ $(<"$work/nobody") == $'readyz 200\napi 401' ]]
}

audit_log_names_users() {
  grep -q '"verb":"create".*"username":"cdom-nodesim".*"objectRef":{"resource":"nodes","name":"node-1"' "$a/audit.log"
  grep -q '"username":"system:serviceaccount:default:default".*"code":403' "$a/audit.log"
  grep -q '"username":"system:serviceaccount:kube-system:daemon-set-controller"' "$a/audit.log"
}

audit_log_has_metadata_only() {
  [[ $(grep -vc '"level":"Metadata"' "$a/audit.log") == 0 ]]
  [[ $(grep -c '"stage":"RequestReceived"' "$a/audit.log") == 0 ]]
  [[ $(grep -cE '"(request|response)Object"' "$a/audit.log") == 0 ]]
  grep -q '"stage":"ResponseComplete"' "$a/audit.log"
}

runtime_config_adds_versions() {
  local versions
  versions=$(admin "$b" api-versions)
  for version in v1 v1beta1 v1beta2; do
    grep -qx "resource.k8s.io/$version" <<<"$versions"
  done
}

down_leaves_nothing() {
  [[ $(processes_of "$b" | wc -l) == 4 ]]
  "$controlplane" down "$b"
  [[ ! -e $b && -z $(processes_of "$b") ]]
  admin "$a" get --raw /readyz
  "$controlplane" down "$b"  # May be repeated.
}

without_dra_has_no_resource_api() {
  "$controlplane" up "$c" --without-dra
  admin "$c" get --raw /apis >"$work/apis"
  [[ $(grep -c 'resource\.k8s\.io' "$work/apis") == 0 ]]
  refused 'NotFound' admin "$c" get --raw /apis/resource.k8s.io
  # A scheduler that waits for claims it cannot read would never get here.
  create_node "$c" node-1
  admin "$c" create -f - <<'OBJECT'
apiVersion: v1
kind: Pod
metadata: {name: plain}
spec: {tolerations: [{operator: Exists}], containers: [{name: main, image: none.invalid/none}]}
OBJECT
  admin "$c" wait pod/plain --for='jsonpath={.spec.nodeName}=node-1' --timeout="$kWait"
  "$controlplane" down "$c"
  [[ ! -e $c && -z $(processes_of "$c") ]]
}

failed_up_says_why_and_leaves_nothing() {
  refused 'unknown flag: --no-such-flag' "$controlplane" up "$c" --apiserver-arg --no-such-flag
  [[ ! -e $c && -z $(processes_of "$c") ]]
}

interrupted_up_leaves_nothing() {
  "$controlplane" up "$c" &
  local pid=$!
  eventually test -e "$c/pids/kube-apiserver"
  kill -TERM "$pid"
  if wait "$pid"; then return 1; fi
  [[ ! -e $c && -z $(processes_of "$c") ]]
}

killed_up_is_cleaned_up_by_down() {
  "$controlplane" up "$c" &
  local pid=$!
  eventually test -s "$c/pids/kube-apiserver"
  kill -KILL "$pid"
  wait "$pid" || true
  refused "has a control plane already" "$controlplane" up "$c"
  "$controlplane" down "$c"
  [[ ! -e $c && -z $(processes_of "$c") ]]
}

down_leaves_others_alone() {
  # A process id that was handed out again: the process is not the one that was recorded.
  sleep 300 &
  other=$!  # Not local: the trap runs outside of this function.
  local stat
  trap 'kill "$other"' EXIT
  read -r stat <"/proc/$other/stat"
  read -ra stat <<<"${stat##*) }"
  mkdir -p -- "$c/pids"
  printf '%s\n' "$c" >"$c/.controlplane"
  printf '%s 1\n' "$other" >"$c/pids/etcd"
  # Even with its start time right, it has not DIR on its command line.
  printf '%s %s\n' "$other" "${stat[19]}" >"$c/pids/kube-apiserver"
  printf 'mine\n' >"$c/notes"
  "$controlplane" down "$c"
  kill -0 "$other"
  [[ $(ls -A "$c") == notes ]]
  rm -r -- "$c"
  # A directory that has data, but not ours.
  mkdir -p -- "$c/data"
  refused 'not made by' "$controlplane" down "$c"
  [[ -d $c/data ]]
  refused 'is in the way' "$controlplane" up "$c"
  [[ $(ls -A "$c") == data ]]
  rm -r -- "$c"
}

wrong_use_is_explained() {
  refused "say 'up' or 'down'" "$controlplane"
  refused "is neither 'up' nor 'down'" "$controlplane" start "$c"
  refused 'needs a DIR' "$controlplane" up
  refused 'needs a DIR' "$controlplane" up --without-dra
  refused "does not know '--fast'" "$controlplane" up "$c" --fast
  refused 'needs a value' "$controlplane" up "$c" --runtime-config
  refused 'is no port' "$controlplane" up "$c" --port http
  refused 'is no duration' "$controlplane" up "$c" --node-grace long
  refused 'contradict' "$controlplane" up "$c" --without-dra --runtime-config resource.k8s.io/v1beta1=true
  [[ ! -e $c ]]
}

missing_go_is_explained() {
  mkdir -- "$work/tools"
  local tool
  for tool in bash env dirname awk sed cat sha256sum; do ln -s "$(command -v "$tool")" "$work/tools/$tool"; done
  refused 'Install Go' env PATH="$work/tools" CDOM_CACHE="$work/empty" "$here/build.sh"
  # What is built already needs no Go.
  [[ $(PATH=$work/tools "$here/build.sh") == "$bin" ]]
}

long_work_is_quiet_but_says_how_far_it_is_and_why_it_fails() {
  # shellcheck source=quietly.sh
  source "$here/quietly.sh"
  lines_written() { printf '%d lines' "$(wc -l <"$1")"; }
  local quietly_every=0.2
  quietly "$work/long" lines_written bash -c 'echo noise; until [[ -s $0 ]]; do sleep 0.1; done' "$work/told" 2>"$work/told"
  [[ $(head -n 1 "$work/told") == '  1 min: 1 lines' ]]
  [[ $(grep -c noise "$work/told") == 0 && $(<"$work/long") == noise ]]
  refused 'the cause' quietly "$work/long" lines_written bash -c 'echo the cause; exit 1'
}

# --- Run ---------------------------------------------------------------------------------------------------------

# At the same time, so that they compete for ports and for the processor.
"$controlplane" up "$a" >"$work/up.a" 2>&1 &
declare -A up=([a]=$!)
"$controlplane" up "$b" --runtime-config resource.k8s.io/v1beta1=true --runtime-config=resource.k8s.io/v1beta2=true \
  >"$work/up.b" 2>&1 &
up[b]=$!
began=$SECONDS
for plane in a b; do
  if ! wait "${up[$plane]}"; then
    cp "$work/up.$plane" "$case_root/plane_${plane}_starts.out"
    came_out FAIL "plane_${plane}_starts" "$began"
    exit 1
  fi
  came_out PASS "plane_${plane}_starts" "$began"
done
server_a=$(server_of "$a")
server_b=$(server_of "$b")

check summary_is_one_line
check two_planes_have_their_own_servers
check second_up_is_refused
check wrong_ca_is_refused
check runtime_config_adds_versions
check down_leaves_nothing

check daemon_set_reaches_the_node
# Begun here and looked at in the end, because it takes 10 s until the loss is noticed.
check pod_runs_on_a_node_that_will_be_lost
check job_completes
check claim_is_generated_allocated_and_prepared
check simulator_has_its_own_rights_only
check unbound_token_is_refused
check nobody_gets_no_further_than_health
check audit_log_names_users
check audit_log_has_metadata_only
check lost_node_is_noticed

check without_dra_has_no_resource_api
check failed_up_says_why_and_leaves_nothing
check interrupted_up_leaves_nothing
check killed_up_is_cleaned_up_by_down
check down_leaves_others_alone
check wrong_use_is_explained
check missing_go_is_explained
check long_work_is_quiet_but_says_how_far_it_is_and_why_it_fails

summary
