#!/usr/bin/env bash
# The manifests as an administrator applies them, on a real control plane with simulated nodes: that they build and are
# taken without a warning, what level of pod security they meet and need, that settings reach the controller, and that
# `kubectl delete -k` leaves nothing. Prints PASS or FAIL and a name for each case.
#
#   manifests_test.sh BIN_FOLDER    of compute-domain-controller and nodesim
set -euo pipefail

repo=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../../.." && pwd)
bin=$(cd -- "$1" && pwd)
# shellcheck source=../../e2e/cases.sh
source "$repo/test/e2e/cases.sh"
# shellcheck source=../../e2e/stage.sh
source "$repo/test/e2e/stage.sh"

stage=$(mktemp -d "${TMPDIR:-/tmp}/cdom-manifests.XXXXXX")
cases_in "$stage/cases"
leave() {
  local status=$?
  trap - EXIT INT TERM
  clear_stage manifests "$status"
  exit "$status"
}
trap leave EXIT
trap 'exit 130' INT TERM

without_a_warning() {  # without_a_warning COMMAND...
  "$@" >"$stage/said.out" 2>"$stage/said.err" || { cat "$stage/said.err"; return 1; }
  cat "$stage/said.out"
  [[ ! -s $stage/said.err ]] || { cat "$stage/said.err"; return 1; }
}

# What docs/install.md tells an administrator to write, beside a checkout of ours.
site() {
  mkdir -p "$stage/site"
  ln -sfn "$repo" "$stage/cdom"
  awk '/^```yaml$/ { inside = 1; next } /^```$/ { if (inside) exit } inside' "$repo/docs/install.md" >"$stage/site/kustomization.yaml"
}
template() { kubectl get deployment -n cdom-system cdom-controller -o jsonpath='{.spec.template}'; }
# pod_in NAMESPACE [JQ]: the controller's pod, changed, asked for there without making it.
pod_in() {
  template | jq --arg ns "$1" "{apiVersion: \"v1\", kind: \"Pod\", metadata: {name: \"probe\", namespace: \$ns}, spec: (.spec | .serviceAccountName = \"default\" | ${2:-.})}" |
    kubectl create --dry-run=server -f -
}
namespace_at() {  # namespace_at LEVEL
  kubectl create namespace "$1" && kubectl label namespace "$1" "pod-security.kubernetes.io/"{enforce,warn}"=$1"
}

# --- Cases ------------------------------------------------------------------------------------------------------

each_kustomization_builds_and_says_nothing_twice() {
  local folder
  for folder in standalone local base kubelet-plugin policies placement placement/check placement/required release-finalizers; do
    without_a_warning kubectl kustomize "$repo/manifests/$folder" >"$stage/built.yaml" || return 1
    # As a strict renderer: no object twice, no field twice.
    kubectl create --dry-run=client --validate=false -f "$stage/built.yaml" -o json |
      jq -r '(if .kind == "List" then .items[] else . end) | "\(.kind) \(.metadata.namespace) \(.metadata.name)"' |
      sort | uniq -d >"$stage/twice.txt" || return 1
    [[ ! -s $stage/twice.txt ]] || { cat "$stage/twice.txt"; return 1; }
  done
  without_a_warning kubectl kustomize "$stage/site" >"$stage/site.yaml"
}

# The page's second block, on top of the first.
daemons_of_ours_are_left_with_a_patch_of_their_pod_and_a_watch_of_cliques() {
  mkdir -p "$stage/small" || return 1
  { printf 'apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [../site]\n' &&
    awk '/^```yaml$/ { block++; inside = 1; next } /^```$/ { inside = 0 } inside && block == 2' "$repo/docs/install.md"; } >"$stage/small/kustomization.yaml"
  without_a_warning kubectl kustomize "$stage/small" >"$stage/small.yaml" || return 1
  kubectl create --dry-run=client --validate=false -f "$stage/small.yaml" -o json |
    jq -r 'select(.metadata.name == "compute-domain-daemon-role") | .rules[] | "\(.verbs | join(",")) \(.resources | join(","))"' |
    tee "$stage/rights.txt"
  [[ $(sort "$stage/rights.txt") == $'list,watch computedomaincliques\npatch pods' ]]
}

