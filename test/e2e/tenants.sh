# Cases of tenants: who may do what, and what docs/tenants.md says of it. Sourced by e2e.sh.
# shellcheck shell=bash disable=SC2154

# Users by the names of Kubernetes' roles, each bound to its own in the namespace `team`; `neighbour` may edit `other`, and
# `operator` may look into the driver's namespace.
tenants_objects() {
  local role
  for role in view edit admin; do tenant_binding team "$role" "$role"; done
  tenant_binding other neighbour edit
  tenant_binding cdom-system operator view
  printf '{apiVersion: v1, kind: Namespace, metadata: {name: %s}}\n---\n' team other
}
tenant_binding() {  # tenant_binding NAMESPACE USER ROLE
  cat <<YAML
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: $2, namespace: $1}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: $3}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: $2}]
---
YAML
}
the_tenants_are_there() {
  tenants_objects >"$stage/tenants.yaml"
  # Namespaces stand last, so that the second time all is taken.
  wait_for 30 "the tenants are there" kubectl apply -f "$stage/tenants.yaml" || return 1
  wait_for 30 "Kubernetes has put the roles together" may_create_domains edit || return 1
  may_create_domains admin
}
may_create_domains() { kubectl auth can-i create computedomains.resource.nvidia.com -n team --as "$1"; }

forbidden() {  # forbidden COMMAND...: the API server says no
  local output
  if output=$("$@" 2>&1); then echo "was not refused: $*"; return 1; fi
  [[ $output =~ Forbidden|forbidden ]] || { echo "$output"; return 1; }
}

# ---- Rights

