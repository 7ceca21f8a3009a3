#!/usr/bin/env bash
# The driver's image: what it has beside the controller's, whose making image_test.sh tests. Needs root, for chroot.
# Prints PASS or FAIL and a name for each case.
#
#   driver_test.sh [PATTERN...]   all cases, or those whose name matches a regular expression
set -euo pipefail

repo=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../../.." && pwd)
# shellcheck source=image.sh
source "$repo/test/packaging/image/image.sh"
user=0

compressed_it_has_30_mb_at_most() { has_compressed_at_most 30000000; }

its_user_is_root_and_the_daemon_its_entry_point() {
  config_of "$layout" | jq -e '.config.User == "0:0" and .config.Entrypoint == ["/usr/bin/compute-domain-daemon"] and
    .config.Labels["org.opencontainers.image.title"] == "cdom-driver"'
  diff <(printf 'root:x:0:0:root:/nonexistent:/nonexistent\n') "$rootfs/etc/passwd"
}

each_folder_in_which_the_plugin_looks_for_programs_is_in_path() {
  local path folder
  local -a folders
  path=$(config_of "$layout" | jq -r '.config.Env[] | select(startswith("PATH=")) | ltrimstr("PATH=")')
  mapfile -t folders < <(sed -n '/kProgramFolders = {/,/};/p' "$repo/node/driver/files.cc" | grep -oE '"/[a-z/]+"' | tr -d '"')
  ((${#folders[@]} >= 5)) || { echo "the plugin looks in ${#folders[@]} folders"; return 1; }
  for folder in "${folders[@]}" /usr/local/bin /usr/local/sbin; do
    [[ :$path: == *:$folder:* ]] || { echo "$folder is not in PATH ($path)"; return 1; }
  done
}

folders_that_imex_writes_into_are_there() {
  local folder
  for folder in root run tmp var/log; do [[ -d $rootfs/$folder && ! -L $rootfs/$folder ]] || { echo "$folder"; return 1; }; done
  [[ $(readlink "$rootfs/var/run") == ../run ]]
}

# As NVIDIA's chart does it (maskNvidiaDriverParams), whose script goes on, unmasked, when a command of it is missing.
nvidias_chart_masks_the_drivers_parameters() {
  printf 'ModifyDeviceFiles: 1\nOther: 2\n' >"$rootfs/tmp/params"
  # shellcheck disable=SC2016
  env -i PATH="$PATH" unshare --mount chroot "$rootfs" /bin/bash -c 'PATH=/usr/bin; cd / && cp /tmp/params root/gpu-params &&
    sed -i "s/^ModifyDeviceFiles: 1$/ModifyDeviceFiles: 0/" root/gpu-params && mount --bind root/gpu-params /tmp/params &&
    cat /tmp/params' >"$work/params.txt"
  rm "$rootfs/tmp/params" "$rootfs/root/gpu-params"
  diff <(printf 'ModifyDeviceFiles: 0\nOther: 2\n') "$work/params.txt"
}

programs_run_with_nothing_but_the_image_and_are_found_by_bash() {
  local program
  for program in compute-domain-daemon compute-domain-controller compute-domain-kubelet-plugin; do
    # As a chart's container does: the shell ends as the program does.
    in_image /bin/bash -c "exec $program --version" >"$work/version.txt"
    grep -qx "cdom $program $version (revision $revision)" "$work/version.txt"
  done
  refused_with 2 'COMPUTE_DOMAIN_UUID' in_image /usr/bin/compute-domain-daemon run
}

the_kubelet_plugin_says_what_it_takes_and_refuses_what_it_does_not() {
  in_image /usr/bin/compute-domain-kubelet-plugin --help >"$work/help.txt"
  grep -q -- '--node-name' "$work/help.txt"
  refused_with 2 'node-name' in_image /usr/bin/compute-domain-kubelet-plugin
  refused_with 2 'is not a node'\''s name' in_image /usr/bin/compute-domain-kubelet-plugin --node-name 'Not_a_node'
  refused_with 2 'HostManagedIMEXDaemon=true' in_image /usr/bin/compute-domain-kubelet-plugin --node-name a --imex-mode hostManaged
  refused_with 1 'libnvidia-ml.so.1 does not exist under /driver-root' \
    in_image /usr/bin/compute-domain-kubelet-plugin preflight --node-name a
  # By that it asks the host's IMEX.
  in_image /usr/sbin/chroot / /usr/bin/true
  # It begins, as far as it comes without a kubelet.
  refused_with 1 '/boot_id' in_image /usr/bin/compute-domain-kubelet-plugin --node-name a
}

what_the_plugin_hands_to_daemons_is_there() {
  cmp "$repo/node/imex/imexd.cfg.tmpl" "$rootfs/templates/compute-domain-daemon-config.tmpl.cfg"
  # By default it is looked for there.
  grep -qF '/templates/compute-domain-daemon-config.tmpl.cfg' < <(in_image /usr/bin/compute-domain-kubelet-plugin --help)
}

scripts_of_a_node_find_what_they_call() {
  local program
  for program in bash ln find head date sleep env basename ls cp sed cat rm mkdir readlink stat tail; do
    in_image /usr/bin/env PATH=/usr/bin bash -c "type -P $program && $program --version" || { echo "no $program"; return 1; }
  done
  # By env, because each shell has a kill of its own.
  in_image /usr/bin/env PATH=/usr/bin sh -c 'env kill -s 0 $$' || { echo "no sh, or no kill"; return 1; }
}

# By one list, or the one waits for ever where the other works.
nvidias_chart_waits_for_files_where_the_plugin_looks_for_them() {
  looks_in "$(folders_in kLibraryFolders "$repo/node/nvml/library.h")" '/^library_folders+=(/,/)/p' 10
  looks_in "/ $(folders_in kProgramFolders "$repo/node/driver/files.cc")" '/^program_folders=(/,/)/p' 8
}
folders_in() { sed -n "/$1 = /,/};\|});/p" "$2" | grep -oE '"/[a-z0-9/_-]*"' | tr -d '"' | xargs; }
looks_in() {  # looks_in FOLDERS PART-OF-THE-SCRIPT HOW-MANY
  local scripts
  scripts=$(sed -n "$2" "$repo/node/plugin/prestart.sh" | grep -oE '/[a-z0-9/_-]*' | xargs)
  (($(wc -w <<<"$1") == $3)) || { echo "the plugin looks in: $1"; return 1; }
  diff <(echo "$1") <(echo "$scripts")
}

# As NVIDIA's chart does it, with the driver's root in another folder than the image's.
nvidias_chart_waits_by_its_script_until_the_nodes_driver_is_of_use() {
  local node=$rootfs/tmp/node waits root=/tmp/node
  mkdir -p "$node/run/driver/usr/bin" "$node/run/driver/usr/lib64" "$rootfs/dev"
  touch "$rootfs/dev/null"  # Containers have one.
  in_image /usr/bin/timeout 60 /usr/bin/env PATH=/usr/bin NVIDIA_DRIVER_ROOT=/run/driver bash /usr/bin/kubelet-plugin-prestart.sh "$root/run" 0.1 2>"$work/prestart.txt" &
  waits=$!
  until_said 'nvidia-smi does not exist under /run/driver: install'
  printf '#!/usr/bin/bash\n[[ $1 == --version && -z ${HOME:-} && -e /tmp/loaded ]] || { echo "no module"; exit 9; }\n' >"$node/run/driver/usr/bin/nvidia-smi"
  chmod 755 "$node/run/driver/usr/bin/nvidia-smi"
  until_said 'libnvidia-ml.so.1 does not exist under /run/driver: install'
  cp -L "$rootfs/usr/lib/x86_64-linux-gnu/libm.so.6" "$node/run/driver/usr/lib64/libnvidia-ml.so.1" 2>/dev/null ||
    cp -L "$rootfs/usr/lib/aarch64-linux-gnu/libm.so.6" "$node/run/driver/usr/lib64/libnvidia-ml.so.1"
  until_said 'nvidia-smi fails: is the driver loaded. It says: no module'
  touch "$rootfs/tmp/loaded"
  until_said 'The driver is there'
  wait "$waits"
  (($(grep -c 'no module' "$work/prestart.txt") == 1))  # Said once.
  rm -r "$node" "$rootfs/tmp/loaded" "$rootfs/dev"
}
until_said() {
  local deadline=$((SECONDS + 20))
  until grep -q "$1" "$work/prestart.txt"; do ((SECONDS < deadline)) || { cat "$work/prestart.txt"; return 1; }; done
}

libraries_are_all_inside() { closed "$rootfs"; }

# What a node's own nvidia-smi and nvidia-imex ask of the C library, whatever our programs need of it.
the_c_library_is_there_whole() {
  local archives=$cache/apt/$architecture/archives file
  dpkg-deb --fsys-tarfile "$archives"/libc6_*.deb | tar -t | sed -nE 's#^\./(usr/)?(lib.*\.so[^/]*)$#usr/\2#p' >"$work/held.txt"
  (($(wc -l <"$work/held.txt") > 100))
  while read -r file; do [[ -e $rootfs/$file || -L $rootfs/$file ]] || { echo "$file"; return 1; }; done <"$work/held.txt"
}

# A chart mounts the node's driver there, and a folder of the image in its place would be taken for it.
there_is_no_driver_root() { [[ ! -e $rootfs/driver-root && ! -e $rootfs/driver-root-parent ]]; }

nothing_is_setuid_or_may_be_written_by_others_and_root_owns_it_all() { root_owns_it_all_and_nobody_else_may_write 300; }

the_sbom_lists_each_package() {
  local one
  for one in "$rootfs"/var/lib/dpkg/status.d/*; do
    jq -e --arg name "${one##*/}" 'any(.packages[]; .name == $name)' "$layout.$architecture.spdx.json" >/dev/null || { echo "$one"; return 1; }
  done
  for one in libc6 bash dash procps coreutils findutils sed libgrpc++1.51 libgrpc29 libprotobuf32 libgrpc++-dev; do [[ -s $rootfs/usr/share/doc/$one/copyright ]] || { echo "$one"; return 1; }; done
}

cases_in "$work/cases" "$@"
image_in "$repo" "$architecture" --image driver --output "$layout" >/dev/null
unpack "$layout" "$rootfs"
check compressed_it_has_30_mb_at_most
check its_user_is_root_and_the_daemon_its_entry_point
check each_folder_in_which_the_plugin_looks_for_programs_is_in_path
check folders_that_imex_writes_into_are_there
check nvidias_chart_masks_the_drivers_parameters
check programs_run_with_nothing_but_the_image_and_are_found_by_bash
check the_kubelet_plugin_says_what_it_takes_and_refuses_what_it_does_not
check what_the_plugin_hands_to_daemons_is_there
check scripts_of_a_node_find_what_they_call
check nvidias_chart_waits_for_files_where_the_plugin_looks_for_them
check nvidias_chart_waits_by_its_script_until_the_nodes_driver_is_of_use
check libraries_are_all_inside
check the_c_library_is_there_whole
check there_is_no_driver_root
check nothing_is_setuid_or_may_be_written_by_others_and_root_owns_it_all
check the_sbom_lists_each_package
summary
