# The rule of this folder: whatever has an address other than loopback lives in a network namespace that we made, and nobody
# speaks to such an address from another. Sourced.
# shellcheck shell=bash

readonly kRefused=3  # The exit status of who is in the wrong network.

network() { readlink "/proc/${1:-self}/ns/net"; }

# must_be_in NETWORK: ends unless this process is in it.
must_be_in() {
  [[ -n $1 && $(network) == "$1" ]] || refuse "this is not the network of the cluster"
}

# must_not_be_in NETWORK: ends if this process is in it, or if that cannot be told.
must_not_be_in() {
  local mine
  mine=$(network) && [[ -n $1 && $mine != "$1" ]] || refuse "this is the network of the machine"
}

refuse() {
  printf '%s: refused: %s, and every address but loopback lives in namespaces of its own. Go through realnodes.\n' \
    "$(basename -- "$0")" "$1" >&2
  exit "$kRefused"
}
