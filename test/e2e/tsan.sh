#!/usr/bin/env bash
# The whole process under ThreadSanitizer on a real control plane: a domain forms, is used and is deleted while the
# lead goes from one replica to the other. Prints PASS or FAIL for each case.
#
#   tsan.sh TSAN_BIN_FOLDER RELEASE_BIN_FOLDER    of compute-domain-controller; of nodesim
set -euo pipefail

repo=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
program=$(cd -- "$1" && pwd)/compute-domain-controller
bin=$(cd -- "$2" && pwd)
# shellcheck source=cases.sh
source "$repo/test/e2e/cases.sh"
# shellcheck source=stage.sh
source "$repo/test/e2e/stage.sh"

stage=$(mktemp -d "${TMPDIR:-/tmp}/cdom-tsan.XXXXXX")
cases_in "$stage/cases"
lines_shown=120
tell_more() { tail -n 15 "$stage"/{first,second}.log 2>/dev/null || true; }
first=
second=
leave() {
  local status=$?
  trap - EXIT INT TERM
  stop "$first"
  stop "$second"
  clear_stage tsan "$status"
  exit "$status"
}
trap leave EXIT
trap 'exit 130' INT TERM

says() { [[ $(kubectl get cdom "$1" -o jsonpath='{.status.status} {.status.members}') == "$2" ]]; }  # says DOMAIN TEXT
used() { sed "s/quickstart/$1/g" "$repo/examples/quickstart.yaml"; }
log_says() { grep -q "$2" "$stage/$1.log"; }  # log_says REPLICA TEXT
replica() {  # replica NAME: sets controller_pid
  # Every report counts, also one that comes while the process ends.
  TSAN_OPTIONS="halt_on_error=0 exitcode=66 second_deadlock_stack=1 log_path=$stage/report-$1" \
    log=$stage/$1.log controller_up --membership-writer controller
}
ends_well() {  # ends_well PID: told to end, it does so within its grace, with status 0
  local status=0 deadline=$((SECONDS + 60))
  kill -TERM "$1" || return 1
  while [[ -r /proc/$1/stat && $(cut -d' ' -f3 "/proc/$1/stat") != Z ]]; do
    ((SECONDS < deadline)) || { echo "it does not end"; return 1; }
    read -rt 0.2 <> <(:) || true
  done
  wait "$1" || status=$?
  ((status == 0)) || { echo "it ended with $status"; return 1; }
}

a_domain_forms_and_is_deleted_under_tsan_while_the_lead_is_handed_over() {
  replica first
  first=$controller_pid
  wait_for 90 "the first leads" log_says first Reconciling || return 1
  replica second
  second=$controller_pid
  wait_for 90 "the second stands by" log_says second 'Standing by' || return 1
  used alpha | kubectl apply -f - || return 1
  wait_for 120 "a domain has formed" says alpha 'Ready 4/4' || return 1
  curl -fsS "http://127.0.0.1:$(port_of first)/metrics" >/dev/null || return 1
  # The lead goes while a deletion and a formation are under way.
  used alpha | kubectl delete --wait=false -f - || return 1
  used beta | kubectl apply -f - || return 1
  ends_well "$first" || return 1
  first=
  wait_for 60 "the second leads" log_says second Reconciling || return 1
  wait_for 120 "the other domain has formed" says beta 'Ready 4/4' || return 1
  wait_for 120 "the first domain is gone" gone cdom alpha || return 1
  used beta | kubectl delete --timeout=120s -f - || return 1
  ends_well "$second" || return 1
  second=
}
port_of() { sed -nE 's/.*Serving health and metrics.*port[="]+([0-9]+).*/\1/p' "$stage/$1.log" | tail -n 1; }
thread_sanitizer_reports_nothing_of_the_whole_process() {
  local reports
  reports=$(cat "$stage"/report-* 2>/dev/null || true)
  [[ -z $reports ]] || { head -n 120 <<<"$reports"; return 1; }
}

grep -q __tsan_init < <(nm "$program" 2>/dev/null) || { echo "tsan.sh: $program was built without ThreadSanitizer" >&2; exit 2; }
plane_up >/dev/null
kubectl apply -k "$repo/manifests/local" >/dev/null
controller_kubeconfig
nodesim_up --nodes 16 --cliques 2 --job-duration 20000 --daemon-account
run_case a_domain_forms_and_is_deleted_under_tsan_while_the_lead_is_handed_over
run_case thread_sanitizer_reports_nothing_of_the_whole_process
summary
