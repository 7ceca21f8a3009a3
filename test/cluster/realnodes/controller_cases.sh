# The controller as pods of the cluster, from its image, as manifests/standalone has it. Sourced by realnodes_test.sh.
# shellcheck shell=bash disable=SC2154

system() { kubectl -n cdom-system "$@"; }
audit=$cluster/plane/audit.log

controller_pods() { system get pods -l app.kubernetes.io/component=controller "$@"; }
holder() { system get lease cdom-controller -o 'jsonpath={.spec.holderIdentity}' | sed -E 's/-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$//'; }
is_held() { [[ -n $(holder) ]]; }
# The pod that leads. A Lease has no holder from when one lets go until the next takes it, so this waits for one.
leader() { wait_for 30 "one leads" is_held >&2 && holder; }
node_of() { system get pod "$1" -o 'jsonpath={.spec.nodeName}'; }
container_of() { system get pod "$1" -o 'jsonpath={.status.containerStatuses[0].containerID}' | sed 's#containerd://##'; }
standby() { controller_pods -o name | sed 's#^pod/##' | grep -vxF "$(leader)"; }
are_ready() { [[ $(system get deployment cdom-controller -o 'jsonpath={.status.updatedReplicas} {.status.readyReplicas} {.status.replicas}') == '2 2 2' ]]; }

# Who wrote the Lease, and when, each time; by the audit log, which has the name of the pod that a token is bound to.
lease_writes() {
  grep -F '"resource":"leases"' "$audit" | jq -r '
    select(.objectRef.name == "cdom-controller" and .verb != "get" and .responseStatus.code < 300)
    | .stageTimestamp as $at
    | [($at[0:19] + "Z" | fromdate) + ("0" + $at[19:-1] | tonumber), .user.extra["authentication.kubernetes.io/pod-name"][0]] | @tsv'
}
hand_overs() { python3 "$repo/test/e2e/hand_overs.py" "$audit" cdom-controller; }
# released_since COUNT: there were more hand-overs than COUNT. In each of the later the leader let the Lease go, and the next took
# it when it looked next. That it looks every two seconds is shown by leader_elector_test.
released_since() {
  hand_overs | tail -n "+$(($1 + 1))" | tee "$root/hand_overs"
  figure="$(sort -n "$root/hand_overs" | tail -n 1 | cut -d' ' -f1) s without a leader at most"
  awk '$4 != "released" || $5 > 1 { other = 1 } END { exit other || NR == 0 }' "$root/hand_overs"
}

# As two snapshots of what the cluster holds are compared: what kubelets write of their nodes changes by itself.
holds() {
  snapshot "$1.raw" && jq 'map(if .kind == "Node" then del(.status) else . end)' "$1.raw" >"$1"
}
holds_what_it_held() {
  holds "$root/after.json" && cmp -s "$root/before.json" "$root/after.json"
}
is_as_before() {
  wait_for 90 "the cluster holds what it held before" holds_what_it_held && return 0
  diff "$root/before.json" "$root/after.json" | head -n 60
  return 1
}

condition() { kubectl get cdom quickstart -o "jsonpath={.status.conditions[?(@.type==\"$1\")].$2}"; }
says() { [[ $(condition "$1" reason) == "$2" && $(condition "$1" message) =~ $3 ]]; }

the_manifests_install_it_and_both_replicas_become_ready_by_their_probes() {
  kubectl apply -k "$repo/manifests/standalone" || return 1
  wait_for 120 "both replicas are ready" are_ready || { controller_pods -o yaml; kubectl get events -A; return 1; }
  leader || return 1
  local node pod
  # They are on a node each.
  [[ $(controller_pods -o 'jsonpath={.items[*].spec.nodeName}' | tr ' ' '\n' | sort -u | wc -l) == 2 ]] || return 1
  for pod in $(controller_pods -o name); do
    node=$(node_of "${pod#pod/}")
    wait_for 30 "$pod was found alive" probed "$node" "${pod#pod/}" Liveness || return 1
    wait_for 30 "$pod was found ready" probed "$node" "${pod#pod/}" Readiness || return 1
  done
}
probed() {  # probed NODE POD KIND: by its kubelet, with success
  kubectl get --raw "/api/v1/nodes/$1/proxy/metrics/probes" |
    grep "^prober_probe_total.*pod=\"$2\".*probe_type=\"$3\".*result=\"successful\"" >/dev/null
}