# The page's fourth block: all of ours. The third are values of NVIDIA's chart.
page_block() { awk -v wanted="$2" '/^```yaml$/ { block++; inside = 1; next } /^```$/ { inside = 0 } inside && block == wanted' "$1"; }
rack() {
  mkdir -p "$stage/rack" && page_block "$repo/docs/install.md" 4 >"$stage/rack/kustomization.yaml" &&
    without_a_warning kubectl kustomize "$stage/rack" >"$stage/rack.yaml" &&
    kubectl create --dry-run=client --validate=false -f "$stage/rack.yaml" -o json | jq -s 'map(if .kind == "List" then .items[] else . end)' >"$stage/rack.json"
}
plugin_pods() { jq '.[] | select(.kind == "DaemonSet") | .spec.template.spec' "$stage/rack.json"; }

what_the_page_shows_for_a_rack_is_taken_without_a_warning_and_is_of_one_version() {
  rack || return 1
  without_a_warning kubectl apply --dry-run=server --validate=strict -k "$stage/rack" || return 1
  # Whatever of the driver's image is named, it is the one.
  [[ $(grep -oE 'registry[^ ]*cdom-driver[^ ]*' "$stage/rack.yaml" | sort | uniq -c) == '      3 registry.example.org/mine/cdom-driver@sha256:'* ]] || return 1
  # As the component has it, by volume and variable.
  mkdir -p "$stage/container" || return 1
  sed 's#^components:#&\n- ../cdom/manifests/overlays/driver-container#' "$stage/rack/kustomization.yaml" >"$stage/container/kustomization.yaml"
  without_a_warning kubectl kustomize "$stage/container" >"$stage/container.yaml" || return 1
  diff "$stage/rack.yaml" "$stage/container.yaml" | grep '^>' | grep -v cdom-kubelet-plugin-settings >"$stage/differs.txt"
  [[ $(tr -d ' >' <"$stage/differs.txt") == $'NVIDIA_DRIVER_ROOT:/run/nvidia/driver\npath:/run/nvidia/driver' ]] || { cat "$stage/differs.txt"; return 1; }
}

# Of the pods that are there when it is applied, and of the daemons that the controller makes.
each_image_that_the_page_shows_is_named_by_its_digest() {
  named_by_digest "$stage/site/kustomization.yaml" cdom-controller dra-driver-nvidia-gpu || return 1
  named_by_digest "$stage/rack/kustomization.yaml" cdom-controller cdom-driver cdom-driver cdom-driver
}
named_by_digest() {  # named_by_digest KUSTOMIZATION IMAGE...: these images, sorted, and no other
  kubectl kustomize "${1%/*}" | sed -nE 's/^[- ]*(image|IMAGE_NAME): //p' >"$stage/images.txt" || return 1
  cat "$stage/images.txt"
  [[ -z $(grep -vE '^registry[.]example[.]org/mine/[a-z-]+@sha256:[0-9a-f]{64}$' "$stage/images.txt") ]] || return 1
  diff <(sed -E 's|.*/||; s|@.*||' "$stage/images.txt" | sort) <(printf '%s\n' "${@:2}")
}

# As Kubernetes 1.32 does.
REV3_N9_where_a_kubelet_knows_one_instance_of_a_plugin_its_pods_follow_one_another() {
  mkdir -p "$stage/old" || return 1
  sed 's#^components:#&\n- ../cdom/manifests/overlays/dra-v1beta1#' "$stage/rack/kustomization.yaml" >"$stage/old/kustomization.yaml"
  without_a_warning kubectl kustomize "$stage/old" >"$stage/old.yaml" || return 1
  kubectl create --dry-run=client --validate=false -f "$stage/old.yaml" -o json |
    jq -r 'if .kind == "List" then .items[] else . end | select(.kind == "DaemonSet") | .spec |
      "\(.updateStrategy.rollingUpdate.maxSurge) \(.updateStrategy.rollingUpdate.maxUnavailable) " +
      "\([.template.spec | (.containers + .initContainers)[].env[].name] | index("POD_UID"))"' >"$stage/old.txt"
  diff "$stage/old.txt" - <<<'0 1 null'
}

