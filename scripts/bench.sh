#!/usr/bin/env bash
# Measures how fast the controller is, and how little it needs, on a real control plane: each figure beside
# its budget and beside a yardstick from the same run. test/bench/README.md says how to read the table.
#
# Ends with 1 if a row gives no figure, or a count, memory or bytes exceed their limit. Seconds never fail.
#
#   scripts/bench.sh [options]
#
#   --rows P1,P3,...         only these rows, of P1 to P20 (all)
#   --controller-cmd CMD     another controller through the same rows; its settings come as the environment
#                            variables of NVIDIA's controller, and KUBECONFIG
#   --strict                 measures the rows whose ratios of times have a budget (P1, P15) five times; a median
#                            that misses it fails
#   --smoke                  small sizes, a minute or two: a line PASS for each row that gave figures. Of them
#                            only counts that do not depend on the sizes are judged
#   --record                 writes the figures of the README's table into test/bench/figures.tsv and README.md;
#                            with --controller-cmd as those of NVIDIA's controller
#   --joining-nodes "N ..."  P2: once with each of these numbers of nodes (18 144 1000)
#   --domains N, --samples N, --labelled-nodes N, --idle-domains N, --idle-nodes N, --idle-claims N,
#   --foreign-claims N, --idle-seconds N, --hand-overs N, --crashes N, --huge-nodes N, --large-claims N,
#   --cut-after N, --cut-seconds N, --flapping-nodes N, --flapping-seconds N,
#   --waiting-domains N, --waiting-seconds N, --unready-members N, --placed-domains N, --placed-pods N
#                            other sizes; `cdom-bench --help` says of what, and the usual ones
set -euo pipefail

repo=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
bin=$repo/build/release/bin

misuse() {
  echo "bench: $*; --help shows what there is" >&2
  exit 2
}

smoke=false
strict=false
record=false
judge=()  # Options of cdom-bench-table.
rows=P1,P2,P3,P4,P5,P6,P7,P8,P9,P10,P11,P12,P13,P14,P15,P16,P17,P18,P19,P20
command=$bin/compute-domain-controller
joining=()
sizes=()
asked=()
while (($# > 0)); do
  case $1 in
    -h | --help)
      sed -n '2,/^set/p' "${BASH_SOURCE[0]}" | sed '$d; s/^# \{0,1\}//'
      exit 0
      ;;
    --smoke | --strict | --record)
      declare "${1#--}=true"
      shift
      continue
      ;;
  esac
  (($# > 1)) || misuse "$1 is unknown, or needs a value after it"
  case $1 in
    --rows) rows=$2 ;;
    --controller-cmd) command=$2 ;;
    --joining-nodes) read -ra joining <<<"$2" ;;
    --domains | --samples | --labelled-nodes | --idle-domains | --idle-nodes | --idle-claims | \
      --foreign-claims | --idle-seconds | --hand-overs | --crashes | --huge-nodes | --large-claims | \
      --cut-after | --cut-seconds | --flapping-nodes | --flapping-seconds | --waiting-domains | \
      --waiting-seconds | --unready-members | --placed-domains | --placed-pods) asked+=("$1" "$2") ;;
    *) misuse "unknown option $1" ;;
  esac
  shift 2