its_pods_meet_restricted() {
  local output
  output=$(would_enforce restricted) || return 1
  ! grep -i warning <<<"$output"
}
# would_enforce LEVEL: what the API server says of the pods in the driver's namespace that do not meet it.
would_enforce() {
  kubectl label --dry-run=server --overwrite namespace cdom-system "pod-security.kubernetes.io/enforce=$1" 2>&1
}

logs_and_debug_pages_are_reached_through_the_kubelet() {
  local forward leads page=$root/page.json
  leads=$(leader) || return 1
  wait_for 30 "the leader logs that it leads" log_says "$leads" Reconciling || return 1
  system port-forward "pod/$leads" 8081 >"$root/forward.out" 2>&1 &
  forward=$!
  wait_for 30 "the port is forwarded" grep -q Forwarding "$root/forward.out" &&
    "$here/realnodes" in "$cluster" plane curl -sSf --max-time 10 http://127.0.0.1:8081/debug/domains >"$page"
  local status=$?
  kill "$forward"
  wait "$forward"
  ((status == 0)) && jq . "$page"
}
log_says() { system logs "$1" | grep -F "$2" >/dev/null; }

it_acts_by_the_token_of_its_own_pod() {
  kubectl apply -f "$repo/examples/quickstart.yaml" || return 1
  # As node feature discovery has it on nodes with NVLink; with placement the example's pods would ask for it.
  kubectl label nodes --all nvidia.com/gpu.clique=clique-1 || return 1
  wait_for 60 "the domain is provisioned" says Provisioned ChildrenExist . || return 1
  local leads
  leads=$(leader) || return 1
  grep -F '"resource":"computedomains"' "$audit" | grep -F '"verb":"patch"' | jq -e -s --arg pod "$leads" --arg node "$(node_of "$leads")" '
    length > 0 and all(.user.username == "system:serviceaccount:cdom-system:cdom-controller"
      and .user.extra["authentication.kubernetes.io/pod-name"] == [$pod]
      and .user.extra["authentication.kubernetes.io/node-name"] == [$node])'
}

pods_that_claim_a_channel_wait_in_the_schedulers_words_since_no_node_has_a_plugin() {
  wait_for 60 "the domain says why" says Ready NoPlugin 'cannot allocate all claims.*install a kubelet plugin' || { kubectl get cdom -o yaml; return 1; }
  says InUse NoPlugin '^No pod holds a channel' || return 1
  [[ $(condition Ready status) == False ]] || return 1
  kubectl get pods -l app=quickstart --no-headers | awk '$3 != "Pending" { exit 1 }' || return 1
  wait_for 30 "each pod is told" told_to_pods || { kubectl get events; return 1; }
}
told_to_pods() { (($(kubectl get events --field-selector reason=NoPlugin,involvedObject.kind=Pod --no-headers | wc -l) == 4)); }

a_node_of_the_domain_gets_a_daemon_which_meets_baseline_alone_and_waits_for_the_plugin_too() {
  local uid
  uid=$(kubectl get cdom quickstart -o 'jsonpath={.metadata.uid}')
  [[ $(system get daemonsets -o 'jsonpath={.items[*].metadata.name}') == "computedomain-daemon-$uid" ]] || return 1
  # As the scheduler and the plugin do when a pod with a channel comes to the node.
  give_channel node-1 || return 1
  kubectl label node node-1 "resource.nvidia.com/computeDomain=$uid" || return 1
  wait_for 30 "a daemon is there" daemon_waits || { system get pods -o yaml; return 1; }
  wait_for 60 "the domain waits for its daemon" says MembersReady MembersNotReady 'node-1 \(no daemon yet\)' || return 1
  would_enforce restricted >"$root/restricted" || return 1
  grep -F 'computedomain-daemon' "$root/restricted" || return 1
  ! grep -F 'cdom-controller' "$root/restricted" || return 1
  local baseline
  baseline=$(would_enforce baseline) || return 1
  ! grep -i warning <<<"$baseline"
}
give_channel() {  # give_channel NODE: an allocated claim of quickstart there, until it is deleted
  kubectl get resourceclaimtemplate quickstart-channel -o json |
    jq '{apiVersion, kind: "ResourceClaim", metadata: {name: "given"}, spec: .spec.spec}' | kubectl create -f - || return 1
  kubectl patch resourceclaim given --subresource=status --type=merge -p "$(kubectl get resourceclaim given -o json |
    jq -c --arg node "$1" '{status: {allocation: {devices: {
      config: [.spec.devices.config[] | . + {source: "FromClaim"}],
      results: [{request: "channel", driver: "compute-domain.nvidia.com", pool: $node, device: "channel-0"}]}}}}')"
}
daemon_waits() {
  system get pods -l resource.nvidia.com/computeDomain -o 'jsonpath={.items[*].status.conditions[?(@.type=="PodScheduled")].message}' |
    grep -F 'cannot allocate all claims' >/dev/null
}

