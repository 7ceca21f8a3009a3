"""Requests of seven actors, and the domain of a bystander that none of them may disturb."""

import base64
import json
import re
import ssl
import threading
import urllib.error
import urllib.request

import dra
from cluster import ACCOUNT
from endpoint import Endpoint, flood
from objects import domain, workers
from waiting import eventually

SERVED = {
    "computedomains": "/apis/resource.nvidia.com/v1beta1", "computedomaincliques": "/apis/resource.nvidia.com/v1beta1",
    "resourceclaims": "/apis/resource.k8s.io/v1", "resourceclaimtemplates": "/apis/resource.k8s.io/v1",
    "resourceslices": "/apis/resource.k8s.io/v1", "daemonsets": "/apis/apps/v1",
    "events": "/apis/events.k8s.io/v1", "rolebindings": "/apis/rbac.authorization.k8s.io/v1",
}
LABEL = "resource.nvidia.com/computeDomain"
VICTIM = "bystander"


def path(resource, name="", namespace="", sub=""):
    """The path of the API server; of all objects of the resource if `name` is empty."""
    parts = [SERVED.get(resource, "/api/v1"), f"namespaces/{namespace}" if namespace else "", resource, name, sub]
    return "/".join(part for part in parts if part)


class User:
    """A user or an account, with what its token says besides the name."""

    def __init__(self, name, group="", **claims):
        self.headers = {"Impersonate-User": name}
        if group:
            self.headers["Impersonate-Group"] = group
        for claim, value in claims.items():
            key = f"authentication.kubernetes.io%2F{claim.replace('_', '-')}"
            self.headers[f"Impersonate-Extra-{key}"] = value


