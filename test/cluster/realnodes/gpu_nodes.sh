# What makes a node of ours look to the kubelet plugin as one with GPUs does: a driver as the GPU Operator's lies there, by files under
# /run/nvidia/driver, with test/cluster/stubs/nvml's stand-in for NVIDIA's library and those of test/cluster/stubs/imex for IMEX; and what lies on nodes, to be
# compared. Sourced by bash with `set -euo pipefail`, with `repo`, `bin`, `cluster`, `nodes`, kubectl and in_node.
# shellcheck shell=bash disable=SC2154

# What a node with NVIDIA's driver has, as far as the plugin looks at it; IMEX apart.
driver_on() {  # driver_on NODE
  in_node "$1" mkdir -p /run/nvidia/driver/{dev,usr/bin,usr/lib64,proc/driver/nvidia/capabilities} &&
    in_node "$1" ln -s /dev/null /run/nvidia/driver/dev/nvidia0 &&
    in_node "$1" cp "$bin/../node/nvml/libnvml_stand_in.so" /run/nvidia/driver/usr/lib64/libnvidia-ml.so.580.95.05 &&
    in_node "$1" ln -s libnvidia-ml.so.580.95.05 /run/nvidia/driver/usr/lib64/libnvidia-ml.so.1 &&
    in_node "$1" touch /run/nvidia/driver/usr/lib64/libcuda.so.580.95.05 &&
    in_node "$1" cp /proc/sys/kernel/random/boot_id /run/nvidia/driver/boot_id &&
    printf 'DeviceFileMinor: 512\nDeviceFileMode: 438\nDeviceFileModify: 0\n' |
    in_node "$1" bash -c 'cat >/run/nvidia/driver/proc/driver/nvidia/capabilities/fabric-imex-mgmt' &&
    printf 'Character devices:\n  1 mem\n195 nvidia-frontend\n235 nvidia-caps-imex-channels\n236 nvidia-caps\n510 nvidia-uvm\n\nBlock devices:\n' |
    in_node "$1" bash -c 'cat >/run/nvidia/driver/devices'
}
imex_on() { in_node "$1" cp "$bin/imex/nvidia-imex" "$bin/imex/nvidia-imex-ctl" /run/nvidia/driver/usr/bin/; }
# As the manifests have it, with no more said than where this machine is not as a GPU node.
own_site() {  # own_site FOLDER RESOURCE...: a kustomization over folders of ours
  local folder=$1 resource
  shift
  mkdir -p "$folder"
  cat >"$folder/kustomization.yaml" <<YAML
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources:
$(for resource; do echo "- $(realpath --relative-to "$folder" "$repo/$resource")"; done)
components:
- $(realpath --relative-to "$folder" "$repo/manifests/overlays/driver-container")
patches:
- target: {kind: DaemonSet, name: cdom-kubelet-plugin}
  patch: |-
    - {op: add, path: /spec/template/spec/initContainers/0/env/-, value: {name: STAND_IN_NVML_GPUS, value: "GB200,0,3,0,1,1"}}
    - {op: add, path: /spec/template/spec/containers/0/env/-, value: {name: STAND_IN_NVML_GPUS, value: "GB200,0,3,0,1,1"}}
# Not a literal: a component's comes after them.
- target: {kind: ConfigMap, name: cdom-kubelet-plugin-settings}
  patch: |-
    - {op: add, path: /data/KEEP_PRIVILEGES, value: "false"}
configMapGenerator:
- name: cdom-kubelet-plugin-settings
  namespace: cdom-system
  behavior: merge
  literals:
  - ALT_PROC_DEVICES_PATH=/driver-root/devices
  - BOOT_ID_PATH=/driver-root/boot_id
  - LOG_VERBOSITY=4
  - PREFLIGHT_WAIT=2
YAML
}
# The same for controller, plugin and daemons together. configMapGenerator is the last list, and more can be put behind it.
whole_site() {  # whole_site FOLDER
  own_site "$1" manifests/standalone manifests/kubelet-plugin
  sed -i "s#^components:#&\\n- $(realpath --relative-to "$1" "$repo/manifests/controller-writes")#" "$1/kustomization.yaml"
  cat >>"$1/kustomization.yaml" <<'YAML'
- name: cdom-settings
  namespace: cdom-system
  behavior: merge
  literals: [IMAGE_NAME=registry.example.com/cdom-driver:0.2.0]
YAML
}
# What is on a node, whichever pod of the plugin is there: files, what is mounted, what runs, what the kubelet knows of claims, routes, labels,
# whether it is cordoned.
on_nodes_at_rest() {
  local node
  for node in "${nodes[@]}"; do
    echo "$node"
    {
      in_node "$node" find /run/cdi /run/netns /var/lib/kubelet/plugins /var/lib/kubelet/plugins_registry /var/lib/kubelet/pods -mindepth 1 -not -path '*/pods/*/*/*' -not -path '*/token'
      in_node "$node" bash -c 'cd /run/cdi && sha256sum *'
      in_node "$node" awk '{ print "mount", $5 }' /proc/self/mountinfo
      # shellcheck disable=SC2016
      in_node "$node" bash -c 'for process in /proc/[0-9]*/comm; do read -r name <"$process" && echo "process $name"; done 2>/dev/null' | grep -vE ' (bash|awk|runc.*|sleep|conmon|exe)$'
      in_node "$node" jq -c '.Data | fromjson | .ClaimInfoStateList // []' /var/lib/kubelet/dra_manager_state
      in_node "$node" ip route | sed 's/ linkdown//'
      kubectl get node "$node" -o 'jsonpath={.metadata.labels} {.spec.unschedulable}{.spec.taints}'
      echo
    } | sed -E 's/[0-9a-f]{64}/ID/g; s/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/UID/g; s/(kube-api-access)-[a-z0-9]{5}/\1/' | sort | uniq -c
  done
}
