# Cases of what is seen of cliques and domains from outside: a real Prometheus scrapes two replicas and what stands in for
# DCGM exporters, with the rules of manifests/monitoring. Sourced by e2e.sh.
# shellcheck shell=bash disable=SC2154

declare -A replica=()  # The process of each, by its number.
prometheus_url=

replica_up() {  # replica_up NUMBER
  log=$stage/controller-$1.log secure_port=$(free_port) controller_up --leader-election-lease-duration 12s --leader-election-renew-deadline 10s \
    --leader-election-retry-period 1s --membership-writer controller
  replica[$1]=$controller_pid
  recorders+=("$controller_pid")
  controller_pid=
  wait_for 60 "replica $1 serves" replica_serves "$1"
}
replica_serves() { grep -q 'Serving debug pages' "$stage/controller-$1.log" && grep -q 'Serving metrics over TLS' "$stage/controller-$1.log"; }
replica_port() {  # replica_port NUMBER WHAT
  sed -nE "s/.*Serving $2.*port[=\"]+([0-9]+).*/\1/p" "$stage/controller-$1.log" | tail -n 1
}
replica_leads() { grep -q 'Reconciling' "$stage/controller-$1.log"; }

# The rules as they are, but in the time of a test: an alert waits for 2 s and looks back 25 s, and a node costs 98.
rules_in_a_hurry() {
  sed -E 's/^    for: .*/    for: 2s/; s/\[2m\]/[25s]/g; s/vector\(50\)/vector(98)/' "$repo/manifests/monitoring/rules.yaml"
}
prometheus_up() {
  local programs dcgm port
  programs=$("$repo/test/packaging/monitoring/prometheus.sh") || return 1
  : >"$stage/gpus.txt"
  "$repo/test/packaging/monitoring/dcgm.py" "$stage/gpus.txt" >"$stage/dcgm.port" 2>"$stage/dcgm.log" &
  recorders+=($!)
  wait_for 20 "the exporter serves" test -s "$stage/dcgm.port" || return 1
  dcgm=$(<"$stage/dcgm.port")
  rules_in_a_hurry >"$stage/rules.yaml"
  port=$(free_port)
  # As docs/metrics.md says.
  kubectl create serviceaccount prometheus -n cdom-system && kubectl create clusterrolebinding prometheus-reads-cdom \
    --clusterrole=cdom-metrics-reader --serviceaccount=cdom-system:prometheus || return 1
  kubectl create token prometheus -n cdom-system --duration 2h >"$stage/prometheus.token" || return 1
  cat >"$stage/prometheus.yaml" <<YAML
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [rules.yaml]
scrape_configs:
- job_name: cdom-system/cdom-controller
  honor_labels: true
  scheme: https
  tls_config: {insecure_skip_verify: true}
  bearer_token_file: $stage/prometheus.token
  static_configs: [{targets: ["127.0.0.1:$(replica_port 1 'metrics over TLS')", "127.0.0.1:$(replica_port 2 'metrics over TLS')"], labels: {namespace: cdom-system}}]
- job_name: dcgm
  static_configs: [{targets: ["127.0.0.1:$dcgm"], labels: {namespace: gpu-operator}}]
YAML
  "$programs/prometheus" --config.file "$stage/prometheus.yaml" --storage.tsdb.path "$stage/series" \
    --web.listen-address "127.0.0.1:$port" >"$stage/prometheus.log" 2>&1 &
  recorders+=($!)
  prometheus_url=http://127.0.0.1:$port
  wait_for 60 "Prometheus is ready" curl -fsS --max-time 5 "$prometheus_url/-/ready"
}

ask() { curl -fsS --max-time 10 -G "$prometheus_url/api/v1/query" --data-urlencode "query=$1" | jq -c .data.result; }
is() {  # is QUERY VALUE: it has one answer, and that is it, to three digits
  ask "$1" | jq -e --argjson value "$2" 'length == 1 and (.[0].value[1] | tonumber * 1000 | round / 1000) == $value'
}
# show: what Prometheus answers comes to be so; else it says what the answer is.
show() {  # show QUERY VALUE
  wait_for 75 "$1 is $2" is "$@" || { ask "$1"; return 1; }
}
fires() { ask "ALERTS{alertname=\"$1\",alertstate=\"firing\"${2:+,$2}}" | jq -e 'length > 0'; }  # fires ALERT [LABELS]
is_silent() { ask "ALERTS{alertname=\"$1\"${2:+,$2}}" | jq -e 'length == 0'; }

