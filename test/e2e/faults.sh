# Cases of faults while a controller works: another client takes its Lease, a permission is missing for a while, the
# daemons' image does not exist. On control planes of their own. Sourced by e2e.sh.
# shellcheck shell=bash disable=SC2154

status_writes_since() {  # status_writes_since LINE NAME...: of the audit log
  controller_entries "$1" | jq -c --args 'select(.objectRef.subresource == "status" and (.objectRef.name | IN($ARGS.positional[])))
    | [.verb, .objectRef.name, .responseStatus.code, .requestReceivedTimestamp]' "${@:2}"
}
audit_lines() { wc -l <"$stage/plane/audit.log"; }

# ---- The Lease

# Nobody is behind these nodes, and nobody acts on what is made: no daemons, no evictions.
bare_nodes() {  # bare_nodes COUNT UID: that many nodes with the label of the domain
  jq -n --argjson count "$1" --arg uid "$2" '{apiVersion: "v1", kind: "List", items: [range($count) | {apiVersion: "v1", kind: "Node",
    metadata: {name: "bare-\(.)", labels: {"resource.nvidia.com/computeDomain": $uid}}}]}'
}
pause_cluster_controllers() {
  local name pid
  for name in kube-controller-manager kube-scheduler; do
    read -r pid _ <"$stage/plane/pids/$name" && kill -STOP "$pid" || return 1
  done
}
labelled() { kubectl get nodes -l "resource.nvidia.com/computeDomain=$1" -o name | wc -l; }
takes_labels_off() { controller_entries "$1" | jq -e --slurp 'any(.[]; .verb == "patch" and .objectRef.resource == "nodes")'; }

a_lease_that_somebody_else_takes_under_a_deletion_ends_all_writing_within_100_ms() {
  local count=1000 uid line left at
  pause_cluster_controllers || return 1
  start_controller --logging-format json
  wait_for 60 "the controller leads" leads || return 1
  domain doomed doomed-channel | kubectl apply -f - || return 1
  wait_for 20 "its children are made" is_idle doomed || return 1
  uid=$(uid_of doomed)
  # Away meanwhile, or it would take the labels off as of nodes that nobody uses.
  stop_controller
  bare_nodes "$count" "$uid" | kubectl create -f - >/dev/null || return 1
  start_controller --logging-format json --leader-election-retry-period 100ms
  wait_for 60 "the controller leads" leads || return 1
  line=$(audit_lines)
  kubectl delete cdom doomed --wait=false || return 1
  wait_for 20 "labels are taken off" takes_labels_off "$line" || return 1
  kubectl patch lease -n "$driver" cdom-controller --type=merge \
    -p "{\"spec\": {\"holderIdentity\": \"thief\", \"renewTime\": \"$(date -u +%FT%T.%6NZ)\"}}" || return 1
  wait_for 20 "it has noticed" log_says '"msg":"Nothing is written any more"' || return 1
  at=$(jq -r 'select(.msg == "Nothing is written any more").ts' "$stage/controller.log")
  stop_controller

  left=$(labelled "$uid")
  echo "$left of $count labels are left; nothing is written since $at"
  ((left > 0 && left < count)) || { echo "no deletion was under way"; return 1; }
  # Two clocks would differ; here both are one.
  controller_entries "$line" | jq -c --arg at "$at" '
    def micros: capture("^(?<s>[^.]+)[.](?<us>[0-9]{6})Z$") | ((.s + "Z") | fromdate) * 1000000 + (.us | tonumber);
    select(.verb | IN("get", "list", "watch") | not)
    | ((.requestReceivedTimestamp | micros) - ($at | micros)) as $later
    | select($later > 100000) | [$later, .verb, .objectRef.resource, .objectRef.name]' | tee "$stage/late.txt"
  [[ ! -s $stage/late.txt ]] || { echo "written too late"; return 1; }
  [[ $(lease_holder) == thief ]] || { echo "it took the Lease back: $(lease_holder)"; return 1; }

  kubectl delete lease -n "$driver" cdom-controller || return 1
  start_controller
  wait_for 60 "another leader brings the deletion to its end" gone cdom doomed || return 1
  [[ $(labelled "$uid") == 0 ]]
}

# ---- Rights

