# scripts/demo.sh --real-nodes: the controller in a cluster of real kubelets, and what there is to see without a kubelet plugin of
# NVIDIA's. Sourced by it.
# shellcheck shell=bash disable=SC2154

cluster=$stage/cluster
name=registry.example.com/cdom-controller
kubectl() { "$repo/test/realnodes/realnodes" kubectl "$cluster" "$@"; }
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
  "$repo/test/realnodes/realnodes" down "$cluster" || true
  if ((status == 0)); then rm -rf "$stage"; else echo "demo: logs are in $stage" >&2; fi
  exit "$status"
}
says() {  # says REASON: of the condition Ready
  [[ $(kubectl get cdom quickstart -o 'jsonpath={.status.conditions[?(@.type=="Ready")].reason}' 2>/dev/null) == "$1" ]]
}

say "The image of the controller"
image_made() { printf 'the image is being made'; }
run_quietly "$stage/image.log" image_made "$repo/scripts/image.sh" "$(dpkg --print-architecture)" --output "$stage/image"
tail -n 1 "$stage/image.log"
"$repo/test/realnodes/build.sh" >/dev/null
started=$SECONDS

say "Two real nodes: kubelet, containerd and runc, each in namespaces of its own"
run "$repo/test/realnodes/realnodes" up "$cluster" --nodes 2
run kubectl get nodes -o wide

say "The image into each of them, and the controller into the cluster: two replicas, one leads"
run "$repo/test/realnodes/realnodes" load "$cluster" "$stage/image" "$name"
run kubectl apply -k "$repo/manifests/standalone"
run kubectl -n cdom-system rollout status deployment/cdom-controller --timeout=120s
run kubectl -n cdom-system get pods -o wide

say "A workload author applies a ComputeDomain and a Job of four pods that claim its channel"
# As feature discovery labels nodes with NVLink; with placement the example's pods would ask for it.
kubectl label nodes --all nvidia.com/gpu.clique=clique-1 >/dev/null
run kubectl apply -f "$repo/examples/quickstart.yaml"
wait_for 60 "the domain has its template" kubectl get resourceclaimtemplate quickstart-channel || fail "no template was made"
run kubectl get resourceclaimtemplates,daemonsets --all-namespaces

say "No node has a GPU, and none NVIDIA's kubelet plugin, which publishes the channels: the pods wait, and the domain says why"
wait_for 60 "the domain says what is missing" says NoPlugin || fail "the domain does not say that no plugin is there"
run kubectl get pods -l app=quickstart
run kubectl get cdom quickstart -o wide
run kubectl events --for "pod/$(kubectl get pods -l app=quickstart -o 'jsonpath={.items[0].metadata.name}')"

say "The author deletes both, and the administrator what was installed: nothing is left"
run kubectl delete -f "$repo/examples/quickstart.yaml" --timeout=90s
if ! $keep; then
  run kubectl delete -k "$repo/manifests/standalone" --timeout=90s
fi

say "Done in $((SECONDS - started)) s."
if $keep; then
  cat <<KEPT
It goes on running. To look around:

  alias kubectl='$repo/test/realnodes/realnodes kubectl $cluster'
  $repo/test/realnodes/realnodes in $cluster node-1 bash     # a shell in a node

To end it:

  $repo/test/realnodes/realnodes down $cluster && rm -r $stage
KEPT
fi
