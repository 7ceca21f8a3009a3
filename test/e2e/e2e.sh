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
listener=       # Who stands in for systemd.
recorders=()    # Who writes down what the API server tells.
membership_writer=none  # With which the controller runs: daemon or controller, and its other flags.

stop_what_was_started() {
  local pid
  for pid in "$controller_pid" "$nodesim_pid" "$listener" "${recorders[@]}"; do stop "$pid"; done
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
is_idle() {  # is_idle NAME: it can be used, and nobody does
  condition_says "$1" Idle '^Provisioned; nodes join when pods that claim from [a-z-]+ are scheduled\.$' &&
    [[ $(condition Ready "$1" status) == True && $(kubectl get cdom "$1" -o jsonpath='{.status.status} {.status.members}') == 'Ready 0/0' ]] &&
    says MembersReady "$1" NoMembers '^No node takes part\.$' && [[ $(condition MembersReady "$1" status) == Unknown ]]
}
log_says() { grep -qE "$1" "$stage/controller.log"; }
audit_lines() { wc -l <"$stage/plane/audit.log"; }
log_count() { grep -cE "$1" "$stage/controller.log" || true; }
leads() { log_says 'Reconciling'; }

# shows KIND NAME PATTERN: `kubectl describe` shows an Event that matches.
shows() { grep -qE "$3" < <(kubectl describe "$1" "$2" | sed -n '/^Events:/,$p'); }
tells() { shows computedomain "$@"; }  # tells NAME PATTERN
series_count() {  # series_count NAME REASON: how often the Event says that it happened
  kubectl get events.events.k8s.io -o json | jq --arg name "$1" --arg reason "$2" \
    '.items[] | select(.regarding.name == $name and .reason == $reason) | .series.count // 1'
}
counts() { [[ $(series_count "$1" "$2") == "$3" ]]; }

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

# ---- Cases. The first four need a cluster without CRDs.

a_kubeconfig_that_is_missing_malformed_or_points_nowhere_is_named_and_used_once_right() {
  local config=$stage/changing.kubeconfig
  fresh_log
  "$bin/compute-domain-controller" --kubeconfig "$config" --pod-name bad --namespace cdom-system \
    --image-name cdom:0.1.0 --leader-election-lease-lock-name cdom-controller 2>>"$stage/controller.log" &
  controller_pid=$!
  wait_for 20 "the missing file is named" log_says "changing.kubeconfig.*(No such file|does not exist|missing)" || return 1
  printf 'clusters: [\n' >"$config.new" && mv "$config.new" "$config"
  wait_for 20 "the malformed file is named" log_says "changing.kubeconfig.*(YAML|yaml)" || return 1
  kubeconfig_to_nowhere >"$config.new" && mv "$config.new" "$config"
  wait_for 20 "the address is named that does not answer" log_says '127\.0\.0\.1:9' || return 1
  cp "$stage/controller.kubeconfig" "$config.new" && mv "$config.new" "$config"
  wait_for 60 "the right file is used" log_says 'server.*127\.0\.0\.1:[0-9]{4,5}' || return 1
  (($(wc -l <"$stage/controller.log") < 60)) || { echo "more than 60 lines of log"; return 1; }
  stop_controller
}

kubeconfig_to_nowhere() { jq '.clusters[0].cluster.server = "https://127.0.0.1:9"' "$stage/controller.kubeconfig"; }

a_crd_that_is_not_installed_is_named_and_waited_for() {
  start_controller
  wait_for 30 "the log names the CRD" log_says 'computedomains\.resource\.nvidia\.com' || return 1
  (($(log_count 'computedomains\.resource\.nvidia\.com') <= 5)) || { echo "not paced"; return 1; }
  kubectl apply -k "$repo/crds" || return 1
  wait_for 60 "the controller leads" leads || return 1
  stop_controller
}

# ---- From here on everything is installed and a controller runs.

# What systemd hears of a service with Type=notify and WatchdogSec=6, each message with its time.
listen() {
  perl -MIO::Socket::UNIX -MSocket -MTime::HiRes=time -e '
    my $socket = IO::Socket::UNIX->new(Type => SOCK_DGRAM, Local => $ARGV[0]) or die $!;
    $| = 1;
    while (defined $socket->recv(my $message, 4096)) { $message =~ tr/\n/ /; printf "%.1f %s\n", time, $message }' \
    "$stage/notify" >"$stage/heard.txt" &
  listener=$!
}
hears() { grep -qE "^[0-9.]+ $1" "$stage/heard.txt"; }
systemd_hears_when_the_controller_is_ready_that_it_lives_and_when_it_ends() {
  local config=$stage/changing.kubeconfig status=0
  stop_controller
  listen
  wait_for 10 "somebody listens" test -S "$stage/notify" || return 1
  kubeconfig_to_nowhere >"$config"
  kubeconfig=$config NOTIFY_SOCKET=$stage/notify WATCHDOG_USEC=6000000 start_controller
  wait_for 20 "it says what it waits for" hears 'STATUS=Waiting for the caches' || return 1
  wait_for 20 "it lives" hears 'WATCHDOG=1' || return 1
  wait_for 20 "the address is named that does not answer" log_says '127\.0\.0\.1:9' || return 1
  if hears 'READY=1'; then echo "ready without caches"; return 1; fi
  cp "$stage/controller.kubeconfig" "$config.new" && mv "$config.new" "$config"
  wait_for 60 "it is ready" hears 'READY=1 STATUS=(Reconciling|Standing by)' || return 1
  wait_for 60 "it works" hears '(READY=1 )?STATUS=Reconciling' || return 1
  kill -TERM "$controller_pid"
  wait "$controller_pid" || status=$?
  stop "$listener"
  cat "$stage/heard.txt"
  ((status == 0)) || { echo "ended with $status"; return 1; }
  # The end is said once, and nothing after it; between two signs of life systemd never lost its patience.
  [[ $(grep -n 'STOPPING=1' "$stage/heard.txt" | cut -d: -f1) == "$(wc -l <"$stage/heard.txt")" ]] || return 1
  awk '/WATCHDOG=1/ { if (count++ && $1 - last > 6) late = 1; last = $1 } END { exit late || count < 3 }' "$stage/heard.txt" || return 1
  start_controller
  wait_for 60 "the controller leads" leads
}

a_domain_without_spec_says_what_to_do() {
  kubectl apply -f - <<<'{apiVersion: resource.nvidia.com/v1beta1, kind: ComputeDomain, metadata: {name: bare, namespace: default}}' || return 1
  wait_for 20 "the condition says so" condition_says bare SpecMissing 'create it again' || return 1
  [[ $(kubectl get cdom bare -o jsonpath='{.status.status}') == NotReady ]] || return 1
  kubectl delete cdom bare --timeout=20s
}

a_template_name_that_is_taken_is_reported_and_healed() {
  kubectl apply -f - <<'YAML' || return 1
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: taken, namespace: default}
spec: {spec: {devices: {requests: [{name: a, exactly: {deviceClassName: b}}]}}}
YAML
  domain clash taken | kubectl apply -f - || return 1
  wait_for 20 "the condition says so" condition_says clash TemplateNameTaken 'default/taken' || return 1
  [[ $(kubectl get cdom clash -o jsonpath='{.status.status}') == NotReady ]] || return 1
  kubectl get resourceclaimtemplate taken -o name || return 1  # Not ours: not touched.
  kubectl delete resourceclaimtemplate taken || return 1
  wait_for 60 "the domain goes on by itself" is_idle clash || return 1
  [[ $(kubectl get resourceclaimtemplate taken -o jsonpath='{.metadata.ownerReferences[0].name}') == clash ]] || return 1
  kubectl delete cdom clash --timeout=30s || return 1
  wait_for 20 "the template is gone" gone resourceclaimtemplate taken
}

