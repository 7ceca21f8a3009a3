#!/usr/bin/env bash
# What takes long about the images: they come out the same without the compiler's cache, for both architectures, and on
# arm64, which qemu plays, the controller serves a domain of a real control plane, and the daemon begins. Needs root, for
# chroot. Prints PASS or FAIL and a name for each case.
#
#   nightly_test.sh RELEASE_BIN_FOLDER [PATTERN...]    of nodesim; all cases, or those whose name matches
set -euo pipefail

repo=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../../.." && pwd)
bin=$(cd -- "$1" && pwd)
# shellcheck source=image.sh
source "$repo/test/packaging/image/image.sh"
# shellcheck source=../../e2e/stage.sh
source "$repo/test/e2e/stage.sh"
stage=$work/stage
cases_in "$work/cases" "${@:2}"
rootfs=$work/rootfs
triplet=aarch64-linux-gnu
mkdir -p "$stage"

arm64_image_is_made_and_is_whole() {
  image_in "$repo" arm64 --output "$work/arm64" >"$work/arm64.digest"
  unpack "$work/arm64" "$rootfs"
  closed "$rootfs"
  config_of "$work/arm64" | jq -e '.architecture == "arm64" and .variant == "v8"'
  grep -q 'Machine: *AArch64' < <(readelf --file-header "$rootfs/usr/bin/compute-domain-controller")
}

# The GPU nodes that need a domain are mostly of arm64.
arm64_image_of_the_nodes_is_whole_and_its_programs_run() {
  local nodes=$work/nodes program
  local -a in_nodes
  image_in "$repo" arm64 --image driver --output "$work/driver"
  unpack "$work/driver" "$nodes"
  closed "$nodes"
  config_of "$work/driver" | jq -e '.architecture == "arm64" and .variant == "v8" and .config.Entrypoint == ["/usr/bin/compute-domain-daemon"]'
  cp "$(command -v qemu-aarch64-static)" "$nodes/qemu"
  in_nodes=(env -i "$(command -v chroot)" "$nodes" /qemu)
  for program in compute-domain-daemon compute-domain-controller compute-domain-kubelet-plugin; do
    readelf --file-header "$nodes/usr/bin/$program" | grep 'Machine: *AArch64'
    [[ $("${in_nodes[@]}" "/usr/bin/$program" --version) == "cdom $program $version (revision $revision)" ]]
  done
  "${in_nodes[@]}" /usr/bin/bash --version
  refused_with 2 COMPUTE_DOMAIN_UUID "${in_nodes[@]}" /usr/bin/compute-domain-daemon run
  refused_with 2 node-name "${in_nodes[@]}" /usr/bin/compute-domain-kubelet-plugin
  # Of a node without a fabric all is well.
  "${in_nodes[@]}" /usr/bin/compute-domain-daemon check
}

digests_are_the_same_without_the_compilers_cache() {
  local image one
  elsewhere "$work/elsewhere"
  for image in controller driver; do
    for one in amd64 arm64; do
      [[ $(CCACHE_DISABLE=1 image_in "$work/elsewhere" "$one" --image "$image" --output "$work/again-$image-$one") == \
        "$(image_in "$repo" "$one" --image "$image" --output "$work/here-$image-$one")" ]] || { echo "$image for $one differs"; return 1; }
    done
  done
}

an_index_has_both_architectures() {
  local digest
  digest=$(image_in "$repo" amd64 arm64 --output "$work/both")
  [[ $(jq -r '.manifests[0].digest' "$work/both/index.json") == "$digest" ]]
  jq -e '[.manifests[].platform.architecture] == ["amd64", "arm64"]' "$work/both/blobs/sha256/${digest#sha256:}"
  # As one of them alone is.
  [[ $(jq -r '.manifests[1].digest' "$work/both/blobs/sha256/${digest#sha256:}") == "$(<"$work/arm64.digest")" ]]
  registry_up
  skopeo --insecure-policy copy --quiet --all --dest-tls-verify=false "oci:$work/both:$version" "docker://$registry/cdom:$version"
  [[ $(skopeo --insecure-policy inspect --tls-verify=false --raw "docker://$registry/cdom:$version" | sha256sum) == "${digest#sha256:} "* ]]
  skopeo --insecure-policy --override-arch arm64 inspect --tls-verify=false "docker://$registry/cdom:$version" | jq -e '.Architecture == "arm64"'
}

# The image as a machine of arm64 would run it: its own files, its own user, and /proc.
emulated() {
  cp "$(command -v qemu-aarch64-static)" "$rootfs/qemu"
  mkdir -p "$rootfs/proc"
  cat >"$stage/controller" <<RUN
#!/usr/bin/env bash
mount -t proc proc "$rootfs/proc"
exec chroot --userspec=65532:65532 "$rootfs" /qemu /usr/bin/compute-domain-controller "\$@"
RUN
  chmod +x "$stage/controller"
  printf '#!/usr/bin/env bash\nexec unshare --mount %q "$@"\n' "$stage/controller" >"$stage/emulated"
  chmod +x "$stage/emulated"
}
version_is_told_by_the_arm64_program() {
  emulated
  [[ $("$stage/emulated" --version) == "cdom compute-domain-controller $version (revision $revision)" ]]
}

says() { [[ $(kubectl get cdom "$1" -o jsonpath='{.status.status} {.status.members}') == "$2" ]]; }
a_domain_is_served_by_the_arm64_controller() {
  plane_up
  # As soon as it is up: the case runs in a shell of its own, and ends what it began.
  trap 'stop "$controller_pid"; stop "$nodesim_pid"; plane_down' EXIT
  kubectl apply -k "$repo/manifests/local"
  controller_kubeconfig
  install -m 0644 "$stage/controller.kubeconfig" "$rootfs/kubeconfig"
  nodesim_up --nodes 16 --cliques 2 --job-duration 20000 --daemon-account
  program=$stage/emulated kubeconfig=/kubeconfig controller_up --membership-writer controller
  wait_for 120 "the controller leads" grep -q Reconciling "$stage/controller.log" || { cat "$stage/controller.log"; return 1; }
  kubectl apply -f "$repo/examples/quickstart.yaml"
  wait_for 120 "the domain is ready" says quickstart 'Ready 4/4' || { cat "$stage/controller.log"; return 1; }
  kubectl delete -f "$repo/examples/quickstart.yaml" --timeout=120s
}

check arm64_image_is_made_and_is_whole
check arm64_image_of_the_nodes_is_whole_and_its_programs_run
check an_index_has_both_architectures
check version_is_told_by_the_arm64_program
check a_domain_is_served_by_the_arm64_controller
check digests_are_the_same_without_the_compilers_cache
summary
