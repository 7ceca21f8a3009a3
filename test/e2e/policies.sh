# Cases of the policies in manifests/policies, on a control plane of their own where nobody plays nodes. What they let
# pass and what not is in policies.tsv. Sourced by e2e.sh.
# shellcheck shell=bash disable=SC2154

policy_names=(cdom-daemon-claims cdom-daemon-account cdom-child-deletion cdom-channel-claims cdom-template-name
  cdom-template-exists cdom-advice cdom-gpu-fraction cdom-tenant-limits cdom-controller-account cdom-plugin-account
  cdom-tenant-limits-claims cdom-driver-namespaces cdom-release-finalizers cdom-driver-pods cdom-extended-resources
  cdom-object-sizes)
# What the rows call by name.
row_domain=0c6b2f0e-7b1d-4f39-8a55-3f3d0a4a9e10
row_other=5d0f6c1a-33c2-4c0e-9b57-0d8f2b7e6a44
row_pod=computedomain-daemon-$row_domain-aaaaa
row_peer=computedomain-daemon-$row_domain-bbbbb
row_pod_uid='' row_peer_uid=''
declare -A token_of=()

# ---- What the rows are about

policy_objects() {
  local name
  policy_namespace team '{}'
  policy_namespace bounded '{cdom.dev/placement-required: "true", cdom.dev/allow-all-channels: "true"}'
  policy_namespace wide '{cdom.dev/allow-all-channels: "true"}'
  cat <<YAML
# Every account may do everything, so that only policies are in the way: charts give more rights than base, and rights
# are not what is tried here.
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: everything}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects:
- {apiGroup: rbac.authorization.k8s.io, kind: Group, name: "system:serviceaccounts:cdom-system"}
- {apiGroup: rbac.authorization.k8s.io, kind: Group, name: "system:serviceaccounts:cdom-release-finalizers"}
- {apiGroup: rbac.authorization.k8s.io, kind: Group, name: "system:serviceaccounts:gpu-domains"}
- {apiGroup: rbac.authorization.k8s.io, kind: Group, name: "system:serviceaccounts:nvidia"}
---
# These neither change policies nor write the status of domains.
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: objects}
rules:
- {apiGroups: ["", apps, resource.k8s.io], resources: ["*"], verbs: ["*"]}
- {apiGroups: [resource.nvidia.com], resources: [computedomains, computedomaincliques], verbs: ["*"]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: objects}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: objects}
subjects:
- {apiGroup: rbac.authorization.k8s.io, kind: Group, name: "system:serviceaccounts:kube-system"}
- {apiGroup: rbac.authorization.k8s.io, kind: Group, name: "system:serviceaccounts:team"}
- {apiGroup: rbac.authorization.k8s.io, kind: User, name: "system:kube-controller-manager"}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: ops, namespace: cdom-system}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: edit}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: ops}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: namespaces}
rules: [{apiGroups: [""], resources: [namespaces], verbs: [get, create, update, patch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: namespaces}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: namespaces}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: nora}]
---
# Kubernetes' role has no claims of its own before 1.33.
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: claims, labels: {rbac.authorization.k8s.io/aggregate-to-edit: "true"}}
rules: [{apiGroups: [resource.k8s.io], resources: [resourceclaims, resourceclaimtemplates], verbs: ["*"]}]
---
apiVersion: v1
kind: Node
metadata: {name: node-a, labels: {kubernetes.io/hostname: node-a}}
---
apiVersion: v1
kind: Node
metadata: {name: node-b, labels: {resource.nvidia.com/computeDomain: $row_domain}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: computedomain-daemon-$row_domain, namespace: cdom-system, labels: {resource.nvidia.com/computeDomain: $row_domain}}
spec: {spec: {devices: {requests: [{name: daemon, exactly: {deviceClassName: compute-domain-daemon.nvidia.com}}]}}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: channel, namespace: team, labels: {resource.nvidia.com/computeDomain: $row_domain}}
spec:
  spec:
    devices:
      requests: [{name: channel, exactly: {deviceClassName: compute-domain-default-channel.nvidia.com}}]
      config:
      - opaque:
          driver: compute-domain.nvidia.com
          parameters: {apiVersion: resource.nvidia.com/v1beta1, kind: ComputeDomainChannelConfig, domainID: $row_domain}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: plain, namespace: team}
