#!/usr/bin/env bash
# What the daemon says, as a process, when it cannot do its work: one line at the end that says what to do, a status that is
# not 0, and IMEX was not begun. Needs root, for file systems that are full or read-only.
#
#   daemon_cases.sh BIN_FOLDER [PATTERN...]
set -euo pipefail

# Mounts of ours end with us.
if [[ -z ${CDOM_OWN_MOUNTS:-} ]]; then exec env CDOM_OWN_MOUNTS=1 unshare --mount "$0" "$@"; fi

repo=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../../.." && pwd)
bin=$(cd -- "$1" && pwd)
shift
# shellcheck source=../cases.sh
source "$repo/test/e2e/cases.sh"

root=$(mktemp -d "${TMPDIR:-/tmp}/cdom-daemon.XXXXXX")
trap 'umount -q "$root"/*/full "$root"/*/hosts || true; rm -rf "$root"' EXIT
cases_in "$root/cases" "$@"

# A daemon's container, as its DaemonSet and the kubelet plugin make it; IMEX is a script that says that it was begun.
begin() {
  folder=$root/$1
  mkdir -p "$folder/imexd" "$folder/path"
  cp "$repo/node/imex/imexd.cfg.tmpl" "$folder/imexd/"
  printf '127.0.0.1 localhost\n' >"$folder/hosts"
  printf '#!/bin/sh\n: >%s/begun\n' "$folder" >"$folder/path/nvidia-imex"
  printf '#!/bin/sh\necho READY\n' >"$folder/path/nvidia-imex-ctl"
  chmod +x "$folder"/path/*
  variables=(
    CLIQUE_ID=f0e1.7 COMPUTE_DOMAIN_UUID=0c3b2d84-7a1f-4d1e-9d5a-1f2e3d4c5b6a COMPUTE_DOMAIN_NAME=train
    NODE_NAME=node-a POD_IP=127.8.0.1 POD_UID=pod-uid POD_NAME=pod POD_NAMESPACE=driver
    MAX_NODES_PER_IMEX_DOMAIN=18 LOG_VERBOSITY=0 FEATURE_GATES=ComputeDomainCliques=true,IMEXDaemonsWithDNSNames=true
    "PATH=$folder/path" "IMEX_FOLDER=$folder/imexd" "HOSTS_FILE=$folder/hosts" "KUBECONFIG=$folder/none"
  )
}
daemon() { env -i "${variables[@]}" "$@" "$bin/compute-domain-daemon" -v 0 run; }
# ends STATUS PATTERN [VARIABLE=VALUE...]: with this status and a last line that matches; IMEX was not begun.
ends() {
  local status=0 last
  daemon "${@:3}" >"$folder/out" 2>&1 || status=$?
  last=$(tail -n 1 "$folder/out")
  cat "$folder/out"
  [[ $status == "$1" && $last =~ $2 && ! -e $folder/begun ]]
}

a_daemon_without_a_domain_says_that_its_claims_edits_did_not_apply() {
  begin "${FUNCNAME[0]}"
  ends 2 '^COMPUTE_DOMAIN_UUID is empty: the CDI edits .* did not apply; switch CDI on ' COMPUTE_DOMAIN_UUID=
  (($(wc -l <"$folder/out") == 1))
}
a_daemon_names_a_feature_gate_that_it_does_not_know() {
  begin "${FUNCNAME[0]}"
  ends 2 '^feature gate "Later" is not known to this daemon: take it out of FEATURE_GATES' FEATURE_GATES=Later=true
}
a_daemon_without_imex_says_where_it_comes_from() {
  begin "${FUNCNAME[0]}"
  rm "$folder/path/nvidia-imex"
  ends 1 '^nvidia-imex is in no folder of PATH .* install the package nvidia-imex there'
}
a_daemon_names_the_line_of_a_template_that_does_not_parse() {
  begin "${FUNCNAME[0]}"
  printf 'A=1\n{{ if .B }}\n' >"$folder/imexd/imexd.cfg.tmpl"
  ends 1 'imexd\.cfg\.tmpl: line 2: "\{\{ if \.B \}\}" is not understood'
  [[ ! -e $folder/imexd/imexd.cfg ]]
}
a_daemon_that_is_to_encrypt_without_keys_says_where_they_are_named() {
  begin "${FUNCNAME[0]}"
  ends 1 'IMEX is to encrypt and its keys are missing: open /imex-keys/tls\.key: .* daemons\.imex\.authSecret' IMEX_ENABLE_AUTH_ENCRYPTION=1
}
a_daemon_on_a_full_disk_says_so() {
  begin "${FUNCNAME[0]}"
  mkdir "$folder/full"
  mount -t tmpfs -o size=4k none "$folder/full"
  cp "$repo/node/imex/imexd.cfg.tmpl" "$folder/full/"
  ends 1 'write .*/imexd\.cfg\.next: No space left on device; make room' "IMEX_FOLDER=$folder/full"
}
a_daemon_that_may_not_write_its_hosts_file_says_so_before_imex_runs() {
  begin "${FUNCNAME[0]}"
  mount --bind "$folder/hosts" "$folder/hosts"
  mount -o remount,bind,ro "$folder/hosts"
  ends 1 'open .*/hosts: Read-only file system; IMEX finds its peers by it: let the container write it$'
}
a_probe_says_in_its_status_and_one_line_whether_imex_is_ready() {
  begin "${FUNCNAME[0]}"
  probe() { env -i "${variables[@]}" "$@" "$bin/compute-domain-daemon" -v 0 check; }
  probe
  probe CLIQUE_ID= PATH=/none
  printf '#!/bin/sh\necho NOT_READY\n' >"$folder/path/nvidia-imex-ctl"
  refused_with 1 'IMEX is not ready: NOT_READY' probe
}
a_daemon_without_an_api_server_says_so_once_and_ends_when_it_is_told() {
  begin "${FUNCNAME[0]}"
  env -i "${variables[@]}" "$bin/compute-domain-daemon" -v 0 run >"$folder/out" 2>&1 &
  local pid=$! status=0
  until grep -q 'No API server to talk to' "$folder/out"; do read -rt 0.05 <> <(:) || true; done
  kill -TERM "$pid"
  wait "$pid" || status=$?
  cat "$folder/out"
  ((status == 0)) && [[ ! -e $folder/begun ]]
}

check a_daemon_without_a_domain_says_that_its_claims_edits_did_not_apply
check a_daemon_names_a_feature_gate_that_it_does_not_know
check a_daemon_without_imex_says_where_it_comes_from
check a_daemon_names_the_line_of_a_template_that_does_not_parse
check a_daemon_that_is_to_encrypt_without_keys_says_where_they_are_named
check a_daemon_on_a_full_disk_says_so
check a_daemon_that_may_not_write_its_hosts_file_says_so_before_imex_runs
check a_probe_says_in_its_status_and_one_line_whether_imex_is_ready
check a_daemon_without_an_api_server_says_so_once_and_ends_when_it_is_told
summary