done
for row in ${rows//,/ }; do
  [[ $row =~ ^P([1-9]|1[0-9]|20)$ ]] || misuse "there is no row $row"
done
if ((${#joining[@]} == 0)); then
  if $smoke; then joining=(4); else joining=(18 144 1000); fi
fi
if $smoke; then
  sizes=(--domains 20 --samples 3 --labelled-nodes 60 --idle-domains 20 --idle-nodes 100 --idle-claims 200
    --foreign-claims 200 --idle-seconds 5 --hand-overs 1 --crashes 1 --huge-nodes 60 --large-claims 20
    --cut-after 2 --cut-seconds 6 --flapping-nodes 60 --flapping-seconds 3 --waiting-domains 20
    --waiting-seconds 20 --unready-members 200 --placed-domains 20 --placed-pods 5)
fi
if $smoke; then judge+=(--small); fi
if $strict; then judge+=(--strict); fi
if [[ $command != "$bin/compute-domain-controller" ]]; then judge+=(--another); fi
if $record && { $smoke || ((${#asked[@]} > 0)); }; then misuse "only figures of the usual sizes are recorded"; fi
sizes+=("${asked[@]}")  # Of an option that is there twice, the last counts.

# shellcheck source=../test/e2e/stage.sh
source "$repo/test/e2e/stage.sh"

root=$(mktemp -d "${TMPDIR:-/tmp}/cdom-bench.XXXXXX")
table=$root/table.tsv
: >"$table"
failed=0
stage=
plane_options=()  # Of the next control plane.
leave() {
  local status=$?
  trap - EXIT INT TERM
  end_stage || true
  if ((failed == 0 && status == 0)); then rm -rf "$root"; else echo "bench: logs are in $root" >&2; fi
  exit "$status"
}
trap leave EXIT
trap 'exit 130' INT TERM

# A control plane with CRDs and rights, and two tokens of the controller.
begin_stage() {  # begin_stage NAME
  stage=$root/$1
  mkdir -p "$stage"
  plane_up "${plane_options[@]}" || return 1
  kubectl apply -k "$repo/manifests/local" || return 1
  wait_for 60 "the CRDs are served" kubectl get computedomains,computedomaincliques --all-namespaces || return 1
  if [[ $command != "$bin/compute-domain-controller" ]]; then
    # What another controller needs beyond our rights is not what is measured.
    kubectl create clusterrolebinding bench --clusterrole cluster-admin \
      --serviceaccount cdom-system:cdom-controller || return 1
  fi
  local replica
  for replica in 0 1; do
    controller_kubeconfig || return 1
    mv "$stage/controller.kubeconfig" "$stage/replica-$replica.kubeconfig"
  done
}

end_stage() {
  [[ -n $stage ]] || return 0
  stop "$nodesim_pid"
  nodesim_pid=
  if [[ -d $stage/plane ]]; then plane_down; fi
  stage=
}

wanted() { [[ ,$rows, == *,$1,* ]]; }

# measure NAME ROWS NODESIM [options of cdom-bench]: on a control plane of its own; NODESIM are the options
# of the simulated nodes, empty for none. ROWS as cdom-bench names them.
measure() {
  local name=$1 of nodes began=$SECONDS lines=$root/$1.tsv
  read -ra of <<<"$2"
  read -ra nodes <<<"$3"
  shift 3
  echo "bench: $name ..." >&2
  if ! {
    begin_stage "$name" &&
      { ((${#nodes[@]} == 0)) || nodesim_up "${nodes[@]}"; } &&
      "$bin/cdom-bench" "${of[@]}" --plane "$stage/plane" --controller "$command" --nodesim "$(nodesim_url)" \
        --kubeconfig "$stage/replica-0.kubeconfig" --kubeconfig "$stage/replica-1.kubeconfig" \
        --placement "$repo/manifests/placement" --log "$stage/controller.log" "$@" >"$lines"
  } >"$root/$name.out" 2>&1; then
    tail -n 20 "$root/$name.out" "$stage/controller.log" >&2 || true
  fi
  end_stage >&2
  told "$name" "$lines" "$began" "${of[*]}"
}

# repeatedly NAME ROWS NODESIM [options]: as measure, five times if medians are judged.
repeatedly() {
  local name=$1 times
  shift
  for ((times = $($strict && echo 5 || echo 1); times > 0; --times)); do measure "$name-$times" "$@"; done
}

# told NAME LINES BEGAN ROWS: into the table with them, and whether each of the rows gave a figure.
told() {
  local name=$1 lines=$2 began=$3 row
  cat "$lines" >>"$table" 2>/dev/null || true
  for row in $(tr + " " <<<"$4"); do
    # A figure is a number; the C library would print nan or inf.
    if awk -F'\t' -v row="$row" '$1 == row && $6 !~ /^[0-9.]+$/ { bad = 1 } $1 == row { n++ }
        END { exit bad || !n }' "$lines" 2>/dev/null; then
      if $smoke; then echo "PASS row $row gives figures ($name, $((SECONDS - began)) s)"; fi
    else
      failed=$((failed + 1))
      echo "FAIL row $row ($name) gave no figure"
    fi
  done
}

# Our daemons and stand-ins for IMEX, as processes; with another controller that says nothing of it.
daemons() {
  local count=18 rest=600 began=$SECONDS lines=$root/daemons.tsv out=$root/daemons.out ours theirs still
  if $smoke; then count=4 rest=5; fi
  echo "bench: daemons ..." >&2
  wanted P17 || rest=
  /usr/bin/python3 -m pytest -sq -p no:cacheprovider --programs="$bin" --daemons="$count" --rest="${rest:-0}" "$repo/test/e2e/test_imex_daemons.py" \
    -k "form_a_clique or join_for_themselves${rest:+ or at_rest}" >"$out" 2>&1 || tail -n 20 "$out" >&2
  ours=$(sed -nE 's/^daemons formed: //p' "$out")
  theirs=$(sed -nE 's/^daemons joined: //p' "$out")
  still=$(sed -nE 's/^daemons at rest: //p' "$out")
  awk -v count="$count" -v ours="$ours" -v theirs="$theirs" 'BEGIN {
    if (!ours || !theirs) exit
    match(ours, /[0-9]+ clique writes/)
    writes = substr(ours, RSTART) + 0
    what = count " daemons, one clique: "
    printf "P16\t%sall connected and ready in status\t%s\t%s\t%.1f\t%d\t-\t<= 2000 ms\tnever\t%d\t2000\t-\tany\n",
      what, theirs, ours, theirs / ours, ours, ours
    printf "P16\t%swrites\t-\t%d\t-\t%d\t-\t<= 5\talways\t%d\t5\t-\tany\n", what, writes, writes, writes }' >"$lines"
  awk -v still="$still" 'BEGIN {
    if (split(still, word, " ") < 9) exit
    requests = word[1] + 0
    kib = word[9] + 0
    printf "P17\tdaemons at rest: requests but watches\t-\t%s\t-\t%d\t-\t0\talways\t%d\t0\t-\tany\n", still, requests, requests
    printf "P17\tmemory of its own of a daemon, the largest (RssAnon)\t-\t%.2f MiB\t-\t%d\t-\t<= 4 MiB\talways\t%d\t4096\t-\tany\n",
      kib / 1024, kib, kib }' >>"$lines"
  told daemons "$lines" "$began" "$(wanted P16 && printf "P16 ")$(wanted P17 && echo P17)"
}

# Real kubelets, always with our controller. Most of both times is Kubernetes' own.
real_nodes() {
  local began=$SECONDS lines=$root/real-nodes.tsv out=$root/real-nodes.out measured=from_apply_to_the_last_of_three_pods
  local form='[^,]*, (.*), of which cdom ([0-9]+); [^,]*, (.*), of which cdom ([0-9]+)$'
  echo "bench: real nodes ..." >&2
  "$repo/test/cluster/realnodes/realnodes_test.sh" "$bin" ^both_images_get ^a_node_that_lacks ^once_that_is_put_right \
    "^$measured" >"$out" 2>&1 || tail -n 20 "$out" >&2
  if [[ $(grep "^PASS $measured" "$out") =~ $form ]]; then
    real_row P19 "apply to 3 pods Running" "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}"
    real_row P20 "delete to nothing left" "${BASH_REMATCH[3]}" "${BASH_REMATCH[4]}"
  fi >"$lines"
  told real-nodes "$lines" "$began" "$(wanted P19 && printf "P19 ")$(wanted P20 && echo P20)"
}
# real_row ROW WHAT PHASES OURS: the last phase is the whole time.
real_row() {
  local whole=${3##* } version
  wanted "$1" || return 0
  version=$(awk '$1 == "k8s.io/kubernetes" && $2 ~ /^v/ { print substr($2, 2); exit }' \
    "$repo/test/cluster/controlplane/${CDOM_KUBERNETES:+versions/$CDOM_KUBERNETES/}go.mod")
  printf '%s\treal kubelets %s, %s\tKubernetes %d ms\t%s\t-\t%d\t-\t<= 2100 ms\tnever\t%d\t2100\t-\tany\n' \
    "$1" "$version" "$2" $((whole - $4)) "$3" "$whole" "$whole"
  printf '%s\treal kubelets %s, %s: cdom alone\t-\t%d ms\t-\t%d\t-\t<= 500 ms\tnever\t%d\t500\t-\tany\n' \
    "$1" "$version" "$2" "$4" "$4" "$4"
}

show_table() {
  echo
  echo "$(nproc) cores shared with everything else that runs here; load at the start $1, at the end $(cut -d' ' -f1 /proc/loadavg)"
  echo
  "$bin/cdom-bench-table" "${judge[@]}" <"$table" || failed=$((failed + 1))
}

load=$(cut -d' ' -f1 /proc/loadavg)
if ! $smoke; then
  "$repo/scripts/deps.sh"
  "$repo/scripts/build.sh" release compute-domain-controller compute-domain-daemon compute-domain-kubelet-plugin \
    nodesim standin_imex standin_ctl nvml_stand_in cdom-bench cdom-bench-table | tail -n 1
  "$repo/test/cluster/controlplane/build.sh" >/dev/null
fi

if wanted P1; then repeatedly provisioning P1 "" "${sizes[@]}"; fi
if wanted P2; then
  for nodes in "${joining[@]}"; do
    # Renewals of a thousand Leases every 2.5 s would be most of what the API server does, and nodes whose renewals
    # wait behind others' requests would be lost while they join.
    period=2500 plane_options=()
    if ((nodes > 200)); then period=60000 plane_options=(--node-grace 600s); fi
    measure "formation-$nodes" P2 "--nodes $nodes --clique-size 18 --lease-period $period" --joining-nodes "$nodes"
  done
  plane_options=()
fi
latencies=()
for row in P3 P4; do if wanted "$row"; then latencies+=("$row"); fi; done
if ((${#latencies[@]} > 0)); then measure latency "${latencies[*]}" "--nodes 36 --cliques 2" "${sizes[@]}"; fi
if wanted P5; then measure deletion P5 "" "${sizes[@]}"; fi
if wanted P6 || wanted P7; then measure large-cluster P6+P7 "" "${sizes[@]}"; fi
if wanted P8; then measure failover P8 "" "${sizes[@]}"; fi
if wanted P9; then measure huge-domain P9 "" "${sizes[@]}"; fi
if wanted P10; then measure large-claims P10 "" "${sizes[@]}"; fi
if wanted P11; then measure cut-watches P11 "" "${sizes[@]}"; fi
if wanted P12; then measure flapping P12 "" "${sizes[@]}"; fi
waits=()
for row in P13 P14; do if wanted "$row"; then waits+=("$row"); fi; done  # P14 needs no control plane.
if ((${#waits[@]} > 0)); then measure waiting "${waits[*]}" "" "${sizes[@]}"; fi
if wanted P15; then repeatedly placement P15 "" "${sizes[@]}"; fi
if wanted P18; then measure fairness P18 "--nodes 18 --cliques 2" "${sizes[@]}"; fi
if wanted P16 || wanted P17; then daemons; fi
if wanted P19 || wanted P20; then real_nodes; fi

show_table "$load"
if $record; then
  [[ $command == "$bin/compute-domain-controller" ]] && of=cdom || of=nvidia
  "$bin/cdom-bench-table" --lines <"$table" | "$repo/test/bench/readme.py" --record "$of"
fi
((failed == 0))