cannot() {
  ! kubectl auth can-i "$1" "$2" -n cdom-system --as system:serviceaccount:cdom-system:cdom-controller
}

lifecycle() {  # lifecycle MEMBERSHIP_WRITER: from creation to deletion, seen from outside
  local victim nodes
  with_membership_writer "$1" || return 1
  snapshot "$stage/before.json" || return 1
  kubectl apply -f "$repo/examples/quickstart.yaml" || return 1
  wait_for 60 "four members are ready" condition_says quickstart AllMembersReady '4/4' || return 1
  [[ $(kubectl get cdom quickstart -o jsonpath='{.status.status} {.status.members} {.status.cliqueCount}') == "Ready 4/4 1" ]] || return 1
  nodes=$(kubectl get pods -l app=quickstart -o json | jq -c '[.items[].spec.nodeName] | sort')
  [[ $(kubectl get cdom quickstart -o json | jq -c '[.status.nodes[].name] | sort') == "$nodes" ]] || return 1
  # Every index once, none out of range.
  [[ $(kubectl get cdom quickstart -o json | jq -c '[.status.nodes[].index] | sort') == '[0,1,2,3]' ]] || return 1
  # The membership writer creates the clique.
  if [[ $1 == controller ]]; then
    [[ $(kubectl get computedomaincliques -n cdom-system -o jsonpath='{.items[0].metadata.ownerReferences[0].kind}') == DaemonSet ]] || return 1
  else
    [[ $(kubectl get computedomaincliques -n cdom-system -o jsonpath='{.items[0].metadata.ownerReferences[0].kind}') == Pod ]] || return 1
  fi
  wait_for 20 "InUse says who" in_use quickstart True || return 1

  victim=$(kubectl get cdom quickstart -o jsonpath='{.status.nodes[0].name}')
  nodesim "kill?node=$victim" || return 1
  wait_for 60 "status names the lost node" condition_says quickstart NodeLost "$victim" || return 1
  [[ $(kubectl get cdom quickstart -o jsonpath="{.status.nodes[?(@.name==\"$victim\")].status}") == NotReady ]] || return 1
  wait_for 10 "an event tells of it" tells quickstart "Warning +NodeLost .*$victim" || return 1
  wait_for 120 "the workers have succeeded" succeeded quickstart 4 || return 1
  nodesim "revive?node=$victim" || return 1
  kubectl wait --for=condition=Ready "node/$victim" --timeout=60s || return 1
  kubectl wait --for=condition=Complete job/quickstart --timeout=60s || return 1
  kubectl delete -f "$repo/examples/quickstart.yaml" --timeout=90s || return 1
  wait_for 60 "nothing is left" nothing_left || { diff "$stage/before.json" "$stage/after.json" | head -n 60; return 1; }
}
succeeded() { [[ $(kubectl get job "$1" -o jsonpath='{.status.succeeded}') == "$2" ]]; }
in_use() { [[ $(condition InUse "$1" status) == "$2" ]]; }
nothing_left() { snapshot "$stage/after.json" && cmp -s "$stage/before.json" "$stage/after.json"; }

