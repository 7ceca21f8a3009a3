# An upgrade from the tree before, on a control plane of its own: domains live and jobs run while manifests and binary
# change under them. Sourced by e2e.sh.
# shellcheck shell=bash disable=SC2154

before_commit=e8464cf

# ---- What is written down during the change: every state that the API server tells of, not samples.

# record KIND FILE LINE: a line of the JSONPath template LINE for each event of objects of that kind. A watch that ends,
# as at a change of the CRD, is begun again with all objects.
record() {
  (
    trap 'kill "$kubectl_pid" 2>/dev/null; exit 0' TERM
    while true; do
      "$plane_bin/kubectl" --kubeconfig "$stage/plane/admin.kubeconfig" get "$1" --all-namespaces --watch --output-watch-events \
        -o jsonpath="{.type} {.object.metadata.name} $3{\"\\n\"}" >>"$2" 2>>"$2.err" &
      kubectl_pid=$!
      wait "$kubectl_pid" || true
      read -rt 0.1 <> <(:) || true
    done
  ) &
  recorders+=($!)
}
record_all() {
  recorders=()
  rm -f "$stage"/{domains,pods,sets}.txt
  record computedomains "$stage/domains.txt" '{.object.status.status} {.object.status.conditions[?(@.type=="Ready")].status}'
  record pods "$stage/pods.txt" '{.object.metadata.uid} {.object.status.containerStatuses[0].containerID} {.object.status.containerStatuses[0].state.running.startedAt} {.object.status.containerStatuses[0].restartCount} {.object.metadata.deletionTimestamp}'
  record daemonsets "$stage/sets.txt" '{.object.metadata.uid} {.object.metadata.generation}'
  wait_for 20 "all is written down" recorded_all
}
recorded_all() { grep -q ' worker' "$stage/domains.txt" && [[ -s $stage/pods.txt && -s $stage/sets.txt ]]; }
stop_recording() {
  local recorder
  for recorder in "${recorders[@]}"; do stop "$recorder"; done
  recorders=()
}
# An idle domain, of which the tree before said Unknown, is Ready from then on.
becomes_idle() {
  [[ $(sed -nE 's/^[A-Z]+ idle //p' "$stage/domains.txt" | uniq | paste -sd,) == 'Ready Unknown,Ready True' ]] && is_idle idle
}
# one_line_each FILE: an object has one state in it, from the first line to the last.
one_line_each() {
  if cut -d' ' -f2- "$1" | sort -u | awk '{ if (seen[$1]++) { print "more than one state of", $1; bad = 1 } } END { exit !bad }' ||
    grep -q '^DELETED' "$1"; then
    echo "--- $1"; cat "$1"
    return 1
  fi
}
since_when() {  # When each domain in use became Ready.
  kubectl get computedomains -o json | jq -c '[.items[] | select(.metadata.name != "idle") | [.metadata.name, .status.status,
    (.status.conditions[] | select(.type == "Ready") | .status, .lastTransitionTime)]] | sort'
}

# ---- Lives