spec: {spec: {devices: {requests: [{name: g, exactly: {deviceClassName: gpu.nvidia.com}}]}}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: lost, namespace: team, annotations: {cdom.dev/template-hash: x}}
spec: {spec: {devices: {requests: [{name: g, exactly: {deviceClassName: gpu.nvidia.com}}]}}}
---
YAML
  policy_domain team train '{}' '{channel: {resourceClaimTemplate: {name: train-channel}}}'
  policy_domain team going '{}' '{channel: {resourceClaimTemplate: {name: going-channel}}}'
  policy_domain team waits '{}' '{numNodes: 4, channel: {resourceClaimTemplate: {name: waits-channel}}}'
  policy_domain bounded older '{}' '{channel: {resourceClaimTemplate: {name: older-channel}}}'
  policy_domain bounded placed '{cdom.dev/placement: clique}' '{channel: {resourceClaimTemplate: {name: placed-channel}}}'
  policy_domain team left '{}' '{channel: {resourceClaimTemplate: {name: left-channel}}}' |
    sed 's|\[example.com/stays\]|[example.com/stays, resource.nvidia.com/computeDomain]|'
  printf '{apiVersion: resource.nvidia.com/v1beta1, kind: ComputeDomain, metadata: {name: bare, namespace: team}}\n---\n'
  policy_pod cdom-system "$row_pod" node-a compute-domain-daemon-service-account "$row_domain"
  policy_pod cdom-system "$row_peer" node-b compute-domain-daemon-service-account "$row_domain"
  policy_pod cdom-system imex-aaaaa node-a compute-domain-daemon-service-account "$row_domain"
  policy_pod cdom-system controller node-b cdom-controller ''
  policy_pod team theirs node-b default ''
  printf '{apiVersion: v1, kind: ServiceAccount, metadata: {name: cdom-kubelet-plugin, namespace: cdom-system}}\n---\n'
  policy_pod cdom-system plugin node-a cdom-kubelet-plugin ''
  policy_slice own node-a compute-domain.nvidia.com
  policy_slice peers node-b compute-domain.nvidia.com
  policy_slice gpus node-a gpu.nvidia.com
  policy_daemon_set "computedomain-daemon-$row_domain" "{resource.nvidia.com/computeDomain: $row_domain}" '{}'
  policy_daemon_set refused "{resource.nvidia.com/computeDomain: $row_other}" '{cdom.dev/allow-deletion: "false"}'
  policy_daemon_set permitted "{resource.nvidia.com/computeDomain: $row_other}" '{cdom.dev/allow-deletion: "true"}'
  policy_daemon_set unrelated '{}' '{}'
  policy_event own cdom.dev/compute-domain-controller
  policy_event theirs default-scheduler
  policy_daemon_set plugin '{}' '{}' | sed 's/spec: {nodeSelector/spec: {serviceAccountName: cdom-kubelet-plugin, nodeSelector/'
}
policy_namespace() {  # policy_namespace NAME ANNOTATIONS: user edit may edit it
  cat <<YAML
apiVersion: v1
kind: Namespace
metadata: {name: $1, annotations: $2}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: edit, namespace: $1}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: edit}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: edit}]
---
YAML
}
policy_pod() {  # policy_pod NAMESPACE NAME NODE ACCOUNT DOMAIN
  cat <<YAML
apiVersion: v1
kind: Pod
metadata: {name: $2, namespace: $1, labels: {resource.nvidia.com/computeDomain: "$5"}, annotations: {kept: "yes"}}
spec:
  nodeName: $3
  serviceAccountName: $4
  automountServiceAccountToken: false
  tolerations: [{operator: Exists}]
  containers: [{name: c, image: i}]
---
YAML
}
policy_slice() {  # policy_slice NAME NODE DRIVER
  cat <<YAML
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: $1}
spec: {driver: $3, nodeName: $2, pool: {name: $2, generation: 1, resourceSliceCount: 1}, devices: [{name: channel-0}]}
---
YAML
}
policy_event() {  # policy_event NAME REPORTER
  cat <<YAML
apiVersion: events.k8s.io/v1
kind: Event
metadata: {name: $1, namespace: team}
eventTime: "2026-01-01T00:00:00.000000Z"
reportingController: $2
reportingInstance: i
type: Normal
reason: Seen
action: Report
note: seen
regarding: {apiVersion: v1, kind: Pod, namespace: team, name: theirs}
---
YAML
}
policy_domain() {  # policy_domain NAMESPACE NAME LABELS SPEC: with a finalizer, since nobody here takes it off
  cat <<YAML
apiVersion: resource.nvidia.com/v1beta1
kind: ComputeDomain
metadata: {name: $2, namespace: $1, labels: $3, finalizers: [example.com/stays]}
spec: $4
---
YAML
}
policy_daemon_set() {  # policy_daemon_set NAME LABELS ANNOTATIONS: one that has no pods
  cat <<YAML
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: $1, namespace: cdom-system, labels: $2, annotations: $3}
spec:
  selector: {matchLabels: {app: $1}}
  template:
    metadata: {labels: {app: $1}}
    spec: {nodeSelector: {nowhere: "true"}, containers: [{name: c, image: i}]}
