"""Every object of a cluster at one time, and what differs between two times."""

import json

LEFT_OUT = ("events", "events.events.k8s.io", "leases.coordination.k8s.io", "componentstatuses")
SHOWN = 60  # Lines of a difference.


def snapshot(cluster):
    """Every object of every kind by its name, without what changes by itself: events, leases, versions, heartbeats, and
    namespaces that are being deleted."""
    kinds = cluster.kubectl("api-resources", "--verbs=list", "-o", "name").split()
    wanted = sorted(set(kinds) - set(LEFT_OUT))
    found = cluster.kubectl("get", ",".join(wanted), "--all-namespaces", "--ignore-not-found", "-o", "json")
    objects = {name_of(one): without_noise(one) for one in json.loads(found)["items"]}
    stays = {name for (kind, _, name), one in objects.items()
             if kind == "Namespace" and "deletionTimestamp" not in one["metadata"]}
    # A namespace may have ended after the objects in it were read.
    return {key: one for key, one in objects.items() if key[1] in {"", *stays} and (key[0] != "Namespace" or key[2] in stays)}


def name_of(one):
    metadata = one["metadata"]
    return one["kind"], metadata.get("namespace", ""), metadata["name"]


def without_noise(one):
    for field in ("resourceVersion", "managedFields"):
        one["metadata"].pop(field, None)
    if one["kind"] == "Node":
        for condition in one.get("status", {}).get("conditions", []):
            condition.pop("lastHeartbeatTime", None)
            condition.pop("lastTransitionTime", None)
        one.get("status", {}).get("nodeInfo", {}).pop("bootID", None)
    if one["kind"] in ("FlowSchema", "PriorityLevelConfiguration"):  # Counters of the API server itself.
        one.pop("status", None)
    return one


def shapes(objects):
    """Of a snapshot whose objects may have been made again: their names, and what a node carries."""
    return {name: [one["metadata"].get("labels"), one["spec"].get("taints"), one["spec"].get("unschedulable")]
            if name[0] == "Node" else None
            for name, one in objects.items() if name[0] not in ("ResourceSlice", "CSINode")}


def difference(before, after):
    """A line for each object, or field of one, that is in one snapshot alone."""
    lines = []
    for name in sorted(before.keys() | after.keys()):
        if before.get(name) == after.get(name) and (name in before) == (name in after):
            continue
        title = " ".join(part for part in name if part)
        if name not in after:
            lines.append(f"deleted: {title}")
        elif name not in before:
            lines.append(f"left: {title}")
        else:
            was, now = dict(fields(before[name])), dict(fields(after[name]))
            lines += [f"changed: {title}: {at}: {was.get(at)!r}, now {now.get(at)!r}"
                      for at in sorted(was.keys() | now.keys()) if was.get(at) != now.get(at)]
    return lines[:SHOWN]


def fields(value, path=""):
    """(path, value) of each field that has no fields of its own."""
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from fields(inner, f"{path}.{key}")
    elif isinstance(value, list) and value:
        for i, inner in enumerate(value):
            yield from fields(inner, f"{path}[{i}]")
    else:
        yield path, value
