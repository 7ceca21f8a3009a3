#!/usr/bin/env bash
# plane_init.sh DIR NODES MACHINE_NETWORK: process 1 of the control plane's namespaces (mount, net, pid), by `realnodes`. When it
# ends, all that it started ends.
set -euo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
dir=$1 nodes=$2
# shellcheck source=guard.sh
source "$here/guard.sh"
must_not_be_in "$3"
# shellcheck source=layout.sh
source "$here/layout.sh"
tell_where_we_are "$dir/plane.pid"
mount -t proc proc /proc

ip link set lo up
ip address add "$kServiceAddress/32" dev lo
# With an address of its own: else it takes over that of the port with the lowest, and when that leaves, all nodes lose it.
ip link add "$kBridge" address 02:00:00:63:00:01 type bridge
ip address add "$kPlaneAddress/24" dev "$kBridge"
ip link set "$kBridge" up
for ((number = 1; number <= nodes; ++number)); do
  ip route add "$(pods_of "$number")" via "$(address_of "$number")"
done
# So that who asks for an address that nobody has hears so at once.
echo 1 >/proc/sys/net/ipv4/ip_forward

# Users have claims in each version.
"$here/../controlplane/controlplane" up "$dir/plane" --port 443 --runtime-config resource.k8s.io/v1beta1=true,resource.k8s.io/v1beta2=true \
  --apiserver-arg --bind-address=0.0.0.0 --apiserver-arg --allow-privileged=true \
  --apiserver-arg --kubelet-preferred-address-types=InternalIP \
  --apiserver-arg "--kubelet-certificate-authority=$dir/plane/pki/ca.crt" \
  --apiserver-arg "--kubelet-client-certificate=$dir/plane/pki/admin.crt" \
  --apiserver-arg "--kubelet-client-key=$dir/plane/pki/admin.key"
echo up
# A process that loses its parent in this pid namespace becomes a child of this shell, which waits for it.
while :; do sleep 1000; done
