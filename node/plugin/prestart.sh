#!/usr/bin/env bash
# What NVIDIA's chart runs before the kubelet plugin, as /usr/bin/kubelet-plugin-prestart.sh of the image: waits until the node's
# driver is of use, and ends. Our own manifests run `compute-domain-kubelet-plugin preflight` instead, which looks at more.
#
# The driver's root is the folder of /driver-root-parent that NVIDIA_DRIVER_ROOT ends with: the chart mounts its parent, so that
# a root that comes later is seen.
set -uo pipefail

parent=${1:-/driver-root-parent} pause=${2:-10}
root=$parent/$(basename -- "${NVIDIA_DRIVER_ROOT:-/}")
# As the first process of a container it would not end otherwise.
trap 'exit 143' TERM

# Those of the plugin, as a test compares: what an administrator names, then distributions' and Talos'.
IFS=: read -r -a library_folders <<<"${NVIDIA_DRIVER_LIBRARY_PATHS:-}"
library_folders+=(/ /usr/lib64 /usr/lib/x86_64-linux-gnu /usr/lib/aarch64-linux-gnu /lib64 /lib/x86_64-linux-gnu
  /lib/aarch64-linux-gnu /usr/lib /lib /usr/local/glibc/usr/lib)

program_folders=(/ /opt/bin /usr/bin /usr/sbin /bin /sbin /usr/local/bin /usr/local/sbin)

first() {  # first FILE FOLDER...: where it is under the root
  local folder
  for folder in "${@:2}"; do
    if [[ -f $root/$folder/$1 ]]; then
      printf '%s\n' "$root/$folder/$1"
      return 0
    fi
  done
  return 1
}

# What is missing yet, and what to do about it; fails if nothing is.
missing() {
  local smi library output
  smi=$(first nvidia-smi "${program_folders[@]}") || {
    printf 'nvidia-smi does not exist under %s: install the driver on the node, or correct nvidiaDriverRoot' "${NVIDIA_DRIVER_ROOT:-/}"
    return 0
  }
  library=$(first libnvidia-ml.so.1 "${library_folders[@]}") || {
    printf 'libnvidia-ml.so.1 does not exist under %s: install the driver on the node, correct nvidiaDriverRoot, or name its folder there (NVIDIA_DRIVER_LIBRARY_PATHS)' "${NVIDIA_DRIVER_ROOT:-/}"
    return 0
  }
  output=$(env -i LD_PRELOAD="$library" "$smi" --version 2>&1 </dev/null) && return 1
  printf '%s fails: is the driver loaded? It says: %s' "$smi" "${output//$'\n'/ }"
}

said=
while now=$(missing); do
  # Once, and not every time.
  if [[ $now != "$said" ]]; then printf '%(%FT%TZ)T Waiting for the driver: %s\n' -1 "${now:0:2000}" >&2; fi
  said=$now
  sleep "$pause" &
  wait $!
done
printf '%(%FT%TZ)T The driver is there\n' -1 >&2