# Whatever the reason says: the two may share a clique.
workers_are_ready() { serves worker-a 3 && serves worker-b 2; }
serves() {  # serves NAME COUNT
  [[ $(condition Ready "$1" status) == True && $(workers_on "$1" | wc -l) == "$2" && $(workers_on "$1") == "$(member_nodes "$1")" ]]
}
upgrade_with_membership_writer() {  # upgrade_with_membership_writer daemon|controller
  local outcome=0
  stop_controller
  stage=$root/before-$1
  mkdir -p "$stage"
  is_upgraded "$1" || outcome=1
  ((outcome == 0)) || kubectl get computedomains,pods,nodes --all-namespaces -o wide --show-labels >"$stage/left.txt" || true
  stop_recording
  stop_controller
  stop "$nodesim_pid"
  nodesim_pid=
  plane_down
  return "$outcome"
}
is_upgraded() {  # is_upgraded MEMBERSHIP_WRITER
  local writer=$1 before since
  before=$("$repo/test/e2e/build_before.sh" "$before_commit") || return 1
  plane_up || return 1
  kubectl apply -k "$before/manifests/local" || return 1
  controller_kubeconfig || return 1
  nodesim_up --nodes 16 --cliques 2 --daemon-account || return 1
  fresh_log
  program=$before/compute-domain-controller controller_up --membership-writer "$writer"
  wait_for 60 "the controller from before leads" leads || return 1
  {
    domain_in default worker-a a-channel && echo ---
    domain_in default worker-b b-channel && echo ---
    domain_in default idle idle-channel && echo ---
    deployment worker-a a-channel 3 && echo ---
    job worker-b b-channel 2 -1
  } | kubectl apply -f - || return 1
  wait_for 100 "all workers and members are ready" workers_are_ready || return 1
  since=$(since_when)
  record_all || return 1

  # As an administrator does it: first the manifests, then the program.
  kubectl apply -k "$repo/manifests/local" || return 1
  cp "$stage/controller.log" "$stage/before.log"
  start_controller_after_that_of_before "$writer" || return 1
  # It has done what there was to do: a domain that is made now is served, used and ended.
  domain_in default next next-channel | kubectl apply -f - || return 1
  wait_for 60 "a new domain is served" kubectl get resourceclaimtemplate next-channel || return 1
  free_node_runs next || return 1
  kubectl delete pod next --timeout=60s && kubectl delete computedomain next --timeout=60s || return 1
  stop_recording

  # Nothing restarted, nothing flapped.
  sed -i '/^[A-Z]* next/d' "$stage/domains.txt"
  becomes_idle || { cat "$stage/domains.txt"; return 1; }
  sed -i '/^[A-Z]* idle/d' "$stage/domains.txt"
  one_line_each "$stage/domains.txt" || return 1
  grep -vE ' worker-[ab] Ready True$' "$stage/domains.txt" && { echo "not Ready"; return 1; }
  [[ $(since_when) == "$since" ]] || { echo "before $since"; since_when; return 1; }
  without_next "$stage/pods.txt" "$stage/sets.txt" || return 1
  # Daemons of ours lost a probe since then: their template is patched once, which replaces no pod.
  [[ $writer == daemon ]] || sed -i 's/ [12]$//' "$stage/sets.kept"
  one_line_each "$stage/sets.kept" && one_line_each "$stage/pods.kept" || return 1
  [[ $(cut -d' ' -f2 "$stage/pods.kept" | sort -u | wc -l) == 10 ]] || { echo "not five workers and five daemons"; return 1; }

  # And they can end.
  kubectl delete deployment worker-a --timeout=30s && kubectl delete job worker-b --timeout=30s || return 1
  kubectl delete computedomains --all --timeout=90s || return 1
  wait_for 60 "nothing is left of them" no_children
}
start_controller_after_that_of_before() {
  stop_controller
  start_controller --membership-writer "$1"
  wait_for 60 "the controller leads" leads
}
free_node_runs() {  # free_node_runs NAME: a pod of this domain on a node that no other has
  local node
  node=$(kubectl get nodes -l '!resource.nvidia.com/computeDomain' -o jsonpath='{.items[0].metadata.name}')
  pod_on "$1" "$node" "$1-channel" | kubectl apply -f - || return 1
  wait_for 100 "its pod is ready" is_ready "pod/$1"
}
# without_next FILE...: FILE.kept without what belongs to domains and pods that came later.
without_next() {
  local file kept
  for file in "$@"; do
    kept=${file%.txt}.kept
    grep -E ' worker-[ab]-| computedomain-daemon-('"$(domain_uids)"')' "$file" >"$kept" || return 1
  done
}
domain_uids() { kubectl get computedomains -o json | jq -r '[.items[] | .metadata.uid] | join("|")'; }
no_children() { [[ -z $(kubectl get daemonsets,resourceclaimtemplates,computedomaincliques --all-namespaces -o name) ]]; }

an_upgrade_from_the_tree_before_restarts_nothing_and_no_domain_leaves_ready_in_the_manner_of_the_reference() { upgrade_with_membership_writer daemon; }
an_upgrade_from_the_tree_before_restarts_nothing_and_no_domain_leaves_ready_in_the_manner_of_cdom() { upgrade_with_membership_writer controller; }