the_whole_life_of_a_domain_in_the_manner_of_the_reference() { lifecycle daemon; }
the_whole_life_of_a_domain_in_the_manner_of_cdom() { lifecycle controller; }

# The example, whose workers go on until they are deleted; four of them.
endless() {  # endless NAME
  sed "s/quickstart/$1/g; s/^      labels:\$/      annotations: {nodesim.cdom.dev\/run-seconds: \"-1\"}\n&/" "$repo/examples/quickstart.yaml"
}
four_run() { [[ $(workers_on "$1" | wc -l) == 4 ]]; }

a_domain_deleted_under_a_running_pod_waits_for_it_and_says_so() {
  local daemons workers
  endless waits | kubectl apply -f - || return 1
  wait_for 60 "its members are ready" condition_says waits AllMembersReady '4/4' || return 1
  wait_for 20 "its workers run" four_run waits || return 1
  daemons=$(lives_of -n "$driver" -l "$(label_of waits)") workers=$(lives_of -l app=waits)
  kubectl delete cdom waits --wait=false || return 1
  wait_for 20 "the condition names who blocks" condition_says waits DeletionBlocked 'pods/waits-' || return 1
  wait_for 10 "an event tells of it" tells waits 'Warning +DeletionBlocked .*pods/waits-' || return 1
  # The daemons go on, and so do those whom they serve.
  [[ $(lives_of -n "$driver" -l "$(label_of waits)") == "$daemons" ]] || { echo "other daemons: $daemons"; return 1; }
  [[ $(lives_of -l app=waits) == "$workers" ]] || { echo "other workers: $workers"; return 1; }
  kubectl delete job waits --timeout=60s || return 1
  wait_for 60 "the domain is gone" gone cdom waits
}

