#!/usr/bin/env bash
# A cluster of two real nodes that look as ones with GPUs, with controller, kubelet plugin and daemons installed from our images
# and manifests, for tests in another language.
#
#   gpu_cluster.sh BIN_FOLDER FOLDER [KUBELET_ROOT]
#
# With KUBELET_ROOT, the manifests have the component overlays/kubelet-root, with that folder.
# Prints "ready" once each node publishes its devices. FOLDER/cluster is then as realnodes has it, and FOLDER/site is what was
# applied. When standard input ends, so does the cluster; what it logged is then in FOLDER/logs.
set -euo pipefail

repo=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../../.." && pwd)
here=$repo/test/cluster/realnodes
bin=$(cd -- "$1" && pwd)
root=$(cd -- "$2" && pwd)
cluster=$root/cluster
kubelet_root=${3:-/var/lib/kubelet}
# shellcheck disable=SC2034
nodes=(node-1 node-2)
export KUBECACHEDIR=$root/cache KUBERC=off

# shellcheck source=../../e2e/stage.sh
source "$repo/test/e2e/stage.sh"
kubectl() { "$here/realnodes" kubectl "$cluster" "$@"; }
in_node() { "$here/realnodes" in "$cluster" "$@"; }
# shellcheck source=gpu_nodes.sh
source "$here/gpu_nodes.sh"

leave() {
  local status=$?
  trap - EXIT INT TERM
  mkdir -p "$root/logs"
  cp -r "$cluster/plane.log" "$cluster/nodes/"*/log "$root/logs" 2>/dev/null || true
  "$here/realnodes" down "$cluster" || true
  exit "$status"
}
trap leave EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

images_are_in_every_node() {
  local image
  for image in controller driver; do
    "$repo/scripts/image.sh" "$(dpkg --print-architecture)" --image "$image" --output "$root/image-$image" &&
      "$here/realnodes" load "$cluster" "$root/image-$image" "registry.example.com/cdom-$image" || return 1
  done
}
# One replica of the controller: what a leader's absence costs is measured elsewhere.
it_is_installed() {
  whole_site "$root/site"
  printf 'replicas: [{name: cdom-controller, count: 1}]\n' >>"$root/site/kustomization.yaml"
  if [[ $kubelet_root != /var/lib/kubelet ]]; then
    # As its head says.
    cp -r "$repo/manifests/overlays/kubelet-root" "$root/kubelet-root"
    sed -i "s,/var/lib/k0s/kubelet,$kubelet_root," "$root/kubelet-root/kustomization.yaml"
    sed -i 's#^components:#&\n- ../kubelet-root#' "$root/site/kustomization.yaml"
  fi
  kubectl label nodes --all nvidia.com/gpu.present=true
  kubectl apply -k "$root/site"
}
each_node_has_devices() { (($(kubectl get resourceslices --no-headers 2>/dev/null | wc -l) == ${#nodes[@]})); }

{
  "$here/realnodes" up "$cluster" --nodes "${#nodes[@]}" --kubelet-root "$kubelet_root"
  images_are_in_every_node
  for node in "${nodes[@]}"; do
    driver_on "$node"
    imex_on "$node"
  done
  it_is_installed
  wait_for 120 "each node publishes its devices" each_node_has_devices
  kubectl -n cdom-system rollout status deployment/cdom-controller --timeout=60s
  kubectl -n cdom-system rollout status daemonset/cdom-kubelet-plugin --timeout=60s
} </dev/null >&2
echo ready
cat >/dev/null  # Until its caller closes that, or ends.