a_kubelet_that_is_killed_is_a_lost_node_in_the_status() {
  local uid
  uid=$(kubectl get cdom quickstart -o 'jsonpath={.metadata.uid}')
  kubectl label --overwrite node node-1 "resource.nvidia.com/computeDomain=$uid" || return 1
  in_node node-1 bash -c 'touch /run/kubelet.off; kill -KILL "$(cat /run/kubelet.pid)"' || return 1
  wait_for 60 "status says that node-1 is lost" says MembersReady NodeLost 'node-1 \(not ready\)'
  local status=$?
  in_node node-1 rm /run/kubelet.off || return 1
  ((status == 0)) || kubectl get nodes,cdom -o wide
  kubectl delete resourceclaim given || return 1
  kubectl wait --for=condition=Ready node/node-1 --timeout=60s || return 1
  # Nobody was driven out: it came back in time.
  wait_for 60 "both replicas are ready" are_ready || return 1
  ((status == 0))
}

a_replica_that_hangs_is_not_ready_until_it_goes_on() {
  local pod id
  pod=$(standby)
  id=$(container_of "$pod")
  signal_container "$pod" "$id" STOP || return 1
  wait_for 60 "it is not ready" ready_is "$pod" False
  local status=$?
  signal_container "$pod" "$id" CONT || return 1
  ((status == 0)) || return 1
  wait_for 60 "it is ready again" ready_is "$pod" True
}
signal_container() { in_node "$(node_of "$1")" "$cluster/containerd/ctr" --namespace k8s.io tasks kill --signal "SIG$3" "$2"; }
ready_is() { [[ $(system get pod "$1" -o 'jsonpath={.status.conditions[?(@.type=="Ready")].status}') == "$2" ]]; }

a_replica_that_stays_hung_is_started_again() {  # Nightly: probes and grace take over a minute.
  local pod id
  pod=$(standby)
  id=$(container_of "$pod")
  signal_container "$pod" "$id" STOP || return 1
  wait_for 180 "its container is another" other_container "$pod" "$id" || return 1
  wait_for 60 "it is ready again" ready_is "$pod" True
}
other_container() { [[ $(container_of "$1") != "$2" ]]; }

in_a_rollout_each_leader_lets_the_lease_go_and_the_next_takes_it_at_its_next_look() {
  local before
  before=$(hand_overs | wc -l)
  system rollout restart deployment/cdom-controller || return 1
  system rollout status deployment/cdom-controller --timeout=120s || return 1
  wait_for 60 "the old pods are gone" two_pods || return 1
  wait_for 30 "somebody took over" more_hand_overs "$before" || return 1
  released_since "$before"
}
two_pods() { [[ $(controller_pods --no-headers | wc -l) == 2 ]]; }
more_hand_overs() { (($(hand_overs | wc -l) > $1)); }

on_a_drained_node_the_leader_lets_the_lease_go_and_the_next_takes_it_at_its_next_look() {
  local before leads node
  leads=$(leader) || return 1
  node=$(node_of "$leads")
  before=$(hand_overs | wc -l)
  kubectl drain "$node" --ignore-daemonsets --delete-emptydir-data --force --timeout=90s || return 1
  wait_for 60 "both replicas are ready elsewhere" are_ready || return 1
  kubectl uncordon "$node" || return 1
  wait_for 30 "somebody took over" more_hand_overs "$before" || return 1
  released_since "$before"
}