each_variable_of_the_kubelet_plugin_is_one_that_it_knows() {
  local name
  "$bin/compute-domain-kubelet-plugin" --help >"$stage/help.txt" || return 1
  { sed -nE 's/^([A-Z_]+)=.*/\1/p' "$repo/manifests/kubelet-plugin/settings.env"
    plugin_pods | jq -r '(.containers + .initContainers)[].env[].name'; } | sort -u >"$stage/names.txt"
  (($(wc -l <"$stage/names.txt") >= 10)) || return 1
  while read -r name; do
    # NVIDIA's runtime reads that one.
    [[ $name == NVIDIA_VISIBLE_DEVICES ]] || grep -qF "Env:$name)" "$stage/help.txt" || { echo "no variable $name"; return 1; }
  done <"$stage/names.txt"
  # As the pods have them they are taken.
  refused_with 1 'libnvidia-ml.so.1 is nowhere under' env -i NODE_NAME=a NAMESPACE=cdom-system POD_UID=1 \
    $(grep -E '^[A-Z_]+=' "$repo/manifests/kubelet-plugin/settings.env") PREFLIGHT_WAIT=0 CDI_ROOT="$stage/cdi" "$bin/compute-domain-kubelet-plugin" preflight
}

# docs/node.md, "What runs where".
what_the_kubelet_plugin_asks_of_a_node_and_may_do_is_what_the_page_says() {
  diff <(grep -E '^[|] `cdom-kubelet-plugin`' "$repo/docs/node.md" | sed -E 's/ \| each GPU node[^|]*\|/ |/') <(plugin_asks) || return 1
  diff <(awk '/^[|] of [|] verbs/ { on = 1; getline; next } !/^[|]/ { on = 0 } on' "$repo/docs/node.md" |
    sed -nE 's/^[|] `([a-z]+)`( in the driver.s namespace)? [|] ([a-z, ]*[a-z]).*/\1\2: \3/p' | sort) <(plugin_may | sort)
}
plugin_asks() {  # A row for each container.
  plugin_pods | jq -r '. as $pod | (.initContainers + .containers)[] | . as $c
    | "| `cdom-kubelet-plugin`" + (if $c.name == "preflight" then ", `preflight`" else "" end)
    + " | " + (if $c.securityContext.runAsUser == null and $pod.securityContext.runAsUser == null then "root" else "?" end)
    + " | " + (if $c.securityContext.privileged then "yes" else "no" end)
    + " | " + ([$c.volumeMounts[] | . as $m | {path: ($pod.volumes[] | select(.name == $m.name).hostPath.path), how: (if $m.readOnly then " to read" else "" end)}]
      | sort_by(.path) | map("`\(.path)`\(.how)") | join(", "))
    + " | " + (if $c.ports then [$c.ports[].containerPort | tostring] | join(", ") else "none" end) + " |"'
  # Nothing else of the host.
  plugin_pods | jq -r 'select(.hostNetwork or .hostPID or .hostIPC) | "more of the host"'
}
plugin_may() {
  jq -r '.[] | select((.kind == "ClusterRole" or .kind == "Role") and .metadata.name == "cdom-kubelet-plugin") | .kind as $kind | .rules[]
    | .resources[] + (if $kind == "Role" then " in the driver'\''s namespace" else "" end) + ": " + (.verbs | join(", "))' "$stage/rack.json"
}

what_the_page_shows_is_taken_without_a_warning_and_its_pods_come_up() {
  snapshot "$stage/before.json" || return 1
  # The definitions first: what is of them cannot be checked before.
  without_a_warning kubectl apply -k "$stage/site" || return 1
  kubectl apply --dry-run=server --validate=strict -k "$stage/site" || return 1
  kubectl -n cdom-system rollout status deployment/cdom-controller --timeout=60s || return 1
  [[ $(template | jq -r '.spec.containers[0].image') == registry.example.org/mine/cdom-controller@sha256:* ]]
}