a_domain_deleted_with_no_grace_does_not_wait_for_its_pods() {
  local workers
  endless hasty | kubectl apply -f - || return 1
  kubectl annotate cdom hasty cdom.dev/deletion-grace=0 || return 1
  wait_for 60 "its members are ready" condition_says hasty AllMembersReady '4/4' || return 1
  wait_for 20 "its workers run" four_run hasty || return 1
  workers=$(lives_of -l app=hasty)
  kubectl delete cdom hasty --wait=false || return 1
  wait_for 60 "the domain is gone" gone cdom hasty || return 1
  # It went from under pods that run on: they are the user's, and are told of by a warning.
  [[ $(lives_of -l app=hasty) == "$workers" ]] || { echo "other workers: $workers"; return 1; }
  wait_for 10 "a warning names them" forced hasty 'pods/hasty-' || return 1
  kubectl delete job hasty --timeout=60s
}
# forced DOMAIN PATTERN: the Event of a domain that is gone by now, which nothing describes any more.
forced() {
  kubectl get events -o json | jq -e --arg name "$1" --arg pattern "$2" 'any(.items[];
    .involvedObject.name == $name and .type == "Warning" and .reason == "DeletionForced" and (.message | test($pattern)))'
}

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

a_pod_that_finds_no_node_is_named_with_the_schedulers_words() {
  domain crowded crowded-channel | kubectl apply -f - || return 1
  wait_for 20 "the template is there" kubectl get resourceclaimtemplate crowded-channel || return 1
  pod_on first node-000 crowded-channel | kubectl apply -f - || return 1
  wait_for 60 "the first pod runs" says InUse crowded ClaimsReserved 'pods/first' || return 1
  # A node has one channel.
  pod_on second node-000 crowded-channel | kubectl apply -f - || return 1
  wait_for 60 "the condition says why the second waits" \
    says InUse crowded ClaimsReserved 'pods/second \(Unschedulable: .*cannot allocate all claims' || return 1
  # In full on the debug page.
  curl -fsS "http://127.0.0.1:$(port_of "debug pages")/debug/domains" |
    jq -e '.[] | select(.name == "crowded") | .users == ["pods/first"] and (.waiting | length == 1) and (.status.members == "1/1")' || return 1
  kubectl delete pod first second --timeout=60s || return 1
  wait_for 30 "nobody waits any more" says InUse crowded NoClaims 'No pod' || return 1
  kubectl delete cdom crowded --timeout=60s
}

port_of() {  # port_of WHAT: where the controller serves it
  sed -nE "s/.*Serving $1.*port[=\"]+([0-9]+).*/\1/p" "$stage/controller.log" | tail -n 1
}