---
YAML
}
policy_clique() {  # policy_clique DOMAIN CLIQUE ENTRIES: node-b's pod owns it
  cat <<YAML
apiVersion: resource.nvidia.com/v1beta1
kind: ComputeDomainClique
metadata:
  name: $1.$2
  namespace: cdom-system
  labels: {resource.nvidia.com/computeDomain: $1, resource.nvidia.com/computeDomain.cliqueID: $2}
  ownerReferences: [{apiVersion: v1, kind: Pod, name: $row_peer, uid: $row_peer_uid}]
daemons: $3
---
YAML
}
pod_uid() { kubectl get pod -n cdom-system "$1" -o jsonpath='{.metadata.uid}'; }
account_token() { kubectl create token compute-domain-daemon-service-account -n cdom-system --duration 1h "$@"; }
what_the_rows_are_about() {
  local own peers
  own='nodeName: node-a, ipAddress: 10.0.0.1, status: Ready'
  peers='nodeName: node-b, ipAddress: 10.0.0.2, status: Ready, index: 0'
  policy_objects >"$stage/objects.yaml"
  wait_for 30 "the objects of the rows are there" kubectl apply -f "$stage/objects.yaml" || return 1
  row_pod_uid=$(pod_uid "$row_pod") row_peer_uid=$(pod_uid "$row_peer")
  {
    policy_clique "$row_domain" c "[{cliqueID: c, $peers}]"
    policy_clique "$row_domain" full "[{cliqueID: full, $peers}, {cliqueID: full, $own, index: 1}]"
    policy_clique "$row_domain" twice "[{cliqueID: twice, $peers}, {cliqueID: twice, $own, index: 0, status: NotReady}]" |
      sed 's/status: Ready, index: 0, status: NotReady/index: 0, status: NotReady/'
    policy_clique "$row_other" c "[{cliqueID: c, $peers}]"
    printf '{apiVersion: resource.nvidia.com/v1beta1, kind: ComputeDomainClique, metadata: {name: bare, namespace: cdom-system}, daemons: []}'
  } | kubectl create -f - || return 1
  kubectl delete computedomain -n team going --wait=false || return 1
  token_of[daemon]=$(account_token --bound-object-kind Pod --bound-object-name "$row_pod" --bound-object-uid "$row_pod_uid") || return 1
  token_of[misnamed]=$(account_token --bound-object-kind Pod --bound-object-name imex-aaaaa --bound-object-uid "$(pod_uid imex-aaaaa)") || return 1
  token_of[unbound]=$(account_token) || return 1
  token_of[plugin]=$(kubectl create token cdom-kubelet-plugin -n cdom-system --duration 1h --bound-object-kind Pod --bound-object-name plugin \
    --bound-object-uid "$(pod_uid plugin)") || return 1
}

# ---- Rows

