# A cluster to play with: a control plane, 36 simulated GPU nodes, and cdom, which is started again when it ends. All of it
# outlives the shell that starts it. Sourced by scripts/cluster.sh with `set -euo pipefail`, beside test/e2e/stage.sh.
#
# Uses: repo (root of the sources), bin (folder of the programs), stage (the folder of the cluster).
# shellcheck shell=bash

playground_files=(running nodesim.{out,log} controller.{out,log,kubeconfig} playground.log build.log)

playground_up() {  # playground_up [options of controlplane up]
  trap 'playground_failed' EXIT
  trap 'exit 130' INT TERM HUP
  umask 077  # The controller's kubeconfig holds its token.
  mkdir -p "$stage"
  "$repo/scripts/deps.sh"
  echo "cluster.sh: building the controller and the simulated nodes; the first time takes several minutes" >&2
  build_quietly "$stage/build.log" release compute-domain-controller nodesim
  # Kubelet plugins are privileged: those of cdom.yaml, too.
  plane_up --apiserver-arg --allow-privileged=true "$@"
  {
    kubectl apply -k "$repo/manifests/local"
    wait_for 60 "the CRDs are served" kubectl get computedomains,computedomaincliques --all-namespaces
    kubectl apply -k "$repo/manifests/placement"
    kubectl apply -f "$repo/test/cluster/gpu_class.yaml"
  } >"$stage/playground.log" 2>&1
  : >"$stage/running"
  launcher=(setsid "$repo/test/cluster/keep_running.sh" "$stage/running")
  # Jobs run longer than one looks at them, and pods that check something as long as they take.
  nodesim_up --nodes 36 --cliques 2 --gpus 4 --job-duration 10m --pod-duration 30s --imex-reports
  controller_kubeconfig 8760h
  controller_up --membership-writer controller  # As cdom.yaml and the chart have it.
  wait_for 60 "the controller leads (see $stage/controller.log)" grep -q Reconciling "$stage/controller.log"
  disown -a
  trap - EXIT INT TERM HUP
}

playground_failed() {
  local status=$?
  trap - EXIT INT TERM HUP
  tail -n 15 "$stage/playground.log" "$stage/controller.log" >&2 2>/dev/null || true
  playground_down
  exit "$status"
}

playground_down() {
  local running
  if [[ -e $stage/running ]]; then
    exec {running}<"$stage/running"
    rm "$stage/running"
    # What runs for this cluster has a lock on it.
    flock --timeout 60 "$running" ||
      echo "cluster.sh: controller or simulated nodes of $stage do not end within a minute" >&2
  fi
  if [[ -d $stage/plane ]]; then plane_down; fi
  rm -f "${playground_files[@]/#/$stage/}"
  rmdir "$stage" 2>/dev/null || true
}