settings_reach_the_controller_which_starts_with_them() {
  local -a variables
  mapfile -t variables < <(settings)
  printf '%s\n' "${variables[@]}" | tee "$stage/variables.txt"
  grep -qxE 'IMAGE_NAME=registry.example.org/mine/dra-driver-nvidia-gpu@sha256:[0-9a-f]{64}' "$stage/variables.txt" || return 1
  grep -qx 'MEMBERSHIP_WRITER=daemon' "$stage/variables.txt" || return 1
  # Nothing else is said anywhere: no flag, no limit on processor time.
  template | jq -e '.spec.containers[0] | (.args // []) == [] and .resources.limits.cpu == null' || return 1
  # Each is one that there is: a word of another name would change nothing, and nobody would notice.
  cut -d= -f1 "$stage/variables.txt" | while read -r name; do grep -q "^| .* | \`$name\` |" "$repo/docs/flags.md" || { echo "no variable $name"; return 1; }; done || return 1
  controller_kubeconfig || return 1
  env -i "${variables[@]}" POD_NAME=here NAMESPACE=cdom-system KUBECONFIG="$stage/controller.kubeconfig" HTTP_ENDPOINT=127.0.0.1:0 \
    DEBUG_ENDPOINT=127.0.0.1:0 "$bin/compute-domain-controller" 2>"$stage/controller.log" &
  controller_pid=$!
  wait_for 60 "the controller leads" grep -q Reconciling "$stage/controller.log" || { cat "$stage/controller.log"; return 1; }
  grep -q 'lease="cdom-system/cdom-controller"' "$stage/controller.log"
}
settings() {  # Of the pods: the ConfigMap that they name.
  kubectl get configmap -n cdom-system "$(template | jq -r '.spec.containers[0].envFrom[0].configMapRef.name')" -o json |
    jq -r '.data | to_entries[] | "\(.key)=\(.value)"'
}

a_setting_that_changes_restarts_the_controller_and_a_file_is_mounted() {
  local before
  before=$(template | jq -r '.spec.containers[0].envFrom[0].configMapRef.name')
  printf 'apiVersion: cdom.dev/v1alpha1\nkind: ControllerConfiguration\ndeletion: {grace: 30m}\n' >"$stage/site/configuration.yaml"
  cp "$stage/site/kustomization.yaml" "$stage/site/kustomization.kept"
  # The second and third block of manifests/README.md, which change what the page has.
  awk '/^```yaml$/ { block++; inside = 1; next } /^```$/ { inside = 0 } inside && block == 2' "$repo/manifests/README.md" >"$stage/more.yaml"
  grep -q CONFIG=/etc/cdom/configuration.yaml "$stage/more.yaml" || return 1
  mkdir -p "$stage/over" && cp "$stage/site/configuration.yaml" "$stage/over/"
  { printf 'apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [../site]\n' && cat "$stage/more.yaml"; } >"$stage/over/kustomization.yaml"
  without_a_warning kubectl apply -k "$stage/over" || return 1
  kubectl -n cdom-system rollout status deployment/cdom-controller --timeout=60s || return 1
  settings >"$stage/variables.txt" || return 1
  grep -qx CONFIG=/etc/cdom/configuration.yaml "$stage/variables.txt" || return 1
  grep -qx MEMBERSHIP_WRITER=daemon "$stage/variables.txt" || return 1
  [[ $(template | jq -r '.spec.containers[0].envFrom[0].configMapRef.name') != "$before" ]] || return 1
  [[ $(kubectl get configmap -n cdom-system "$(template | jq -r '.spec.volumes[0].configMap.name')" -o jsonpath='{.data.configuration\.yaml}') == *30m* ]]
}

another_namespace_is_named_once() {
  mkdir -p "$stage/elsewhere"
  printf 'apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [../site]\nnamespace: gpu-domains\n' >"$stage/elsewhere/kustomization.yaml"
  kubectl kustomize "$stage/elsewhere" >"$stage/elsewhere.yaml" || return 1
  refused '' grep -n 'cdom-system' "$stage/elsewhere.yaml"
}

REV3_X7_the_job_that_releases_finalizers_ends_in_time_and_takes_its_token_along() {
  kubectl kustomize "$repo/manifests/release-finalizers" | kubectl create --dry-run=client --validate=false -f - -o json |
    jq -se '[.[] | if .kind == "List" then .items[] else . end | select(.kind == "Job").spec][0]
      | .activeDeadlineSeconds <= 1800 and .activeDeadlineSeconds > 0 and .ttlSecondsAfterFinished <= 3600 and .ttlSecondsAfterFinished > 0' || return 1
  # A Role in the driver's namespace would not serve: it cannot be made while that is being deleted.
  kubectl create namespace leaves || return 1
  kubectl create -f - <<'YAML' || return 1
{apiVersion: v1, kind: ConfigMap, metadata: {name: stays, namespace: leaves, finalizers: [example.com/stays]}}
YAML
  kubectl delete namespace leaves --wait=false || return 1
  refused 'being terminated' kubectl create role r -n leaves --verb=patch --resource=daemonsets.apps || return 1
  kubectl patch configmap stays -n leaves --type=merge -p '{"metadata": {"finalizers": null}}' || return 1
  wait_for 30 "the namespace is gone" gone namespace leaves
}

