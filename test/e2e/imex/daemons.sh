#!/usr/bin/env bash
# Daemons as processes, each with the token of its pod, on a real control plane with simulated nodes; stand-ins for IMEX
# that talk to one another under the pods' addresses. All of it in a network namespace of its own: needs root.
#
#   daemons.sh BIN_FOLDER [PATTERN...]
#
# CDOM_DAEMONS=N        so many daemons (18), of which each 18 are a clique
# CDOM_REST=SECONDS     for so long, once they have formed, what they ask for is counted
# CDOM_IMEX=PROGRAM     NVIDIA's own nvidia-imex, with nvidia-imex-ctl beside it, in place of the stand-ins
set -euo pipefail

# Pods have addresses of 10.0.0.0/8, which are all of this namespace, and nobody else's.
if [[ -z ${CDOM_OWN_NET:-} ]]; then
  exec env CDOM_OWN_NET=1 unshare --net --mount bash -c \
    'ip link set lo up && ip route add local 10.0.0.0/8 dev lo && exec "$@"' bash "$0" "$@"
fi

repo=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../../.." && pwd)
bin=$(cd -- "$1" && pwd)
shift
# shellcheck source=../cases.sh
source "$repo/test/e2e/cases.sh"
# shellcheck source=../stage.sh
source "$repo/test/e2e/stage.sh"

stage=$(mktemp -d "${TMPDIR:-/tmp}/cdom-daemons.XXXXXX")
cases_in "$stage/cases" "$@"
declare -A daemon_pids=()
domain= formed= launched=
declare -A clique_of=() first_of=() size_of=()  # The clique of each node; a node of each clique, and how many it has.
readonly kNodes=${CDOM_DAEMONS:-18} kCliqueSize=18
readonly kImex=${CDOM_IMEX:-$bin/imex/nvidia-imex}
readonly kCtl=${kImex%/*}/nvidia-imex-ctl

leave() {
  local status=$?
  trap - EXIT INT TERM
  for pid in "${daemon_pids[@]}"; do kill -TERM "$pid" 2>/dev/null || true; done
  for pid in "${daemon_pids[@]}"; do stop "$pid"; done
  clear_stage daemons "$status"
  exit "$status"
}
trap leave EXIT
trap 'exit 130' INT TERM
tell_more() {
  kubectl get cdom "$formed" -o json | jq -r '.status.conditions[] | "\(.type) \(.status) \(.reason): \(.message)"' || true
  pods_json | jq -r '.items[] | "\(.spec.nodeName) \(.metadata.annotations["cdom.dev/imex"])"' || true
  tail -n 5 "$stage"/pod-*/log 2>/dev/null | tail -n 60 || true
}

