# Cases of what people and other controllers do to a domain and its children. Sourced by e2e.sh.
# shellcheck shell=bash disable=SC2154

uid_of() { kubectl get computedomain "$1" -o jsonpath='{.metadata.uid}'; }  # uid_of DOMAIN
set_of() { echo "computedomain-daemon-$(uid_of "$1")"; }
label_of() { echo "resource.nvidia.com/computeDomain=$(uid_of "$1")"; }
clique_of() { kubectl get computedomaincliques -n "$driver" -l "$(label_of "$1")" -o name; }
writes_since() {  # writes_since LINE: of the audit log; what the controller wrote but status, Events and its Lease
  controller_entries "$1" | jq -r 'select(.verb | IN("get", "list", "watch") | not)
    | select(.objectRef | .subresource != "status" and (.resource | IN("events", "leases") | not))
    | .verb + " " + .objectRef.resource + " " + .objectRef.name'
}
written_nothing_since() {
  local writes
  writes=$(writes_since "$1") || return 1
  [[ -z $writes ]] || { echo "it wrote: $writes"; return 1; }
}

a_paused_domain_is_left_alone_says_so_and_goes_on_when_it_is_not() {
  local line
  with_membership_writer controller || return 1
  snapshot "$stage/before.json" || return 1
  line=$(wc -l <"$stage/plane/audit.log")
  domain_in default resting resting-channel |
    kubectl annotate --local -f - cdom.dev/paused=true -o yaml | kubectl apply -f - || return 1
  wait_for 20 "the condition says what is not made" \
    says Provisioned resting Paused 'Not made while paused: .*DaemonSet .*default/resting-channel' || return 1
  says Accepted resting Paused 'cdom.dev/paused' || return 1
  wait_for 10 "an event tells of it" tells resting 'Normal +Paused ' || return 1
  written_nothing_since "$line" || return 1
  kubectl annotate cdom resting cdom.dev/paused- || return 1
  used_domain resting node-000 || return 1

  kubectl annotate cdom resting cdom.dev/paused=true || return 1
  wait_for 20 "the condition says so again" says Accepted resting Paused 'cdom.dev/paused' || return 1
  line=$(wc -l <"$stage/plane/audit.log")
  kubectl delete resourceclaimtemplate resting-channel || return 1
  wait_for 20 "the condition says what is not made again" \
    says Provisioned resting Paused 'Not made while paused: ResourceClaimTemplate default/resting-channel' || return 1
  kubectl delete pod resting --timeout=30s || return 1
  wait_for 20 "the condition says that nobody uses it" says InUse resting NoClaims 'No pod' || return 1
  kubectl delete cdom resting --wait=false || return 1
  wait_for 20 "the condition says what the deletion waits for" says DeletionBlocked resting Paused 'cdom.dev/paused' || return 1
  written_nothing_since "$line" || return 1
  kubectl annotate cdom resting cdom.dev/paused- || return 1
  wait_for 60 "the deletion goes on" gone cdom resting || return 1
  nothing_more_than "$stage/before.json"
}

a_daemon_set_that_is_to_be_deleted_under_a_job_is_kept_with_words_and_if_it_goes_the_interruption_is_told() {
  local set refusal command
  used_domain broken node-002 || return 1
  set=$(set_of broken)
  if refusal=$(kubectl delete daemonset -n "$driver" "$set" 2>&1); then echo "it was not refused"; return 1; fi
  echo "$refusal"
  [[ $refusal == *"daemonsets $driver/$set belongs to ComputeDomain $(uid_of broken)"*'every IMEX daemon of the domain would restart'* ]] || return 1
  # As it says, word for word.
  command=$(grep -oE 'kubectl annotate [a-z]+ -n [a-z0-9-]+ [a-z0-9.-]+ cdom.dev/allow-deletion=true' <<<"$refusal") || return 1
  # shellcheck disable=SC2086
  $command || return 1
  kubectl delete daemonset -n "$driver" "$set" --timeout=20s || return 1
  wait_for 20 "an event says what that did, and to whom" \
    tells broken "Warning +DaemonsInterrupted .*DaemonSet $driver/$set was deleted.*Every daemon of the domain restarts.*pods/broken on node-002" || return 1
  log_says "DaemonSet $driver/$set was deleted.*which interrupts IMEX under pods/broken on node-002" || { echo "not in the log"; return 1; }
  wait_for 60 "all serve again" ready_in_use broken || return 1
  end_domain broken
}

a_finalizer_of_others_on_a_domain_or_its_child_is_named_and_waited_for() {
  local set
  domain_in default kept kept-channel | kubectl apply -f - || return 1
  wait_for 30 "its children are made" is_idle kept || return 1
  set=$(set_of kept)
  kubectl patch daemonset -n "$driver" "$set" --type=merge -p '{"metadata": {"finalizers": ["example.com/archive"]}}' || return 1
  kubectl patch cdom kept --type=json -p '[{"op": "add", "path": "/metadata/finalizers/-", "value": "example.com/bill"}]' || return 1
  kubectl delete cdom kept --wait=false || return 1
  wait_for 20 "the child is named with its finalizer" \
    condition_says kept HeldByFinalizer "DaemonSet $driver/$set \(finalizer example.com/archive\)" || return 1
  says DeletionBlocked kept HeldByFinalizer 'example.com/archive' || return 1
  wait_for 10 "an event tells of it" tells kept 'Warning +HeldByFinalizer .*example.com/archive' || return 1
  kubectl patch daemonset -n "$driver" "$set" --type=merge -p '{"metadata": {"finalizers": null}}' || return 1
  wait_for 20 "the domain is named with its finalizer" \
    condition_says kept HeldByFinalizer 'ComputeDomain default/kept \(finalizer example.com/bill\)' || return 1
  gone daemonset -n "$driver" "$set" || return 1
  [[ $(kubectl get cdom kept -o jsonpath='{.metadata.finalizers}') == '["example.com/bill"]' ]] || return 1
  kubectl patch cdom kept --type=merge -p '{"metadata": {"finalizers": null}}' || return 1
  wait_for 20 "the domain is gone" gone cdom kept
}

