# Of an audit log: when, after each domain was made, and after it was deleted, the last of each phase came, and how much of it was
# cdom's. Two lines, with medians over five domains in ms. $began: in microseconds; what was before does not count.
def ms: (.[0:19] + "Z" | fromdate) * 1000 + (.[20:23] | tonumber);
def median: sort | .[length / 2 | floor];
def last_of(name; condition): {(name): [.[] | select(condition) | .at] | last};
def is_of_pod: .name | startswith("real-");
def is_of_daemon: .name | startswith("computedomain-daemon-");
def by_kubelet: .who | startswith("system:node:");
def medians:
  if length != 5 or any(.[][]; . == null or . < 0) then error("not five rounds: \(.)") else . end
  | . as $rounds | .[0] | keys_unsorted | map(. as $phase | "\($phase) \([$rounds[][$phase]] | median)") | join(", ");

# The kubelet reads a claim just before it calls the plugin. In its container each daemon says first of which clique it is, and
# its report later. From the last entry to the last ready pod, IMEX starts and the kubelet probes.
def formation($from):
  def writes_clique: .what | endswith("computedomaincliques/");
  last_of("pods Running"; .what == "patch pods/status" and by_kubelet and is_of_pod) as $runs
  | last_of("ready"; writes_clique and .at < $runs["pods Running"]).ready as $ready
  | ([.[] | select(.what == "patch pods/" and (.who | endswith("daemon-service-account"))) | {name, at}]
      | group_by(.name) | map(first.at) | max) as $started
  | last_of("pods bound"; .what == "create pods/binding" and is_of_pod)
    + last_of("claims read by kubelets"; .what == "get resourceclaims/" and by_kubelet and is_of_pod)
    + last_of("nodes labelled"; .what == "patch nodes/" and (.who | endswith("kubelet-plugin")) and .at < $runs["pods Running"])
    + last_of("daemons bound"; .what == "create pods/binding" and is_of_daemon)
    + {"daemons in their containers": $started}
    + {"all in the clique": [.[] | select(writes_clique and .at >= $started) | .at] | first}
    + last_of("daemons' pods ready"; .what == "patch pods/status" and by_kubelet and is_of_daemon and .at < $ready)
    + {"all ready in the clique": $ready}
    + $runs
  | map_values(. - $from)
  | .["of which cdom"] = .["nodes labelled"] - .["claims read by kubelets"] + .["all in the clique"] - .["daemons in their containers"]
    + .["all ready in the clique"] - .["daemons' pods ready"];

def deletion($from):
  last_of("nodes unlabelled"; .what == "patch nodes/" and (.who | endswith("kubelet-plugin")))
  + last_of("daemons told to end"; .what == "delete pods/" and (by_kubelet | not) and is_of_daemon)
  + last_of("pods deleted by kubelets"; .what == "delete pods/" and by_kubelet)
  + last_of("claims deleted"; .what == "delete resourceclaims/")
  + last_of("nothing left"; .what == "patch computedomains/" and (.who | endswith("cdom-controller")))
  | map_values(. - $from)
  | .["of which cdom"] = .["nothing left"] - ([.["pods deleted by kubelets"], .["claims deleted"]] | max);

[inputs | select(.stage == "ResponseComplete" and .responseStatus.code < 300)
  | {at: (.stageTimestamp | ms), what: "\(.verb) \(.objectRef.resource)/\(.objectRef.subresource // "")",
     name: (.objectRef.name // ""), who: .user.username}
  | select(.at * 1000 >= $began)]
| sort_by(.at) as $all
| [$all[] | select(.what == "create computedomains/") | .at] as $made
| [$all[] | select(.what == "delete computedomains/") | .at] as $deleted
| [range($made | length) | . as $round | [$all[] | select(.at >= $made[$round] and .at < $deleted[$round])] | formation($made[$round])],
  [range($made | length) | . as $round | [$all[] | select(.at >= $deleted[$round] and .at < ($made[$round + 1] // infinite))] | deletion($deleted[$round])]
| medians
