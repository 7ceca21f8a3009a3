#!/usr/bin/env bash
# inside.sh DIR COMMAND...: the command, if this process is in the network of the control plane of the cluster in DIR. By
# `realnodes`, which enters it first.
set -euo pipefail

# shellcheck source=guard.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/guard.sh"
read -r pid _ <"$1/plane.pid" || pid=none
must_be_in "$(network "$pid" || true)"
shift
exec "$@"
