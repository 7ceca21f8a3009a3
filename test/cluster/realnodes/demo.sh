# scripts/demo.sh --real-nodes: a domain's life with our controller, kubelet plugin and IMEX daemons, from our images and manifests, in a
# cluster of real kubelets. Sourced by it.
# shellcheck shell=bash disable=SC2154

cluster=$stage/cluster
nodes=(node-1 node-2 node-3 node-4)
kubectl() { "$repo/test/cluster/realnodes/realnodes" kubectl "$cluster" "$@"; }
in_node() { "$repo/test/cluster/realnodes/realnodes" in "$cluster" "$@"; }
# shellcheck source=gpu_nodes.sh
source "$repo/test/cluster/realnodes/gpu_nodes.sh"
fail() {
  echo "demo: FAILED: $*" >&2
  exit 1
}
leave() {
  local status=$?
  trap - EXIT INT TERM
  if $keep && ((status == 0)); then return; fi
  if ((status != 0)); then
    kubectl get pods,events --all-namespaces >&2 || true
    cp -r "$cluster"/plane.log "$cluster"/nodes/*/log "$stage" 2>/dev/null || true
  fi
  "$repo/test/cluster/realnodes/realnodes" down "$cluster" || true
  if ((status == 0)); then rm -rf "$stage"; else echo "demo: logs are in $stage" >&2; fi
  exit "$status"
}
plugin_on() { kubectl -n cdom-system get pods -l app.kubernetes.io/component=kubelet-plugin --field-selector "spec.nodeName=$1" -o "${@:2}"; }
lacks_imex() { plugin_on node-2 json | jq -e '.items[0].status.initContainerStatuses[0] | (.lastState.terminated // .state.terminated).message | test("MISSING IMEX")'; }
slices_are() { [[ $(kubectl get resourceslices --no-headers 2>/dev/null | wc -l) == "$1" ]]; }
is_ready() { [[ $(kubectl get cdom quickstart -o 'jsonpath={.status.status} {.status.members}') == 'Ready 4/4' ]]; }
workers_run() { (($(kubectl get pods -l app=quickstart --no-headers | awk '$3 == "Running"' | wc -l) == 4)); }
job_is_done() { [[ $(kubectl get job quickstart -o 'jsonpath={.status.succeeded}') == 4 ]]; }
holds() { { snapshot "$1.raw" && jq 'map(if .kind == "Node" then del(.status) else . end)' "$1.raw"; on_nodes_at_rest; } >"$1"; }
as_before() { holds "$stage/after" && cmp -s "$stage/before" "$stage/after"; }

say "Two images: the controller's; and the driver's, with kubelet plugin and IMEX daemon"
image_made() { printf 'the image is being made'; }
for image in controller driver; do
  run_quietly "$stage/image.log" image_made "$repo/scripts/image.sh" "$(dpkg --print-architecture)" --image "$image" --output "$stage/$image"
  tail -n 1 "$stage/image.log"
done
"$repo/test/cluster/realnodes/build.sh" >/dev/null
started=$SECONDS

say "Four real nodes: kubelet, containerd and runc, each in namespaces of its own; no registry is reached, so they get the images"
run "$repo/test/cluster/realnodes/realnodes" up "$cluster" --nodes 4
for image in controller driver; do run "$repo/test/cluster/realnodes/realnodes" load "$cluster" "$stage/$image" "registry.example.com/cdom-$image"; done
run kubectl get nodes -o wide

say "No GPU is here: on each node files stand in for NVIDIA's driver, two programs for its IMEX. On node-2 somebody forgot IMEX"
for node in "${nodes[@]}"; do driver_on "$node"; done
for node in node-1 node-3 node-4; do imex_on "$node"; done
kubectl label nodes --all nvidia.com/gpu.present=true nvidia.com/gpu.clique=clique-1 >/dev/null
in_node node-1 find /run/nvidia/driver -type f

say "Controller, plugin and daemons, as docs/install.md has them for GPU nodes; the five settings of the plugin are for the stand-ins of this machine"
whole_site "$stage/site"
run cat "$stage/site/kustomization.yaml"
run kubectl apply -k "$stage/site" >"$stage/applied"
echo "$(wc -l <"$stage/applied") objects"
run kubectl -n cdom-system rollout status deployment/cdom-controller --timeout=120s

say "The pod of a node that lacks something says what, and the others serve"
wait_for 60 "node-2 is told what it lacks" lacks_imex || fail "nobody says that node-2 has no IMEX"
wait_for 60 "the others publish their devices" slices_are 3 || fail "not three nodes publish devices"
run kubectl -n cdom-system get pods -l app.kubernetes.io/component=kubelet-plugin -o wide
run kubectl -n cdom-system logs "$(plugin_on node-2 name)" -c preflight
imex_on node-2
wait_for 60 "node-2 publishes its devices, too" slices_are 4 || fail "node-2 does not publish its devices"
run kubectl -n cdom-system rollout status daemonset/cdom-kubelet-plugin --timeout=60s
say "With IMEX it serves, too: each node publishes a channel and a daemon's device, with its NVLink clique"
run kubectl get resourceslices -o 'custom-columns=NODE:.spec.nodeName,DRIVER:.spec.driver,DEVICES:.spec.devices[*].name,CLIQUE:.spec.devices[0].attributes.clique.string'

say "What cluster and nodes hold before: objects; files, mounts, CDI specs, processes, labels of each node"
# Of containers that have ended kubelets keep a note for a while.
settled() { holds "$stage/before" && read -rt 3 <> <(:) || as_before; }
wait_for 90 "they are at rest" settled || fail "the nodes do not come to rest"
echo "$(wc -l <"$stage/before") lines"

say "A workload author applies a ComputeDomain and a Job of four pods that claim its channel; with bash of our image, since none can be pulled"
sed 's#image: .*#image: registry.example.com/cdom-driver:0.2.0#; s#^        - sh$#        - bash#' "$repo/examples/quickstart.yaml" >"$stage/quickstart.yaml"
show kubectl apply -f examples/quickstart.yaml
began=$(date +%s%N)
kubectl apply -f "$stage/quickstart.yaml"
wait_for 120 "the domain is ready" is_ready || fail "the domain does not become Ready"
say "Ready after $((($(date +%s%N) - began) / 1000000)) ms: a daemon on each node of the domain, and their IMEX are connected"
wait_for 60 "all workers run" workers_run || fail "not all workers run"
run kubectl get cdom quickstart -o wide
run kubectl get pods --all-namespaces -l 'app=quickstart' -o wide
run kubectl -n cdom-system get pods -l resource.nvidia.com/computeDomain -o wide
daemon=$(kubectl -n cdom-system get pods -l resource.nvidia.com/computeDomain -o 'jsonpath={.items[0].metadata.name}')
run kubectl -n cdom-system exec "$daemon" -- nvidia-imex-ctl -c /imexd/imexd.cfg -N -j |
  jq -r '.nodes | to_entries[] | select(.value.status == "READY") | "IMEX \(.key), \(.value.host): \(.value.status), connected to \([.value.connections[] | select(.status == "CONNECTED")] | length)"'

say "Each worker sees its channel"
run kubectl logs -l app=quickstart --tail=-1 --prefix

say "The Job ends, and nodes are given back; then the author deletes both"
wait_for 120 "the Job is complete" job_is_done || fail "the Job does not end"
run kubectl get job,cdom
run kubectl delete -f "$stage/quickstart.yaml" --timeout=90s

say "What cluster and nodes hold after"
wait_for 120 "nothing is left" as_before || { diff "$stage/before" "$stage/after" >&2; fail "something is left"; }
show diff before after
diff "$stage/before" "$stage/after"
echo "no difference in $(wc -l <"$stage/after") lines"

if ! $keep; then
  say "And the administrator takes down what was installed"
  run kubectl delete -k "$stage/site" --timeout=90s >"$stage/deleted"
  echo "$(wc -l <"$stage/deleted") objects"
  in_node node-1 find /run/cdi /var/lib/kubelet/plugins /var/lib/kubelet/plugins_registry -type f -printf 'on node-1 stays %p\n'
fi

say "Done in $((SECONDS - started)) s."
if $keep; then
  cat <<KEPT
It goes on running. To look around:

  alias kubectl='$repo/test/cluster/realnodes/realnodes kubectl $cluster'
  $repo/test/cluster/realnodes/realnodes in $cluster node-1 bash     # a shell in a node

To end it:

  $repo/test/cluster/realnodes/realnodes down $cluster && rm -r $stage
KEPT
fi
