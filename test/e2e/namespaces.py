"""A namespace of one case, what is in it, and what of it is elsewhere."""

import itertools
import json
import re

import pytest
from objects import LABEL
from waiting import CommandFailed, eventually

DRIVER = "cdom-system"
IDLE = re.compile(r"^Provisioned; nodes join when pods that claim from [a-z-]+ are scheduled\.$")
# Reasons of Ready when all members are. The second if they share no memory; cases about that name the one that they mean.
WHEN_READY = ("AllMembersReady", "SpansCliques")


def shows(kubectl, domain, waits_in_vain=(), **columns):
    """Waits until `kubectl get` shows the domain with these columns, and looks that `kubectl wait` for these conditions ends in vain."""
    def row():
        head, line = kubectl("get", "computedomain", domain).splitlines()
        found = dict(zip(head.split(), line.split(), strict=False))
        return {name: found[name.upper()] for name in columns}
    eventually(f"the row of {domain}", row, columns)
    for kind in waits_in_vain:
        with pytest.raises(CommandFailed, match="timed out waiting"):
            kubectl("wait", f"--for=condition={kind}", f"computedomain/{domain}", "--timeout=1s")


class Namespace:
    """Cases ask it about their domains and pods. Nodes and children are found from there."""

    def __init__(self, cluster, name):
        self.cluster = cluster
        self.name = name

    def create(self):
        self.cluster.kubectl("create", "namespace", self.name)
        # Kubernetes makes both a moment later; pods need the first.
        eventually("the namespace has what each has",
                   lambda: self.kubectl("get", "serviceaccount/default", "configmap/kube-root-ca.crt", "-o", "name"))

    def clear(self, force=False):
        """Deletes what cases make here. With `force`, domains do not wait for their pods."""
        kinds = "deployments,jobs,pods,computedomains"
        if force:
            self.kubectl("annotate", "computedomains", "--all", "cdom.dev/deletion-grace=0", "cdom.dev/paused-", "--overwrite",
                         check=False)
        if self.kubectl("get", kinds, "-o", "name"):
            self.kubectl("delete", kinds, "--all", "--timeout=90s")

    def delete_it(self):
        """The namespace itself, without waiting for its end."""
        self.cluster.kubectl("delete", "namespace", self.name, "--ignore-not-found", "--wait=false")

    # --- kubectl

    def kubectl(self, *arguments, **options):
        return self.cluster.kubectl("-n", self.name, *arguments, **options)

    def json(self, *arguments):
        return json.loads(self.kubectl(*arguments, "-o", "json"))

    def apply(self, *objects):
        """Makes these objects here, or changes them."""
        for one in objects:
            one["metadata"]["namespace"] = self.name
        self.cluster.apply(*objects)

    def create_objects(self, *objects):
        """As apply(), of objects that do not exist. Returns what kubectl says."""
        for one in objects:
            one["metadata"]["namespace"] = self.name
        return self.cluster.create(*objects)

    def get(self, kind, name):
        return self.cluster.get(kind, name, self.name)

    def list(self, kind, selector=""):
        return self.cluster.list(kind, self.name, selector)

    def delete(self, kind, *names, timeout=60):
        """Deletes these objects, and waits until they do not exist."""
        self.kubectl("delete", kind, *names, f"--timeout={timeout}s")

    def exists(self, kind, name):
        return self.get(kind, name) is not None

    # --- A domain

    def condition(self, domain, kind="Ready"):
        return self.cluster.condition(domain, kind, self.name)

    def says(self, domain, reason, message="", kind="Ready", within=60, and_also=None):
        """Waits until the condition has that reason and a message that matches, and the same status has what `and_also` says: by
        the field's name its value, or a predicate of the status. Returns the condition."""
        def get():
            status = self.status(domain)
            also = and_also(status) if callable(and_also) else {name: status.get(name) for name in and_also or {}}
            return conditions(status)[kind], also

        def is_said(got):
            found, also = got
            return found["reason"] == reason and re.search(message, found["message"]) and (
                also if callable(and_also) else also == (and_also or {}))
        return eventually(f"{kind} of {domain}: {reason}, {message!r}", get, is_said, within)[0]

    def shows(self, domain, waits_in_vain=(), **columns):
        """As shows() below."""
        shows(self.kubectl, domain, waits_in_vain, **columns)

    def status(self, domain):
        return (self.get("computedomain", domain) or {}).get("status", {})

    def field(self, domain, node, field):
        """That field of the node's entry in status; None if it has none."""
        return field_in(self.status(domain), node, field)

    def members(self, domain):
        """The names of the nodes in status, in order."""
        return members_in(self.status(domain))

    def uid(self, domain):
        return self.get("computedomain", domain)["metadata"]["uid"]

    def version(self, domain):
        return self.get("computedomain", domain)["metadata"]["resourceVersion"]

    def label(self, domain):
        """What nodes and children of the domain carry, as a selector."""
        return f"{LABEL}={self.uid(domain)}"

    def daemon_set(self, domain):
        """The name of its DaemonSet."""
        return f"computedomain-daemon-{self.uid(domain)}"

    def is_idle(self, domain, within=60):
        """Waits until the domain can be used, and no pod uses it."""
        def get():
            status = self.status(domain)
            ready, members = conditions(status)["Ready"], conditions(status)["MembersReady"]
            return (ready["reason"], bool(IDLE.search(ready["message"])), ready["status"], status["status"],
                    status["members"], members["reason"], members["message"], members["status"])
        eventually(f"{domain} is idle", get, ("Idle", True, "True", "Ready", "0/0", "NoMembers", "No node takes part.",
                                              "Unknown"), within)

    def is_ready(self, domain, count, within=60):
        """Waits until that many members are ready, and there are no others."""
        eventually(f"{domain} has {count} members, all ready", lambda: conditions(self.status(domain))["Ready"],
                   lambda got: got["reason"] in WHEN_READY and got["message"].startswith(f"All {count}/{count}"), within)

    def is_used(self, domain, count=1, within=60):
        """Waits until that many members are ready and a pod uses them."""
        def get():
            status = self.status(domain)
            return conditions(status)["Ready"]["reason"], status["members"], conditions(status)["InUse"]["status"]
        eventually(f"{domain} is used", get, lambda got: got[0] in WHEN_READY and got[1:] == (f"{count}/{count}", "True"), within)

    def is_in_step(self, name, count, within=60):
        """Waits until the members are the nodes where pods of that app are ready, that many, and all are ready. Returns status."""
        def get():
            status = self.status(name)
            return conditions(status)["MembersReady"], members_in(status), self.workers_on(name), status
        return eventually(f"{name} has {count} members, where its pods run", get, lambda got: (
            got[0]["reason"] in WHEN_READY and f"All {count}/{count}" in got[0]["message"] and len(got[1]) == count
            and got[1] == got[2]), within)[3]

    def events_of(self, name, kind="ComputeDomain"):
        """Its Events, each as "TYPE REASON MESSAGE"."""
        found = self.json("get", "events", "--field-selector", f"involvedObject.name={name},involvedObject.kind={kind}")
        return [f"{one['type']} {one['reason']} {one['message']}" for one in found["items"]]

    def tells(self, name, pattern, kind="ComputeDomain", within=60):
        """Waits until an Event of the object matches, as "TYPE REASON MESSAGE"."""
        eventually(f"an Event of {kind} {name} matches {pattern!r}", lambda: self.events_of(name, kind),
                   lambda texts: any(re.search(pattern, text) for text in texts), within)

    def event_count(self, name, reason):
        """How often the Event says that it happened; None if there is none."""
        found = self.json("get", "events.events.k8s.io")["items"]
        return next((one.get("series", {}).get("count", 1) for one in found
                     if one["regarding"]["name"] == name and one["reason"] == reason), None)

    # --- Pods

    def workers_on(self, app):
        """The nodes where pods of that app are ready, in order."""
        return sorted(one["spec"]["nodeName"] for one in self.ready_pods(f"app={app}"))

    def ready_pods(self, selector):
        return [one for one in self.list("pods", selector) if is_ready(one)]

    def lives(self, selector=""):
        return self.cluster.lives(self.name, selector)


