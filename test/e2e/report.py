"""What a case that failed adds to its report: what the cluster showed at that moment."""

import json
import subprocess

from namespaces import DRIVER, is_ready

LOG_LINES = 40
AUDIT_ENTRIES = 80
STATE_CHARACTERS = 6000
PODS = 10


def describe(cluster, namespace):
    """(title, text) of each part. `namespace` is the case's own, or empty."""
    parts = [("conditions of the domains", lambda: conditions(cluster)),
             (f"Events of {namespace or 'all namespaces'}", lambda: events(cluster, namespace)),
             ("the controller's log", lambda: log(cluster)),
             (f"audit log of {namespace or 'the controller'}", lambda: audit(cluster, namespace)),
             ("nodesim", lambda: nodes(cluster)),
             ("pods that are not ready", lambda: pods(cluster))]
    for title, get in parts:
        try:
            text = get()
        except (AssertionError, AttributeError, OSError, LookupError, ValueError, subprocess.SubprocessError) as error:
            text = f"cannot be shown: {error}"
        yield title, text or "none"


def conditions(cluster):
    lines = []
    for one in cluster.list("computedomains", ""):
        status = one.get("status", {})
        lines.append(f"{one['metadata']['namespace']}/{one['metadata']['name']}: {status.get('status')} "
                     f"{status.get('members')} {[node['name'] for node in status.get('nodes', [])]}")
        lines += [f"  {found['type']}={found['status']} {found['reason']}: {found['message']}"
                  for found in status.get("conditions", [])]
    return "\n".join(lines)


def events(cluster, namespace):
    where = ("-n", namespace) if namespace else ("--all-namespaces",)
    return "\n".join(cluster.kubectl("get", "events", *where, "--sort-by=.lastTimestamp").splitlines()[-LOG_LINES:])


def log(cluster):
    if hasattr(cluster, "folder"):
        text = (cluster.folder / "controller.log").read_text()
    else:
        text = cluster.kubectl("logs", "-n", "cdom-system", "deployment/cdom-controller", f"--tail={LOG_LINES}")
    return "\n".join(text.splitlines()[-LOG_LINES:])


def audit(cluster, namespace):
    def is_about(entry):
        found = entry.get("objectRef", {})
        if entry["verb"] in ("get", "list", "watch"):
            return False
        if not namespace:
            return entry.get("userAgent", "").startswith("cdom/") and found.get("resource") != "leases"
        return namespace in (found.get("namespace"), found.get("name"))
    return "\n".join(line_of(entry) for entry in [one for one in cluster.audit_entries() if is_about(one)][-AUDIT_ENTRIES:])


def line_of(entry):
    found = entry.get("objectRef", {})
    what = "/".join(found[key] for key in ("resource", "subresource") if key in found)
    return (f"{entry['requestReceivedTimestamp']} {entry.get('userAgent', '').split('/')[0]} {entry['verb']} {what} "
            f"{found.get('name', '')} {entry['responseStatus'].get('code')}")


def nodes(cluster):
    if not getattr(cluster, "nodesim", None):
        return ""
    text = json.dumps(cluster.nodesim.state())
    (cluster.folder / "nodesim.json").write_text(text)
    return text if len(text) <= STATE_CHARACTERS else f"{text[:STATE_CHARACTERS]}... (all of it: {cluster.folder}/nodesim.json)"


def pods(cluster):
    """Of the driver, and the state of each of their containers."""
    lines = []
    unready = [one for one in cluster.list("pods", DRIVER) if not is_ready(one)]
    for one in unready[:PODS]:
        about, status = one["metadata"], one.get("status", {})
        lines.append(f"{about['name']} on {one['spec'].get('nodeName')}: {status.get('phase')} {status.get('message', '')} "
                     f"made {about['creationTimestamp']} deleted {about.get('deletionTimestamp')}")
        for container in [*status.get("initContainerStatuses", []), *status.get("containerStatuses", [])]:
            lines.append(f"  {container['name']}: {container['restartCount']} restarts, {json.dumps(container['state'])}, "
                         f"before that {json.dumps(container.get('lastState', {}))}")
    return "\n".join(lines)