the_controllers_pod_meets_restricted() {
  namespace_at restricted || return 1
  without_a_warning pod_in restricted || return 1
  # And the level is one that says no.
  refused 'allowPrivilegeEscalation' pod_in restricted '.containers[0].securityContext.allowPrivilegeEscalation = true' || return 1
  refused 'runAsNonRoot' pod_in restricted 'del(.securityContext.runAsNonRoot)' || return 1
  refused 'seccompProfile' pod_in restricted 'del(.securityContext.seccompProfile)' || return 1
  # The Job that takes finalizers off is in a namespace that enforces it.
  kubectl label namespace restricted pod-security.kubernetes.io/audit=restricted || return 1
  kubectl kustomize "$repo/manifests/release-finalizers" | kubectl create --dry-run=client --validate=false -f - -o json |
    jq '(if .kind == "List" then .items[] else . end) | select(.kind == "Job") | .metadata.namespace = "restricted"' >"$stage/job.json" || return 1
  without_a_warning kubectl create --dry-run=server -f "$stage/job.json"
}

daemons_and_plugins_are_let_into_the_drivers_namespace() {
  local spec
  namespace_at baseline || return 1
  [[ $(kubectl get namespace cdom-system -o jsonpath='{.metadata.labels.cdom\.dev/driver}') == true ]] || return 1
  # The kubelet plugin: privileged, with folders of the host.
  plugin_in() { plugin_pods | jq --arg ns "$1" --arg account "$2" '{apiVersion: "v1", kind: "Pod", metadata: {name: "probe", namespace: $ns}, spec: (.serviceAccountName = $account | del(.priorityClassName))}' | kubectl create --dry-run=server -f -; }
  kubectl create serviceaccount cdom-kubelet-plugin -n cdom-system || return 1
  without_a_warning plugin_in cdom-system cdom-kubelet-plugin || return 1
  refused 'cdom-driver-pods' plugin_in cdom-system default || return 1
  refused 'privileged' plugin_in baseline default || return 1
  kubectl delete serviceaccount cdom-kubelet-plugin -n cdom-system || return 1
  # The daemons of a domain.
  quickstart apply || return 1
  wait_for 60 "the domain is ready" is_ready || return 1
  spec=$(kubectl get daemonset -n cdom-system -l resource.nvidia.com/computeDomain -o json | jq '.items[0].spec.template.spec | .serviceAccountName = "default"')
  pod_of_daemon() { jq -n --arg ns "$1" --argjson spec "$spec" '{apiVersion: "v1", kind: "Pod", metadata: {name: "probe", namespace: $ns}, spec: $spec}' | kubectl create --dry-run=server -f -; }
  without_a_warning pod_of_daemon baseline || return 1
  refused 'runAsNonRoot' pod_of_daemon restricted || return 1
  quickstart delete --timeout=90s || return 1
  kubectl delete namespace baseline restricted --timeout=60s
}
quickstart() {  # quickstart apply|delete [OPTION...]: the example, whose workers go on until they are deleted
  sed 's/^      labels:$/      annotations: {nodesim.cdom.dev\/run-seconds: "-1"}\n&/' "$repo/examples/quickstart.yaml" | kubectl "$@" -f -
}
is_ready() { [[ $(kubectl get cdom quickstart -o jsonpath='{.status.status} {.status.members}') == 'Ready 4/4' ]]; }

deleted_without_domains_nothing_is_left() {
  kubectl delete computedomains --all --all-namespaces --timeout=60s || return 1
  stop_controller
  kubectl delete -k "$stage/site" --timeout=90s || return 1
  wait_for 60 "nothing is left" nothing_left || { diff "$stage/before.json" "$stage/after.json" | head -n 60; return 1; }
}
stop_controller() {
  stop "$controller_pid"
  controller_pid=
}
nothing_left() { snapshot "$stage/after.json" && cmp -s "$stage/before.json" "$stage/after.json"; }