fabric_of() { kubectl get node "$1" -o jsonpath='{.metadata.labels.nvidia\.com/gpu\.clique}'; }
# workers NAME COUNT CLIQUE: a domain that is to be in one clique, and workers there.
workers() {
  domain_in default "$1" "$1-channel" | kubectl apply -f - || return 1
  kubectl label computedomain "$1" cdom.dev/placement=clique || return 1
  deployment "$1" "$1-channel" "$2" | kubectl create --dry-run=client -f - -o json |
    jq --arg clique "$3" '.spec.template.spec.nodeSelector = {"nvidia.com/gpu.clique": $clique}' | kubectl apply -f -
}
gpus_do() {  # gpus_do DOMAIN PERCENT
  member_nodes "$1" | sed "s/\$/ $2/" >>"$stage/gpus.new"
}

# Two domains, one of which does nothing with its GPUs; made if they are not there.
train_and_lazy_run() {
  # A third domain in their clique, which a case that failed has left, would be all that their conditions speak of.
  gone computedomain late || end_workers late || return 1
  workers train 4 "$(fabric_of node-000)" && workers lazy 2 "$(fabric_of node-015)" || return 1
  wait_for 90 "both run" both_run || return 1
  : >"$stage/gpus.new"
  gpus_do train 90 && gpus_do lazy 1 && mv "$stage/gpus.new" "$stage/gpus.txt"
}
both_run() { in_step train 4 && in_step lazy 2; }

a_real_prometheus_says_what_a_domain_costs_and_how_scattered_the_free_nodes_are() {
  local one other each
  train_and_lazy_run || return 1
  one=$(fabric_of node-000) other=$(fabric_of node-015)
  show 'cdom:domain_gpu_utilization:avg{namespace="default",name="train"}' 0.9 || return 1
  show 'cdom:domain_gpu_utilization:avg{name="lazy"}' 0.01 || return 1
  show "cdom:clique_gpu_utilization:avg{clique=\"$one\"}" 0.9 || return 1
  show 'cdom:domain_price_per_hour{name="train"}' $((4 * 98)) || return 1
  show 'cdom:domain_wasted_per_hour{name="train"}' 0 || return 1
  show 'cdom:domain_wasted_per_hour{name="lazy"}' $((2 * 98)) || return 1
  show 'cdom:namespace_price_per_hour{namespace="default"}' $((6 * 98)) || return 1
  for each in "$one free 4" "$one held 4" "$one unusable 0" "$other free 6" "$other held 2" "$other unusable 0"; do
    read -r clique state nodes <<<"$each"
    show "cdom:clique_nodes:max{clique=\"$clique\",state=\"$state\"}" "$nodes" || return 1
  done
  show cdom:largest_free_block:nodes 6 || return 1
  show cdom:fragmentation:ratio 0.4 || return 1
  show cdom:whole_free_cliques:count 0 || return 1
  show 'count(cdom_claim_wait_seconds_count > 0)' 1 || return 1
  wait_for 75 "somebody hears of the domain whose GPUs are idle" fires CdomDomainGpusIdle 'name="lazy"' || return 1
  is_silent CdomDomainGpusIdle 'name="train"' || return 1
  # Only one replica speaks of domains.
  show 'count(cdom_domain_ready{name="train"})' 1
}

the_alerts_of_a_node_that_is_killed_come_and_go_with_it() {
  local held free
  train_and_lazy_run || return 1
  held=$(member_nodes train | head -n 1)
  free=$(comm -23 <(kubectl get nodes -o name | cut -d/ -f2 | sort) <({ member_nodes train; member_nodes lazy; } | sort) | tail -n 1)
  is_silent CdomMembersMissing && is_silent CdomDomainNotReady && is_silent CdomNodesUnusable || return 1
  nodesim "kill?node=$held" && nodesim "kill?node=$free" || return 1
  wait_for 90 "the node that a domain holds is missed" fires CdomMembersMissing 'namespace="default",name="train"' || return 1
  wait_for 60 "its domain is not Ready" fires CdomDomainNotReady 'name="train"' || return 1
  wait_for 60 "the free one is unusable" fires CdomNodesUnusable "clique=\"$(fabric_of "$free")\"" || return 1
  show "cdom:clique_nodes:max{clique=\"$(fabric_of "$free")\",state=\"unusable\"}" 1 || return 1
  cliques_say "$free" unusable 'not ready' || return 1
  nodesim "revive?node=$held" && nodesim "revive?node=$free" || return 1
  wait_for 60 "nobody is missed" is_silent CdomMembersMissing || return 1
  wait_for 60 "all are Ready" is_silent CdomDomainNotReady || return 1
  wait_for 60 "it is of use again" is_silent CdomNodesUnusable
}
leading_replica() { if kill -0 "${replica[1]}" 2>/dev/null && replica_leads 1; then echo 1; else echo 2; fi; }
cliques_say() {  # cliques_say NODE STATE WHY
  curl -fsS "http://127.0.0.1:$(replica_port "$(leading_replica)" "debug pages")/debug/cliques" |
    jq -e --arg node "$1" --arg state "$2" --arg why "$3" 'any(.[].nodes[]; .name == $node and .state == $state and .why == $why)'
}