# The page's table, one right a line: who, where, verb and object, with tabs between the first three.
page_permissions() {
  awk -F ' *[|] *' '
    !/^\|/ { inside = 0 }
    /^\| Who \| Where \|/ { inside = 1; next }
    inside && !/^\|-/ {
      gsub(/`/, "")
      for (who = split($2, whos, ", "); who; --who)
        for (verb = split($4, verbs, ", "); verb; --verb)
          for (object = split($5, objects, ", "); object; --object)
            print whos[who] "\t" $3 "\t" verbs[verb] " " objects[object]
    }' "$repo/docs/tenants.md"
}
# permissions_of USER NAMESPACE: as the API server has them, written like the page's.
permissions_of() {
  printf '{"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectRulesReview", "spec": {"namespace": "%s"}}' "$2" |
    kubectl create --as "$1" --raw /apis/authorization.k8s.io/v1/selfsubjectrulesreviews -f - | jq -r '.status.resourceRules[]
      | .apiGroups[] as $group | .verbs[] as $verb | (.resourceNames // [""])[] as $name | .resources[] | split("/")
      | $verb + " " + .[0] + (if $group == "" then "" else "." + $group end)
        + (if .[1] then "/" + .[1] else "" end) + (if $name == "" then "" else " named " + $name end)' | sort -u
}
# Of a tenant only what is ours, of an account of ours all but what everybody may.
our_permissions_of() {  # our_permissions_of WHO USER NAMESPACE
  if [[ $2 == system:* ]]; then
    comm -23 <(permissions_of "$2" "$3") <(permissions_of nobody "$3")
  else
    permissions_of "$2" "$3" | grep -E '\.resource\.nvidia\.com( |/|$)'
  fi
}
user_of() {  # user_of WHO: as the page calls them
  case $1 in
    view | edit | admin) echo "$1 team" ;;
    controller) echo "system:serviceaccount:cdom-system:cdom-controller cdom-system" ;;
    daemon) echo "system:serviceaccount:cdom-system:compute-domain-daemon-service-account cdom-system" ;;
    *) return 1 ;;
  esac
}
who_may_do_what_is_what_the_page_says() {
  local who user own bad=0
  local -a whos
  mapfile -t whos < <(page_permissions | cut -f 1 | sort -u)
  ((${#whos[@]} == 5)) || { echo "no table"; return 1; }
  for who in "${whos[@]}"; do
    read -r user own < <(user_of "$who") || { echo "who is $who?"; return 1; }
    diff <(page_permissions | awk -F '\t' -v who="$who" '$1 == who { print $3 }' | sort -u) <(our_permissions_of "$who" "$user" "$own") ||
      { echo "$who in $own"; ((++bad)); }
    diff <(page_permissions | awk -F '\t' -v who="$who" '$1 == who && $2 == "everywhere" { print $3 }' | sort -u) \
      <(our_permissions_of "$who" "$user" other) || { echo "$who elsewhere"; ((++bad)); }
  done
  ((bad == 0))
}

an_editor_of_a_namespace_runs_the_quickstart_which_its_viewers_see_and_no_other_tenant() {
  sed 's/namespace: default/namespace: team/' "$repo/examples/quickstart.yaml" >"$stage/quickstart.yaml"
  kubectl create --as edit -f "$stage/quickstart.yaml" || return 1
  wait_for 60 "a viewer sees it ready" viewer_sees 'Ready 4/4' || return 1
  grep -q AllMembersReady < <(kubectl describe computedomain quickstart -n team --as view) || return 1
  kubectl annotate computedomain quickstart -n team cdom.dev/deletion-grace=1m --as edit || return 1
  forbidden kubectl delete computedomain quickstart -n team --as view || return 1
  forbidden kubectl get computedomain quickstart -n team --as neighbour || return 1
  forbidden kubectl get computedomains --all-namespaces --as admin || return 1
  forbidden kubectl patch computedomain quickstart -n team --subresource=status --type=merge -p '{"status": {"status": "NotReady"}}' --as admin || return 1
  forbidden kubectl get computedomaincliques -n cdom-system --as admin || return 1
  [[ -n $(kubectl get computedomaincliques -n cdom-system --as operator -o name) ]] || return 1
  forbidden kubectl delete computedomaincliques --all -n cdom-system --as operator || return 1
  kubectl delete -f "$stage/quickstart.yaml" --as edit --timeout=60s
}
viewer_sees() { [[ $(kubectl get computedomain quickstart -n team --as view -o jsonpath='{.status.status} {.status.members}') == "$1" ]]; }

# ---- Quotas

exceeds() {  # exceeds RESOURCE COMMAND...: the quota says no, and over what
  local output
  if output=$("${@:2}" 2>&1); then echo "was not refused: ${*:2}"; return 1; fi
  [[ $output == *'exceeded quota: compute-domains'*"$1"* ]] || { echo "$output"; return 1; }
}
claims_in_other() { [[ $(kubectl get resourceclaims -n other -o name | wc -l) == "$1" ]]; }
claim_of_gpus() {  # claim_of_gpus NAME COUNT
  printf '{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: %s}, spec: {devices: {requests: [{name: g, exactly: {deviceClassName: gpu.nvidia.com, count: %s}}]}}}\n' "$1" "$2"
}
pod_of_gpus() {  # pod_of_gpus NAME COUNT: by the device plugin
  printf '{apiVersion: v1, kind: Pod, metadata: {name: %s}, spec: {containers: [{name: c, image: i, resources: {limits: {nvidia.com/gpu: %s}}}]}}\n' "$1" "$2"
}
objects_of_nothing() {  # objects_of_nothing KIND COUNT [PREFIX]: that ask for no device
  local spec='{}'
  [[ $1 == ResourceClaim ]] || spec='{spec: {}}'
  ((number > 0)) || { echo "$hard is not in the sample" >&2; return 1; }
  seq "$2" | while read -r i; do
    printf '{apiVersion: resource.k8s.io/v1, kind: %s, metadata: {name: %s%s}, spec: %s}\n---\n' "$1" "${3-n}" "$i" "$spec"
  done
}
quota_uses() { kubectl get resourcequota compute-domains -n other -o json | jq -e --arg hard "$1" --arg used "$2" '.status.used[$hard] == $used'; }
# Kubernetes learns of new kinds every half a minute, and looks at a quota from before again after five minutes only.
quota_works() {
  quota_is_counted && return 0
  kubectl replace --force -n other -f "$repo/examples/tenants/quota.yaml" || return 1
  wait_for 3 "it is counted" quota_is_counted
}
quota_is_counted() { kubectl get resourcequota compute-domains -n other -o json | jq -e '(.status.used | keys) == (.spec.hard | keys)'; }
each_quota_of_the_sample_stops_a_tenant_at_its_number_and_no_earlier() {
  local number hard=count/computedomains.resource.nvidia.com
  kubectl apply -n other -f "$repo/examples/tenants/quota.yaml" || return 1
  wait_for 60 "the quota is counted" quota_works || return 1
  number=$(quota_number "$hard")
  ((number > 0)) || return 1
  seq "$number" | while read -r i; do domain "d$i" "d$i-channel" | sed 's/, namespace: default//'; echo ---; done |
    kubectl create --as neighbour -n other -f - || return 1
  domain more more-channel | sed 's/, namespace: default//' >"$stage/more.yaml"
  exceeds "$hard" kubectl create --as neighbour -n other -f "$stage/more.yaml" || return 1

  # Nodes. The claims are made by Kubernetes, for pods.
  hard=compute-domain-default-channel.nvidia.com.deviceclass.resource.k8s.io/devices
  number=$(quota_number "$hard")
  wait_for 30 "the template is there" kubectl get resourceclaimtemplate -n other d1-channel || return 1
  job crowd d1-channel $((number + 2)) -1 | sed 's/, namespace: default//' | kubectl create --as neighbour -n other -f - || return 1
  wait_for 60 "$number claims are there" claims_in_other "$number" || return 1
  wait_for 30 "a pod past them says why it waits" crowd_says "exceeded quota: compute-domains.*$hard=1" || return 1
  claims_in_other "$number" || return 1
  kubectl delete job crowd -n other --as neighbour --timeout=60s || return 1
  wait_for 60 "the claims are gone" claims_in_other 0 || return 1

  # The domains have their templates by now.
  hard=count/resourceclaimtemplates.resource.k8s.io
  number=$(quota_number "$hard")
  objects_of_nothing ResourceClaimTemplate $((number - $(kubectl get resourceclaimtemplates -n other -o name | wc -l))) |
    kubectl create --as neighbour -n other -f - >/dev/null || return 1
  objects_of_nothing ResourceClaimTemplate 1 more >"$stage/more.yaml"
  exceeds "$hard" kubectl create --as neighbour -n other -f "$stage/more.yaml" || return 1
  hard=count/resourceclaims.resource.k8s.io
  number=$(quota_number "$hard")
  objects_of_nothing ResourceClaim "$number" | kubectl create --as neighbour -n other -f - >/dev/null || return 1
  objects_of_nothing ResourceClaim 1 more >"$stage/more.yaml"
  exceeds "$hard" kubectl create --as neighbour -n other -f "$stage/more.yaml" || return 1
  # By one request: one each takes kubectl more than a minute.
  kubectl delete --raw /apis/resource.k8s.io/v1/namespaces/other/resourceclaims --as neighbour >/dev/null || return 1
  # The quota is told of deletions a moment later.
  wait_for 30 "the quota has no claim" quota_uses "$hard" 0 || return 1

  hard=gpu.nvidia.com.deviceclass.resource.k8s.io/devices
  number=$(quota_number "$hard")
  for i in $(seq $((number / 24))); do claim_of_gpus "g$i" 24; echo ---; done >"$stage/gpus.yaml"
  kubectl create --as neighbour -n other -f "$stage/gpus.yaml" || return 1
  claim_of_gpus more 1 >"$stage/more.yaml"
  exceeds "$hard" kubectl create --as neighbour -n other -f "$stage/more.yaml" || return 1

  hard=requests.nvidia.com/gpu
  number=$(quota_number "$hard")
  pod_of_gpus all "$number" | kubectl create --as neighbour -n other -f - || return 1
  pod_of_gpus more 1 >"$stage/more.yaml"
  exceeds "$hard" kubectl create --as neighbour -n other -f "$stage/more.yaml" || return 1
  # The other tenant is not bound by it.
  sed 's/, namespace: other//' "$stage/more.yaml" | kubectl create --as edit -n team --dry-run=server -f - || return 1
  kubectl delete pods,resourceclaims,computedomains --all -n other --as neighbour --timeout=60s &&
    kubectl delete resourcequota compute-domains -n other
}
quota_number() { kubectl get resourcequota compute-domains -n other -o json | jq -r --arg hard "$1" '.spec.hard[$hard] // 0'; }  # quota_number RESOURCE
crowd_says() { grep -qE "$1" < <(kubectl get events -n other --as neighbour -o json | jq -r '.items[].message'); }

# ---- The page

# Each line of its console blocks by itself. What stands behind a `#` at the end is in what the command prints; after
# "refused:", and for the answer "no", the command must fail.
page_commands() { awk '/^```console$/ { inside = 1; next } /^```$/ { inside = 0 } inside' "$repo/docs/$1.md"; }  # page_commands PAGE
page_command_holds() {  # page_command_holds LINE
  local line=$1 wanted='' output status=0 fails=0
  if [[ $line =~ ^(.*[^\ ])\ +#\ (.*)$ ]]; then line=${BASH_REMATCH[1]} wanted=${BASH_REMATCH[2]}; fi
  [[ $wanted == no || $wanted == refused:* ]] && fails=1
  output=$(cd "$repo" && eval "$line" 2>&1) || status=1
  # The columns of a table are as wide as what is in them.
  ((status == fails)) && [[ $(tr -s ' ' <<<"$output") == *"${wanted#refused: }"* ]] && return 0
  printf '%s\nended with %s: %s\n' "$1" "$status" "$output"
  return 1
}
page_holds() {  # page_holds PAGE COUNT: each of its commands, so many or more
  local line count=0
  while IFS= read -r line; do
    ((++count))
    # A policy takes a moment to be in the API server.
    wait_for 20 "it does: $line" page_command_holds "$line" || { page_command_holds "$line"; return 1; }
  done < <(page_commands "$1")
  echo "$count commands"
  ((count >= $2))
}
each_command_of_the_page_does_what_it_says() { page_holds tenants 20; }

# What a pod of the driver asks of a node, as a line of the page's table.
asks_of_a_node() {  # asks_of_a_node NAME: whose spec is in $stage/NAME.json
  jq -r --arg image "the image's" --arg runtime "the runtime's" --arg name "$1" --arg level "$(level_of "$stage/$1.json")" --argjson classes "$(classes_of "$stage/$1.json")" '
    def each: [.containers[], .initContainers[]?];
    "| " + ([$name, $level,
      ([each[].securityContext.runAsUser // .securityContext.runAsUser // $image] | unique | join(", ")),
      (if all(each[]; .securityContext.capabilities.drop == ["ALL"] and .securityContext.capabilities.add == null) then "none"
       elif all(each[]; .securityContext.capabilities == null) then $runtime else "some" end),
      (if any(each[]; .securityContext.privileged) then "yes" else "no" end),
      (if .hostNetwork or .hostPID or .hostIPC or any(.volumes[]?; .hostPath) or any(each[].ports[]?; .hostPort) then "something" else "nothing" end),
      (if $classes == [] then "none" else $classes | map("`" + . + "`") | join(", ") end)] | join(" | ")) + " |"' <"$stage/$1.json"
}
level_of() {  # level_of PODSPEC_FILE: the strictest level that lets it in
  local level
  for level in restricted baseline privileged; do
    jq --arg ns "$level" '{apiVersion: "v1", kind: "Pod", metadata: {name: "probe", namespace: $ns}, spec: (. | .serviceAccountName = "default")}' "$1" |
      kubectl create --dry-run=server -f - >/dev/null && break
  done 2>/dev/null
  echo "$level"
}
classes_of() {  # classes_of PODSPEC_FILE: of the devices that its claims are for
  jq -r '.resourceClaims[]?.resourceClaimTemplateName' "$1" | while read -r name; do
    kubectl get resourceclaimtemplate -n cdom-system "$name" -o json
  done | jq -cs '[.[].spec.spec.devices.requests[].exactly.deviceClassName] | unique'
}
what_the_pods_ask_of_a_node_is_what_the_page_says() {
  local level
  for level in restricted baseline privileged; do
    kubectl create namespace "$level" && kubectl label namespace "$level" "pod-security.kubernetes.io/enforce=$level" || return 1
  done
  domain_in default asked asked-channel | kubectl apply -f - || return 1
  wait_for 30 "its children are made" is_idle asked || return 1
  kubectl get daemonset -n cdom-system "$(set_of asked)" -o json | jq '.spec.template.spec' >"$stage/daemon.json" || return 1
  kubectl kustomize "$repo/manifests/standalone" | kubectl create --dry-run=client --validate=false -f - -o json |
    jq '(if .kind == "List" then .items[] else . end) | select(.kind == "Deployment") | .spec.template.spec' >"$stage/controller.json" || return 1
  diff <(grep -A 10 '^| Pod | Pod security level |' "$repo/docs/tenants.md" | grep -E '^[|] (controller|daemon) ') \
    <(asks_of_a_node controller && asks_of_a_node daemon) || return 1
  kubectl delete computedomain asked --timeout=30s && kubectl delete namespaces restricted baseline privileged --timeout=60s
}
