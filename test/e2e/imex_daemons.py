"""A domain whose IMEX daemons are processes, each with the token of its pod. What kubelets would do for their pods is done here."""

import concurrent.futures
import json
import os
import re
import signal
import time

from cluster import DAEMONS, REPO
from imex_daemon import Daemon
from namespaces import DRIVER, Namespace
from objects import LABEL, domain, workers
from requests_of import time_of
from waiting import eventually

WRITES = ("create", "update", "patch", "delete")


class Daemons(Namespace):
    """A domain with a pod of a job on each node, and its daemons. Cases share it."""

    def __init__(self, cluster, programs, imex):
        super().__init__(cluster, "default")
        self._programs = programs
        self._imex = imex
        self.count = cluster.setup.nodes
        self.domain = self.writer = None  # The domain's name; who writes its cliques.
        self.daemons = {}  # By node.
        self._formations = 0
        self.figure = ""  # How the domain has formed.
        self.writes = []  # (account, verb, code) of each write of a clique as it formed.

    def __getitem__(self, node):
        return self.daemons[node]

    def settle(self, writer):
        """A domain whose cliques `writer` writes has formed: the one that there is, or another."""
        if self.writer != writer:
            self.end()
            self._form(writer)

    def end(self):
        """Nothing runs, and there is no domain, whatever happened before."""
        for one in self.daemons.values():
            one.end()
        if self.domain:
            self._stall()
            self.clear(force=True)
            self._are_gone()
        self.domain = self.writer = None
        self.daemons = {}

    def delete_domain(self):
        self.kubectl("delete", "deployment", self.domain, "--wait=false")
        self.delete("computedomain", self.domain, timeout=120)
        self._are_gone()
        self.domain = None

    def stop(self, together=True):
        """All are told to end, and do so with status 0 and without an IMEX."""
        for one in self.daemons.values():
            if one.process.is_running():
                os.kill(one.process.pid, signal.SIGTERM)
            if not together:
                eventually("exit status", one.process.status, 0)
        eventually("exit statuses", lambda: {node: one.process.status() for node, one in self.daemons.items()},
                   dict.fromkeys(self.daemons, 0))
        assert {node: one.imex() for node, one in self.daemons.items()} == {node: [] for node in self.daemons}
        self._stall()
        self.writer, self.daemons = None, {}

    # --- What is seen of them

    def pods(self):
        """Those with an address."""
        return [one for one in self.cluster.list("pods", DRIVER, LABEL) if one["status"].get("podIP")]

    def report(self, node, *fields):
        """What the pod's annotation says of these fields; None where it says nothing."""
        return tuple(self.reports()[node].get(name) for name in fields)

    def reports(self):
        return {one["spec"]["nodeName"]: json.loads(one["metadata"].get("annotations", {}).get("cdom.dev/imex", "{}")) for one in self.pods()}

    def all_report(self, within=60):
        """Waits until each is ready, knows its index and reaches all others."""
        def get():
            return {node: (said.get("state"), said.get("index", -1) >= 0, said.get("unreachableCount")) for node, said in self.reports().items()}
        eventually("what daemons report", get, dict.fromkeys(self.daemons, ("READY", True, 0)), within)

    def all_are_connected(self):
        """Waits until each member of each clique has a connection with each."""
        sizes = {}
        for one in self.daemons.values():
            sizes.setdefault(one.clique, []).append(one)
        eventually("connections in each clique", lambda: {clique: those[0].connections() for clique, those in sizes.items()},
                   {clique: len(those) ** 2 for clique, those in sizes.items()})

    def members_ready(self):
        """Reason and message of that condition."""
        found = self.condition(self.domain, "MembersReady")
        return found["reason"], found["message"]

    def restarted(self):
        """The nodes that the condition names as those where IMEX was started again under a job."""
        reason, message = self.members_ready()
        found = re.search(r"again under pods that use it: ([^.]*)\.", message) if reason == "ImexRestartedUnderJob" else None
        return set(found[1].split(", ")) if found else set()

    def entries(self):
        """How many there are in all cliques."""
        return sum(len(one.get("daemons") or []) for one in self.cluster.list("computedomaincliques", DRIVER))

    def asked(self):
        """How many requests but watches daemons have sent."""
        return len({one["auditID"] for one in self.cluster.requests_of(DAEMONS, stages=("RequestReceived", "ResponseComplete"))
                    if one["verb"] != "watch"})

    def logs(self):
        return "\n".join(f"{node}: {line}" for node, one in self.daemons.items() for line in one.log().splitlines()[-5:])

    # --- How they form

    def _form(self, writer):
        cluster = self.cluster
        # Each with the permissions that docs/imex-daemon.md names for it.
        cluster.kubectl("apply", "-k", cluster.setup.manifests if writer == "controller" else REPO / "manifests/local")
        cluster.controller_with("--membership-writer", writer)
        self._formations += 1
        self.domain = f"{writer}-{self._formations}"
        since = cluster.audit_size()
        self.apply(domain(self.domain), workers(self.domain, self.count))
        pods = eventually("each node has a daemon's pod with an address", self.pods, lambda pods: len(pods) == self.count, within=120)
        cliques = {one["name"]: one["clique"] for one in cluster.nodesim.state()["nodes"]}
        for pod in pods:
            node = pod["spec"]["nodeName"]
            one = Daemon(cluster.folder / self.domain / node, self._programs, self._imex, pod, cliques[node])
            one.set_up(cluster.config_of(DAEMONS.rpartition(":")[2], "Pod", pod["metadata"]["name"], pod["metadata"]["uid"]))
            self.daemons[node] = one
        sent, uid, launched = self._sent_to_watchers(), self.uid(self.domain), time.time()
        for one in self.daemons.values():
            one.start(self.domain, uid)
        with concurrent.futures.ThreadPoolExecutor(1) as beside:
            connected = beside.submit(lambda: self.all_are_connected() or time.time())
            self._probe()
            times = {"connected": connected.result()}
        eventually("the domain", lambda: [self.status(self.domain)[name] for name in ("status", "members")],
                   ["Ready", f"{self.count}/{self.count}"])
        if writer == "controller":
            self.all_report()
        answered = [one for one in cluster.audit_entries(since) if "objectRef" in one]
        times |= self._times(writer, answered, launched)
        after = {name: round((at - launched) * 1000) for name, at in times.items()}
        self.figure = (f"{max(after['connected'], after['status'])} ms ({', '.join(f'{name} {ms}' for name, ms in after.items())}), "
                       f"{(self._sent_to_watchers() - sent) / 1000:.0f} kB to watchers of cliques")
        self.writes = [(one["user"]["username"].rpartition(":")[2], one["verb"], one["responseStatus"]["code"]) for one in answered
                       if one["objectRef"]["resource"] == "computedomaincliques" and one["verb"] in WRITES]
        self.writer = writer

    def _probe(self):
        """What the kubelets' probes do, until all pods are ready."""
        failing = sorted(self.daemons)

        def get():
            for node in [one for one in failing if self[one].probe()[0] == 0]:
                self.cluster.nodesim.unstall_daemon(node)
                failing.remove(node)
            return failing
        eventually("nodes whose daemon's probe fails", get, [])

    def _times(self, writer, answered, launched):
        """When all had labelled their pods, the last had IMEX running, the last pod was ready, and status said so."""
        patches = [(time_of(one["stageTimestamp"]).timestamp(), one["user"]["username"], one["objectRef"]) for one in answered
                   if one["verb"] == "patch"]

        def last(resource, where=""):
            return max(at for at, _, found in patches if at > launched and found.get("subresource") == "status" and
                       found["resource"] == resource and where in ("", found.get("namespace")))
        labelled = {}
        for at, who, found in patches:
            if who == DAEMONS and found["resource"] == "pods" and "subresource" not in found:
                labelled[found["name"]] = min(at, labelled.get(found["name"], at))
        began = time.localtime(launched)
        midnight = launched - launched % 1 - began.tm_hour * 3600 - began.tm_min * 60 - began.tm_sec
        run = [midnight + int(hour) * 3600 + int(minute) * 60 + float(second) for one in self.daemons.values()
               for hour, minute, second in re.findall(r"^I\d{4} (\d+):(\d+):([\d.]+) IMEX runs", one.log(), re.MULTILINE)]
        return {**({"labels": max(labelled.values())} if writer == "controller" else {}), "IMEX runs": max(run),
                "pods ready": last("pods", DRIVER), "status": last("computedomains")}

    def _sent_to_watchers(self):
        """Bytes, of cliques."""
        text = self.cluster.kubectl("get", "--raw", "/metrics")
        return sum(float(value) for value in re.findall(r"^apiserver_watch_events_sizes_sum{.*computedomaincliques.*} (\S+)$", text, re.MULTILINE))

    def _stall(self):
        for node in self.cluster.nodes():
            self.cluster.nodesim.stall_daemon(node)

    def _are_gone(self):
        eventually("pods of daemons", lambda: [one["metadata"]["name"] for one in self.pods()], [])