# The term of a leader that cannot let go runs out: 15 s, which count from when the other saw the last renewal. It looks when they
# are over, and perhaps just before that.
a_leader_whose_container_is_killed_is_followed_when_its_term_is_over() {
  local pod id began before
  pod=$(leader) || return 1
  id=$(container_of "$pod")
  before=$(hand_overs | wc -l)
  began=$(date +%s.%N)
  signal_container "$pod" "$id" KILL || return 1
  wait_for 60 "its container is another" other_container "$pod" "$id" || return 1
  wait_for 60 "somebody leads" leads_since "$began" || return 1
  wait_for 60 "both replicas are ready" are_ready || return 1
  [[ $(system get pod "$pod" -o 'jsonpath={.status.containerStatuses[0].restartCount}') == 1 ]] || return 1
  [[ $(system get pod "$pod" -o 'jsonpath={.status.containerStatuses[0].lastState.terminated.exitCode}') == 137 ]] || return 1
  hand_overs | sed -n "$((before + 1))p" | tee "$root/hand_overs"
  figure="$(cut -d' ' -f1 "$root/hand_overs") s"
  awk '$4 == "expired" && $1 >= 15 && $6 <= 2 { is_so = 1 } END { exit !is_so }' "$root/hand_overs"
}
# The Lease was taken by somebody new, and not just renewed by a request that was under way.
leads_since() {
  system get lease cdom-controller -o json |
    jq -e --arg began "$1" '(.spec.acquireTime | .[0:19] + "Z" | fromdate) >= ($began | tonumber | floor)'
}