a_child_that_somebody_changes_or_deletes_is_put_right() {
  local daemons
  domain repaired repaired-channel | kubectl apply -f - || return 1
  wait_for 20 "the template is there" kubectl get resourceclaimtemplate repaired-channel || return 1
  daemons=computedomain-daemon-$(kubectl get cdom repaired -o jsonpath='{.metadata.uid}')
  kubectl patch daemonset -n cdom-system "$daemons" --type=merge -p '{"spec": {"updateStrategy": {"type": "RollingUpdate"}, "template": {"spec": {"priorityClassName": "system-node-critical", "hostNetwork": true}}}}' || return 1
  wait_for 20 "the edit is undone" unedited "$daemons" || return 1
  kubectl delete resourceclaimtemplate repaired-channel || return 1
  wait_for 20 "the template is made again" kubectl get resourceclaimtemplate repaired-channel || return 1
  delete_child daemonset "$daemons" || return 1
  wait_for 20 "the DaemonSet is made again" kubectl get daemonset -n cdom-system "$daemons" || return 1
  wait_for 20 "the condition says so" says Provisioned repaired ChildrenExist 'exist' || return 1
  kubectl delete cdom repaired --timeout=30s
}
# As the policy wants it from people.
delete_child() {  # delete_child KIND NAME, or KIND/NAME
  kubectl annotate -n cdom-system "$@" cdom.dev/allow-deletion=true && kubectl delete -n cdom-system "$@" --timeout=20s
}
unedited() {
  kubectl get daemonset -n cdom-system "$1" -o json |
    jq -e '.spec.updateStrategy.type == "OnDelete" and (.spec.template.spec.hostNetwork | not)'
}

a_child_that_somebody_deletes_is_made_again_and_counted_in_one_event() {
  local set uid count
  domain mended mended-channel | kubectl apply -f - || return 1
  wait_for 20 "it waits for nodes" is_idle mended || return 1
  set=$(kubectl get daemonset -n cdom-system -o name)
  for count in 1 2; do
    uid=$(kubectl get -n cdom-system "$set" -o jsonpath='{.metadata.uid}')
    delete_child "$set" || return 1
    wait_for 20 "it is made again" made_again "$set" "$uid" || return 1
    wait_for 20 "an event counts $count" counts mended Repaired "$count" || return 1
  done
  tells mended 'Normal +Repaired .*DaemonSet' || return 1
  kubectl delete cdom mended --timeout=30s
}
made_again() {  # made_again SET UID: another incarnation is there
  local now
  now=$(kubectl get -n cdom-system "$1" -o jsonpath='{.metadata.uid}') && [[ -n $now && $now != "$2" ]]
}

a_second_replica_stands_by_and_takes_over_at_once_when_the_first_is_stopped() {
  local first=$controller_pid second_log=$stage/second.log began
  "$bin/compute-domain-controller" --kubeconfig "$stage/controller.kubeconfig" --pod-name second \
    --namespace cdom-system --image-name cdom:0.1.0 --leader-election-lease-lock-name cdom-controller 2>"$second_log" &
  controller_pid=$!
  wait_for 30 "it stands by" grep -q 'Standing by' "$second_log" || return 1
  if grep -q 'Reconciling' "$second_log"; then return 1; fi
  began=$SECONDS
  stop "$first"
  wait_for 10 "it leads" grep -q 'Reconciling' "$second_log" || return 1
  ((SECONDS - began <= 10)) || return 1
  domain after after-channel | kubectl apply -f - || return 1
  wait_for 20 "it works" is_idle after || return 1
  kubectl delete cdom after --timeout=30s
}