all_rows() { grep -vE '^(#|$)' "$repo/test/e2e/policies.tsv"; }
rows_of() { all_rows | awk -F '\t' -v policy="$1" '$1 == policy'; }  # rows_of POLICY
with_names() {  # Rows with the names that they use filled in.
  sed "s/\$domain/$row_domain/g; s/\$other/$row_other/g; s/\$pod_uid/$row_pod_uid/g; s/\$peer_uid/$row_peer_uid/g; s/\$pod/$row_pod/g; s/\$peer/$row_peer/g"
}
quoted() {  # quoted NAME TEXT: an option of curl's, as its configuration has it
  local text=${2//\\/\\\\}
  printf '%s = "%s"\n' "$1" "${text//\"/\\\"}"
}
request() {  # request WHO VERB PATH BODY: without a trace
  printf '%s\n' silent 'noproxy = "*"' 'max-time = 20'
  quoted cacert "$stage/plane/pki/ca.crt"
  quoted write-out $'\x1e%{http_code}\x1e%{header_json}\x1d'
  # There is no exec and attach without a trace.
  case $3 in
    */exec\?* | */attach\?*) quoted url "$server$3" ;;
    *) quoted url "$server$3?dryRun=All" ;;
  esac
  if [[ -n ${token_of[$1]-} ]]; then
    quoted header "Authorization: Bearer ${token_of[$1]}"
  else
    quoted cert "$stage/plane/pki/admin.crt"
    quoted key "$stage/plane/pki/admin.key"
    [[ $1 == admin ]] || quoted header "Impersonate-User: $1"
  fi
  case $2 in
    create) printf '%s\n' 'request = "POST"' 'header = "Content-Type: application/json"' ;;
    patch) printf '%s\n' 'request = "PATCH"' 'header = "Content-Type: application/merge-patch+json"' ;;
    delete) printf '%s\n' 'request = "DELETE"' ;;
  esac
  [[ $4 == - ]] || quoted data-binary "$4"
}
# answers < ROWS: to each, in one line, the code, the message and the warnings. One process asks for all.
answers() {
  local policy rule who verb path body rest between=
  while IFS=$'\t' read -r policy rule who verb path body rest; do
    printf '%s' "$between"
    between=$'next\n'
    request "$who" "$verb" "$path" "$body"
  done | curl -q --config - | jq -Rrs 'split("\u001d")[:-1][] | split("\u001e") as [$body, $code, $headers]
    | ($body | try fromjson catch {message: .}) | [$code, .message // "", ($headers | fromjson | .warning[]?)]
    | join(" ") | gsub("[\\n\\t]"; " ")'
}
# decided POLICY ANSWER: sets `verdict` to allow, or to warn or deny and the policy's words; else to what went wrong.
decided() {
  case $2 in
    2??' '*"ValidatingAdmissionPolicy '$1' with binding '$1': "*) verdict="warn ${2#*"with binding '$1': "}" ;;
    2??' '*) verdict=allow ;;
    # What was admitted of an exec or attach goes to a kubelet, and there is none.
    *'no preferred addresses found'*) verdict=allow ;;
    *"ValidatingAdmissionPolicy '$1' with binding '$1' denied request:"*) verdict="deny ${2#*denied request: }" ;;
    *) verdict="neither: $2" ;;
  esac
}
decide() {  # decide POLICY WHO VERB PATH BODY: prints the verdict
  local verdict
  decided "$1" "$({ printf '%s\t' "$1" - "${@:2}" && echo; } | with_names | answers)"
  echo "$verdict"
}
rows_come_out() {  # rows_come_out < ROWS: as they say; prints those that do not
  local policy rule who verb path body expected pattern sentence answer verdict count=0 bad=0
  with_names >"$stage/rows.tsv"
  while IFS=$'\t' read -r policy rule who verb path body expected pattern sentence answer; do
    ((++count))
    decided "$policy" "$answer"
    [[ ${verdict%% *} == "$expected" ]] && { [[ $expected == allow ]] || [[ ${verdict#* } =~ $pattern ]]; } && continue
    echo "$sentence: expected $expected, got $verdict"
    ((++bad))
  done < <(paste "$stage/rows.tsv" <(answers <"$stage/rows.tsv"))
  echo "$count rows, $bad do not come out"
  ((count > 0 && bad == 0))
}
rows_hold() { rows_come_out < <(rows_of "$1"); }  # rows_hold POLICY
claims_of_the_daemons_device_are_for_driver_namespaces_alone() { rows_hold cdom-daemon-claims; }
a_daemons_token_writes_its_own_pod_and_its_own_entry_and_nothing_else() { rows_hold cdom-daemon-account; }
a_child_of_a_domain_is_deleted_by_controllers_or_once_it_is_annotated() { rows_hold cdom-child-deletion; }
claims_of_channels_are_of_a_form_that_the_plugin_takes() { rows_hold cdom-channel-claims; }
who_makes_a_domain_or_its_pod_hears_what_will_not_work_as_he_thinks() {
  local policy
  for policy in cdom-template-name cdom-template-exists cdom-advice cdom-gpu-fraction; do rows_hold "$policy" || return 1; done
}
the_controllers_token_does_the_controllers_work_and_nothing_else() { rows_hold cdom-controller-account; }
a_kubelet_plugins_token_writes_labels_and_slices_of_its_own_node_and_nothing_else() { rows_hold cdom-plugin-account; }
an_administrator_bounds_what_the_domains_of_a_namespace_ask_for() { rows_hold cdom-tenant-limits && rows_hold cdom-tenant-limits-claims; }
REV3_X10_what_a_namespace_says_to_the_driver_is_said_by_who_may_change_its_policies() { rows_hold cdom-driver-namespaces; }
REV3_X14_pods_of_the_drivers_namespace_are_at_the_level_baseline_and_the_plugins_are_its_daemon_sets() { rows_hold cdom-driver-pods; }
REV3_X16_a_pod_that_asks_for_a_channel_as_an_extended_resource_is_refused() { rows_hold cdom-extended-resources; }
REV3_X1_what_tenants_make_has_few_finalizers_owners_and_words() { rows_hold cdom-object-sizes; }
REV3_X7_the_account_that_releases_finalizers_changes_nothing_else() { rows_hold cdom-release-finalizers; }

every_row_is_of_a_policy_and_every_rule_has_one() {
  local rules
  rules=$(kubectl get validatingadmissionpolicies "${policy_names[@]}" -o json |
    jq -r '.items[] | .metadata.name as $policy | range(.spec.validations | length) | $policy + " " + (. + 1 | tostring)' | sort)
  diff <(cut -d ' ' -f 1 <<<"$rules" | sort -u) <(all_rows | cut -f 1 | sort -u) || return 1
  diff <(echo "$rules") <(all_rows | awk -F '\t' '$2 != "-" { print $1 " " $2 }' | sort -u)
}

# ---- Rules

# By the server's own check, and not because it has not come to that yet.
were_checked() {
  kubectl get validatingadmissionpolicies "${policy_names[@]}" -o json |
    jq -e 'all(.items[]; .status.observedGeneration == .metadata.generation and .status.typeChecking != null)'
}
the_policies_are_taken_without_a_warning() {
  wait_for 30 "types were checked" were_checked || return 1
  kubectl get validatingadmissionpolicies "${policy_names[@]}" -o json | jq -c '.items[] | [.metadata.name, .status.typeChecking]'
  kubectl get validatingadmissionpolicies "${policy_names[@]}" -o json | jq -e 'all(.items[]; .status.typeChecking == {})'
}

first_row_is() {  # first_row_is POLICY NUMBER allow|warn|deny
  local policy rule who verb path body rest
  IFS=$'\t' read -r policy rule who verb path body rest < <(rows_of "$1" | awk -F '\t' -v rule="$2" '$2 == rule')
  [[ $(decide "$policy" "$who" "$verb" "$path" "$body") == "$3"* ]]
}
# Without a rule each of its rows passes, and the first of each other rule is objected to as before.
without_rule() {  # without_rule NUMBER: rows as they must come out then
  all_rows | awk -F '\t' -v OFS='\t' -v rule="$1" \
    '$2 == rule { $7 = "allow"; print } $2 != rule && $2 != "-" && !seen[$1, $2]++ { print }'
}
take_rule_out() {  # take_rule_out NUMBER: of each policy that has so many
  jq --argjson rule "$1" 'if (.spec.validations | length) >= $rule then .spec.validations[$rule - 1].expression = "true" else . end' \
    "$stage/policies.json" | kubectl replace -f - >/dev/null
}
rows_come_out_without() { rows_come_out < <(without_rule "$1") >"$stage/without.out"; }
each_rule_is_missed_by_its_rows_when_it_is_taken_out() {
  local number last
  kubectl get validatingadmissionpolicies "${policy_names[@]}" -o json | jq '.items[] | del(.metadata.resourceVersion, .status)' >"$stage/policies.json"
  last=$(all_rows | cut -f 2 | grep -v '^-$' | sort -n | tail -n 1)
  for ((number = 1; number <= last; ++number)); do
    take_rule_out "$number" || return 1
    # Until the API server has taken it.
    wait_for 30 "rows come out as without rule $number" rows_come_out_without "$number" || { cat "$stage/without.out"; return 1; }
  done
  kubectl replace -f "$stage/policies.json" >/dev/null || return 1
  wait_for 30 "all rules are back" rows_come_out_without 0 || { cat "$stage/without.out"; return 1; }
}

# ---- Lives

# without_the_policy NAME COMMAND...: what was let in before it was there; the command is tried until it passes.
without_the_policy() {
  local status=0
  kubectl delete validatingadmissionpolicybinding "$1" || return 1
  wait_for 30 "$1 is off" "${@:2}" || status=1
  kubectl apply -k "$repo/manifests/policies" || return 1
  return "$status"
}
# From before the policy: what was let in can go again.
a_claim_from_before_the_policy_can_lose_its_finalizer_and_go() {
  cat >"$stage/older.yaml" <<'YAML'
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: older, namespace: team, finalizers: [resource.kubernetes.io/delete-protection]}
spec: {devices: {requests: [{name: d, exactly: {deviceClassName: compute-domain-daemon.nvidia.com}}]}}
YAML
  without_the_policy cdom-daemon-claims kubectl create -f "$stage/older.yaml" || return 1
  wait_for 30 "the policy is back" first_row_is cdom-daemon-claims 1 deny || return 1
  # Kubernetes' controller takes its finalizer off.
  kubectl delete resourceclaim older -n team --timeout=30s
}

# A thief of every kind beside one who may: the scheduler gives the device to him alone.
a_thiefs_pod_never_gets_the_daemons_device() {
  local allocated
  kubectl patch node node-a --subresource=status --type=merge -p '{"status": {"capacity": {"pods": "110", "cpu": "8", "memory": "8Gi"}, "allocatable": {"pods": "110", "cpu": "8", "memory": "8Gi"}}}' || return 1
  kubectl create -f - <<'YAML' || return 1
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: node-a}
spec:
  driver: compute-domain.nvidia.com
  nodeName: node-a
  pool: {name: node-a, generation: 2, resourceSliceCount: 1}
  devices: [{name: daemon-0, attributes: {type: {string: daemon}, id: {int: 0}}}]
YAML
  thief by-template team '[{name: d, resourceClaimTemplateName: stolen}]' '{claims: [{name: d}]}' | kubectl create --as edit -f - || return 1
  thief by-claim team '[{name: d, resourceClaimName: stolen}]' '{claims: [{name: d}]}' | kubectl create --as edit -f - || return 1
  # The scheduler makes a claim for what is asked for like this.
  thief by-resource team '[]' '{limits: {deviceclass.resource.kubernetes.io/compute-domain-daemon.nvidia.com: 1}}' >"$stage/by-resource.yaml"
  if kubectl create --as edit -f "$stage/by-resource.yaml"; then echo "a thief may ask for a resource"; return 1; fi
  without_the_policy cdom-extended-resources kubectl create --as edit -f "$stage/by-resource.yaml" || return 1
  if stolen | kubectl create --as edit -f -; then echo "a thief has a claim or a template"; return 1; fi
  # The first two wait for what they name, which is not there. The last has a node, and its claim is refused.
  wait_for 30 "the scheduler was refused" scheduler_was_refused || return 1
  # It is not that nobody could have it.
  thief daemon cdom-system "[{name: d, resourceClaimTemplateName: computedomain-daemon-$row_domain}]" '{claims: [{name: d}]}' | kubectl create -f - || return 1
  wait_for 30 "a daemon has it" scheduled cdom-system daemon || return 1
  allocated=$(kubectl get resourceclaims --all-namespaces -o json | jq -c '[.items[] | select(.status.allocation != null) | .metadata.namespace]')
  [[ $allocated == '["cdom-system"]' ]] || { echo "$allocated"; return 1; }
  [[ -z $(kubectl get pods -n team by-template by-claim by-resource -o jsonpath='{.items[*].spec.nodeName}') ]] || return 1
  kubectl delete pods -n team by-template by-claim by-resource --grace-period=0 --force || return 1
  kubectl delete pod -n cdom-system daemon --grace-period=0 --force
}
thief() {  # thief NAME NAMESPACE CLAIMS RESOURCES: a pod
  cat <<YAML
apiVersion: v1
kind: Pod
metadata: {name: $1, namespace: $2}
spec:
  nodeSelector: {kubernetes.io/hostname: node-a}
  tolerations: [{operator: Exists}]
  resourceClaims: $3
  containers: [{name: c, image: i, resources: $4}]
YAML
}
stolen() {
  cat <<'YAML'
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: stolen, namespace: team}
spec: {devices: {requests: [{name: d, exactly: {deviceClassName: compute-domain-daemon.nvidia.com}}]}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: stolen, namespace: team}
spec: {spec: {devices: {requests: [{name: d, exactly: {deviceClassName: compute-domain-daemon.nvidia.com}}]}}}
YAML
}
scheduled() { [[ -n $(kubectl get pod -n "$1" "$2" -o jsonpath='{.spec.nodeName}') ]]; }
scheduler_was_refused() {
  kubectl get pod -n team by-resource -o json | jq -e 'any(.status.conditions[]?;
    .type == "PodScheduled" and .status == "False" and (.message | contains("cdom-daemon-claims")))'
}

