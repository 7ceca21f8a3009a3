# Cases of what status says of members although they serve, and of other tenants. Sourced by e2e.sh; the first three use
# the crew of workloads.sh.
# shellcheck shell=bash disable=SC2154

metric() { curl -fsS "http://127.0.0.1:$(port_of "health and metrics")/metrics" | grep "^$1"; }  # metric NAME
leaving_members() { [[ $(metric cdom_members_leaving) == "cdom_members_leaving $1" ]]; }

a_member_whose_node_is_cordoned_or_tainted_by_an_autoscaler_is_told_before_it_is_lost_and_no_more_when_it_stays() {
  local node workers
  stop_controller  # Cases before this one may have used up the Events that it sends of one object.
  crew controller 4 || return 1
  node=$(crew_node) workers=$(lives_of -l app=crew)
  leaving_members 0 || return 1
  kubectl cordon "$node" || return 1
  wait_for 20 "the condition says that it goes" condition_says crew NodeLeaving "All 4/4 .*About to leave: $node \(cordoned\)" || return 1
  [[ $(condition Ready crew status) == True && $(kubectl get cdom crew -o jsonpath='{.status.status}') == Ready ]] || return 1
  leaving_members 1 || { metric cdom_members_leaving; return 1; }
  wait_for 10 "an event tells of it" tells crew "Warning +NodeLeaving .*$node" || return 1
  kubectl uncordon "$node" || return 1
  wait_for 20 "nothing is said any more" in_step crew 4 || return 1
  leaving_members 0 || return 1

  kubectl taint node "$node" karpenter.sh/disrupted:NoSchedule || return 1
  wait_for 20 "the condition names the taint" condition_says crew NodeLeaving "$node \(taint karpenter.sh/disrupted\)" || return 1
  kubectl taint node "$node" karpenter.sh/disrupted- || return 1
  wait_for 20 "nothing is said any more" in_step crew 4 || return 1
  # That it is only preferred elsewhere, or why it is tainted, says nothing of its going.
  kubectl taint node "$node" ToBeDeletedByClusterAutoscaler:PreferNoSchedule example.com/tuned:NoSchedule || return 1
  kubectl taint node "$node" cloud.google.com/impending-node-termination:NoSchedule || return 1
  wait_for 20 "the condition names the one that tells" condition_says crew NodeLeaving "About to leave: $node \(taint cloud.google.com/impending-node-termination\)\." || return 1
  kubectl taint node "$node" cloud.google.com/impending-node-termination- || return 1
  wait_for 20 "the others are not told" in_step crew 4 || return 1
  kubectl taint node "$node" ToBeDeletedByClusterAutoscaler- example.com/tuned- || return 1
  [[ $(lives_of -l app=crew) == "$workers" ]] || { echo "other workers: $workers"; return 1; }
}

a_domain_that_was_asked_into_one_clique_and_is_in_two_says_so_and_one_that_was_not_hears_how_to_ask() {
  local node old new
  stop_controller  # The same.
  crew controller 4 || return 1
  node=$(crew_node) old=$(member crew "$(crew_node)" cliqueID)
  new=$(kubectl get nodes -o json | jq -r --arg old "$old" '[.items[].metadata.labels["nvidia.com/gpu.clique"]] | unique - [$old] | .[0]')
  kubectl label cdom crew cdom.dev/placement=rack || return 1
  wait_for 20 "a word that nobody knows is named" says Accepted crew AnnotationInvalid '^Label cdom.dev/placement is not heeded: use clique or exclusive-clique\.$' || return 1
  nodesim "move?node=$node&clique=$new" || return 1
  wait_for 60 "it says that it is in two" condition_says crew AllMembersReady "in 2 cliques: 3 in $old, 1 in $new\..*label the domain cdom.dev/placement=clique" || return 1
  kubectl label cdom crew cdom.dev/placement=clique --overwrite || return 1
  wait_for 20 "it says that it should not be" condition_says crew SpansCliques "in 2 cliques although cdom.dev/placement asks for one: 3 in $old, 1 in $new\." || return 1
  [[ $(condition Ready crew status) == True && $(condition Accepted crew reason) == Accepted ]] || return 1
  wait_for 10 "an event tells of it" tells crew 'Warning +SpansCliques .*manifests/placement' || return 1
  kubectl annotate cdom crew cdom.dev/placement-group-label=example.com/rank || return 1
  wait_for 20 "each of two groups may be in one" condition_says crew AllMembersReady '^All 4/4 members are ready\.$' || return 1
  kubectl annotate cdom crew cdom.dev/placement-group-label- || return 1
  wait_for 20 "it says so again" condition_says crew SpansCliques "$new" || return 1
  nodesim "move?node=$node&clique=$old" || return 1
  wait_for 60 "it is in one" in_step crew 4 || return 1
  condition_says crew AllMembersReady '^All 4/4 members are ready\.$' || return 1
  kubectl label cdom crew cdom.dev/placement-
}

members_without_fabric_are_named_and_a_domain_that_has_none_but_these_says_that_nothing_is_shared() {
  local node clique others
  crew controller 4 || return 1
  node=$(crew_node) clique=$(member crew "$(crew_node)" cliqueID)
  nodesim "move?node=$node" || return 1
  wait_for 60 "it is named" condition_says crew AllMembersReady "^All 4/4 members are ready\. Without NVLink fabric: $node\. Pods there share no memory" || return 1
  nodesim "move?node=$node&clique=$clique" || return 1
  wait_for 60 "it has fabric again" condition_says crew AllMembersReady '^All 4/4 members are ready\.$' || return 1

  others=$(comm -23 <(kubectl get nodes -o name | cut -d/ -f2 | sort) <(member_nodes crew))
  node=${others##*$'\n'} clique=$(kubectl get node "${others##*$'\n'}" -o jsonpath='{.metadata.labels.nvidia\.com/gpu\.clique}')
  nodesim "move?node=$node" || return 1
  domain_in default lone lone-channel | kubectl apply -f - || return 1
  pod_on lone "$node" lone-channel | kubectl apply -f - || return 1
  wait_for 60 "it serves, and says what it does not do" condition_says lone NoFabric "^All 1/1 members are ready\. No member has NVLink fabric: $node\. Pods share no memory across nodes" || return 1
  [[ $(condition Ready lone status) == True && $(kubectl get cdom lone -o jsonpath='{.status.status}') == Ready ]] || return 1
  wait_for 10 "an event tells of it" tells lone "Warning +NoFabric .*$node" || return 1
  nodesim "move?node=$node&clique=$clique" || return 1
  wait_for 60 "with fabric it says nothing of it" serves_without_a_word_of_fabric lone || return 1
  end_domain lone
}
# The node's clique may be that of the other domain as well, of which it speaks then.
serves_without_a_word_of_fabric() {
  local said
  said=$(condition Ready "$1" message)
  [[ $said == 'All 1/1 members are ready.'* && $said != *fabric* ]]
}

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