a_label_that_stays_behind_while_its_domain_lives_is_taken_off_after_a_while() {
  local line after
  domain stays stays-channel | kubectl apply -f - || return 1
  line=$(audit_lines)
  kubectl label node node-004 "$(label_of stays)" || return 1
  wait_for 60 "the label is gone" unlabelled node-004 || return 1
  # And not before: a plugin that has labelled its node may be about to prepare a claim.
  after=$(label_stayed "$line" node-004)
  echo "it stayed for $after ms"
  ((after >= 30000)) || return 1
  kubectl delete cdom stays --timeout=60s
}
# label_stayed LINE NODE: in ms, from kubectl's request that put it on to the controller's that took it off.
label_stayed() {
  tail -n "+$(($1 + 1))" "$stage/plane/audit.log" | jq -rs --arg node "$2" "$jq_millis"'
    map(select(.verb == "patch" and .objectRef.resource == "nodes" and .objectRef.name == $node and .objectRef.subresource == null
      and .responseStatus.code < 300))
    | (map(select(.userAgent | startswith("kubectl/")))[0].requestReceivedTimestamp | millis) as $put
    | (map(select(.userAgent | startswith("cdom/")))[-1].requestReceivedTimestamp | millis) - $put'
}
# shellcheck disable=SC2016
jq_millis='def millis: capture("^(?<s>[^.]+)[.](?<ms>[0-9]{3})[0-9]*Z$") | ((.s + "Z") | fromdate) * 1000 + (.ms | tonumber);'

a_label_that_a_late_plugin_leaves_on_a_node_is_taken_off_again() {
  # Of a domain that is gone: what is left of it is found by the label alone.
  kubectl label node node-003 resource.nvidia.com/computeDomain=0c6b2f0e-7b1d-4f39-8a55-3f3d0a4a9e10 || return 1
  wait_for 20 "the label is gone" unlabelled node-003
}
unlabelled() { kubectl get node "$1" -o json | jq -e '.metadata.labels | has("resource.nvidia.com/computeDomain") | not'; }

controller_entries() {  # controller_entries LINE: what the audit log has of the controller, by its user agent, after that line
  tail -n "+$(($1 + 1))" "$stage/plane/audit.log" | jq -c 'select((.userAgent // "") | startswith("cdom/"))'
}
permissions_used() {  # "verb resource", as RBAC names them.
  controller_entries 0 | jq -r 'select(.responseStatus.code < 400 and .objectRef.resource != null)
    | .verb + " " + .objectRef.resource
      + (if .objectRef.subresource then "/" + .objectRef.subresource else "" end)
      + (if .objectRef.apiGroup then "." + .objectRef.apiGroup else "" end)' | sort -u
}
permissions_granted() {
  {
    kubectl get clusterroles -o json | jq -c '.items[]'
    kubectl get roles -n cdom-system -o json | jq -c '.items[]'
  } | jq -r --argjson bound "$(bound_roles)" 'select(.metadata.name as $n | $bound | index($n)) | .rules[]?
    | .verbs[] as $v | .resources[] as $r | .apiGroups[] as $g
    | $v + " " + $r + (if $g == "" then "" else "." + $g end)' | sort -u
}
bound_roles() {
  kubectl get clusterrolebindings,rolebindings --all-namespaces -o json |
    jq -c '[.items[] | select(any(.subjects[]?; .kind == "ServiceAccount" and .name == "cdom-controller")) | .roleRef.name] | unique'
}

the_controller_used_one_identity() {
  [[ $(controller_entries 0 | jq -r '.user.username' | sort -u) == system:serviceaccount:cdom-system:cdom-controller ]]
}

# By its schemas, those of NVIDIA's CRDs among them for a time.
the_api_server_found_no_status_and_no_clique_of_it_invalid() {
  controller_entries 0 | jq -c 'select(.objectRef.apiGroup == "resource.nvidia.com" and (.verb | IN("create", "update", "patch")))
    | [.objectRef.resource, .objectRef.subresource, .responseStatus.code]' | sort | uniq -c | tee "$stage/written.txt"
  grep -q '"computedomains","status",200' "$stage/written.txt" && grep -q '"computedomaincliques",null,20' "$stage/written.txt" &&
    ! grep ',4\(00\|22\)\]' "$stage/written.txt"
}

