# Where things are. Sourced by scripts that make or enter namespaces.
# shellcheck shell=bash disable=SC2034

readonly kServiceAddress=10.0.0.1  # Of the service "kubernetes", which test/cluster/controlplane's certificate is for.
readonly kBridge=cdom0
readonly kPlaneAddress=10.99.0.1
readonly kNodesMax=4

address_of() { printf '10.99.0.%d' $((10 + $1)); }      # Of the node with this number.
pods_of() { printf '10.244.%d.0/24' "$1"; }

# -n: mount would make /run/mount on the machine, to note what only our own namespace has.
mount() { command mount -n "$@"; }

# tell_where_we_are FILE: the process id by which those outside know us, and our pid namespace, by which they know that it is
# still us. /proc is still theirs.
tell_where_we_are() {
  local pid
  read -r pid _ </proc/self/stat
  printf '%s %s\n' "$pid" "$(readlink /proc/self/ns/pid)" >"$1.new"
  mv -- "$1.new" "$1"
}
