# Of an audit log: when, after each domain was made, the last of each phase came, as medians over five of them, in ms. $began: in
# microseconds; what was before does not count.
def ms: (.[0:19] + "Z" | fromdate) * 1000 + (.[20:23] | tonumber);
def median: sort | .[length / 2 | floor];
def last_of(name; condition): {(name): [.[] | select(condition) | .at] | last};

[inputs | select(.stage == "ResponseComplete" and .responseStatus.code < 300)
  | {at: (.stageTimestamp | ms), what: "\(.verb) \(.objectRef.resource)/\(.objectRef.subresource // "")",
     name: (.objectRef.name // ""), who: .user.username}
  | select(.at * 1000 >= $began)]
| sort_by(.at) as $all
| [$all[] | select(.what == "create computedomains/") | .at as $start
  | ([$all[] | select(.at > $start and .what == "delete computedomains/") | .at] | first) as $deleted
  | [$all[] | select(.at >= $start and .at < $deleted)]
  | last_of("pods Running"; .what == "patch pods/status" and (.who | startswith("system:node:")) and (.name | startswith("real-"))) as $runs
  | last_of("pods bound"; .what == "create pods/binding" and (.name | startswith("real-")))
    + last_of("nodes labelled"; .what == "patch nodes/" and (.who | endswith("kubelet-plugin")) and .at < $runs["pods Running"])
    + last_of("daemons bound"; .what == "create pods/binding" and (.name | startswith("computedomain-daemon-")))
    # Each says first of which clique it is, and its report later.
    + {"daemons in their containers": [.[] | select(.what == "patch pods/" and (.who | endswith("daemon-service-account"))) | {name, at}]
        | group_by(.name) | map(first.at) | max}
    + last_of("all ready in the clique"; (.what | endswith("computedomaincliques/")) and .at < $runs["pods Running"])
    + $runs
  | map_values(. - $start)]
| if length != 5 or any(.[][]; . < 0) then error("not five rounds: \(.)") else . end
| . as $rounds | .[0] | keys_unsorted | map(. as $phase | "\($phase) \([$rounds[][$phase]] | median)") | join(", ")
