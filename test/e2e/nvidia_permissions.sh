# Cases of the controller with only the permissions that NVIDIA's chart grants. Sourced by e2e.sh.
# shellcheck shell=bash disable=SC2154

chart_account=system:serviceaccount:cdom-system:chart-controller

# "verb resource/subresource", once for each of its requests that was refused.
refused_to_it() {
  jq -r --arg user "$chart_account" 'select(.user.username == $user and .responseStatus.code == 403)
    | .verb + " " + .objectRef.resource + (if .objectRef.subresource then "/" + .objectRef.subresource else "" end)' "$stage/plane/audit.log"
}
start_with_nvidia_permissions() {
  kubectl apply -f "$repo/test/e2e/nvidia_chart_controller.yaml" || return 1
  jq --arg token "$(kubectl create token chart-controller -n cdom-system --duration 2h)" '.users[0].user.token = $token' \
    "$stage/controller.kubeconfig" >"$stage/chart.kubeconfig" || return 1
  kubeconfig=$stage/chart.kubeconfig start_controller
  wait_for 60 "the controller leads" leads
}

a_domain_lives_and_goes_under_the_rights_of_nvidias_chart() {
  snapshot "$stage/before.json" || return 1
  kubectl apply -f "$repo/examples/quickstart.yaml" || return 1
  wait_for 60 "four members are ready" condition_says quickstart AllMembersReady '4/4' || { kubectl get cdom quickstart -o yaml; return 1; }
  [[ $(kubectl get computedomaincliques -n cdom-system -o jsonpath='{.items[0].metadata.ownerReferences[0].kind}') == Pod ]] || return 1
  says InUse quickstart RightMissing 'nobody knows who uses the domain' && in_use quickstart Unknown || return 1
  # Its job may run as long as a node has its label.
  kubectl delete cdom quickstart --wait=false && wait_for 30 "the deletion waits" says DeletionBlocked quickstart DeletionBlocked 'waits for pods on node-' || return 1
  wait_for 120 "the workers have succeeded" succeeded quickstart 4 || return 1
  kubectl delete -f "$repo/examples/quickstart.yaml" --ignore-not-found --timeout=90s || return 1
  wait_for 60 "nothing is left" nothing_left || { diff "$stage/before.json" "$stage/after.json" | head -n 60; return 1; }
}

each_right_that_is_missing_is_said_once_with_what_it_costs() {
  local right
  for right in 'patch computedomains"' 'patch computedomains/status"' 'delete computedomaincliques"'; do
    [[ $(log_count "Going on without a right.*right=\"$right.*cost=") == 1 ]] || { echo "$right"; grep 'without a right' "$stage/controller.log"; return 1; }
  done
  for right in resourceclaims resourceslices; do
    [[ $(log_count "Cannot list a resource.*resource=\"$right\\.resource\\.k8s\\.io.*; without it ") == 1 ]] || { echo "$right"; return 1; }
  done
  [[ $(log_count 'Events are lost') == 1 ]]
}

# A second life beside the first: by then it knows, but asks now and then.
what_was_refused_is_hardly_asked_for_again() {
  local before after
  before=$(refused_to_it | wc -l)
  echo "$before refused in the first life"
  ((before > 0 && before <= 40)) || { refused_to_it | sort | uniq -c; return 1; }
  a_domain_lives_and_goes_under_the_rights_of_nvidias_chart || return 1
  after=$(refused_to_it | wc -l)
  refused_to_it | sort | uniq -c
  ! refused_to_it | sort | uniq -c | awk '$1 > 14 { print; found = 1 } END { exit !found }' || return 1
  ((after - before <= 14)) && figure="$before refused in a first life, $((after - before)) in a second"
}

# Nothing that it does otherwise is refused, and it asked for nothing that no chart grants.
nothing_but_those_was_refused() {
  refused_to_it | sort -u | tee "$stage/refused.txt"
  [[ -s $stage/refused.txt ]] && ! grep -vE '^((patch|create) (computedomains|computedomains/status|nodes|events)|get namespaces|delete computedomaincliques|list resource(claims|slices))$' \
    "$stage/refused.txt"
}