class Api:
    """The API server, asked as anyone."""

    def __init__(self, cluster):
        config = json.loads(cluster.kubectl("config", "view", "--raw", "-o", "json"))
        self._server = config["clusters"][0]["cluster"]["server"]
        self._context = ssl.create_default_context(
            cadata=base64.b64decode(config["clusters"][0]["cluster"]["certificate-authority-data"]).decode())
        user = config["users"][0]["user"]
        pem = cluster.folder / "admin.pem"
        pem.write_bytes(base64.b64decode(user["client-certificate-data"]) + base64.b64decode(user["client-key-data"]))
        pem.chmod(0o600)
        self._context.load_cert_chain(pem)

    def ask(self, user, method, where, body=None, dry_run=False):
        """Status and text of the answer. A PATCH is a merge."""
        where, body = dra.request_as_served(where, body)
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        request = urllib.request.Request(
            self._server + where + ("?dryRun=All" if dry_run else ""), method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": kind, **user.headers})
        try:
            with urllib.request.urlopen(request, timeout=60, context=self._context) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            text = error.read().decode()
            return error.code, json.loads(text).get("message", text) if text.startswith("{") else text


class World:
    """A running controller, a tenant's namespace `team`, and in `default` a domain that serves two nodes."""

    def __init__(self, cluster, writer):
        self.cluster = cluster
        self.entries_by = writer  # Of cliques' entries: "controller" or "daemon".
        self.api = Api(cluster)
        self.endpoint = Endpoint(cluster, writer)
        cluster.apply(domain(VICTIM), workers(VICTIM, 2))
        eventually("the bystander's domain serves", lambda: self.victim()[:2], ("True", "2/2"), within=120)
        self.uid = cluster.get("computedomain", VICTIM)["metadata"]["uid"]
        self.members = [one["name"] for one in cluster.get("computedomain", VICTIM)["status"]["nodes"]]
        nodes = json.loads(cluster.kubectl("get", "nodes", "-o", "json"))["items"]
        self.node = next(one["metadata"]["name"] for one in nodes
                         if LABEL not in one["metadata"]["labels"] and one["metadata"]["name"] not in self.members)
        self.edit, self.admin, self.writer, self.insider = User("edit"), User("admin"), User("writer"), User("insider")
        self.controller, self.anonymous = User(ACCOUNT), User("system:anonymous")
        self.plugin = User("system:serviceaccount:cdom-system:cdom-kubelet-plugin", node_name=self.node)
        self.kubelet = User(f"system:node:{self.node}", group="system:nodes")

    def victim(self):
        """What must stay as it is: ready, since when, and with which members."""
        status = (self.cluster.get("computedomain", VICTIM) or {}).get("status", {})
        ready = self.cluster.condition(VICTIM, "Ready")
        nodes = sorted(one["name"] for one in status.get("nodes", []))
        return ready.get("status"), status.get("members"), status.get("status"), nodes, ready.get("lastTransitionTime")

    def daemon_pods(self):
        return self.cluster.list("pods", "cdom-system", f"{LABEL}={self.uid}")

    def daemon(self, pod):
        """The account of the daemons, with the token of that pod."""
        return User("system:serviceaccount:cdom-system:compute-domain-daemon-service-account",
                    node_name=pod["spec"]["nodeName"], pod_name=pod["metadata"]["name"],
                    pod_uid=pod["metadata"]["uid"])

    def say_ready(self, pod):
        """The kubelet of the attacker's node says that this pod is ready."""
        conditions = [{**one, "status": "True"} for one in pod["status"].get("conditions", [])]
        self.must(self.kubelet, "PATCH", path("pods", pod["metadata"]["name"], "cdom-system", "status"),
                  {"status": {"conditions": conditions}})

    def must(self, *arguments, **options):
        """As Api.ask(), and the answer is a success."""
        status, text = self.api.ask(*arguments, **options)
        assert status < 300, f"{arguments[1:3]}: {status} {text}"
        return text

    def make(self, user, resource, made, namespace="team", **options):
        return self.must(user, "POST", path(resource, namespace=namespace), made, **options)

    def try_to_make(self, user, resource, made, namespace="team"):
        """Without a trace."""
        return self.api.ask(user, "POST", path(resource, namespace=namespace), made, dry_run=True)

    @staticmethod
    def probes_during(get, port, count):
        """Probes by get(PATH) while so many connections are made: most that failed in a row."""
        ended = threading.Event()
        attack = threading.Thread(target=flood, args=(port, count, ended))
        attack.start()
        most = failed = asked = lost = 0
        while not ended.is_set() or asked < 20:
            try:
                assert get("/livez") == (200, "ok")
                failed = 0
            except OSError:  # Closed unanswered, as the oldest connection of too many.
                failed += 1
                lost += 1
            most, asked = max(most, failed), asked + 1
        attack.join()
        print(f"{asked} probes, {lost} without an answer, {most} in a row")
        return most


def is_refused_by(answer, rule):
    """Whether the answer is a refusal of that policy, of Kubernetes' permissions (RBAC), or of what says `rule`."""
    status, text = answer
    words = rf"ValidatingAdmissionPolicy '{rule}' with binding '{rule}' denied request"
    if rule == "RBAC":
        words = r"forbidden: [Uu]ser .*(cannot|is attempting to grant)"
    elif not rule.startswith("cdom-"):
        words = re.escape(rule)
    return status in (401, 403, 404, 413, 422, 500) and re.search(words, text) is not None


def named(kind, name, **fields):
    return {"apiVersion": "resource.nvidia.com/v1beta1" if kind == "ComputeDomain" else "resource.k8s.io/v1",
            "kind": kind, "metadata": {"name": name}, **fields}


def new_domain(name, **channel):
    return named("ComputeDomain", name,
                 spec={"numNodes": 0, "channel": {"resourceClaimTemplate": {"name": f"{name}-channel"}, **channel}})


def channel_claim(name, uid, **parameters):
    """A claim of a channel of the domain with that UID."""
    config = {"apiVersion": "resource.nvidia.com/v1beta1", "kind": "ComputeDomainChannelConfig", "domainID": uid}
    request = {"name": "channel", "exactly": {"deviceClassName": "compute-domain-default-channel.nvidia.com"}}
    opaque = {"driver": "compute-domain.nvidia.com", "parameters": {**config, **parameters}}
    return named("ResourceClaim", name, spec={"devices": {"requests": [request], "config": [{"opaque": opaque}]}})


def many_finalizers(count=2900):
    """Some 700 KB of names that the API server takes."""
    return [("a" * 60 + ".") * 3 + f"example.com/{i:05}" + "x" * 57 for i in range(count)]


def slice_of(node, pool, **fields):
    return named("ResourceSlice", "cdom-actors", spec={
        "driver": "compute-domain.nvidia.com", "nodeName": node,
        "pool": {"name": pool, "generation": 1000000, "resourceSliceCount": 1}, **fields})


def daemon_set(uid, **pod):
    """A DaemonSet as the controller makes it, but for `pod`."""
    spec = {"serviceAccountName": "compute-domain-daemon-service-account", "containers": [{"name": "c", "image": "i"}]}
    return {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "cdom-actors", "labels": {LABEL: uid}},
            "spec": {"selector": {"matchLabels": {"a": "b"}},
                     "template": {"metadata": {"labels": {"a": "b"}}, "spec": {**spec, **pod}}}}
