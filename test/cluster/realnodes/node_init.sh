#!/usr/bin/env bash
# node_init.sh DIR NUMBER NODES MACHINE_NETWORK KUBELET_ROOT: process 1 of a node's namespaces (mount, net, pid, uts, ipc, cgroup), by
# `realnodes`. containerd and kubelet run at their default paths, so that manifests for real nodes need no change. When it
# ends, all that it started ends.
set -euo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
dir=$1 number=$2 nodes=$3 kubelet_root=$5
# shellcheck source=guard.sh
source "$here/guard.sh"
must_not_be_in "$4"
# shellcheck source=layout.sh
source "$here/layout.sh"
name=node-$number
home=$dir/nodes/$name
tell_where_we_are "$home/pid"
# The cgroup namespace begins here.
mount -t proc proc /proc
mount -t sysfs sysfs /sys

mount_cgroups() {
  local group controllers
  mount -t tmpfs -o mode=755 tmpfs /sys/fs/cgroup
  while read -r group; do
    controllers=${group#/sys/fs/cgroup/}
    controllers=${controllers%%/*}
    mkdir -- "/sys/fs/cgroup/$controllers"
    case $controllers in
      unified) mount -t cgroup2 cgroup2 /sys/fs/cgroup/unified ;;
      systemd) mount -t cgroup -o none,name=systemd cgroup /sys/fs/cgroup/systemd ;;
      *) mount -t cgroup -o "$controllers" cgroup "/sys/fs/cgroup/$controllers" ;;
    esac
  done <"$home/cgroups"
}

# What a kernel has once, each node has for itself: a boot of its own, and settings that its kubelet may write without the
# machine's changing.
shadow_kernel_files() {
  local file setting
  mkdir -p -- "$home/kernel"
  cat /proc/sys/kernel/random/uuid >"$home/kernel/boot_id"
  mount --bind "$home/kernel/boot_id" /proc/sys/kernel/random/boot_id
  for setting in vm/overcommit_memory vm/panic_on_oom kernel/panic kernel/panic_on_oops kernel/keys/root_maxkeys \
    kernel/keys/root_maxbytes; do
    file=$home/kernel/${setting//\//.}
    cat "/proc/sys/$setting" >"$file"
    mount --bind "$file" "/proc/sys/$setting"
  done
}

make_dev() {
  local device
  mkdir /run/dev
  mount -t tmpfs -o mode=755 tmpfs /run/dev
  for device in null:1:3 zero:1:5 full:1:7 random:1:8 urandom:1:9 tty:5:0 kmsg:1:11; do
    mknod -m 666 "/run/dev/${device%%:*}" c "$(cut -d: -f2 <<<"$device")" "${device##*:}"
  done
  mkdir /run/dev/{pts,shm,mqueue}
  mount -t devpts -o newinstance,ptmxmode=666,mode=620 devpts /run/dev/pts
  mount -t tmpfs tmpfs /run/dev/shm
  ln -s pts/ptmx /run/dev/ptmx
  ln -s /proc/self/fd /run/dev/fd
  mount --move /run/dev /dev
}

# Nothing of the machine's own is written: these hide it.
make_places() {
  mount -t tmpfs -o mode=755 tmpfs /run
  mount --bind "$home/log" /var/log
  mount -t tmpfs -o mode=755 tmpfs /var/lib
  mkdir -p "$kubelet_root" /var/lib/{containerd,cni}
  mount --bind "$home/kubelet" "$kubelet_root"
  mount --bind "$home/containerd" /var/lib/containerd
  make_dev
  # What a pod mounts there, others must see.
  mount --make-rshared /
}

join_network() {
  local other
  until ip link show eth0 >/dev/null 2>&1; do sleep 0.1; done
  ip link set lo up
  ip address add "$(address_of "$number")/24" dev eth0
  ip link set eth0 up
  ip route add default via "$kPlaneAddress"
  for ((other = 1; other <= nodes; ++other)); do
    ((other == number)) || ip route add "$(pods_of "$other")" via "$(address_of "$other")"
  done
  echo 1 >/proc/sys/net/ipv4/ip_forward
  mkdir -p /var/lib/cni/net.d
  cat >/var/lib/cni/net.d/pods.conflist <<CONFIG
{"cniVersion": "1.0.0", "name": "pods", "plugins": [{
  "type": "bridge", "bridge": "pods0", "isGateway": true, "ipMasq": false,
  "ipam": {"type": "host-local", "ranges": [[{"subnet": "$(pods_of "$number")"}]], "routes": [{"dst": "0.0.0.0/0"}]}}]}
CONFIG
}

mount_cgroups
shadow_kernel_files
make_places
hostname "$name"
join_network

PATH=$dir/containerd:$PATH
# A program that ends is started again. Containers go on meanwhile.
while :; do
  containerd --config "$here/containerd.toml" >>/var/log/containerd.log 2>&1 &
  echo $! >/run/containerd.pid
  wait $! || true
done &
until ctr version >/dev/null 2>&1; do sleep 0.1; done
for archive in "$dir/images/"*.tar; do
  ctr --namespace k8s.io images import "$archive"
done
echo "images imported"

# A kubelet that ends is started again, but not while somebody has made /run/kubelet.off.
while :; do
  until [[ -e $home/kubeconfig && ! -e /run/kubelet.off ]]; do sleep 0.1; done
  # etcd and others take settings from the environment; a kubelet takes none.
  "$dir/bin/kubelet" --config "$home/kubelet.yaml" --kubeconfig "$home/kubeconfig" --hostname-override "$name" \
    --root-dir "$kubelet_root" --node-ip "$(address_of "$number")" >>/var/log/kubelet.log 2>&1 &
  echo $! >/run/kubelet.pid
  wait $! || true
done