kubernetes_deletes_children_whose_owner_or_namespace_is_gone() {
  # Its owner's end takes a clique; nobody annotated anything.
  kubectl delete pod -n cdom-system "$row_peer" --grace-period=0 --force || return 1
  wait_for 60 "the garbage collector has taken the clique" gone computedomainclique -n cdom-system "$row_domain.c" || return 1
  # A second namespace of the driver goes with all that is in it.
  kubectl create namespace second && kubectl label namespace second cdom.dev/driver=true || return 1
  policy_daemon_set second "{resource.nvidia.com/computeDomain: $row_domain}" '{}' | sed 's/namespace: cdom-system/namespace: second/' | kubectl create -f - || return 1
  wait_for 30 "it is guarded there" guards second || return 1
  kubectl delete namespace second --timeout=60s
}
guards() { ! kubectl delete daemonset -n "$1" "$1" --dry-run=server; }

a_controller_that_is_named_in_the_policy_deletes_under_its_own_user() {
  kubectl create clusterrolebinding robot --clusterrole cluster-admin --user robot || return 1
  [[ $(decide cdom-child-deletion robot delete "/apis/apps/v1/namespaces/cdom-system/daemonsets/computedomain-daemon-$row_domain" -) == 'deny '*'name robot in the policy'* ]] || return 1
  overlay named "$(named_patch)"
  kubectl apply -k "$stage/named" || return 1
  wait_for 30 "it may delete" robot_is allow || return 1
  first_row_is cdom-child-deletion 1 deny || return 1
  kubectl apply -k "$repo/manifests/policies" || return 1
  wait_for 30 "it may not any more" robot_is deny
}
robot_is() { [[ $(decide cdom-child-deletion robot delete "/apis/apps/v1/namespaces/cdom-system/daemonsets/computedomain-daemon-$row_domain" -) == "$1"* ]]; }
# As manifests/README.md has it.
named_patch() { readme_patch 'name: cdom-child-deletion' | sed 's/alice/robot/'; }
readme_patch() {  # readme_patch TEXT: the block of patches with that text
  awk -v text="$1" '/^patches:$/ { block = ""; inside = 1 } /^```$/ { if (inside && index(block, text)) printf "%s", block; inside = 0 }
    inside { block = block $0 "\n" }' "$repo/manifests/README.md"
}