deleted_under_domains_that_live_a_job_takes_their_finalizer_off_and_nothing_is_left() {
  local pid status=0
  kubectl apply -k "$stage/site" || return 1
  kubectl -n cdom-system rollout status deployment/cdom-controller --timeout=60s || return 1
  controller_kubeconfig || return 1
  controller_up --membership-writer daemon
  quickstart apply || return 1
  wait_for 60 "the domain is ready" is_ready || return 1
  # It goes with its pods: its token is worth nothing without the account.
  kubectl delete -k "$stage/site" --timeout=120s >"$stage/delete.out" 2>&1 &
  pid=$!
  wait_for 60 "the controller's account is gone" gone serviceaccount -n cdom-system cdom-controller || return 1
  stop_controller
  wait_for 90 "the driver's namespace is gone" gone namespace cdom-system || return 1
  # What the page says of it: the domain hangs, and the command waits.
  [[ -n $(kubectl get cdom quickstart -o jsonpath='{.metadata.deletionTimestamp}') ]] || return 1
  [[ $(kubectl get cdom quickstart -o jsonpath='{.metadata.finalizers}') == *resource.nvidia.com/computeDomain* ]] || return 1
  kill -0 "$pid" || { cat "$stage/delete.out"; return 1; }

  without_a_warning kubectl apply -k "$repo/manifests/release-finalizers" || return 1
  kubectl wait --for=condition=Complete job --all -n cdom-release-finalizers --timeout=60s || return 1
  # The simulated nodes run no program: this is what the Job's container does, with the rights that it has.
  kubeconfig_of cdom-release-finalizers >"$stage/release.kubeconfig" || return 1
  env -i KUBECONFIG="$stage/release.kubeconfig" NAMESPACE=cdom-system LEADER_ELECTION_LEASE_LOCK_NAME=cdom-controller \
    "$bin/compute-domain-controller" release-finalizers || return 1
  wait "$pid" || status=$?
  ((status == 0)) || { cat "$stage/delete.out"; return 1; }
  kubectl delete -k "$repo/manifests/release-finalizers" --timeout=60s || return 1
  # Whether the garbage collector still knew the kind of its owner is a matter of moments.
  kubectl delete resourceclaimtemplates --all-namespaces -l resource.nvidia.com/computeDomain --timeout=60s || return 1
  kubectl delete job quickstart --timeout=60s || return 1
  wait_for 60 "nothing is left" nothing_left || { diff "$stage/before.json" "$stage/after.json" | head -n 60; return 1; }
}
kubeconfig_of() {  # kubeconfig_of NAME: of the ServiceAccount of this name, in the namespace of this name
  local token
  token=$(kubectl create token "$1" -n "$1" --duration 1h) || return 1
  kubectl config view --raw -o json | jq --arg token "$token" '.users[0].user = {token: $token}'
}

plane_up --apiserver-arg --allow-privileged=true >/dev/null  # As where kubelet plugins run.
nodesim_up --nodes 8 --cliques 2 --job-duration 2000 --daemon-account
site
run_case each_kustomization_builds_and_says_nothing_twice
run_case daemons_of_ours_are_left_with_a_patch_of_their_pod_and_a_watch_of_cliques
run_case what_the_page_shows_is_taken_without_a_warning_and_its_pods_come_up
run_case what_the_page_shows_for_a_rack_is_taken_without_a_warning_and_is_of_one_version
run_case each_image_that_the_page_shows_is_named_by_its_digest
run_case REV3_N9_where_a_kubelet_knows_one_instance_of_a_plugin_its_pods_follow_one_another
run_case each_variable_of_the_kubelet_plugin_is_one_that_it_knows
run_case what_the_kubelet_plugin_asks_of_a_node_and_may_do_is_what_the_page_says
run_case settings_reach_the_controller_which_starts_with_them
run_case a_setting_that_changes_restarts_the_controller_and_a_file_is_mounted
run_case another_namespace_is_named_once
run_case REV3_X7_the_job_that_releases_finalizers_ends_in_time_and_takes_its_token_along
run_case the_controllers_pod_meets_restricted
run_case daemons_and_plugins_are_let_into_the_drivers_namespace
run_case deleted_without_domains_nothing_is_left
run_case deleted_under_domains_that_live_a_job_takes_their_finalizer_off_and_nothing_is_left
summary