a_domain_that_does_not_fit_into_its_clique_names_the_free_nodes_of_each_until_another_ends() {
  local one other
  train_and_lazy_run || return 1
  one=$(fabric_of node-000) other=$(fabric_of node-015)
  workers late 6 "$one" || return 1
  wait_for 60 "it says that it does not fit" says InUse late NoRoomInClique \
    "The pods of this domain are in clique $one, .* nodes free there: 0, pods that wait: 2\. .* Free nodes by clique: $other 6 of 8, $one 0 of 8\.\$" || return 1
  wait_for 10 "its condition Ready says so, too" condition_says late NoRoomInClique . || return 1
  wait_for 10 "an event tells of it" tells late "Warning +NoRoomInClique " || return 1
  show 'cdom_domain_pods_waiting{name="late"}' 2 || return 1
  wait_for 75 "somebody hears of it" fires CdomPodsWaiting 'name="late"' || return 1
  end_workers train || return 1
  wait_for 60 "it fits once another has ended" in_step late 6 || return 1
  wait_for 20 "it says nothing of it any more" says InUse late ClaimsReserved '^Used by [^:]*$' || return 1
  wait_for 75 "nobody waits" is_silent CdomPodsWaiting || return 1
  end_workers late
}
end_workers() { kubectl delete deployment "$1" && kubectl delete computedomain "$1" --timeout=60s; }

the_leader_is_killed_and_no_rule_fails() {
  local old new
  train_and_lazy_run || return 1
  wait_for 75 "somebody hears of the domain whose GPUs are idle" fires CdomDomainGpusIdle 'name="lazy"' || return 1
  old=$(leading_replica) new=$((3 - old))
  ! replica_leads "$new" || { echo "both lead"; return 1; }
  kill -KILL "${replica[$old]}" && wait "${replica[$old]}" 2>/dev/null
  wait_for 60 "the other one leads" replica_leads "$new" || return 1
  wait_for 75 "it speaks of the domains" is 'count(cdom_domain_ready{name="train"})' 1 || return 1
  show 'cdom:domain_price_per_hour{name="train"}' $((4 * 98)) || return 1
  show 'cdom:domain_wasted_per_hour{name="lazy"}' $((2 * 98)) || return 1
  fires CdomDomainGpusIdle 'name="lazy"' || { echo "the alert began anew"; return 1; }
  curl -fsS "$prometheus_url/metrics" | awk '
    /^prometheus_rule_evaluation_failures_total/ { failures += $NF } /^prometheus_rule_evaluations_total/ { all += $NF }
    END { print all + 0 " evaluations, " failures + 0 " failed"; exit !(all > 100 && failures == 0) }'
}

each_panel_of_the_dashboards_has_points() {
  local query now bad=0
  train_and_lazy_run || return 1
  wait_for 75 "its GPUs are seen" is 'cdom:domain_gpu_idle_nodes:sum{name="lazy"}' 2 || return 1
  now=$(date +%s)
  while read -r query; do
    curl -fsS --max-time 20 -G "$prometheus_url/api/v1/query_range" --data-urlencode "query=$query" \
      -d "start=$((now - 120))&end=$now&step=2" |
      jq -e 'any(.data.result[].values[][1]; . != "NaN")' >/dev/null || { echo "no points: $query"; ((++bad)); }
  done < <(jq -r '.panels[].targets[].expr' "$repo/manifests/monitoring"/dashboard-*.json)
  # Who wants the picture of docs/alerts.md says where it shall be.
  if [[ -n ${CDOM_PICTURE:-} ]]; then "$repo/test/packaging/monitoring/draw.py" "$prometheus_url" "$CDOM_PICTURE" || return 1; fi
  ((bad == 0))
}

the_objects_for_the_operator_are_built() {
  kubectl kustomize "$repo/manifests/monitoring" >"$stage/monitoring.yaml" || return 1
  [[ $(sed -n 's/^kind: //p' "$stage/monitoring.yaml" | sort | paste -sd' ') == 'ClusterRoleBinding ConfigMap PodMonitor PrometheusRule Secret ServiceAccount' ]]
}