# A way to the API server that can be cut: the server asks for rights when a watch begins, not while it lasts.
way_pid=
way_up() {
  perl -MIO::Socket::INET -MIO::Select -e '
    my ($server, $port_file) = @ARGV;
    my $listener = IO::Socket::INET->new(Listen => 64, LocalAddr => "127.0.0.1") or die $!;
    open(my $out, ">", $port_file) or die $!; print $out $listener->sockport, "\n"; close $out;
    my (%peer, $cut); $SIG{USR1} = sub { $cut = 1 };
    my $all = IO::Select->new($listener);
    while (1) {
      my @ready = $all->can_read;
      if ($cut) { $cut = 0; for (grep { $_ != $listener } $all->handles) { $all->remove($_); close $_ } %peer = (); next }
      for my $from (@ready) {
        if ($from == $listener) {
          my $near = $listener->accept or next;
          my $far = IO::Socket::INET->new($server) or do { close $near; next };
          @peer{$near, $far} = ($far, $near); $all->add($near, $far); next;
        }
        my $to = $peer{$from} or next;
        if (sysread($from, my $bytes, 65536)) { my $done = 0; while ($done < length $bytes) { my $n = syswrite($to, $bytes, length($bytes) - $done, $done) or last; $done += $n } }
        else { for ($from, $to) { delete $peer{$_}; $all->remove($_); close $_ } }
      }
    }' "$(kubectl config view --raw -o jsonpath='{.clusters[0].cluster.server}' | sed 's#https://##')" "$stage/way" &
  way_pid=$!
  wait_for 10 "the way is open" test -s "$stage/way"
}
cut_the_way() { kill -USR1 "$way_pid"; }

a_right_to_watch_that_goes_for_less_than_a_minute_changes_no_status() {
  local role before line began
  way_up || return 1
  jq --arg port "$(cat "$stage/way")" '.clusters[0].cluster.server = "https://127.0.0.1:" + $port' "$stage/controller.kubeconfig" >"$stage/way.kubeconfig"
  stop_controller
  kubeconfig=$stage/way.kubeconfig start_controller
  wait_for 60 "the controller leads" leads || return 1
  domain calm calm-channel | kubectl apply -f - || return 1
  wait_for 20 "its children are made" is_idle calm || return 1
  used_domain busy node-001 || return 1
  role=$(kubectl get role -n "$driver" -o json | jq -r '.items[] | select(any(.rules[]; .resources == ["daemonsets"])) | .metadata.name')
  before=$(kubectl get role -n "$driver" "$role" -o json | jq -c .rules)
  began=$SECONDS
  line=$(audit_lines)
  kubectl patch role -n "$driver" "$role" --type=merge \
    -p "$(jq -c '{rules: map(if .resources == ["daemonsets"] then .verbs -= ["list", "watch"] else . end)}' <<<"$before")" || return 1
  wait_for 20 "the right is taken away" cannot watch daemonsets.apps || return 1
  cut_the_way
  wait_for 20 "the controller was refused" refused_since "$line" || return 1
  # All else is read again, and what there was to decide without DaemonSets is decided: a change of a domain is answered.
  kubectl annotate cdom calm cdom.dev/forecast=fair || return 1
  kubectl patch role -n "$driver" "$role" --type=merge -p "{\"rules\": $before}" || return 1
  wait_for 50 "DaemonSets are read again" watched_since "$(audit_lines)" || return 1
  ((SECONDS - began < 55)) || { echo "it took longer than the controller's patience"; return 1; }
  domain later later-channel | kubectl apply -f - || return 1
  wait_for 30 "the controller works" is_idle later || return 1
  status_writes_since "$line" calm busy | tee "$stage/written.txt"
  [[ ! -s $stage/written.txt ]] || { echo "status was written"; return 1; }
  is_idle calm && ready_in_use busy || return 1
  kubectl delete cdom later calm --timeout=30s && end_domain busy || return 1
  stop_controller
  stop "$way_pid"
  way_pid=
}
refused_since() {  # refused_since LINE
  controller_entries "$1" | jq -e --slurp 'any(.[]; .objectRef.resource == "daemonsets" and .responseStatus.code == 403)'
}
watched_since() {  # watched_since LINE: a watch of DaemonSets began
  controller_entries "$1" | jq -e --slurp 'any(.[]; .objectRef.resource == "daemonsets" and (.verb | IN("list", "watch")) and .responseStatus.code == 200)'
}

# ---- The daemons' image

image_of() {  # image_of DOMAIN: "IMAGE COUNT" of its daemons
  kubectl get pods -n "$driver" -l "$(label_of "$1")" -o json | jq -r '[.items[].spec.containers[0].image] | group_by(.)[] | "\(.[0]) \(length)"'
}
ready_daemons() {  # ready_daemons DOMAIN: UIDs
  kubectl get pods -n "$driver" -l "$(label_of "$1")" -o json |
    jq -r '.items[] | select(.metadata.deletionTimestamp == null and any(.status.conditions[]?; .type == "Ready" and .status == "True")) | .metadata.uid' | sort
}
workers_of() { lives_of -l "app in (bold, brave, shy)"; }
roll_stopped() {  # roll_stopped DOMAIN
  says Provisioned "$1" RollStopped 'None is replaced in any domain: pods/cdom-system/[a-z0-9-]+ on node-[0-9]+ \(.*ImagePullBackOff|None is replaced in any domain: The daemon on node-[0-9]+, made from the new template'
}
with_image() {  # with_image IMAGE: a controller that gives daemons this image
  image=$1 with_membership_writer controller --config "$stage/roll.yaml" --log-verbosity-cd-daemon "$2"
}

