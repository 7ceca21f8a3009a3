# Cases of what status says of members although they serve, and of other tenants. Sourced by e2e.sh; the first three use
# the crew of workloads.sh.
# shellcheck shell=bash disable=SC2154

# ---- In the stage of tenants

wants_says() {  # wants_says TYPE REASON PATTERN: the domain `wants`, to its tenant
  kubectl get computedomain wants -n other --as neighbour -o json | jq -e --arg type "$1" --arg reason "$2" --arg pattern "$3" \
    'any(.status.conditions[]; .type == $type and .reason == $reason and (.message | test($pattern)))'
}
pod_hears() { grep -qE "NoChannelFree.*$1" < <(kubectl events -n other --for pod/wants --as neighbour); }  # pod_hears PATTERN
# What the tenant can read of it, and all of that.
what_the_neighbour_reads() { kubectl get computedomains,pods,events -n other --as neighbour -o yaml; }
two_tenants_who_want_one_node_read_each_others_names_only_where_the_configuration_says_so() {
  domain_in team secretive secretive-channel | kubectl create --as edit -f - || return 1
  domain_in other wants wants-channel | kubectl create --as neighbour -f - || return 1
  pod_on secretive node-000 secretive-channel | sed 's/namespace: default/namespace: team/' | kubectl create --as edit -f - || return 1
  wait_for 60 "one has the node" kubectl wait --for=condition=InUse computedomain/secretive -n team --timeout=1s || return 1
  pod_on wants node-000 wants-channel | sed 's/namespace: default/namespace: other/' | kubectl create --as neighbour -f - || return 1
  wait_for 60 "the other says that somebody has it" \
    wants_says Ready NoChannelFree 'Other domains hold nodes: a domain in another namespace\.' || return 1
  wait_for 20 "its pod hears the same" pod_hears 'Other domains hold nodes: a domain in another namespace\.' || return 1
  ! grep secretive < <(what_the_neighbour_reads) || { echo "is named to the neighbour"; return 1; }
  # Who administers the cluster is told in any case.
  curl -fsS "http://127.0.0.1:$(port_of "debug pages")/debug/domains" |
    jq -e 'any(.[]; .name == "wants" and (.status.conditions | any(.message | test("Other domains hold nodes: team/secretive\\."))))' || return 1

  stop_controller
  printf '%s: %s\n' apiVersion cdom.dev/v1alpha1 kind ControllerConfiguration status '{nameOthers: Always}' >"$stage/always.yaml"
  start_controller --config "$stage/always.yaml"
  wait_for 60 "the name is said where it shall be" wants_says Ready NoChannelFree 'Other domains hold nodes: team/secretive\.' || return 1
  wait_for 20 "its pod hears it, too" pod_hears 'Other domains hold nodes: team/secretive\.' || return 1
  stop_controller
  start_controller
  wait_for 60 "and no more where not" wants_says Ready NoChannelFree 'Other domains hold nodes: a domain in another namespace\.' || return 1
  kubectl delete pod secretive -n team --as edit --timeout=60s || return 1
  wait_for 60 "the other gets the node" wants_says Ready AllMembersReady '^All 1/1 members are ready\.$' || return 1
  kubectl delete pod wants -n other --as neighbour --timeout=60s || return 1
  kubectl delete computedomain secretive -n team --timeout=60s && kubectl delete computedomain wants -n other --timeout=60s
}
