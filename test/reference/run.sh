#!/usr/bin/env bash
# Runs the end-to-end suite of NVIDIA's driver, unchanged, against cdom on two real nodes. README.md describes the parts.
#
#   run.sh --reference CHECKOUT [--output FOLDER] [--image LAYOUT]   runs all cases and compares them with expected.tsv
#   run.sh --gates --reference CHECKOUT [...]                        a domain forms with each feature gate, and each is told
#   run.sh --table                                                   prints the table of docs/support.md
#
#   --reference  a git checkout of kubernetes-sigs/dra-driver-nvidia-gpu. Only a clone of its HEAD is used
#   --output     folder for results.tap, verdicts.tsv and logs; by default a folder in /tmp, deleted if nothing differs
#   --image      OCI layout of the image `driver`; by default scripts/image.sh makes it
#
# Prints PASS for each case with the expected verdict and FAIL for each other case. Exits with 1 if a verdict differs in either
# direction, or if docs/support.md has another table. Needs root, and the packages of `scripts/deps.sh nightly`.
set -euo pipefail

repo=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
here=$repo/test/reference
realnodes=$repo/test/cluster/realnodes
bin=$repo/build/release/bin
nodes=(node-1 node-2)
readonly kImage=registry.example.com/cdom-driver
export TEST_CHART_REPO=deployments/helm/dra-driver-nvidia-gpu  # In names of cases, as the next ones.
export TEST_GPU_STRESS_PODS_N=20 TEST_GPU_STRESS_ITERATIONS=1 TEST_GPU_STRESS_DELAY=1
readonly kTools=(bash cat ls rm sleep wc)  # In the containers of ubuntu and busybox; `sh` is bash.

misuse() {
  echo "run: $*; the head of test/reference/run.sh says what there is" >&2
  exit 2
}

# --- Expectations and verdicts -----------------------------------------------------------------------------------

expected() { grep -v '^#' "$here/expected.tsv"; }  # Lines of case, verdict and reason.
table() {
  printf '| Case at commit %s | Verdict | Reason |\n|---|---|---|\n' "$(sed -n '1s/^# \(.\{12\}\).*/\1/p' "$here/expected.tsv")"
  expected | awk -F '\t' '{ printf "| %s | %s | %s |\n", $1, $2, $3 }'
}
docs_have_the_table() { diff <(table) <(sed -n '/^| Case at commit /,/^$/p' "$repo/docs/support.md" | sed '/^$/d'); }