pods_json() { kubectl get pods -n cdom-system -l resource.nvidia.com/computeDomain -o json; }
have_addresses() { (($(pods_json | jq '[.items[] | select(.status.podIP)] | length') == $1)); }
# A kubeconfig with the token that the kubelet would mount into this pod.
kubeconfig_of() {  # kubeconfig_of POD UID FILE
  kubectl create token compute-domain-daemon-service-account -n cdom-system \
    --bound-object-kind Pod --bound-object-name "$1" --bound-object-uid "$2" --duration 2h |
    jq -R --slurpfile admin <(kubectl config view --raw -o json) '
      {apiVersion: "v1", kind: "Config", "current-context": "c", clusters: [$admin[0].clusters[0] | .name = "c"],
       users: [{name: "u", user: {token: .}}], contexts: [{name: "c", context: {cluster: "c", user: "u"}}]}' >"$3"
}
daemon_up() {  # daemon_up POD UID NODE IP: as the container of that pod
  local folder=$stage/pod-$3
  mkdir -p "$folder"
  cp "$repo/node/imex/imexd.cfg.tmpl" "$folder/"
  printf '127.0.0.1\tlocalhost\n%s\t%s\n' "$4" "$1" >"$folder/hosts"
  [[ -s $folder/kubeconfig ]] || kubeconfig_of "$1" "$2" "$folder/kubeconfig"
  local -a alone=()
  # It knows one hosts file, and has places of its own for logs and for what it keeps.
  # shellcheck disable=SC2016
  [[ -z ${CDOM_IMEX:-} ]] || alone=(unshare --mount --propagation private bash -c
    'mount --bind "$0" /etc/hosts && mount -t tmpfs tmpfs /run && mount -t tmpfs tmpfs /var/log && exec "$@"' "$folder/hosts")
  "${alone[@]}" env -i IMEX_PROGRAM="$kImex" IMEX_CTL_PROGRAM="$kCtl" ${CDOM_IMEX:+IMEX_ARGUMENTS=--nogpu} \
    IMEX_STANDIN_HOSTS="$folder/hosts" HOSTS_FILE="$folder/hosts" IMEX_FOLDER="$folder" KUBECONFIG="$folder/kubeconfig" \
    CLIQUE_ID="${clique_of[$3]}" COMPUTE_DOMAIN_UUID="$domain" COMPUTE_DOMAIN_NAME=formed \
    NODE_NAME="$3" POD_IP="$4" POD_UID="$2" POD_NAME="$1" POD_NAMESPACE=cdom-system MAX_NODES_PER_IMEX_DOMAIN="$kCliqueSize" \
    "$bin/compute-domain-daemon" -v 4 run 2>>"$folder/log" >>"$folder/log" &
  daemon_pids[$3]=$!
}
probe() {  # probe NODE
  local folder=$stage/pod-$1
  env -i IMEX_CTL_PROGRAM="$kCtl" IMEX_STANDIN_HOSTS="$folder/hosts" IMEX_FOLDER="$folder" CLIQUE_ID="${clique_of[$1]}" \
    "$bin/compute-domain-daemon" check
}
# What the kubelets' probes do, until all pods are ready or DEADLINE has passed.
probe_all() {
  local deadline=$((SECONDS + $1)) node
  local -A ready=()
  local -a are_ready
  while ((${#ready[@]} < kNodes && SECONDS < deadline)); do
    are_ready=()
    for node in "${!daemon_pids[@]}"; do
      [[ ! -v ready[$node] ]] && probe "$node" 2>/dev/null || continue
      ready[$node]=1
      are_ready+=("$nodesim_url/unstall-daemon?node=$node")
    done
    ((${#are_ready[@]} == 0)) || curl -sf -X POST "${are_ready[@]}" >/dev/null
    sleep 0.2  # A kubelet looks once a second; this shell is not to have a processor to itself.
  done
  ((${#ready[@]} == kNodes))
}
# How many connections there are in the daemon's clique.
connections_of() {
  local folder=$stage/pod-$1
  env -i IMEX_STANDIN_HOSTS="$folder/hosts" "$kCtl" -c "$folder/imexd.cfg" -N -j |
    jq '[.nodes[] | select(.status == "READY") | .connections[] | select(.status == "CONNECTED")] | length'
}
all_connected() {
  local id
  for id in "${!first_of[@]}"; do
    (($(connections_of "${first_of[$id]}") == size_of[$id] * size_of[$id])) || return 1
  done
}
report_of() { kubectl get pods -n cdom-system -o json | jq -r --arg node "$1" \
  '.items[] | select(.spec.nodeName == $node) | .metadata.annotations["cdom.dev/imex"] // "{}"'; }
report_says() { [[ $(report_of "$1" | jq -r "$2") == "$3" ]]; }
all_report() {
  local node
  for node in "${!daemon_pids[@]}"; do
    report_says "$node" '"\(.state) \(.index >= 0) \(.unreachableCount)"' 'READY true 0' || return 1
  done
}
# Of who: writes that the audit log counts, "VERB CODE" a line.
writes_to_cliques() {
  jq -r 'select(.stage == "ResponseComplete" and .objectRef.resource == "computedomaincliques")
    | select(.verb | IN("create", "update", "patch", "delete")) | "\(.user.username | split(":") | last) \(.verb) \(.responseStatus.code)"' \
    "$stage/plane/audit.log"
}
says_members() {  # says_members REASON PATTERN
  local said
  said=$(kubectl get cdom "$formed" -o jsonpath='{.status.conditions[?(@.type=="MembersReady")].reason} {.status.conditions[?(@.type=="MembersReady")].message}')
  [[ ${said%% *} == "$1" && $said =~ $2 ]]
}
domain_is_ready() { [[ $(kubectl get cdom "$formed" -o jsonpath='{.status.status} {.status.members}') == "Ready $kNodes/$kNodes" ]]; }

# A domain and a job with a pod on each node; `domain` and `clique` are then set, and each daemon pod has an address.
apply_domain() {  # apply_domain NAME
  kubectl apply -f - <<YAML || return 1
apiVersion: resource.nvidia.com/v1beta1
kind: ComputeDomain
metadata: {name: $1, namespace: default}
spec:
  numNodes: 0
  channel: {resourceClaimTemplate: {name: $1-channel}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: job, namespace: default}
spec:
  replicas: $kNodes
  selector: {matchLabels: {app: job}}
  template:
    metadata: {labels: {app: job}}
    spec:
      containers:
      - {name: work, image: work:1, resources: {claims: [{name: channel}]}}
      resourceClaims: [{name: channel, resourceClaimTemplateName: $1-channel}]
YAML
  formed=$1
  wait_for 120 "all daemon pods run" have_addresses "$kNodes" || return 1
  domain=$(kubectl get cdom "$1" -o jsonpath='{.metadata.uid}')
  local node clique
  clique_of=() first_of=() size_of=()
  while read -r node clique; do
    clique_of[$node]=$clique first_of[$clique]=$node size_of[$clique]=$((${size_of[$clique]:-0} + 1))
  done < <(curl -s "$nodesim_url/state" | jq -r '.nodes[] | "\(.name) \(.clique)"')
}
daemons_up() {
  local pod uid node ip pods
  pods=$(pods_json | jq -r '.items[] | "\(.metadata.name) \(.metadata.uid) \(.spec.nodeName) \(.status.podIP)"')
  # Tokens first: a kubelet has them before it starts a container.
  while read -r pod uid node ip; do
    mkdir -p "$stage/pod-$node"
    kubeconfig_of "$pod" "$uid" "$stage/pod-$node/kubeconfig" || return 1
  done <<<"$pods"
  launched=$(date +%s%N)
  while read -r pod uid node ip; do daemon_up "$pod" "$uid" "$node" "$ip"; done <<<"$pods"
}
daemons_down() {
  local node
  # One that was told before may be gone.
  for node in "${!daemon_pids[@]}"; do kill -TERM "${daemon_pids[$node]}" 2>/dev/null || is_stopping "$node" || return 1; done
  for node in "${!daemon_pids[@]}"; do
    wait "${daemon_pids[$node]}" || return 1  # With status 0.
    [[ -z $(imex_of "$node") ]] || return 1
    nodesim "stall-daemon?node=$node" >/dev/null
    unset "daemon_pids[$node]"
    rm -r "$stage/pod-$node"
  done
}
# A domain that has just formed, in milliseconds after its daemons were launched: all have labelled their pods (if the
# controller writes), all have IMEX running, all are connected, the pods are ready, the status says so. What was sent to
# watchers of cliques meanwhile.
formed_in() {  # formed_in DAEMONS_LABEL CONNECTED SENT_BEFORE
  local labels imex pods status
  labels=$(replies '.verb == "patch" and .objectRef.resource == "pods" and .objectRef.subresource == null and
    (.user.username | endswith(":compute-domain-daemon-service-account"))' | sort -k 2,2 -k 1,1n | sort -u -k 2,2 | last)
  imex=$(cat "$stage"/pod-*/log | sed -nE 's/^I[0-9]{4} ([0-9:.]+) IMEX runs.*/\1/p' | date -f - +%s.%N | last)
  pods=$(replies '.verb == "patch" and .objectRef.subresource == "status" and .objectRef.resource == "pods" and
    .objectRef.namespace == "cdom-system"' | last)
  status=$(replies '.verb == "patch" and .objectRef.subresource == "status" and .objectRef.resource == "computedomains"' | last)
  $1 || labels=-
  figure="$(($2 > status ? $2 : status)) ms (labels $labels, IMEX runs $imex, connected $2, pods ready $pods, status $status)"
  figure+=", $((($(sent_to_watchers) - $3) / 1000)) kB to watchers of cliques"
}
# Times and names of requests, since the launch, that a filter of jq picks.
replies() {
  jq -r --argjson launched "$launched" 'select(.stage == "ResponseComplete" and ('"$1"'))
    | (.stageTimestamp | (.[:19] + "Z" | fromdate) + ("0" + .[19:-1] | tonumber)) as $at
    | select($at * 1e9 > $launched) | "\($at) \(.objectRef.name)"' "$stage/plane/audit.log"
}
last() { awk -v launched="$launched" '$1 > max { max = $1 } END { printf "%d", max * 1000 - launched / 1000000 }'; }
sent_to_watchers() {  # Bytes, of cliques.
  kubectl get --raw /metrics | awk '/^apiserver_watch_events_sizes_sum{.*computedomaincliques/ { sum += $2 } END { printf "%d", sum }'
}
daemons_form() {  # daemons_form DAEMONS_LABEL NAME: a domain, until its status says that all are ready
  local sent connected
  apply_domain "$2" || return 1
  sent=$(sent_to_watchers)
  daemons_up || return 1
  : >"$stage/connected"
  {
    wait_for 60 "all are connected" all_connected
    echo $((($(date +%s%N) - launched) / 1000000)) >"$stage/connected"
  } &
  connected=$!
  probe_all 60 && wait "$connected" || return 1
  wait_for 60 "the domain is ready" domain_is_ready || return 1
  formed_in "$1" "$(<"$stage/connected")" "$sent"
}
imex_of() { pgrep -f "^$kImex -c $stage/pod-$1/imexd.cfg" || true; }

eighteen_daemons_form_one_clique_without_a_conflict_and_all_are_connected() {
  local lines
  daemons_form true formed || return 1
  wait_for 60 "all have reported" all_report || return 1
  lines=$(writes_to_cliques)
  printf '%s\n' "$lines"
  figure+=", $(wc -l <<<"$lines") clique writes"
  [[ -z $(grep -v '^cdom-controller ' <<<"$lines") && -z $(grep ' 409$' <<<"$lines") ]] || return 1
  (($(wc -l <<<"$lines") <= 5 * ${#first_of[@]}))
}

# Requests of daemons in the audit log but watches.
asked_by_daemons() {
  jq -r 'select(.stage == "RequestReceived" or .stage == "ResponseComplete")
    | select(.verb != "watch" and (.user.username | endswith(":compute-domain-daemon-service-account"))) | .auditID' "$stage/plane/audit.log" | sort -u | wc -l
}
daemons_at_rest_ask_for_nothing_and_need_little_memory() {
  local before after node largest=0 kib
  before=$(asked_by_daemons)
  ((before >= kNodes)) || { echo "the audit log does not have what daemons ask for"; return 1; }
  sleep "$CDOM_REST"
  after=$(asked_by_daemons)
  for node in "${!daemon_pids[@]}"; do
    kib=$(awk '$1 == "RssAnon:" { print $2 }' "/proc/${daemon_pids[$node]}/status")
    largest=$((kib > largest ? kib : largest))
  done
  figure="$((after - before)) requests of $kNodes daemons in $CDOM_REST s, $largest KiB of its own the largest"
  ((after == before && largest > 0))
}

may_not() {  # may_not METHOD PATH [BODY]: what the token of node-000's daemon is refused
  local config=$stage/pod-node-000/kubeconfig code
  code=$(curl -sk -o "$stage/reply" -w '%{http_code}' -X "$1" -H "Authorization: Bearer $(jq -r '.users[0].user.token' "$config")" \
    -H 'Content-Type: application/merge-patch+json' ${3:+-d "$3"} "$(jq -r '.clusters[0].cluster.server' "$config")$2")
  echo "$code $1 $2 $(jq -r .message "$stage/reply")"
  [[ $code == 403 ]]
}
the_token_of_such_a_daemon_writes_no_clique_and_no_other_pod() {
  local own other pods=/api/v1/namespaces/cdom-system/pods cliques=/apis/resource.nvidia.com/v1beta1/namespaces/cdom-system/computedomaincliques
  own=$(pod_of node-000) && other=$(pod_of node-001) || return 1
  may_not PATCH "$cliques/$domain.${clique_of[node-000]}" '{"daemons": []}' || return 1
  may_not DELETE "$cliques/$domain.${clique_of[node-000]}" || return 1
  may_not PATCH "$pods/$other" '{"metadata": {"annotations": {"cdom.dev/imex": "x"}}}' || return 1
  may_not PATCH "$pods/$other" '{"metadata": {"labels": {"resource.nvidia.com/computeDomain.cliqueID": "x"}}}' || return 1
  may_not PATCH "$pods/$own" '{"metadata": {"labels": {"app": "x"}}}' || return 1
  may_not PATCH "$pods/$own" '{"metadata": {"annotations": {"cdom.dev/other": "x"}}}' || return 1
  may_not PATCH "$pods/$own" '{"spec": {"activeDeadlineSeconds": 1}}' || return 1
  may_not GET "$pods" || return 1
  may_not GET /api/v1/namespaces/cdom-system/secrets || return 1
  may_not GET /api/v1/nodes
}
pod_of() { pods_json | jq -er --arg node "$1" '.items[] | select(.spec.nodeName == $node) | .metadata.name'; }

an_imex_that_dies_is_started_again_in_place_told_and_ends_its_peers_sessions() {
  local daemon=${daemon_pids[node-005]} index
  index=$(report_of node-005 | jq .index)
  kill -KILL "$(imex_of node-005)" || return 1
  wait_for 30 "it is told" report_says node-005 '"\(.state) \(.restarts)"' 'READY 1' || return 1
  kill -0 "$daemon" || return 1
  # The words are the stand-in's.
  [[ -n ${CDOM_IMEX:-} ]] || wait_for 30 "its peers say what is lost" grep -q "Session with node $index has ended: what was imported from it is lost" "$stage/pod-node-000/log" || return 1
  wait_for 30 "all are connected again" all_connected || return 1
  wait_for 30 "all report so" all_report || return 1
  wait_for 30 "the domain says so" says_members ImexRestartedUnderJob 'again under pods that use it: node-005\.'
}

a_peer_that_cannot_be_reached_is_reported_by_the_others_and_not_by_a_probe() {
  local index outcome=0
  index=$(report_of node-007 | jq .index)
  : >"$stage/pod-node-007/hosts.deaf"
  is_reported_and_not_by_a_probe "$index" || outcome=1
  rm "$stage/pod-node-007/hosts.deaf"
  ((outcome == 0)) || return 1
  wait_for 90 "all report that it is over" all_report || return 1
  wait_for 30 "the domain says so, too" says_members ImexRestartedUnderJob 'node-005, node-006\.'
}
is_reported_and_not_by_a_probe() {
  kill -KILL "$(imex_of node-006)" || return 1  # Whose next has to connect anew.
  wait_for 60 "it is reported" report_says node-006 '.unreachable | tostring' "[$1]" || return 1
  probe node-006 || return 1
  wait_for 60 "the domain says so" says_members ImexPeersUnreachable 'node-[0-9]+ to node-007'
}

an_imex_that_does_not_say_whom_it_reaches_is_reported_and_told() {
  : >"$stage/pod-node-003/hosts.hangs"
  wait_for 90 "it is reported" report_says node-003 '"\(.state) \(.peersUnanswered)"' 'READY true' || return 1
  # Each daemon asks all IMEX, so none of the eighteen gets an answer.
  wait_for 90 "all of them are told" says_members ImexPeersUnknown 'which peers it reaches: (node-[0-9]+, ){4}[^.]*node-[0-9]+ and 13 more\.' || return 1
  rm "$stage/pod-node-003/hosts.hangs"
  wait_for 90 "it is over" says_members AllMembersReady ''
}
a_daemon_whose_imex_waits_for_others_is_told_with_its_state_and_is_not_ready() {
  echo WAITING_FOR_RECOVERY >"$stage/pod-node-004/hosts.state"
  refused_with 1 'IMEX is not ready: WAITING_FOR_RECOVERY' probe node-004 || return 1
  wait_for 60 "it is reported" report_says node-004 .state WAITING_FOR_RECOVERY || return 1
  rm "$stage/pod-node-004/hosts.state"
  probe node-004 && wait_for 60 "it is reported ready" report_says node-004 .state READY
}

an_imex_that_ends_with_an_error_is_told_and_started_again_until_it_is_ready() {
  echo 'GPU initialization failed' >"$stage/pod-node-005/hosts.fails"
  wait_for 30 "it is told" report_says node-005 .state ENDED || return 1
  grep -q 'ERROR.*GPU initialization failed' "$stage/pod-node-005/log" && kill -0 "${daemon_pids[node-005]}" || return 1
  rm "$stage/pod-node-005/hosts.fails"
  wait_for 90 "it is ready again" report_says node-005 '"\(.state) \(.restarts > 1)"' 'READY true' || return 1
  wait_for 30 "all are connected again" all_connected
}

an_imex_that_was_killed_waits_for_the_node_that_had_imported_from_it() {
  local importer frozen outcome=0
  importer=$(report_of node-002 | jq .index)
  frozen=$(imex_of node-002)
  echo "$importer" >"$stage/pod-node-001/hosts.importers"
  wait_for 10 "the importer is noted" is_noted node-001 "$importer" || return 1
  kill -STOP "$frozen" || return 1
  waits_for_its_importer || outcome=1
  kill -CONT "$frozen" || return 1  # Or its daemon never ends.
  ((outcome == 0)) || return 1
  wait_for 60 "it has recovered" report_says node-001 .state READY || return 1
  wait_for 90 "all report so" all_report
}
is_noted() { [[ $(tail -n +2 "$stage/pod-$1/hosts.persist" 2>/dev/null) == "$2" ]]; }  # is_noted NODE IMPORTER
waits_for_its_importer() {
  kill -KILL "$(imex_of node-001)" || return 1
  wait_for 60 "it is reported" report_says node-001 .state WAITING_FOR_RECOVERY || return 1
  refused_with 1 'IMEX is not ready: WAITING_FOR_RECOVERY' probe node-001
}

is_stopping() { grep -q 'Stopping' "$stage/pod-$1/log"; }
daemons_that_are_told_to_end_take_imex_with_them_and_leave_no_trace() {
  local frozen
  # One is told three times before its IMEX has ended: to give up would be to kill IMEX.
  frozen=$(imex_of node-000)
  kill -STOP "$frozen" && kill -TERM "${daemon_pids[node-000]}" || return 1
  wait_for 10 "it is about to end" is_stopping node-000 || return 1
  kill -INT "${daemon_pids[node-000]}" || return 1
  kill -TERM "${daemon_pids[node-000]}" && kill -CONT "$frozen" || return 1
  daemons_down || return 1
  kubectl delete deployment job --wait=false && kubectl delete cdom "$formed" --timeout 120s || return 1
  wait_for 60 "the daemons are gone" have_addresses 0
}

eighteen_daemons_in_nvidias_manner_join_for_themselves_and_all_are_connected() {
  local before lines
  before=$(writes_to_cliques | wc -l)
  daemons_form false joined || return 1
  lines=$(writes_to_cliques | tail -n "+$((before + 1))")
  figure+=", $(grep -c '^compute-domain-daemon' <<<"$lines") writes, $(grep -c ' 409$' <<<"$lines") of them conflicts"
  [[ -z $(grep ' 403$' <<<"$lines") ]] || return 1
  [[ $(report_of node-000) == '{}' ]]
}
is_left() { [[ $(kubectl get computedomaincliques -n cdom-system -o json | jq '[.items[].daemons // [] | length] | add // 0') == 0 ]]; }
daemons_in_nvidias_manner_that_end_take_their_entries_out() {
  daemons_down || return 1
  wait_for 10 "no entry is left" is_left
}

stage_up() {
  plane_up || return 1
  # With only the permissions that docs/node.md names for this membership writer.
  mkdir "$stage/site" || return 1
  cat >"$stage/site/kustomization.yaml" <<YAML
resources: [$(realpath --relative-to "$stage/site" "$repo/manifests/local")]
components: [$(realpath --relative-to "$stage/site" "$repo/manifests/controller-writes")]
YAML
  kubectl apply -k "$stage/site" >/dev/null || true
  kubectl wait --for condition=Established crd --all --timeout 60s >/dev/null || return 1
  kubectl apply -k "$stage/site" >/dev/null || return 1
  controller_kubeconfig || return 1
  nodesim_up --nodes "$kNodes" --clique-size "$kCliqueSize" --daemons-elsewhere --daemon-delay 0ms || return 1
  controller_up --membership-writer controller
}

the_programs_of_imex_are_there() {
  local program
  for program in "$kImex" "$kCtl"; do
    [[ -x $program ]] || { echo "daemons: there is no program $program: CDOM_IMEX names NVIDIA's nvidia-imex, which has nvidia-imex-ctl beside it"; return 1; }
  done
}
if [[ -n ${CDOM_IMEX:-} ]] && ! the_programs_of_imex_are_there >"$stage/cases/the_programs_of_imex_are_there.out"; then
  came_out FAIL the_programs_of_imex_are_there "$SECONDS"
  exit 1
fi
stage_up >"$stage/up.log" 2>&1 || { tail -n 20 "$stage/up.log" >&2; exit 1; }
run_case eighteen_daemons_form_one_clique_without_a_conflict_and_all_are_connected
[[ -z ${CDOM_REST:-} ]] || run_case daemons_at_rest_ask_for_nothing_and_need_little_memory
run_case the_token_of_such_a_daemon_writes_no_clique_and_no_other_pod
if [[ -z ${CDOM_IMEX:-} ]]; then  # The real one does neither on request.
  run_case an_imex_that_does_not_say_whom_it_reaches_is_reported_and_told
  run_case a_daemon_whose_imex_waits_for_others_is_told_with_its_state_and_is_not_ready
fi
run_case an_imex_that_dies_is_started_again_in_place_told_and_ends_its_peers_sessions
run_case a_peer_that_cannot_be_reached_is_reported_by_the_others_and_not_by_a_probe
if [[ -z ${CDOM_IMEX:-} ]]; then
  run_case an_imex_that_ends_with_an_error_is_told_and_started_again_until_it_is_ready
  run_case an_imex_that_was_killed_waits_for_the_node_that_had_imported_from_it
fi
run_case daemons_that_are_told_to_end_take_imex_with_them_and_leave_no_trace
# Now as NVIDIA's, with the rights that these need.
stop "$controller_pid"
kubectl apply -k "$repo/manifests/local" >/dev/null
controller_up --membership-writer daemon
run_case eighteen_daemons_in_nvidias_manner_join_for_themselves_and_all_are_connected
run_case daemons_in_nvidias_manner_that_end_take_their_entries_out
summary
