# Cases of placement: what the policies of manifests/placement make of a pod (placement.tsv), where pods land then, and what
# docs/placement.md says of it. Sourced by e2e.sh.
# shellcheck shell=bash disable=SC2154

declare -A token_of=()
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

# ---- What the policies write

placement_rows() {  # placement_rows POLICY: as JSON, one a line
  grep -vE '^(#|$)' "$repo/test/e2e/placement.tsv" | jq -Rc --arg policy "$1" 'split("\t") as [$of, $part, $where, $kind, $pod, $expected, $sentence]
    | select($of == $policy) | {part: $part, where: $where, kind: $kind, pod: ($pod | fromjson), expected: $expected, sentence: $sentence}'
}
# The domains that the rows name. `going` is deleted, and `beaten` told that its template's name is taken: no controller runs.
placement_domain() {  # placement_domain NAMESPACE NAME
  local labels=cdom.dev/placement:\ clique annotations='' finalizers=''
  case $2 in
    placed) ;;
    alone) labels=cdom.dev/placement:\ exclusive-clique ;;
    free) labels='' ;;
    unknown) labels=cdom.dev/placement:\ rack ;;
    grouped) annotations=cdom.dev/placement-group-label:\ example.com/group ;;
    misgrouped) annotations='cdom.dev/placement-group-label: "no key"' ;;
    selfgrouped) annotations=cdom.dev/placement-group-label:\ cdom.dev/domain ;;
    going) finalizers=example.com/stays ;;
    beaten) ;;
    *) return 0 ;;
  esac
  cat <<YAML
---
apiVersion: resource.nvidia.com/v1beta1
kind: ComputeDomain
metadata: {name: $2, namespace: $1, labels: {$labels}, annotations: {$annotations}, finalizers: [$finalizers]}
spec: {channel: {resourceClaimTemplate: {name: $2-channel}}}
YAML
}
# make_placement_domains < "NAMESPACE NAME" lines: with their namespaces, and returns when pods can be made there.
make_placement_domains() {
  local ns name
  sort -u >"$stage/wanted.txt"
  {
    for ns in $(cut -d ' ' -f 1 "$stage/wanted.txt" | sort -u) plain; do
      printf -- '---\n{apiVersion: v1, kind: Namespace, metadata: {name: "%s", labels: {%s}, annotations: {%s}}}\n' "$ns" \
        "$([[ $ns != driver* ]] || echo 'cdom.dev/driver: "true"')" "$(! requires_placement "$ns" || echo 'cdom.dev/placement-required: "true"')"
    done
    while read -r ns name; do placement_domain "$ns" "$name"; done <"$stage/wanted.txt"
  } >"$stage/domains.yaml"
  kubectl apply --validate=false -f "$stage/domains.yaml" >/dev/null || return 1
  while read -r ns name; do
    case $name in
      going) kubectl delete computedomain -n "$ns" going --wait=false ;;
      beaten) kubectl patch computedomain -n "$ns" beaten --subresource=status --type=merge -p '{"status": {"status": "NotReady",
        "conditions": [{"type": "Ready", "status": "False", "reason": "TemplateNameTaken", "message": "it is",
          "lastTransitionTime": "2026-01-01T00:00:00Z"}]}}' ;;
    esac || return 1
  done <"$stage/wanted.txt"
  kubectl get computedomains --all-namespaces -o json |
    jq '[.items[] | {key: (.metadata.namespace + " " + .metadata.name), value: .metadata.uid}] | from_entries' >"$stage/uids.json"
  wait_for 30 "each namespace has its account" have_accounts
}
requires_placement() {  # requires_placement NAMESPACE
  case $1 in
    m-required-isrequired) return 1 ;;  # For the policy that does not ask.
    required | driver-required | m-required-* | kube-node-lease) return 0 ;;
    *) return 1 ;;
  esac
}
have_accounts() {
  diff <(kubectl get serviceaccounts --all-namespaces --field-selector metadata.name=default -o json | jq -r '.items[].metadata.namespace' | sort) \
    <(kubectl get namespaces -o json | jq -r '.items[].metadata.name' | sort)
}