a_daemon_image_that_does_not_exist_costs_one_daemon_where_it_may_and_none_under_a_job() {
  local name was now line
  cat >"$stage/roll.yaml" <<<'{apiVersion: cdom.dev/v1alpha1, kind: ControllerConfiguration, roll: {cliques: 1, settle: 1s, deadline: 10s}}'
  with_image cdom:1 0 || return 1
  for name in bold:3 brave:2 shy:2; do
    domain_in default "${name%:*}" "${name%:*}-channel" | kubectl apply -f - || return 1
    deployment "${name%:*}" "${name%:*}-channel" "${name#*:}" | kubectl apply -f - || return 1
  done
  kubectl annotate cdom bold brave cdom.dev/daemon-roll=Always || return 1
  wait_for 90 "all serve" all_three_serve || return 1
  was=$(workers_of)
  for name in bold brave shy; do ready_daemons "$name" >"$stage/$name.before"; done

  line=$(audit_lines)
  with_image registry.example.com/daemon:missing 1 || return 1
  for name in bold brave shy; do
    wait_for 60 "$name says that no daemon is replaced" roll_stopped "$name" || return 1
    wait_for 20 "an event of $name tells of it" tells "$name" 'Warning +RollStopped ' || return 1
  done
  for name in bold brave shy; do ready_daemons "$name" >"$stage/$name.after"; done
  # One daemon of one domain is gone; those that serve all served before.
  [[ $(cat "$stage"/{bold,brave}.before | wc -l) == $(($(cat "$stage"/{bold,brave}.after | wc -l) + 1)) ]] || { wc -l "$stage"/*.{before,after}; return 1; }
  [[ -z $(comm -13 "$stage/bold.before" "$stage/bold.after")$(comm -13 "$stage/brave.before" "$stage/brave.after") ]] || { echo "another daemon serves"; return 1; }
  cmp "$stage/shy.before" "$stage/shy.after" || return 1
  [[ $(workers_of) == "$was" ]] || { echo "workers restarted"; return 1; }
  daemons_deleted_since "$line" >"$stage/deleted.txt"
  [[ $(wc -l <"$stage/deleted.txt") == 1 ]] || { cat "$stage/deleted.txt"; return 1; }

  # The image is mended: where it may, the roll goes on to its end.
  with_image cdom:2 2 || return 1
  wait_for 120 "bold has the new image" runs_only bold cdom:2 3 || return 1
  wait_for 120 "brave has the new image" runs_only brave cdom:2 2 || return 1
  wait_for 30 "all serve again" all_three_serve || return 1
  now=$(image_of shy)
  [[ $now == 'cdom:1 2' ]] || { echo "shy: $now"; return 1; }
  # A daemon that took longer than the deadline has stopped the roll until it serves; the controller hears of that as we do.
  wait_for 30 "shy is told what it waits for" says Provisioned shy Outdated 'once no pod uses their clique' || return 1
  ready_daemons shy | cmp "$stage/shy.before" - || return 1
  [[ $(workers_of) == "$was" ]] || { echo "workers restarted"; return 1; }
  # Under its next job it has it too.
  kubectl delete deployment bold brave shy --timeout=60s || return 1
  wait_for 60 "shy is idle" is_idle shy || return 1
  deployment shy shy-channel 2 | kubectl apply -f - || return 1
  wait_for 90 "shy has the new image" runs_only shy cdom:2 2 || return 1
  kubectl delete deployment shy --timeout=60s && kubectl delete cdom bold brave shy --timeout=60s
}
all_three_serve() { serves bold 3 && serves brave 2 && serves shy 2; }
runs_only() {  # runs_only DOMAIN IMAGE COUNT: all of them, and they serve
  [[ $(image_of "$1") == "$2 $3" && $(ready_daemons "$1" | wc -l) == "$3" ]]
}
daemons_deleted_since() {  # daemons_deleted_since LINE: by the controller
  controller_entries "$1" | jq -c 'select(.verb == "delete" and .objectRef.resource == "pods" and .responseStatus.code < 300) | .objectRef.name'
}
