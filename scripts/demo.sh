#!/usr/bin/env bash
# The main job, end to end, on a real local control plane: from `kubectl apply` to clean-up.
#
#   scripts/demo.sh [--keep] [--writer daemon|controller]
#   scripts/demo.sh --real-nodes [--keep]
#
#   --keep         leave everything running at the end, and say how to go on
#   --writer       the membership writer: "daemon", as with NVIDIA's controller (the default), or
#                  "controller". The older --manner reference|cdom does the same.
#   --real-nodes   no simulated nodes, but four real kubelets, with controller, kubelet plugin and IMEX
#                  daemons from their images and manifests; stand-ins for NVIDIA's driver and IMEX
set -euo pipefail

repo=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
bin=$repo/build/release/bin
keep=false
real_nodes=false
writer=daemon
while (($# > 0)); do
  case $1 in
    --keep) keep=true ;;
    --real-nodes) real_nodes=true ;;
    --writer | --manner)
      writer=${2:-}
      shift
      ;;
    -h | --help)
      sed -n '2,/^set/p' "${BASH_SOURCE[0]}" | sed '$d; s/^# \{0,1\}//'
      exit 0
      ;;
    *)
      echo "demo: unknown option $1; --help shows what there is" >&2
      exit 2
      ;;
  esac
  shift
done
case $writer in
  daemon | reference) writer=daemon ;;
  controller | cdom) writer=controller ;;
  *)
    echo "demo: --writer is daemon or controller, not '$writer'" >&2
    exit 2
    ;;
esac

# shellcheck source=../test/e2e/stage.sh
source "$repo/test/e2e/stage.sh"
# shellcheck source=../test/cluster/controlplane/quietly.sh
source "$repo/test/cluster/controlplane/quietly.sh"

say() { printf '\n\033[1m# %s\033[0m\n' "$*"; }     # Why the next command is run.
show() { printf '\033[32m$ %s\033[0m\n' "$*" >&2; }  # And the command, as a reader would type it.
run() {
  show "$@"
  attend "$@"
}
run_quietly() {  # run_quietly LOG HOW_FAR COMMAND...
  show "${@:3}"
  attend quietly "$@"
}
# In the background, for a shell heeds a signal only when what it runs in the foreground has ended.
attend() {
  local status=0
  "$@" <&0 &
  attended=$!
  wait "$attended" || status=$?
  attended=
  return "$status"
}
# It and all that it has started.
end_with_children() {
  local child
  for child in $(pgrep -P "$1"); do end_with_children "$child"; done
  kill -TERM "$1" 2>/dev/null || true
}
fail() {
  echo "demo: FAILED: $*" >&2
  echo "demo: last lines of the controller:" >&2
  tail -n 15 "$stage/controller.log" >&2 2>/dev/null || true
  exit 1
}

stage=$(mktemp -d "${TMPDIR:-/tmp}/cdom-demo.XXXXXX")
watch_pid=
attended=
leave() {
  local status=$?
  trap - EXIT INT TERM
  [[ -z $attended ]] || end_with_children "$attended"
  stop "$watch_pid"
  if $keep && ((status == 0)); then return; fi
  # Ended by a person, it has nothing to explain.
  clear_stage demo $((status == 130 ? 0 : status))
  exit "$status"
}
trap leave EXIT
trap 'exit 130' INT TERM

say "What building needs, and the build itself. The first time takes about ten minutes on two cores; a line a minute says how far it is"
run "$repo/scripts/deps.sh"
targets=(compute-domain-controller nodesim standin_imex standin_ctl nvml_stand_in)
show "$repo/scripts/build.sh" release "${targets[@]}"
attend build_quietly "$stage/build.log" release "${targets[@]}"
attend "$repo/test/cluster/controlplane/build.sh" >/dev/null
echo "All is built, after $((SECONDS / 60)) min $((SECONDS % 60)) s."
if $real_nodes; then
  # shellcheck source=../test/cluster/realnodes/demo.sh
  source "$repo/test/cluster/realnodes/demo.sh"
  exit
fi
started=$SECONDS

say "A control plane of its own: etcd, kube-apiserver, kube-controller-manager, kube-scheduler"
plane_up

say "The CRDs, the device classes, and the rights of controller and daemons"
run kubectl apply -k "$repo/manifests/local"
say "And the policy by which the pods of a domain land in one NVLink clique"
run kubectl apply -k "$repo/manifests/placement"
wait_for 30 "the CRDs are served" kubectl get computedomains --all-namespaces

# As kubelets would start them again.
: >"$stage/running"
launcher=("$repo/test/cluster/keep_running.sh" "$stage/running")
say "18 + 18 simulated GPU nodes in two NVLink cliques (each plays kubelet, kubelet plugin and IMEX daemon)"
nodesim_up --nodes 36 --cliques 2 --job-duration 15000
run kubectl get nodes -l nvidia.com/gpu.clique -L nvidia.com/gpu.clique >"$stage/nodes.out"
sed -n '1,3p;19,21p' "$stage/nodes.out"