REV3_X6_an_administrator_lists_the_images_that_daemons_may_run() {
  local listed=registry.example.org/mine/cdom-driver@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
  overlay images "$(readme_patch 'name: cdom-controller-account')"
  kubectl apply -k "$stage/images" || return 1
  wait_for 30 "another image is refused" daemons_run_image i deny || return 1
  daemons_run_image "$listed" allow || return 1
  kubectl apply -k "$repo/manifests/policies" || return 1
  wait_for 30 "any image is taken again" daemons_run_image i allow
}
daemons_run_image() {  # daemons_run_image IMAGE VERDICT: of a daemon that the controller's account makes
  local pod='{"serviceAccountName":"compute-domain-daemon-service-account","containers":[{"name":"c","image":"'$1'"}]}' set
  set='{"metadata":{"name":"n","labels":{"resource.nvidia.com/computeDomain":"'$row_domain'"}},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":'$pod'}}}'
  [[ $(decide cdom-controller-account system:serviceaccount:cdom-system:cdom-controller create /apis/apps/v1/namespaces/cdom-system/daemonsets "$set") == "$2"* ]]
}
# kustomize takes the policies for objects of a namespace; the API server does not mind.
in_another_namespace_base_brings_its_label_and_the_policies_along() {
  local template='{"metadata":{"name":"c","labels":{"resource.nvidia.com/computeDomain":"'$row_domain'"}},"spec":{"spec":{"devices":{"requests":[{"name":"d","exactly":{"deviceClassName":"compute-domain-daemon.nvidia.com"}}]}}}}'
  overlay moved 'namespace: gpu-domains'
  wait_for 30 "base is applied" kubectl apply -k "$stage/moved" || return 1
  for policy in "${policy_names[@]}"; do kubectl get validatingadmissionpolicybinding "$policy" || return 1; done
  [[ $(decide cdom-daemon-claims system:serviceaccount:gpu-domains:cdom-controller create \
    /apis/resource.k8s.io/v1/namespaces/gpu-domains/resourceclaimtemplates "$template") == allow ]]
}
overlay() {  # overlay NAME MORE: a kustomization on top of base; kustomize wants relative paths
  mkdir -p "$stage/$1"
  printf 'apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n- %s\n%s\n' \
    "$(realpath --relative-to="$stage/$1" "$repo/manifests/base")" "$2" >"$stage/$1/kustomization.yaml"
}