# What the API server makes of each row, and of the same where no domain is. Rows may name another namespace in `at`.
# tried < ROWS: the rows, each with got, plain, uid, warnings.
tried() {
  local path body between=
  jq -sc --slurpfile uids "$stage/uids.json" 'map(.at //= .where | .domain = ((.pod.claim // "") | rtrimstr("-channel"))
    | .uid = $uids[0][.at + " " + .domain])' >"$stage/rows.json"
  jq -r 'def plural: {Pod: "/api/v1/_/pods", Job: "/apis/batch/v1/_/jobs", Deployment: "/apis/apps/v1/_/deployments",
      StatefulSet: "/apis/apps/v1/_/statefulsets"}[.kind];
    def pod: {metadata: (if .labels then {labels} else {} end), spec: ({automountServiceAccountToken: false, containers: [{name: "c", image: "i"}]}
      + (if .claim then {resourceClaims: [{name: "channel", resourceClaimTemplateName: .claim}]} else {} end)
      + (if .affinity then {affinity} else {} end))};
    .[] | plural as $path | .uid as $uid | (.pod | walk(if . == "$uid" then $uid else . end) | pod) as $pod | {metadata: {name: "made"}, spec: {template: $pod}} as $with
    | {Pod: ($pod | .metadata.name = "made"), Job: ($with | .spec.template.spec.restartPolicy = "Never"),
       Deployment: ($with | .spec.selector.matchLabels = {app: "a"}), StatefulSet: ($with | .spec.selector.matchLabels = {app: "a"})}[.kind] as $body
    | (.at, "plain") as $ns | [($path | sub("_"; "namespaces/" + $ns)), ($body | tojson)] | @tsv' "$stage/rows.json" |
    while IFS=$'\t' read -r path body; do
      printf '%s' "$between"
      between=$'next\n'
      request admin create "$path" "$body"
    done | curl -q --config - | jq -Rsc --slurpfile rows "$stage/rows.json" '
      def own: del(.metadata.uid, .metadata.namespace, .metadata.creationTimestamp, .metadata.managedFields, .metadata.generation, .status);
      [split("\u001d")[:-1][] | split("\u001e") | {object: (.[0] | fromjson | own), warnings: [(.[2] | fromjson | .warning[]?)]}] as $answers
      | range($rows[0] | length) | $rows[0][.] + {got: $answers[2 * .].object, warnings: $answers[2 * .].warnings, plain: $answers[2 * . + 1].object}'
}
placement_words='
  def own: {labelSelector: {matchLabels: {app: "a"}}, topologyKey: "kubernetes.io/hostname"};
  def zone: {key: "zone", operator: "In", values: ["a"]};
  def required(terms): {requiredDuringSchedulingIgnoredDuringExecution: terms};
  def preferred(terms): {preferredDuringSchedulingIgnoredDuringExecution: terms};
  def nodes(terms): required({nodeSelectorTerms: terms});
  def clique: {labelSelector: {matchLabels: {"cdom.dev/domain": .uid}}, topologyKey: "nvidia.com/gpu.clique"};
  def group(key; value): clique * {labelSelector: {matchExpressions: [{key: key, operator: "In", values: [value]}]}, matchLabelKeys: [key]};
  def whole: [{key: "nvidia.com/gpu.sharing-strategy", operator: "NotIn", values: ["mps", "time-slicing"]},
    {key: "nvidia.com/gpu.workload.config", operator: "NotIn", values: ["vm-passthrough", "vm-vgpu"]}];
  def alone: {labelSelector: {matchExpressions: [{key: "cdom.dev/domain", operator: "Exists"}, {key: "cdom.dev/domain", operator: "NotIn", values: [.uid]}]},
    namespaceSelector: {}, topologyKey: "nvidia.com/gpu.clique"};
  def usual: {podAffinity: required([clique]), nodeAffinity: nodes([{matchExpressions: whole}])};
  # The whole object, so that nothing else has changed.
  def as_made: .got.kind == "Pod" and .got == .plain;
  def becomes(affinity): .uid as $uid | affinity as $affinity | .got == (.plain | .metadata.labels["cdom.dev/domain"] = $uid | .spec.affinity = $affinity);
  def silent: .warnings == [] and .got.kind == .kind;
  # A copy that only warns refuses, too.
  def refuses(pattern): [.got.message // "", .warnings[]] | any(test(pattern));
  def warns(pattern): (.warnings | length) == 1 and (.warnings[0] | test(pattern)) and .got.kind == .kind;'
# came_out < ROWS that were tried: [whether it does as it says, the row], one a line.
came_out_as_said() {
  local program
  jq -sc . >"$stage/tried.json"
  program=$(jq -r 'to_entries | map("(.[\(.key)] | [(\(.value.expected)), .])") | join(", ")' "$stage/tried.json")
  jq -c "$placement_words $program" "$stage/tried.json"
}
placement_rows_hold() {  # placement_rows_hold POLICY: each of them
  placement_rows "$1" | tried | came_out_as_said >"$stage/came.json" || return 1
  jq -r 'select(.[0] != true) | .[1] | "\(.sentence):\n got   \(.got | {metadata, spec, message} | tojson)\n plain \(.plain | {metadata, spec} | tojson)\n said  \(.warnings | tojson)"' "$stage/came.json"
  echo "$(wc -l <"$stage/came.json") rows"
  jq -se 'length > 7 and all(.[]; .[0] == true)' "$stage/came.json" >/dev/null
}
placement_rows_fall() { ! placement_rows_hold "$1"; }
what_the_rows_of_placement_are_about() {
  { placement_rows place && placement_rows check && placement_rows required; } |
    jq -r 'select(.pod.claim) | .where + " " + (.pod.claim | rtrimstr("-channel"))' | grep -v other | make_placement_domains
}

each_pod_of_the_table_is_placed_as_it_says_and_nothing_else_of_it_changes() {
  kubectl apply -k "$repo/manifests/placement" || return 1
  wait_for 30 "all rows come out" placement_rows_hold place || { placement_rows_hold place; return 1; }
  kubectl delete -k "$repo/manifests/placement" || return 1
  wait_for 30 "it is undone" placement_rows_fall place
}
REV3_X5_where_placement_is_required_a_pod_cannot_keep_itself_out_of_its_clique() {
  local uid label
  kubectl apply -k "$repo/manifests/placement" && kubectl apply -k "$repo/manifests/placement/required" || return 1
  wait_for 30 "pods are placed" placement_rows_hold place || return 1
  wait_for 30 "all rows come out" placement_rows_hold required || { placement_rows_hold required; return 1; }
  wait_for 30 "types were checked" is_typed cdom-placement-required || return 1
  # Nor by another label later.
  kubectl create -f - <<'YAML' || return 1
{apiVersion: v1, kind: Pod, metadata: {name: later, namespace: required}, spec: {automountServiceAccountToken: false, containers: [{name: c, image: i}],
  resourceClaims: [{name: channel, resourceClaimTemplateName: placed-channel}]}}
YAML
  uid=$(kubectl get pod -n required later -o json | jq -r '.metadata.labels["cdom.dev/domain"]')
  [[ $uid == "$(kubectl get computedomain -n required placed -o jsonpath='{.metadata.uid}')" ]] || return 1
  for label in cdom.dev/domain- cdom.dev/domain=mine; do
    refused 'cdom-placement-required' kubectl label pod -n required later "$label" --overwrite || return 1
  done
  kubectl label pod -n required later app=a || return 1
  kubectl delete pod -n required later --grace-period=0 --force || return 1
  kubectl delete -k "$repo/manifests/placement/required" && kubectl delete -k "$repo/manifests/placement" || return 1
  wait_for 30 "it is undone" placement_rows_fall required
}
each_workload_of_the_table_is_told_what_it_lacks_where_the_policy_only_looks() {
  local refusal job='{apiVersion: batch/v1, kind: Job, metadata: {name: told, namespace: team}, spec: {template: {spec: {restartPolicy: Never,
    resourceClaims: [{name: channel, resourceClaimTemplateName: placed-channel}], containers: [{name: c, image: i}]}}}}'
  kubectl apply -k "$repo/manifests/placement/check" || return 1
  wait_for 30 "all rows come out" placement_rows_hold check || { placement_rows_hold check; return 1; }
  # By its own check of the types, too.
  wait_for 30 "types were checked" is_typed cdom-placement-check || { kubectl get validatingadmissionpolicy cdom-placement-check -o json | jq .status; return 1; }
  echo "$job" >"$stage/job.yaml"
  kubectl create -f "$stage/job.yaml" 2>"$stage/told.txt" || return 1
  cat "$stage/told.txt"
  grep -q '^Warning: .*nothing keeps the pods of ComputeDomain placed in one NVLink clique' "$stage/told.txt" || return 1
  wait_for 10 "the audit log has it" grep -q 'validation.policy.admission.k8s.io/validation_failure.*cdom-placement-check' "$stage/plane/audit.log" || return 1
  kubectl delete job -n team told || return 1
  kubectl patch validatingadmissionpolicybinding cdom-placement-check --type=merge -p '{"spec": {"validationActions": ["Deny"]}}' || return 1
  wait_for 30 "it refuses" refused 'nothing keeps the pods of ComputeDomain placed' kubectl create --dry-run=server -f "$stage/job.yaml" || return 1
  kubectl delete -k "$repo/manifests/placement/check" || return 1
  wait_for 30 "it is undone" placement_rows_fall check
}
is_typed() {  # is_typed POLICY
  kubectl get validatingadmissionpolicy "$1" -o json | jq -e '.status.observedGeneration == .metadata.generation and .status.typeChecking == {}'
}