class Namespaces:
    """Those that a case makes: made(NAME)."""

    _number = itertools.count(1)  # Names are not used again while one is being deleted.

    def __init__(self, cluster):
        self._cluster = cluster
        self._made = []

    def __call__(self, name):
        self._made.append(Namespace(self._cluster, f"{name}-{next(self._number)}"))
        self._made[-1].create()
        return self._made[-1]

    def clear(self, force=False):
        for one in self._made:
            one.clear(force)

    def delete(self):
        for one in self._made:
            one.delete_it()

    def without_their_own(self, objects):
        """The objects of a snapshot but what each namespace has from the beginning."""
        own = {name for one in self._made for name in (
            ("Namespace", "", one.name), ("ServiceAccount", one.name, "default"), ("ConfigMap", one.name, "kube-root-ca.crt"))}
        return {name: value for name, value in objects.items() if name not in own}


def conditions(status):
    """The conditions of a domain's status by their type."""
    return {one["type"]: one for one in status.get("conditions", [])}


def members_in(status):
    """The names of the nodes in it, in order."""
    return sorted(one["name"] for one in status.get("nodes", []))


def field_in(status, node, field):
    """That field of the node's entry; None if it has none."""
    return next((one.get(field) for one in status.get("nodes", []) if one["name"] == node), None)


def is_ready(pod):
    return "deletionTimestamp" not in pod["metadata"] and any(
        one["type"] == "Ready" and one["status"] == "True" for one in pod["status"].get("conditions", []))


def daemons_on(cluster, node):
    """The UIDs of the IMEX daemons' pods on that node."""
    pods = cluster.kubectl_json("get", "pods", "-n", DRIVER, "-l", LABEL, "--field-selector", f"spec.nodeName={node}")
    return [one["metadata"]["uid"] for one in pods["items"]]


def no_daemon_on(cluster, node, within=60):
    eventually(f"the IMEX daemons on {node}", lambda: daemons_on(cluster, node), [], within)


def is_free(cluster, node, within=60):
    """Waits until no domain has the node."""
    eventually(f"the domain that has {node}", lambda: label_of(cluster, node), None, within)


def is_up(cluster, node, within=60):
    cluster.kubectl("wait", "--for=condition=Ready", f"node/{node}", f"--timeout={within}s")


def label_of(cluster, node):
    """The UID of the domain that has the node; None if none has."""
    return cluster.get("node", node)["metadata"].get("labels", {}).get(LABEL)