# What the policies refuse is nothing that a daemon does.
the_daemons_used_their_own_account_and_were_refused_nothing() {
  jq -c 'select((.userAgent // "") | startswith("cdom-nodesim-daemon/")) | [.user.username, .responseStatus.code]' "$stage/plane/audit.log" |
    sort | uniq -c | tee "$stage/daemons.txt"
  grep -q ',200\]' "$stage/daemons.txt" && ! grep -v '"system:serviceaccount:cdom-system:compute-domain-daemon-service-account"' "$stage/daemons.txt" &&
    ! grep ',403\]' "$stage/daemons.txt"
}

a_standby_judges_a_token() {
  local port leader=$controller_pid answer
  port=$(free_port)
  log=$stage/standby.log secure_port=$port controller_up
  wait_for 30 "it serves" grep -q 'Serving metrics over TLS' "$stage/standby.log" &&
    answer=$(curl -ksS --max-time 10 -H "Authorization: Bearer $(kubectl create token default -n default)" "https://127.0.0.1:$port/metrics")
  stop "$controller_pid"
  controller_pid=$leader
  [[ $answer == '403: system:serviceaccount:default:default may not get /metrics'* ]] || { echo "it said: $answer"; return 1; }
}

every_right_it_has_was_used() {
  a_standby_judges_a_token || return 1
  permissions_used >"$stage/used.txt"
  permissions_granted >"$stage/granted.txt"
  [[ -s $stage/granted.txt && -s $stage/used.txt ]] || return 1
  if grep customresourcedefinitions "$stage/granted.txt"; then echo "CRDs are none of its business"; return 1; fi
  diff <(comm -23 "$stage/granted.txt" "$stage/used.txt") /dev/null && echo "used $(wc -l <"$stage/used.txt") rights"
}

release_finalizers() {  # release_finalizers [flags]
  "$bin/compute-domain-controller" release-finalizers --kubeconfig "$stage/controller.kubeconfig" \
    --namespace cdom-system --leader-election-lease-lock-name cdom-controller "$@" 2>&1
}
names_in() {  # names_in SNAPSHOT: "kind namespace/name" of every object
  jq -r '.[] | .kind + " " + (.metadata.namespace // "") + "/" + .metadata.name' "$1" | sort
}

