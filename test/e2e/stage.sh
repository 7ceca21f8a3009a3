# What the demo and the end-to-end tests share: a control plane, simulated nodes and a controller, started
# and stopped. Sourced by bash with `set -euo pipefail`.
#
# Uses: repo (root of the sources), bin (folder of the programs), stage (a scratch folder of the caller).
# shellcheck shell=bash

plane_bin=
nodesim_pid=
controller_pid=
launcher=()  # Runs nodesim and the controller: their command comes behind it. None: this shell does.

# Each is over before there is garbage worth collecting, which would be a quarter of its work.
kubectl() { GOGC=off GOMEMLIMIT=500MiB "$plane_bin/kubectl" --kubeconfig "$stage/plane/admin.kubeconfig" "$@"; }
gone() { ! kubectl get "$@" >/dev/null 2>&1; }

# wait_for SECONDS WHAT COMMAND...: until the command succeeds; fails after the deadline and says what for. On a machine that
# stood still meanwhile the deadline alone would be over after a look or two, so it looks some more.
wait_for() {
  local deadline=$((SECONDS + $1)) what=$2 looks=0
  shift 2
  until "$@" >/dev/null 2>&1; do
    if ((++looks >= 20 && SECONDS >= deadline)); then
      echo "timed out waiting until $what" >&2
      return 1
    fi
    read -rt 0.2 <> <(:) || true  # A pause without a process.
  done
}

plane_up() {  # plane_up [options of controlplane up]
  plane_bin=$("$repo/test/cluster/controlplane/build.sh")
  "$repo/test/cluster/controlplane/controlplane" up "$stage/plane" "$@"
}

plane_down() {
  "$repo/test/cluster/controlplane/controlplane" down "$stage/plane"
}

nodesim_up() {  # nodesim_up [options of nodesim]
  "${launcher[@]}" "$bin/nodesim" --kubeconfig "$stage/plane/nodesim.kubeconfig" --control-port 0 "$@" \
    >"$stage/nodesim.out" 2>"$stage/nodesim.log" &
  nodesim_pid=$!
  wait_for 120 "the simulated nodes are there (see $stage/nodesim.log)" \
    grep -q ' ready$' "$stage/nodesim.out" || return 1
}

# Where they take commands: elsewhere once they have been started again. Empty: there are none.
nodesim_url() { sed -n 's/^nodesim: control //p' "$stage/nodesim.out" 2>/dev/null | tail -n 1; }

nodesim() {  # nodesim kill?node=node-001: a command to the simulated nodes
  curl --silent --show-error --fail-with-body --max-time 10 -X POST "$(nodesim_url)/$1"
}

controller_kubeconfig() {  # controller_kubeconfig [DURATION]: of the controller's own ServiceAccount, and nobody else's
  local token server
  token=$(kubectl create token cdom-controller -n cdom-system --duration "${1:-2h}")
  server=$(kubectl config view --raw -o jsonpath='{.clusters[0].cluster.server}')
  jq -n --arg token "$token" --arg server "$server" \
    --arg ca "$(kubectl config view --raw -o jsonpath='{.clusters[0].cluster.certificate-authority-data}')" '
    {apiVersion: "v1", kind: "Config", "current-context": "cdom",
     clusters: [{name: "cdom", cluster: {server: $server, "certificate-authority-data": $ca}}],
     users: [{name: "cdom", user: {token: $token}}],
     contexts: [{name: "cdom", context: {cluster: "cdom", user: "cdom", namespace: "cdom-system"}}]}' \
    >"$stage/controller.kubeconfig"
}

controller_up() {  # controller_up [flags]: does not wait
  # Not flags: the controller from before does not know them.
  DEBUG_ENDPOINT=127.0.0.1:0 METRICS_SECURE_PORT=0 "${launcher[@]}" "${program:-$bin/compute-domain-controller}" --kubeconfig "${kubeconfig:-$stage/controller.kubeconfig}" \
    --pod-name "cdom-controller-$RANDOM" --namespace cdom-system --image-name "${image:-cdom:0.2.0}" \
    --leader-election-lease-lock-name cdom-controller \
    --http-endpoint 127.0.0.1:0 "$@" 2>>"${log:-$stage/controller.log}" >>"$stage/controller.out" &
  controller_pid=$!
}

stop() {  # stop PID: ends a process that we started, and waits for it
  [[ -n $1 ]] || return 0
  kill -TERM "$1" 2>/dev/null || return 0
  local deadline=$((SECONDS + 30))
  # In a trap bash does not notice that a child has ended; it is there until it is waited for.
  while kill -0 "$1" 2>/dev/null && [[ $(ps -o stat= -p "$1") != Z* ]]; do
    if ((SECONDS >= deadline)); then
      kill -KILL "$1" 2>/dev/null || true
    fi
    read -rt 0.1 <> <(:) || true
  done
  wait "$1" 2>/dev/null || true
}

# clear_stage NAME STATUS: the end of a script with one stage, which stays for who wants to know why it failed.
clear_stage() {
  stop "$controller_pid"
  stop "$nodesim_pid"
  if [[ -d $stage/plane ]]; then plane_down >/dev/null || true; fi
  if (($2 == 0)); then rm -rf "$stage"; else echo "$1: logs are in $stage" >&2; fi
}

# snapshot FILE: every object of every kind, without what changes by itself: events, leases, versions,
# heartbeats. Sorted, so that two can be compared.
snapshot() {
  local kinds
  kinds=$(kubectl api-resources --verbs=list -o name | sort -u |
    grep -vE '^(events|events\.events\.k8s\.io|leases\.coordination\.k8s\.io|componentstatuses)$' | paste -sd,)
  kubectl get "$kinds" --all-namespaces --ignore-not-found -o json | jq -S '
    .items | map(
      del(.metadata.resourceVersion, .metadata.managedFields)
      | if .kind == "Node" then
          del(.status.conditions[]?.lastHeartbeatTime, .status.conditions[]?.lastTransitionTime,
              .status.nodeInfo.bootID)
        else . end
      # Counters of the API server itself.
      | if .kind == "FlowSchema" or .kind == "PriorityLevelConfiguration" then del(.status) else . end)
    | sort_by(.kind, .metadata.namespace, .metadata.name)' >"$1"
}