# Lines of case and verdict, for each case in the sources. bats prints no line for a case whose file cannot be set up: it fails.
verdicts() {
  local names file
  names=$(for file in "${files[@]}"; do git show "HEAD:$file" | sed -nE 's/^@test "(.*)" \{$/\1/p'; done)
  paste <(echo "$names") <(envsubst <<<"$names") | awk -F '\t' '
    NR == FNR && /^(not )?ok [0-9]+ / {
      verdict = /^not/ ? "fail" : "pass"
      sub(/^(not )?ok [0-9]+ /, "")
      if (sub(/ # skip.*/, "")) verdict = "skip"
      came[$0] = verdict
    }
    NR != FNR { print $1 "\t" ($2 in came ? came[$2] : "fail") }' <(cat "$output/"*.tap) -
}
# Prints PASS or FAIL for each case. Fails if one differs, or is in one list alone.
compare() {
  awk -F '\t' '
    NR == FNR { was[$1] = $2; next }
    !($1 in was) { was[$1] = "missing" }
    { print (was[$1] == $2 ? "PASS " : "FAIL ") $1 ": " was[$1] (was[$1] == $2 ? ", as expected" : ", not " $2); delete was[$1] }
    END { for (name in was) print "FAIL " name ": " was[name] ", not in expected.tsv" }' "$output/verdicts.tsv" <(expected) |
    tee "$output/compared"
  echo "$(grep -c '^PASS' "$output/compared") passed, $(grep -c '^FAIL' "$output/compared") failed"
  ! grep -q '^FAIL' "$output/compared"
}

# --- The cluster -------------------------------------------------------------------------------------------------

# shellcheck source=../e2e/stage.sh
source "$repo/test/e2e/stage.sh"
kubectl() { "$realnodes/realnodes" kubectl "$cluster" "$@"; }
in_node() { "$realnodes/realnodes" in "$cluster" "$@"; }
# shellcheck source=../cluster/realnodes/gpu_nodes.sh
source "$realnodes/gpu_nodes.sh"

cluster_down() {  # Its logs stay.
  local lane=${cluster%/cluster}
  mkdir -p "$output/logs/${lane##*/}"
  cp -r "$cluster/plane.log" "$cluster/nodes/"*/log "$output/logs/${lane##*/}" 2>/dev/null || true
  "$realnodes/realnodes" down "$cluster"
}
leave() {
  local status=$? lane
  trap - EXIT INT TERM
  cd "$repo"
  # Only if something ends this script: a lane ends what it started.
  jobs -p | xargs -r kill
  for lane in "$work"/*/; do
    if [[ -e $lane/bats.pid ]]; then kill "$(<"$lane/bats.pid")" || true; fi
    cluster=${lane}cluster
    if [[ -e $cluster ]]; then cluster_down || true; fi
  done
  rm -rf -- "$work"
  if ((status == 0)) && [[ -z $keep ]]; then rm -rf -- "$output"; else echo "reference: results are in $output" >&2; fi
  exit "$status"
}

# An image with the programs of this machine that the suite's pods run, under both names.
load_public_images() {
  local tool file name node
  local -a paths=("$(type -P bash)=/bin/sh" "$(type -P bash)=/bin/bash")
  for tool in "${kTools[@]}"; do paths+=("$(realpath "$(type -P "$tool")")=/usr/bin/$tool"); done
  for tool in "${paths[@]}"; do
    while read -r file; do paths+=("$file=$file"); done < <(ldd "${tool%%=*}" | grep -oE '/[^ ]+' | sort -u)
  done
  for name in docker.io/library/ubuntu:22.04 docker.io/library/ubuntu:24.04 docker.io/library/busybox:latest; do
    "$realnodes/archive.sh" "${cluster%/cluster}/image.tar" "$name" /bin/sh "${paths[@]}"
    for node in "${nodes[@]}"; do in_node "$node" "$cluster/containerd/ctr" --namespace k8s.io images import "${cluster%/cluster}/image.tar" >/dev/null; done
  done
}

# Two GPUs, which NVML's stand-in reads from a file, and sysfs as the kernel has it for them. In a container, `nvidia-smi -L` lists those
# whose device files are there.
gpus_on() {  # gpus_on NODE
  local minor at=/run/nvidia/driver
  {
    echo 'driver version=580.95.05 cuda=13000'
    for minor in 0 1; do
      echo "gpu minor=$minor uuid=GPU-${1#node-}000000$minor-0000-4000-8000-000000000000 name=NVIDIA_H100_80GB_HBM3 pci=00000000:1$minor:00.0 addressing=1"
    done
  } | in_node "$1" bash -c "cat >$at/gpus"
  for minor in 0 1; do
    in_node "$1" mkdir -p "$at/sys/devices/pci0000:1$minor/0000:1$minor:00.0" "$at/sys/bus/pci/devices"
    in_node "$1" ln -s "../../../devices/pci0000:1$minor/0000:1$minor:00.0" "$at/sys/bus/pci/devices/0000:1$minor:00.0"
  done
  in_node "$1" bash -c "cat >$at/usr/bin/nvidia-smi && chmod 755 $at/usr/bin/nvidia-smi" <<SMI
#!/bin/bash
[[ \${1:-} == -L ]] || { echo stand-in; exit 0; }
for gpu in /dev/nvidia[0-9]*; do
  [[ ! -c \$gpu ]] || echo "GPU \${gpu#/dev/nvidia}: NVIDIA H100 80GB HBM3 (UUID: GPU-${1#node-}000000\${gpu#/dev/nvidia}-0000-4000-8000-000000000000)"
done
SMI
}

cluster_up() {
  local node
  CDOM_KEEP_LOGS=$output/logs "$realnodes/realnodes" up "$cluster" --nodes "${#nodes[@]}"
  "$realnodes/realnodes" load "$cluster" "$image" "$kImage"
  load_public_images
  for node in "${nodes[@]}"; do
    driver_on "$node" && imex_on "$node"
    gpus_on "$node"
  done
  kubectl label nodes --all nvidia.com/gpu.present=true
  kubectl apply -f "$here/never_pull.yaml"
}

# All gates of NVIDIA's driver are on, and two of another branch, and five that nobody has. Those of the second column are off: the
# driver refuses them beside the others, or cdom serves domains without them. Both programs tell those of the third.
gates() {
  cat <<'TABLE'
gates-1 PassthroughSupport,DeviceMetadata,NVMLDeviceHealthCheck,MPSSupport NodeLocalFabricIPC=true
gates-2 DynamicMIG,NVMLDeviceHealthCheck NodeLocalFabricIPC=true
gates-3 DynamicMIG,PassthroughSupport,DeviceMetadata,ComputeDomainCliques NodeLocalFabricIPC=true,ComputeDomainCliques=false
gates-4 DynamicMIG,PassthroughSupport,DeviceMetadata,ComputeDomainCliques,IMEXDaemonsWithDNSNames IMEXDaemonsWithDNSNames=false
TABLE
}
readonly kInvented=(FabricTelemetry GpuHotPlug LinkScores RackQuota WarmStandby)
gate_values() {  # gate_values OFF: YAML.
  local gate
  echo 'featureGates:'
  for gate in $(sed -nE 's/^([A-Za-z]+)=.*/\1/p' "$repo/test/fixtures/nvidia/feature_gates.txt") SeamlessUpgrades PerNodeGPUConfig "${kInvented[@]}"; do
    echo "  $gate: $([[ ,$1, == *,$gate,* ]] && echo false || echo true)"
  done
}
gates_are_told() {  # gates_are_told GATE=VALUE,...: by the chart that the last case left.
  local pod says gate
  for pod in $(kubectl -n dra-driver-nvidia-gpu get pods -o name | grep -E 'controller|kubelet-plugin'); do
    says=$(kubectl -n dra-driver-nvidia-gpu logs "$pod" --all-containers --tail=-1 | grep -E '^W.*feature gate') || { echo "$pod tells no gate"; return 1; }
    for gate in "${kInvented[@]}"; do [[ $says == *"Ignoring unknown feature gates"*"$gate=true"* ]] || { echo "$pod, $gate: $says"; return 1; }; done
    for gate in ${1//,/ }; do [[ $says == *"gate=\"$gate\" cost="* ]] || { echo "$pod, $gate: $says"; return 1; }; done
  done
}
run_gates() {
  local name off told failed=0 verdict
  while read -r name off told; do
    more=$(gate_values "$off") after="gates_are_told $told" lane "$name" tests/bats/test_cd_imex_chan_inject.bats || failed=1
    verdict=$(grep -cE '^ok [0-9]+ CDs: IMEX channel injection \(single\)$' "$output/$name.tap") || true
    if [[ $verdict == 1 && -e $output/$name.after ]]; then echo "PASS $name"; else echo "FAIL $name: see $output/$name.*" && failed=1; fi
  done < <(gates)
  return $failed
}

# lane NAME FILE...: runs these files of the suite on a cluster of their own. The environment is what their Makefile sets, and what
# the wrapper of Helm needs.
lane() {
  local name=$1 home=$work/$1 tag
  shift
  cluster=$home/cluster
  mkdir -p "$home/tmp" "$home/root"
  git clone -q --no-hardlinks "$reference" "$home/reference"
  cluster_up >"$output/$name.log" 2>&1
  tag=$(jq -r '.manifests[0].annotations["org.opencontainers.image.ref.name"]' "$image/index.json")
  cat >"$home/values.yaml" <<YAML
image: {repository: $kImage, tag: "$tag"}
kubeletPlugin:
  containers:
    computeDomains: {env: [{name: STAND_IN_NVML_GPUS, value: "GB200,0,3,0,1,1"}]}
    gpus: {env: [{name: STAND_IN_NVML_FILE, value: /driver-root/gpus}, {name: ALT_PROC_DEVICES_PATH, value: /driver-root/devices}]}
${more:-}
YAML
  cd "$home/reference"
  TEST_EXPECTED_IMAGE_SPEC_SUBSTRING=$kImage:$tag TEST_CRD_UPGRADE_TARGET_GIT_REF=main \
    TEST_CHART_LASTSTABLE_REPO=oci://registry.k8s.io/dra-driver-nvidia/charts/dra-driver-nvidia-gpu TEST_CHART_LASTSTABLE_VERSION=0.4.0 \
    TEST_NVIDIA_DRIVER_ROOT=/run/nvidia/driver TEST_ALT_PROC_DEVICES=/run/nvidia/driver/devices \
    KUBECONFIG=$cluster/plane/admin.kubeconfig RIG_HELM=$helm RIG_VALUES=$home/values.yaml \
    HOME=$home TMPDIR=$home/tmp PATH=$here/bin:$cluster/bin:$PATH \
    "$realnodes/realnodes" in "$cluster" plane unshare --mount --pid --fork --kill-child --mount-proc --propagation private \
    "$here/room.sh" "$home/root" bats --formatter tap "$@" </dev/null >"$output/$name.tap" 2>>"$output/$name.log" &
  echo $! >"$home/bats.pid"
  wait $! || true  # bats fails if one case does.
  rm "$home/bats.pid"
  if [[ -z ${after:-} ]] || $after >>"$output/$name.log" 2>&1; then touch "$output/$name.after"; fi
  cluster_down
  grep -qE '^1\.\.[0-9]+$' "$output/$name.tap" || { echo "reference: bats did not run in lane $name" >&2 && return 1; }
}

# --- Run ---------------------------------------------------------------------------------------------------------

reference='' output='' image='' only_gates=''
while (($# > 0)); do
  case $1 in
    --table)
      table
      exit
      ;;
    --gates) only_gates=yes ;;
    --reference | --output | --image)
      [[ -n ${2:-} ]] || misuse "$1 needs a value"
      declare "${1#--}=$(realpath -m -- "$2")"
      shift
      ;;
    *) misuse "unknown word $1" ;;
  esac
  shift
done
[[ -n $reference ]] || misuse "--reference is missing"
keep=$output
: "${output:=$(mktemp -d /tmp/cdom-reference.XXXXXX)}"
work=$(mktemp -d /tmp/cdom-reference.XXXXXX)
mkdir -p "$output"
export KUBECACHEDIR=$work/cache KUBERC=off
trap leave EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

echo "reference: commit $(git -C "$reference" rev-parse HEAD)"
helm=$("$repo/test/packaging/chart/helm/build.sh")/4/helm
if [[ -z $image ]]; then
  image=$work/image
  "$repo/scripts/image.sh" "$(dpkg --print-architecture)" --image driver --output "$image"
fi
cd "$reference"
TEST_CHART_VERSION=$(git show HEAD:VERSION | sed 's/^v//')
export TEST_CHART_VERSION
mapfile -t files < <(git ls-tree --name-only HEAD tests/bats/ | grep '\.bats$')
mapfile -t domains < <(printf '%s\n' "${files[@]}" | grep -v /test_gpu_)
# Cases that fail leave pods and claims, by which others would fail. So those of what cdom does not do have a cluster of their own.
mapfile -t gpus < <(printf '%s\n' "${files[@]}" | grep -E '/test_gpu_(basic|extres|robustness|stress)\.')
mapfile -t not_served < <(printf '%s\n' "${files[@]}" | grep -E '/test_gpu_' | grep -vE '_(basic|extres|robustness|stress|cuda_.*)\.')
mapfile -t cuda < <(printf '%s\n' "${files[@]}" | grep /test_gpu_cuda_)
if [[ -n $only_gates ]]; then
  run_gates
  exit
fi
lane domains "${domains[@]}" &
wait $!
# At the same time, because they wait most of the time: CUDA's wait 40 minutes for pods that no node can run.
lane gpus "${gpus[@]}" &
others=($!)
lane not-served "${not_served[@]}" &
others+=($!)
lane cuda "${cuda[@]}" &
wait $!
for other in "${others[@]}"; do wait "$other"; done
verdicts >"$output/verdicts.tsv"
compare
known=$(sed -n '1s/^# \([0-9a-f]*\).*/\1/p' "$here/expected.tsv")
[[ $(git rev-parse HEAD) == "$known" ]] || { echo "reference: expected.tsv is of commit $known: write that of this checkout" >&2 && exit 1; }
docs_have_the_table || { echo "reference: docs/support.md does not have this table: see README.md" >&2 && exit 1; }