# ---- Each part of the policies taken out. Each time in a namespace of its own, so that the API server takes all of them at once.

# mutants POLICY < the policy and its binding: a JSON line for each part, {part, at, objects}, and one for `nothing`.
mutants() {
  jq -sc --arg policy "$1" '
    map(if .kind == "List" then .items[] else . end) as [$one, $two]
    | (if $one.kind | endswith("Binding") then $two else $one end) as $whole | (if $one.kind | endswith("Binding") then $one else $two end) as $binding
    # An expression of parts, each behind a line with its name: joined by "+", or by "&&".
    | def parts: ltrimstr("// ") | split("\n// ") | map(select(. != "")
        | {name: (split(":")[0]), code: (split("\n")[1:] | join("\n") | sub("\\s*(\\+|&&)\\s*$"; ""))});
      def leave_out($part; $between): [parts[] | select(.name != $part) | "(" + .code + ")"] | join(" \($between)\n");
      def tamed: {exclusive: "false", isRequired: "true", groups: "[]", ownTerms: "[]", terms: "[variables.term + \u00270\u0027]", pod: "dyn(object).spec"};
      def without($part):
        .spec.matchConditions[0].expression |= leave_out($part; "&&")
        | .spec.variables |= map(if .name == $part then .expression = tamed[$part] else . end)
        | if .spec.validations then .spec.validations |= (to_entries | map(if "\(.key + 1)" == $part then .value.expression = "true" else . end | .value)) else . end
        | .spec.matchConstraints.resourceRules |= map(.resources -= [$part] | select(.resources != []))
        | if .spec.mutations then .spec.mutations[0].jsonPatch.expression |= leave_out($part; "+") else . end;
      [$whole | (.spec.matchConditions[0].expression, (.spec.mutations // [])[].jsonPatch.expression | parts[].name), (.spec.variables[].name | select(tamed[.])),
        (.spec.validations // [] | to_entries[].key + 1 | tostring),
        (if .kind | startswith("Validating") then [.spec.matchConstraints.resourceRules[].resources[]] | select(length > 1)[] else empty end)]
      + [$binding.spec.matchResources.namespaceSelector.matchExpressions[].key] + ["selector", "nothing"]
    | .[] as $part
    | ("m-" + $policy + "-" + ($part | ascii_downcase | gsub("[^a-z0-9]"; "-"))) as $name
    # Not in one namespace: what one of them writes the other would find.
    | ({place: {"kubernetes.io/metadata.name": "kube-system", "cdom.dev/driver": "driver"},
        check: {"kubernetes.io/metadata.name": "kube-public", "cdom.dev/driver": "driver-too"},
        required: {"kubernetes.io/metadata.name": "kube-node-lease", "cdom.dev/driver": "driver-required"}}[$policy][$part] // $name) as $at
    | {name: $name, labels: {"example.com/mutant": "true"}} as $meta
    | {part: $part, at: $at, objects: [
        ($whole | without($part) | .metadata = $meta),
        ($binding | .metadata = $meta | .spec.policyName = $name
          | if $part == "selector" then .spec.paramRef.selector = {} else . end
          | if .spec.validationActions then .spec.validationActions = ["Warn"] else . end
          | .spec.matchResources.namespaceSelector.matchExpressions |= map(select(.key != $part)) + [{key: "kubernetes.io/metadata.name", operator: "In", values: [$at]}])]}'
}
mutants_of() {  # mutants_of POLICY FOLDER
  kubectl kustomize "$2" | kubectl create --dry-run=client --validate=false -f - -o json | mutants "$1"
}
# rows_of_mutants POLICY: each row in the namespace of the policy that lacks its part, and for `nothing` the first that is about something.
rows_of_mutants() {
  placement_rows "$1" | jq -sc --slurpfile mutants "$stage/$1.mutants" '. as $rows | $mutants[] as $mutant
    | if $mutant.part == "nothing" then [$rows[] | select(.part == "label" or .part == "1")][0] else $rows[] | select(.part == $mutant.part) end
    | . + {at: $mutant.at, part: $mutant.part}'
}
nothing_is_missed() {
  for policy in place check required; do
    rows_of_mutants "$policy" | jq -c 'select(.part == "nothing")' | tried | came_out_as_said | jq -e '.[0] == true' || return 1
  done
}
each_part_of_the_policies_of_placement_is_missed_by_its_rows_when_it_is_taken_out() {
  local policy
  mutants_of place "$repo/manifests/placement" >"$stage/place.mutants" || return 1
  mutants_of check "$repo/manifests/placement/check" >"$stage/check.mutants" || return 1
  mutants_of required "$repo/manifests/placement/required" >"$stage/required.mutants" || return 1
  for policy in place check required; do
    # Parts of the policy, and parts that rows name.
    diff <(jq -r 'select(.part != "nothing").part' "$stage/$policy.mutants" | sort) <(placement_rows "$policy" | jq -r 'select(.part != "-").part' | sort -u) || return 1
  done
  { rows_of_mutants place && rows_of_mutants check && rows_of_mutants required; } |
    jq -r 'select(.pod.claim) | .at + " " + (.pod.claim | rtrimstr("-channel"))' | grep -v other | make_placement_domains || return 1
  # In this order: when the last ones act, all do.
  jq -s '{apiVersion: "v1", kind: "List", items: [.[].objects[]]}' "$stage"/{place,check,required}.mutants >"$stage/mutants.json"
  kubectl create --validate=false -f "$stage/mutants.json" >/dev/null || return 1
  wait_for 30 "whole copies act" nothing_is_missed || return 1
  for policy in place check required; do
    rows_of_mutants "$policy" | tried | came_out_as_said | tee "$stage/came.json" |
      jq -r 'select(.[0] == true and .[1].part != "nothing") | "without \(.[1].part) it comes out all the same: \(.[1].sentence)"'
    jq -se 'length > 7 and all(.[]; (.[0] == true) == (.[1].part == "nothing"))' "$stage/came.json" >/dev/null || return 1
  done
  forget /apis/admissionregistration.k8s.io/v1/{mutating,validating}"admissionpolic"{ybindings,ies}"?labelSelector=example.com/mutant"
}
forget_the_domains_of_the_rows() {
  local ns name
  kubectl get computedomains --all-namespaces -o json | jq -r '.items[] | select(.metadata.finalizers) | .metadata.namespace + " " + .metadata.name' |
    while read -r ns name; do kubectl patch computedomain -n "$ns" "$name" --type=merge -p '{"metadata": {"finalizers": null}}' || return 1; done || return 1
  kubectl delete computedomains --all --all-namespaces --timeout=30s
}

# ---- Where pods land

placed_domain() {  # placed_domain NAME MODE [GROUP_LABEL]
  cat <<YAML
---
apiVersion: resource.nvidia.com/v1beta1
kind: ComputeDomain
metadata: {name: $1, namespace: default, labels: {cdom.dev/placement: $2}, annotations: {${3:+cdom.dev/placement-group-label: $3}}}
spec: {channel: {resourceClaimTemplate: {name: $1-channel}}}
YAML
}
ready_domain() {  # ready_domain NAME MODE [GROUP_LABEL]: made, and waited for, as the page tells who wants to be sure
  placed_domain "$@" | make && kubectl wait --for=condition=Ready computedomain "$1" --timeout=60s
}
# A pod's metadata and spec, without a word about where it goes, behind so many blanks.
unplaced() {  # unplaced DOMAIN LABELS INDENT [AFFINITY]
  sed "s/^/$(printf "%$3s" '')/" <<YAML
metadata: {labels: {$2}, annotations: {nodesim.cdom.dev/run-seconds: "-1"}}
spec:
  terminationGracePeriodSeconds: 1
  resourceClaims: [{name: channel, resourceClaimTemplateName: $1-channel}]
  affinity: ${4:-null}
  tolerations: [{key: nvidia.com/gpu, operator: Exists}]
  containers: [{name: worker, image: busybox, resources: {claims: [{name: channel}]}}]
YAML
}
unplaced_job() {  # unplaced_job NAME DOMAIN COUNT [LABELS]
  printf -- '---\napiVersion: batch/v1\nkind: Job\nmetadata: {name: %s, namespace: default}\nspec:\n  completions: %s\n  parallelism: %s\n  template:\n%s\n      restartPolicy: Never\n' \
    "$1" "$3" "$3" "$(unplaced "$2" "${4-}" 4)"
}
unplaced_pod() {  # unplaced_pod NAME DOMAIN [AFFINITY]: without labels
  printf -- '---\napiVersion: v1\nkind: Pod\n%s\n' "$(unplaced "$2" '' 0 "${3-}" | sed "s/^metadata: {labels: {}/metadata: {name: $1, namespace: default/")"
}
# A Job, a Deployment and a StatefulSet, which make five pods, and two pods.
five_kinds() {  # five_kinds NAME
  local kind own='{podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{labelSelector: {matchLabels: {app: '$1'}}, topologyKey: kubernetes.io/hostname}]}, nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: nvidia.com/gpu.clique, operator: Exists}]}]}}}'
  unplaced_job "$1" "$1" 2
  for kind in Deployment StatefulSet; do
    printf -- '---\napiVersion: apps/v1\nkind: %s\nmetadata: {name: %s, namespace: default}\nspec:\n  replicas: %d\n  selector: {matchLabels: {app: %s}}\n  template:\n%s\n' \
      "$kind" "$1" "$([[ $kind == Deployment ]] && echo 2 || echo 1)" "$1" "$(unplaced "$1" "app: $1" 4)"
  done
  unplaced_pod "$1-bare" "$1"
  unplaced_pod "$1-own" "$1" "$own"
}
# What is of the cases, not of the API server, needs no schemas.
make() { kubectl create --validate=false -f "${1:--}"; }  # make [FILE]
forget() {  # forget PATH...: of collections, each in one request
  curl -q --silent --show-error --fail --noproxy '*' --max-time 30 --cacert "$stage/plane/pki/ca.crt" --cert "$stage/plane/pki/admin.crt" \
    --key "$stage/plane/pki/admin.key" --request DELETE "${@/#/$server}" >/dev/null
}
# As JSON: for each domain the cliques of its pods, null for one that has no node yet, and "unplaced" for one without the label.
where_pods_are() {
  [[ -s $stage/cliques.json ]] || cliques_of_nodes >"$stage/cliques.json"
  kubectl get computedomains,pods -o json | jq -c --slurpfile cliques "$stage/cliques.json" '$cliques[0] as $clique
    | ([.items[] | select(.kind == "ComputeDomain") | {(.metadata.name): .metadata.uid}] | add // {}) as $uid
    | [.items[] | select(.kind == "Pod") | (.spec.resourceClaims[0].resourceClaimTemplateName | rtrimstr("-channel")) as $domain
        | {domain: $domain, clique: (if .metadata.labels["cdom.dev/domain"] != $uid[$domain] then "unplaced"
            elif .spec.nodeName then $clique[.spec.nodeName] else null end)}]
    | group_by(.domain) | map({(.[0].domain): map(.clique)}) | add // {}'
}
cliques_of_nodes() { kubectl get nodes -o json | jq -c '.items | map({(.metadata.name): .metadata.labels["nvidia.com/gpu.clique"]}) | add'; }
pods_have_nodes() {  # pods_have_nodes COUNT
  where_pods_are >"$stage/where.json" && jq -e --argjson count "$1" '[.[][]] | length == $count and all(.[]; . != null)' "$stage/where.json"
}
# What a case left that failed must not make the next one fail.
nothing_is_placed() {
  workloads_end || return 1
  wait_for 60 "nobody is there" nobody_is_there && wait_for 60 "the domains are gone" no_domain_is_there
}
workloads_end() {
  local -a kinds=(/apis/batch/v1/_/jobs /apis/apps/v1/_/deployments /apis/apps/v1/_/statefulsets /api/v1/_/pods
    /apis/resource.nvidia.com/v1beta1/_/computedomains)
  kinds=("${kinds[@]/_/namespaces/default}")
  forget "${kinds[@]/%/?propagationPolicy=Background}"
}
nobody_is_there() { [[ -z $(kubectl get pods,jobs,deployments,statefulsets -o name) ]]; }

# Four domains at a time, one a clique, of which at most one would take others in: so a pod that lands elsewhere is in somebody's
# way. They are waited for, as the page tells who wants to be sure.
pods_of_five_kinds_without_affinity_land_in_the_clique_of_their_domain_each_time() {
  local rounds=20 round name
  [[ -z ${CDOM_NIGHTLY-} ]] || rounds=200
  for ((round = 0; round < rounds; round += 4)); do
    for name in 0 1 2 3; do placed_domain "r$((round + name))" "$( ((name == 0)) && echo clique || echo exclusive-clique)"; done >"$stage/round.yaml"
    make "$stage/round.yaml" && kubectl wait --for=condition=Ready computedomain "r$round" "r$((round + 1))" "r$((round + 2))" "r$((round + 3))" --timeout=60s || return 1
    for name in 0 1 2 3; do five_kinds "r$((round + name))"; done >"$stage/round.yaml"
    make "$stage/round.yaml" || return 1
    wait_for 60 "all pods of round $round have nodes" pods_have_nodes 28 || { cat "$stage/where.json"; kubectl get pods; return 1; }
    jq -e 'length == 4 and all(.[]; length == 7 and (unique | length == 1) and .[0] != "unplaced")
      and (map(.[0]) | unique | length == 4)' "$stage/where.json" || { cat "$stage/where.json"; kubectl get pods -L cdom.dev/domain -o wide; return 1; }
    workloads_end && wait_for 60 "the nodes are free" nobody_is_there || { kubectl get pods; return 1; }
  done
  figure="$rounds rounds"
  wait_for 60 "the domains are gone" no_domain_is_there
}
no_domain_is_there() { [[ -z $(kubectl get computedomains --all-namespaces -o name) ]]; }

in_one_clique() {  # in_one_clique DOMAIN COUNT
  where_pods_are >"$stage/where.json" &&
    jq -e --arg domain "$1" --argjson count "$2" '.[$domain] | length == $count and all(.[]; . != null and . != "unplaced") and (unique | length == 1)' "$stage/where.json"
}
# One more domain than there are cliques, each of three pods where eight have room.
an_exclusive_domain_waits_with_the_schedulers_words_while_others_have_all_cliques_and_goes_on_when_one_ends() {
  local name
  for name in one two three four; do
    ready_domain "$name" exclusive-clique || return 1
    unplaced_job "$name" "$name" 3 | make || return 1
  done
  for name in one two three four; do wait_for 60 "$name has its clique" in_one_clique "$name" 3 || { cat "$stage/where.json"; return 1; }; done
  jq -e 'map(.[0]) | unique | length == 4' "$stage/where.json" || return 1
  ready_domain waits exclusive-clique || return 1
  unplaced_job waits waits 3 | make || return 1
  wait_for 60 "the domain has the scheduler's words" says InUse waits PodsWaiting '0/32 nodes are available: 32 node.*anti-affinity' || { kubectl get cdom waits -o json | jq .status; return 1; }
  jq -e '.waits == [null, null, null]' <(where_pods_are) || return 1
  # One that is not exclusive itself is kept out as well.
  ready_domain guest clique || return 1
  unplaced_job guest guest 1 | make || return 1
  wait_for 60 "the guest waits, too" says InUse guest PodsWaiting "existing pods anti-affinity" || { kubectl get cdom guest -o json | jq .status; return 1; }
  kubectl delete job,computedomain guest --wait=false || return 1
  kubectl delete job two || return 1
  wait_for 60 "it has the clique that is free" in_one_clique waits 3 || { cat "$stage/where.json"; return 1; }
  # A pod that comes later follows, also where another clique has more room.
  unplaced_pod late waits | make || return 1
  wait_for 30 "one more goes there" in_one_clique waits 4 || { cat "$stage/where.json"; return 1; }
  nothing_is_placed
}

# The first one fills a clique, so that the second has no room there; without groups it would have to wait for it.
groups_of_one_domain_have_a_clique_each() {
  ready_domain groups clique example.com/group || return 1
  unplaced_job first groups 8 'example.com/group: "1"' | make || return 1
  wait_for 60 "the first has its clique" in_one_clique groups 8 || { cat "$stage/where.json"; return 1; }
  unplaced_job second groups 8 'example.com/group: "2"' | make || return 1
  wait_for 60 "the second has nodes" pods_have_nodes 16 || { cat "$stage/where.json"; return 1; }
  kubectl get pods -o json | jq -c --slurpfile cliques "$stage/cliques.json" '$cliques[0] as $clique | .items
    | group_by(.metadata.labels["example.com/group"]) | map(map($clique[.spec.nodeName]) | unique)' | tee "$stage/groups.json"
  jq -e 'map(length) == [1, 1] and .[0] != .[1]' "$stage/groups.json" || return 1
  nothing_is_placed
}

# With Fail nobody could make a pod then.
without_the_crd_pods_are_made_as_ever() {
  stop_controller
  kubectl delete crd computedomains.resource.nvidia.com --timeout=30s || return 1
  unplaced_pod lonely none | make || return 1
  kubectl get pod lonely -o json | jq -e '.metadata.labels == null and .spec.affinity == null' || return 1
  kubectl delete pod lonely --wait=false || return 1
  kubectl apply -k "$repo/crds" || return 1
  start_controller
  wait_for 60 "the controller leads" leads || return 1
  placed_domain again clique | make || return 1
  wait_for 30 "pods are placed again" is_placed again || return 1
  kubectl delete computedomain again --timeout=30s
}
is_placed() { kubectl create --dry-run=server -f <(unplaced_pod probe "$1") -o json | jq -e '.metadata.labels["cdom.dev/domain"] != null'; }

placement_is_undone_and_pods_that_run_stay_as_they_are() {
  local lives
  ready_domain undone clique || return 1
  unplaced_job undone undone 3 | make || return 1
  wait_for 60 "it has its clique" in_one_clique undone 3 || return 1
  wait_for 60 "its pods run" are_running 3 || return 1
  lives=$(placed_lives)
  kubectl delete -k "$repo/manifests/placement" || return 1
  wait_for 30 "pods are placed no more" is_not_placed undone || return 1
  [[ -z $(kubectl get mutatingadmissionpolicies,mutatingadmissionpolicybindings -l app.kubernetes.io/part-of=cdom -o name) ]] || return 1
  [[ $(placed_lives) == "$lives" ]] || { echo "was $lives"; placed_lives; return 1; }
  kubectl apply -k "$repo/manifests/placement" || return 1
  wait_for 30 "pods are placed again" is_placed undone || return 1
  [[ $(placed_lives) == "$lives" ]] || return 1
  kubectl delete job,computedomain undone --timeout=60s
}
is_not_placed() { kubectl create --dry-run=server -f <(unplaced_pod probe "$1") -o json | jq -e '.metadata.labels == null and .spec.affinity == null'; }
are_running() { [[ $(kubectl get pods -o json | jq '[.items[] | select(.status.phase == "Running")] | length') == "$1" ]]; }
placed_lives() { kubectl get pods -o json | jq -cS '[.items[] | [.metadata.uid, .metadata.labels, .spec.affinity, .spec.nodeName, .status.containerStatuses[0].restartCount]] | sort'; }

# ---- The page

each_command_of_the_page_of_placement_does_what_it_says() { page_holds placement 15; }

# Each file of examples/, and each object that is written out on the page.
each_example_and_each_object_of_the_page_is_taken_by_strict_validation() {
  local file count=0
  kubectl apply -k "$repo/manifests/placement" || return 1
  awk '/^```yaml$/ { inside = 1; print "---"; next } /^```$/ { inside = 0 } inside' "$repo/docs/placement.md" "$repo/docs/gpus.md" >"$stage/page.yaml"
  while read -r file; do
    ((++count))
    kubectl create --dry-run=server --validate=strict -f "$file" 2>"$stage/strict.err" || { echo "$file"; cat "$stage/strict.err"; return 1; }
    # That newer clusters have a later version of resource.k8s.io is no fault of a file for older ones.
    refused '' grep -v 'is deprecated in' "$stage/strict.err" || { echo "$file"; cat "$stage/strict.err"; return 1; }
  done < <(echo "$stage/page.yaml"; find "$repo/examples" -name '*.yaml' | sort)
  ((count >= 4))
}