all_policies() {
  local folder
  for folder in policies policies/advice policies/tenant-limits; do kubectl apply -k "$repo/manifests/$folder" || return 1; done
  kubectl apply -f "$repo/manifests/release-finalizers/policy.yaml"
}
where_they_only_warn_everything_passes_with_the_words_of_the_refusal() {
  local warning rule
  local -a denials=("cdom-child-deletion 1" "cdom-daemon-account 4" "cdom-daemon-claims 1" "cdom-channel-claims 2" "cdom-template-name 1"
    "cdom-controller-account 1" "cdom-tenant-limits 1")
  overlay warns "- $(realpath --relative-to="$stage/warns" "$repo/manifests/policies/advice")
- $(realpath --relative-to="$stage/warns" "$repo/manifests/policies/tenant-limits")
components:
- $(realpath --relative-to="$stage/warns" "$repo/manifests/policies/warn-only")"
  kubectl apply -k "$stage/warns" || return 1
  for rule in "${denials[@]}"; do
    # shellcheck disable=SC2086
    wait_for 30 "it only warns: $rule" first_row_is $rule warn || return 1
  done
  warning=$(kubectl delete daemonset -n cdom-system "computedomain-daemon-$row_domain" --dry-run=server 2>&1) || return 1
  [[ $warning =~ Warning:\ .*cdom.dev/allow-deletion=true ]] || { echo "$warning"; return 1; }
  wait_for 10 "the audit log has it" grep -q 'validation.policy.admission.k8s.io/validation_failure.*cdom-child-deletion' "$stage/plane/audit.log" || return 1
  all_policies || return 1
  for rule in "${denials[@]}"; do
    # shellcheck disable=SC2086
    wait_for 30 "it refuses again: $rule" first_row_is $rule deny || return 1
  done
}
