#!/usr/bin/env bash
# The rules, alerts and dashboards of manifests/monitoring, without a cluster. Prints PASS or FAIL and a name for each case.
# What a real Prometheus makes of a controller is in test/e2e/test_insight.py.
#
#   monitoring_test.sh          all cases
#   monitoring_test.sh write    writes prometheus-rule.yaml from rules.yaml
set -euo pipefail

repo=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../../.." && pwd)
monitoring=$repo/manifests/monitoring
# shellcheck source=../../e2e/cases.sh
source "$repo/test/e2e/cases.sh"

the_operators_rules() {  # What stands before the groups stays.
  sed '/^spec:$/q' "$monitoring/prometheus-rule.yaml"
  sed -n '/^groups:/,$s/^/  /p' "$monitoring/rules.yaml"
}
if [[ ${1:-} == write ]]; then
  rules=$(the_operators_rules)
  printf '%s\n' "$rules" >"$monitoring/prometheus-rule.yaml"
  exit
fi

prometheus=$("$repo/test/packaging/monitoring/prometheus.sh")
stage=$(mktemp -d "${TMPDIR:-/tmp}/cdom-monitoring.XXXXXX")
trap 'rm -rf "$stage"' EXIT
cases_in "$stage/cases"

alerts() { sed -nE 's/^ *- alert: (.*)/\1/p' "$monitoring/rules.yaml"; }
recorded() { sed -nE 's/^ *- record: (.*)/\1/p' "$monitoring/rules.yaml"; }
# promtool_tests RULES: the tests, with these rules.
promtool_tests() {
  mkdir -p "$stage/tests"
  cp "$1" "$stage/tests/rules.yaml"
  cp "$repo/test/packaging/monitoring/rules_test.yaml" "$stage/tests"
  "$prometheus/promtool" test rules "$stage/tests/rules_test.yaml"
}

each_rule_says_of_the_series_of_the_tests_what_it_should() {
  "$prometheus/promtool" check rules "$monitoring/rules.yaml"
  promtool_tests "$monitoring/rules.yaml"
}

each_alert_fires_in_one_test_and_is_silent_in_another() {
  local alert tests=$repo/test/packaging/monitoring/rules_test.yaml
  for alert in $(alerts); do
    grep -qE '^    exp_alerts:$' < <(grep -A 1 -E "^    alertname: $alert\$" "$tests") || { echo "$alert never fires"; return 1; }
    grep -qE "alertname: $alert, exp_alerts: \[\]" "$tests" || { echo "$alert is never silent"; return 1; }
  done
}

# Each piece stands for a fault that was in the alerts of an earlier page, or could be.
what_makes_the_rules_hold_is_missed_when_it_is_taken_out() {
  local change
  local -a changes=(
    's/ and on \(job, instance\) cdom_build_info//'  # Other programs count.
    's/\[2m\]/[30s]/'                                # A change of the leader restarts `for`.
    's/topk by \(node\) \(1, max by \(node, clique, namespace, name\) (\(cdom_node_imex_expected\))\)/\1/'
    's/\{clique!=""\}//'                             # Nodes without fabric are room for a domain.
    's/ or vector\(0\)\) != 1/) != 1/'              # Nothing is scraped, and nobody says so.
  )
  for change in "${changes[@]}"; do
    sed -E "$change" "$monitoring/rules.yaml" >"$stage/changed.yaml"
    ! cmp -s "$stage/changed.yaml" "$monitoring/rules.yaml" || { echo "changes nothing: $change"; return 1; }
    if promtool_tests "$stage/changed.yaml" >/dev/null 2>&1; then echo "is not missed: $change"; return 1; fi
  done
}

the_operators_rules_are_the_same() {
  diff <(the_operators_rules) "$monitoring/prometheus-rule.yaml" ||
    { echo "run test/packaging/monitoring/monitoring_test.sh write"; return 1; }
}

each_alert_leads_to_what_to_do_about_it() {
  local alert link
  diff <(alerts | sort) <(sed -nE 's/^## (Cdom[A-Za-z]+)$/\1/p' "$repo/docs/alerts.md" | sort)
  for alert in $(alerts); do
    link=$(awk -v alert="$alert" '$2 == "alert:" { inside = $3 == alert } inside && $1 == "runbook_url:" { print $2 }' "$monitoring/rules.yaml")
    [[ $link == */docs/alerts.md#${alert,,} ]] ||
      { echo "$alert leads elsewhere"; return 1; }
  done
}

each_recorded_series_is_on_the_page() {
  local series
  for series in $(recorded); do grep -q "\`$series\`" "$repo/docs/alerts.md" || { echo "$series"; return 1; }; done
}

each_query_of_the_dashboards_is_one_and_asks_for_what_there_is() {
  jq -rn '"groups:", "- name: panels", "  rules:", (inputs | .panels[].targets[].expr | "  - {record: panel, expr: \(tojson)}")' \
    "$monitoring"/dashboard-*.json >"$stage/panels.yaml"
  # The same query twice is none of its business.
  "$prometheus/promtool" check rules --lint=none "$stage/panels.yaml"
  local name names
  names=$(grep -oE '\b(cdom|leader_election|workqueue)[a-z_:]+' "$stage/panels.yaml" | sort -u)
  [[ -n $names ]]
  for name in $names; do
    grep -qE "\`${name%_bucket}\`" "$repo/docs/metrics.md" "$repo/docs/alerts.md" || { echo "nobody has $name"; return 1; }
  done
}

the_pod_monitor_takes_our_namespaces_as_they_are_from_the_port_that_the_pods_have() {
  grep -q '^    honorLabels: true$' "$monitoring/pod-monitor.yaml"
  local port
  port=$(sed -nE 's/^  - port: (.*)/\1/p' "$monitoring/pod-monitor.yaml")
  grep -q "^        - name: $port\$" "$repo/manifests/controller/deployment.yaml"
  # Over TLS, with the token of access.yaml.
  grep -q '^    scheme: https$' "$monitoring/pod-monitor.yaml"
  local secret
  secret=$(sed -nE 's/^        name: (.*)/\1/p' "$monitoring/pod-monitor.yaml")
  grep -q "^  name: $secret\$" < <(sed -n '/^kind: Secret$/,/^---$/p' "$monitoring/access.yaml")
}

check each_rule_says_of_the_series_of_the_tests_what_it_should
check each_alert_fires_in_one_test_and_is_silent_in_another
check what_makes_the_rules_hold_is_missed_when_it_is_taken_out
check the_operators_rules_are_the_same
check each_alert_leads_to_what_to_do_about_it
check each_recorded_series_is_on_the_page
check each_query_of_the_dashboards_is_one_and_asks_for_what_there_is
check the_pod_monitor_takes_our_namespaces_as_they_are_from_the_port_that_the_pods_have
summary