say "The controller, under the token of its own ServiceAccount"
controller_kubeconfig
controller_up --membership-writer "$writer"
wait_for 60 "the controller leads" grep -q "Reconciling" "$stage/controller.log" || fail "the controller does not start"
# Without bash, the script and the file before it.
tr '\0' '\n' <"/proc/$controller_pid/cmdline" | tail -n +4 | paste -sd ' ' | sed 's/^/$ /'

say "What the cluster holds before"
snapshot "$stage/before.json"
echo "$(jq length "$stage/before.json") objects"

# status_is JSONPATH PATTERN: of the domain.
status_is() {
  [[ $(kubectl get cdom quickstart -o jsonpath="$1" 2>/dev/null) =~ $2 ]]
}

say "A workload author applies a ComputeDomain and a Job of four pods that claim its channel"
run kubectl apply -f "$repo/examples/quickstart.yaml"
"$plane_bin/kubectl" --kubeconfig "$stage/plane/admin.kubeconfig" get cdom --watch >"$stage/watch.out" 2>&1 &
watch_pid=$!

wait_for 60 "all four members are ready" status_is '{.status.members}/{.status.conditions[?(@.type=="Ready")].status}' '^4/4/True$' ||
  fail "the domain did not become Ready"
say "Nodes join as the pods are scheduled; the kubelet plugin lets each workload start once its daemon is ready"
run kubectl get cdom quickstart -o wide
run kubectl get pods -l app=quickstart -o wide

victim=$(kubectl get cdom quickstart -o jsonpath='{.status.nodes[0].name}')
say "Node $victim dies: nothing is heard from its kubelet any more"
nodesim "kill?node=$victim" >/dev/null
wait_for 60 "status names $victim" status_is '{.status.conditions[?(@.type=="Ready")].reason}{.status.conditions[?(@.type=="Ready")].message}' "^NodeLost.*$victim" ||
  fail "status does not say that $victim is lost"
run kubectl get cdom quickstart -o wide
[[ $(kubectl get cdom quickstart -o jsonpath="{.status.nodes[?(@.name==\"$victim\")].status}") == NotReady ]] ||
  fail "status.nodes still says that $victim is Ready"

say "The Job replaces the pod that was lost with its node: all four workers succeed"
job_says() { [[ $(kubectl get job quickstart -o jsonpath="$1") == "$2" ]]; }
wait_for 120 "all four workers have succeeded" job_says '{.status.succeeded}' 4 || fail "the workers did not finish"
run kubectl get pods -l app=quickstart -o wide
say "Node $victim comes back; its pod ends, and with that the Job is complete"
nodesim "revive?node=$victim" >/dev/null
run kubectl wait --for=condition=Ready "node/$victim" --timeout=60s || fail "$victim stays NotReady"
run kubectl wait --for=condition=Complete job/quickstart --timeout=60s || fail "the Job did not complete"
say "Its nodes have left the domain, which is ready for the next Job"
wait_for 60 "no node is a member" status_is '{.status.conditions[?(@.type=="Ready")].reason}' '^Idle$' ||
  fail "nodes did not leave the domain"
run kubectl get cdom quickstart -o wide

say "The author deletes both"
run kubectl delete -f "$repo/examples/quickstart.yaml" --timeout=90s
stop "$watch_pid"
watch_pid=
say "How 'kubectl get cdom --watch' saw it"
cat "$stage/watch.out"

say "What the cluster holds after: the same objects, but for events, leases and heartbeats"
same() { snapshot "$stage/after.json" && cmp -s "$stage/before.json" "$stage/after.json"; }
if ! wait_for 60 "nothing is left" same; then
  diff "$stage/before.json" "$stage/after.json" | head -n 40 >&2 || true
  fail "something is left"
fi
echo "$(jq length "$stage/after.json") objects, no difference in any of the $(kubectl api-resources --verbs=list -o name | wc -l) kinds"

say "Done in $((SECONDS - started)) s."
if $keep; then
  cat <<KEPT
It goes on running. To look around:

  export KUBECONFIG=$stage/plane/admin.kubeconfig
  alias kubectl=$plane_bin/kubectl
  kubectl apply -f $repo/examples/quickstart.yaml
  kubectl get cdom --watch
  curl -X POST '$(nodesim_url)/kill?node=node-003'     # and revive, reboot, remove, move, stall-daemon

The controller's log is $stage/controller.log; a second after it has ended, it is started again. To end it:

  kill $controller_pid $nodesim_pid
  $repo/test/cluster/controlplane/controlplane down $stage/plane && rm -r $stage
KEPT
fi