a_channel_that_a_claim_written_by_hand_holds_is_told_to_who_waits_for_it() {
  cat >"$stage/by-hand.yaml" <<'YAML'
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: by-hand, namespace: default}
spec: {devices: {requests: [{name: channel, exactly: {deviceClassName: compute-domain-default-channel.nvidia.com}}]}}
YAML
  without_the_policy cdom-channel-claims kubectl create -f "$stage/by-hand.yaml" || return 1
  pod_on thief node-000 '' | sed 's/resourceClaimTemplateName: /resourceClaimName: by-hand/' | kubectl apply -f - || return 1
  wait_for 30 "the claim holds the channel" is_reserved by-hand || return 1
  domain_in default robbed robbed-channel | kubectl apply -f - || return 1
  pod_on robbed node-000 robbed-channel | kubectl apply -f - || return 1
  wait_for 60 "the condition names node and claim" says InUse robbed ChannelHeldByUnrelatedClaim \
    'pods/robbed .*the channel of node-000 by ResourceClaim default/by-hand \(of no ComputeDomain\)\. Delete' || return 1
  wait_for 10 "the pod that waits tells of it" shows pod robbed 'Warning +ChannelHeldByUnrelatedClaim .*ResourceClaim default/by-hand' || return 1
  wait_for 10 "the domain tells of it" tells robbed 'Warning +ChannelHeldByUnrelatedClaim .*ResourceClaim default/by-hand' || return 1
  kubectl delete pod thief --timeout=30s || return 1
  wait_for 60 "the pod has the channel" ready_in_use robbed || return 1
  says InUse robbed ClaimsReserved 'pods/robbed' || return 1
  kubectl delete resourceclaim by-hand --timeout=30s || return 1
  end_domain robbed
}
is_reserved() { kubectl get resourceclaim "$1" -o json | jq -e '.status.reservedFor | length == 1'; }

# As two controllers at once leave it: a copy under another name.
a_second_daemon_set_of_a_domain_goes_with_its_pods_while_the_first_serves_on() {
  local set was line
  with_membership_writer daemon || return 1
  used_domain tended node-001 || return 1
  set=$(set_of tended) was=$(daemon_on node-001)
  stop_controller
  kubectl get daemonset -n "$driver" "$set" -o json |
    jq '{apiVersion, kind, metadata: {name: "second", namespace: .metadata.namespace, labels: .metadata.labels}, spec}' |
    kubectl create -f - || return 1
  wait_for 30 "it has a pod" has_pods second 1 || return 1
  watch_of tended '{.status.members}' "$stage/members.txt"
  line=$(wc -l <"$stage/plane/audit.log")
  with_membership_writer daemon || return 1
  wait_for 30 "it is gone" gone daemonset -n "$driver" second || return 1
  wait_for 30 "its pod is gone" has_pods second 0 || return 1
  wait_for 10 "an event tells of it" tells tended "Normal +DuplicateRemoved .*$driver/second" || return 1
  stop "$watcher"
  [[ $(sort -u "$stage/members.txt") == 1/1 ]] || { cat "$stage/members.txt"; return 1; }
  [[ $(daemon_on node-001) == "$was" ]] || { echo "another daemon"; return 1; }
  # What it did, in order: looked whether the other is there and who serves, then deleted.
  controller_entries "$line" | jq -r '.verb + " " + .objectRef.resource + " " + (.objectRef.name // "")' |
    grep -E "^(get daemonsets|list pods|delete) " | uniq | tee "$stage/looked.txt"
  diff <(printf '%s\n' "get daemonsets $set" "list pods " "delete daemonsets second") \
    <(grep -B 2 '^delete' "$stage/looked.txt") || return 1
}
has_pods() {  # has_pods DAEMONSET COUNT: pods that it owns
  [[ $(kubectl get pods -n "$driver" -o json | jq --arg set "$1" '[.items[] | select(any(.metadata.ownerReferences[]?; .name == $set))] | length') == "$2" ]]
}

a_label_that_is_taken_off_a_child_is_put_back_on_the_same_object() {
  local set clique child was
  used_domain tended node-001 || return 1
  set=$(set_of tended)
  clique=$(clique_of tended)
  while read -r child; do
    # shellcheck disable=SC2086
    was=$(identity $child)
    # shellcheck disable=SC2086
    kubectl label $child resource.nvidia.com/computeDomain- resource.nvidia.com/computeDomainTarget- \
      resource.nvidia.com/computeDomain.cliqueID- || return 1
    # shellcheck disable=SC2086
    wait_for 20 "$child is labelled again" has_identity "$was" $child || return 1
  done <<EOT
-n default resourceclaimtemplate/tended-channel
-n $driver resourceclaimtemplate/$set
-n $driver daemonset/$set
-n $driver $clique
EOT
  wait_for 10 "an event tells of it" tells tended 'Normal +Repaired .*had lost labels' || return 1
  all_ready tended 1 || return 1
  end_domain tended
}
identity() { kubectl get "$@" -o json | jq -cS '[.metadata.uid, .metadata.labels]'; }
has_identity() { [[ $(identity "${@:2}") == "$1" ]]; }