no_replica_came_near_its_memory_limit() {
  local pod id peak limit most=0
  for pod in $(controller_pods -o name); do
    pod=${pod#pod/}
    limit=$(system get pod "$pod" -o 'jsonpath={.spec.containers[0].resources.limits.memory}')
    [[ $limit == *Mi ]] || return 1
    limit=$((${limit%Mi} << 20))
    id=$(container_of "$pod")
    peak=$(in_node "$(node_of "$pod")" find /sys/fs/cgroup/memory -path "*$id*" -name memory.max_usage_in_bytes -exec cat {} +)
    echo "$pod: at most $((peak >> 20)) MiB"
    ((peak > 0 && peak < limit / 2)) || return 1
    if ((peak > most)); then most=$peak; fi
  done
  figure="$((most >> 20)) MiB of $((limit >> 20)) at most"
}

# Kubelets renew a token after 80 % of its life, of which ten minutes are the least that the API server gives.
a_token_that_is_renewed_is_used_without_a_restart() {
  system patch deployment cdom-controller --type=strategic -p '{"spec": {"template": {"spec": {
    "automountServiceAccountToken": false,
    "volumes": [{"name": "token", "projected": {"sources": [
      {"serviceAccountToken": {"path": "token", "expirationSeconds": 600}},
      {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
      {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": {"fieldPath": "metadata.namespace"}}]}}]}}],
    "containers": [{"name": "compute-domain",
      "volumeMounts": [{"name": "token", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "readOnly": true}]}]}}}}' || return 1
  system rollout status deployment/cdom-controller --timeout=120s || return 1
  wait_for 1000 "the leader has outlived its first token" outlived_its_token || return 1
  credentials_of "$(leader)" | sort -u | tee "$root/credentials"
  (($(sort -u "$root/credentials" | wc -l) > 1)) || return 1
  [[ $(controller_pods -o 'jsonpath={.items[*].status.containerStatuses[0].restartCount}') == '0 0' ]]
}
outlived_its_token() {  # With the minute that clocks may differ by.
  lease_writes | awk -v pod="$(leader)" '$2 == pod { first = first ? first : $1; last = $1 } END { exit last - first < 660 }'
}
credentials_of() {  # credentials_of POD: the ids of the tokens with which it wrote the Lease
  grep -F '"resource":"leases"' "$audit" | jq -r --arg pod "$1" 'select(.objectRef.name == "cdom-controller" and .verb == "update")
    | .user.extra | select(."authentication.kubernetes.io/pod-name" == [$pod]) | ."authentication.kubernetes.io/credential-id"[0]'
}

delete_of_the_manifests_leaves_nothing() {
  kubectl delete -f "$repo/examples/quickstart.yaml" --timeout=90s || return 1
  kubectl delete -k "$repo/manifests/standalone" --timeout=90s || return 1
  kubectl label nodes --all nvidia.com/gpu.clique-
  is_as_before
}

# As docs/uninstall.md says.
delete_of_the_manifests_under_a_domain_ends_once_its_finalizer_is_released() {
  local deletion
  kubectl apply -k "$repo/manifests/standalone" || return 1
  wait_for 120 "both replicas are ready" are_ready || return 1
  kubectl apply -f "$repo/examples/quickstart.yaml" || return 1
  wait_for 60 "the domain is provisioned" says Provisioned ChildrenExist . || return 1
  # While it is taken down itself it may or may not come to let the domain go.
  system scale deployment cdom-controller --replicas=0 || return 1
  wait_for 60 "the controller's pods are gone" no_pods || return 1
  kubectl delete -k "$repo/manifests/standalone" --timeout=180s &
  deletion=$!
  wait_for 60 "the domain is being deleted" is_doomed || return 1
  kubectl get cdom quickstart -o 'jsonpath={.metadata.finalizers}' && kill -0 "$deletion" || return 1
  kubectl apply -k "$repo/manifests/release-finalizers" || return 1
  kubectl wait --for=condition=Complete job --all -n cdom-release-finalizers --timeout=90s || return 1
  kubectl delete -k "$repo/manifests/release-finalizers" --timeout=90s || return 1
  wait "$deletion" || return 1
  kubectl delete resourceclaimtemplates --all-namespaces -l resource.nvidia.com/computeDomain --timeout=60s || return 1
  kubectl delete job quickstart || return 1
  is_as_before
}
is_doomed() { [[ -n $(kubectl get cdom quickstart -o 'jsonpath={.metadata.deletionTimestamp}') ]]; }
no_pods() { [[ -z $(controller_pods --no-headers 2>/dev/null) ]]; }

# As docs/install.md says, where there is no registry.
the_image_gets_into_every_node() {
  local node name
  name=$(kubectl kustomize "$repo/manifests/standalone" | sed -nE 's#^ +(- )?image: (.*/cdom-controller:.*)#\2#p' | sort -u)
  "$repo/scripts/image.sh" "$(dpkg --print-architecture)" --output "$root/image-controller" || return 1
  "$here/realnodes" load "$cluster" "$root/image-controller" "${name%:*}" || return 1
  for node in node-1 node-2 node-3; do
    in_node "$node" "$cluster/containerd/ctr" --namespace k8s.io images ls -q | grep -xF "$name" || return 1
  done
}

holds "$root/before.json" 2>"$root/holds.err"  # kubectl warns of kinds that are old.
run_case the_image_gets_into_every_node
run_case the_manifests_install_it_and_both_replicas_become_ready_by_their_probes
run_case its_pods_meet_restricted
run_case logs_and_debug_pages_are_reached_through_the_kubelet
run_case it_acts_by_the_token_of_its_own_pod
run_case pods_that_claim_a_channel_wait_in_the_schedulers_words_since_no_node_has_a_plugin
run_case a_node_of_the_domain_gets_a_daemon_which_meets_baseline_alone_and_waits_for_the_plugin_too
run_case a_kubelet_that_is_killed_is_a_lost_node_in_the_status
run_case a_replica_that_hangs_is_not_ready_until_it_goes_on
run_case a_leader_whose_container_is_killed_is_followed_when_its_term_is_over
run_case in_a_rollout_each_leader_lets_the_lease_go_and_the_next_takes_it_at_its_next_look
run_case on_a_drained_node_the_leader_lets_the_lease_go_and_the_next_takes_it_at_its_next_look
if [[ -n ${CDOM_NIGHTLY:-} ]]; then
  run_case a_replica_that_stays_hung_is_started_again
  run_case a_token_that_is_renewed_is_used_without_a_restart
fi
run_case no_replica_came_near_its_memory_limit
run_case delete_of_the_manifests_leaves_nothing
run_case delete_of_the_manifests_under_a_domain_ends_once_its_finalizer_is_released
