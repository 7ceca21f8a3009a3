# The libraries of pkg as another program uses them: installed, and found by CMake.
# shellcheck shell=bash disable=SC2154

a_program_built_on_the_installed_library_prints_pods_as_they_come_and_go() {
  local prefix=$stage/prefix built=$stage/watch-pods status=0 watcher
  cmake --install "$(dirname -- "$bin")" --component library --prefix "$prefix" || return 1
  cmake -S "$repo/examples/watch-pods" -B "$built" -DCMAKE_CXX_COMPILER=g++-12 -DCMAKE_PREFIX_PATH="$prefix" \
    -DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DCMAKE_EXPORT_COMPILE_COMMANDS=ON || return 1
  # Neither our warnings nor our checkout are anything that it sees.
  ! grep -E -e '-Werror|-Wconversion' "$built/compile_commands.json" || return 1
  ! grep -F -e "-I$repo/" "$built/compile_commands.json" || return 1
  ! grep -rF "$repo" "$prefix/lib/cmake" || return 1
  cmake --build "$built" || return 1
  KUBECONFIG=$stage/plane/admin.kubeconfig "$built/watch-pods" >"$stage/pods.out" 2>"$stage/pods.err" &
  watcher=$!
  kubectl create namespace library || return 1
  wait_for 20 "it has its account" kubectl get serviceaccount -n library default || return 1
  { kubectl create --save-config=false -f - <<'YAML' &&
apiVersion: v1
kind: Pod
metadata: {name: seen, namespace: library}
spec: {schedulerName: nobody, automountServiceAccountToken: false, containers: [{name: a, image: "registry.example.com/a:1"}]}
YAML
    wait_for 20 "the pod is printed" grep -x "new library/seen" "$stage/pods.out" &&
    kubectl delete pod -n library seen --grace-period=0 --force &&
    wait_for 20 "and that it is gone" grep -x "gone library/seen" "$stage/pods.out"; } || status=1
  stop "$watcher"
  cat "$stage/pods.err"
  kubectl delete namespace library --wait=false || return 1
  return "$status"
}