a_domain_whose_finalizer_was_released_goes_without_a_controller() {
  local uid name refusal
  snapshot "$stage/before.json" || return 1
  domain left left-channel | kubectl apply -f - || return 1
  wait_for 30 "its children are made" is_idle left || return 1
  uid=$(kubectl get cdom left -o jsonpath='{.metadata.uid}')
  name=computedomain-daemon-$uid
  # As NVIDIA's controller leaves it.
  kubectl patch daemonset -n cdom-system "$name" --type=merge \
    -p '{"metadata": {"finalizers": ["resource.nvidia.com/computeDomain"]}}' || return 1

  if refusal=$(release_finalizers); then echo "a controller runs, and it was not refused"; return 1; fi
  grep -q 'replicas=0' <<<"$refusal" || { echo "$refusal"; return 1; }
  stop_controller
  release_finalizers --dry-run | tee "$stage/dry.txt" || return 1
  [[ $(kubectl get cdom left -o jsonpath='{.metadata.finalizers}') == *computeDomain* ]] || return 1
  release_finalizers | tee "$stage/released.txt" || return 1
  diff <(sed 's/^would release/released/' "$stage/dry.txt") "$stage/released.txt" || return 1
  grep -qx 'released ComputeDomain default/left' "$stage/released.txt" || return 1
  grep -qx "released DaemonSet cdom-system/$name" "$stage/released.txt" || return 1
  [[ $(release_finalizers) == 'released 0, failed 0' ]] || return 1

  kubectl delete cdom left --timeout=5s || return 1
  wait_for 30 "the garbage collector takes the workload's template" gone resourceclaimtemplate left-channel || return 1
  # What the README says is left, and nothing else; a DaemonSet's history goes with it.
  snapshot "$stage/after.json" || return 1
  diff <(printf '%s\n' "DaemonSet cdom-system/$name" "ResourceClaimTemplate cdom-system/$name") \
    <(comm -13 <(names_in "$stage/before.json") <(names_in "$stage/after.json") | grep -v '^ControllerRevision') || return 1
  delete_child daemonset "$name" && delete_child resourceclaimtemplate "$name" || return 1
  wait_for 30 "nothing is left" nothing_left
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

settings_and_children() {
  stage_up first
  kubectl apply -k "$repo/manifests/placement" >/dev/null  # The example's workers are to be in one clique.
  kubectl delete -k "$repo/crds" >/dev/null
  run_case a_kubeconfig_that_is_missing_malformed_or_points_nowhere_is_named_and_used_once_right
  run_case a_crd_that_is_not_installed_is_named_and_waited_for
  kubectl apply -k "$repo/crds" >/dev/null
  start_controller
  wait_for 60 "the controller leads" leads
  nodesim_up --nodes 16 --cliques 2 --job-duration 12000 --daemon-account
  after_failure=clean_up
  run_case systemd_hears_when_the_controller_is_ready_that_it_lives_and_when_it_ends
  run_case a_domain_without_spec_says_what_to_do
  run_case a_template_name_that_is_taken_is_reported_and_healed
  run_case the_whole_life_of_a_domain_in_the_manner_of_the_reference
  run_case the_whole_life_of_a_domain_in_the_manner_of_cdom
  run_case a_domain_deleted_under_a_running_pod_waits_for_it_and_says_so
  run_case a_domain_deleted_with_no_grace_does_not_wait_for_its_pods
  run_case a_pod_that_finds_no_node_is_named_with_the_schedulers_words
  run_case a_child_that_somebody_changes_or_deletes_is_put_right
  run_case a_daemon_set_that_is_to_be_deleted_under_a_job_is_kept_with_words_and_if_it_goes_the_interruption_is_told
  run_case a_label_that_stays_behind_while_its_domain_lives_is_taken_off_after_a_while
  run_case a_child_that_somebody_deletes_is_made_again_and_counted_in_one_event
  run_case a_second_replica_stands_by_and_takes_over_at_once_when_the_first_is_stopped
  run_case a_label_that_a_late_plugin_leaves_on_a_node_is_taken_off_again
  run_case a_paused_domain_is_left_alone_says_so_and_goes_on_when_it_is_not
  run_case a_finalizer_of_others_on_a_domain_or_its_child_is_named_and_waited_for
  run_case a_channel_that_a_claim_written_by_hand_holds_is_told_to_who_waits_for_it
  run_case a_second_daemon_set_of_a_domain_goes_with_its_pods_while_the_first_serves_on
  run_case a_label_that_is_taken_off_a_child_is_put_back_on_the_same_object
  run_case the_controller_used_one_identity
  run_case the_api_server_found_no_status_and_no_clique_of_it_invalid
  run_case the_daemons_used_their_own_account_and_were_refused_nothing
  run_case every_right_it_has_was_used
  run_case a_domain_whose_finalizer_was_released_goes_without_a_controller
  after_failure=
  stop "$nodesim_pid"
  nodesim_pid=
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
# shellcheck source=people.sh
source "$repo/test/e2e/people.sh"
# shellcheck source=hostile.sh
source "$repo/test/e2e/hostile.sh"
# shellcheck source=warnings.sh
source "$repo/test/e2e/warnings.sh"
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

beside faults nvidia_permissions
lane settings_and_children
for pid in "${lanes[@]}"; do
  wait "$pid" || echo "FAIL stages that ran beside others ended before their last case" | tee -a "$case_root/results"
done
lanes=()

summary
