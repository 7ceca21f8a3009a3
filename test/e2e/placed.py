"""Domains with a placement, pods that say nothing of where they go, and where they are."""

import json

from actors import Api
from objects import CLIQUE, as_list, domain, worker_pod
from permissions import Admin
from waiting import eventually

LABEL = "cdom.dev/domain"
NEAR = "cdom.dev/near-domain"


def placed_domain(name, mode, group_label=None):
    made = domain(name)
    made["metadata"]["labels"] = {"cdom.dev/placement": mode}
    if group_label:
        made["metadata"]["annotations"] = {"cdom.dev/placement-group-label": group_label}
    return made


def unplaced(domain_name, labels=None, affinity=None):
    """A template of pods that claim from the domain, and never end."""
    made = worker_pod(domain_name)
    made["metadata"]["labels"] = labels or {}
    made["spec"]["affinity"] = affinity
    return made


def pod(name, domain_name, affinity=None):
    """Without labels."""
    made = unplaced(domain_name, affinity=affinity)
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {**made["metadata"], "name": name}, "spec": made["spec"]}


def job(name, domain_name, count, labels=None):
    template = unplaced(domain_name, labels)
    template["spec"]["restartPolicy"] = "Never"
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name},
            "spec": {"completions": count, "parallelism": count, "template": template}}


def five_kinds(name):
    """A Job, a Deployment and a StatefulSet, which make five pods, and two pods: one with an affinity of its own."""
    own = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
               {"labelSelector": {"matchLabels": {"app": name}}, "topologyKey": "kubernetes.io/hostname"}]},
           "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
               {"matchExpressions": [{"key": CLIQUE, "operator": "Exists"}]}]}}}
    sets = [{"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name},
             "spec": {"replicas": count, "selector": {"matchLabels": {"app": name}}, "template": unplaced(name, {"app": name})}}
            for kind, count in (("Deployment", 2), ("StatefulSet", 1))]
    return [job(name, name, 2), *sets, pod(f"{name}-bare", name), pod(f"{name}-own", name, own)]


class Placed:
    """What is placed in a namespace."""

    def __init__(self, namespace):
        self.namespace = namespace
        self._api = Api(namespace.cluster)
        self._cliques = {one["metadata"]["name"]: one["metadata"]["labels"][CLIQUE]
                         for one in namespace.cluster.kubectl_json("get", "nodes")["items"]}

    def create(self, *objects):
        for one in objects:
            one["metadata"]["namespace"] = self.namespace.name
        # What is of the cases, not of the API server, needs no schemas.
        self.namespace.kubectl("create", "--validate=false", "-f", "-", stdin=as_list(objects))

    def create_ready(self, *domains):
        """And waits for them: the page says that pods made before may be placed elsewhere."""
        self.create(*domains)
        names = [one["metadata"]["name"] for one in domains]
        self.namespace.kubectl("wait", "--for=condition=Ready", "computedomain", *names, "--timeout=60s")

    def cliques(self):
        """By domain the cliques of its pods: None of one without a node, "unplaced" of one without the label."""
        found = self.namespace.json("get", "computedomains,pods")["items"]
        uids = {one["metadata"]["name"]: one["metadata"]["uid"] for one in found if one["kind"] == "ComputeDomain"}
        where = {}
        for one in found:
            if one["kind"] == "Pod":
                name = one["spec"]["resourceClaims"][0]["resourceClaimTemplateName"].removesuffix("-channel")
                labels = one["metadata"].get("labels", {})
                has_label = uids.get(name, "") in (labels.get(LABEL), labels.get(NEAR))
                where.setdefault(name, []).append(self._cliques.get(one["spec"].get("nodeName")) if has_label else "unplaced")
        return where

    def are_in_one_clique(self, name, count, within=60):
        """Waits until so many pods of the domain are in one clique. Returns it."""
        def in_one(where):
            found = where.get(name, [])
            return len(found) == count and len(set(found)) == 1 and found[0] not in (None, "unplaced")
        return eventually(f"{count} pods of {name} are in one clique", self.cliques, in_one, within)[name][0]

    def have_nodes(self, count):
        """Waits until so many pods, of all domains, have nodes. Returns their cliques()."""
        def have(where):
            found = [one for each in where.values() for one in each]
            return len(found) == count and None not in found
        return eventually(f"{count} pods have nodes", self.cliques, have)

    def probe(self, domain_name):
        """Labels and affinity that a pod of the domain would get now."""
        found = json.loads(self.namespace.kubectl("create", "--dry-run=server", "-f", "-", "-o", "json",
                                                  stdin=json.dumps(pod("probe", domain_name))))
        return found["metadata"].get("labels"), found["spec"].get("affinity")

    def places(self, domain_name, label=LABEL):
        """Waits until a new pod of the domain gets its label."""
        eventually("a pod is placed", lambda: label in (self.probe(domain_name)[0] or {}))

    def end(self):
        """Of workloads, pods and domains: each collection in one request."""
        for collection in ("apis/batch/v1/{}/jobs", "apis/apps/v1/{}/deployments", "apis/apps/v1/{}/statefulsets", "api/v1/{}/pods",
                           "apis/resource.nvidia.com/v1beta1/{}/computedomains"):
            path = collection.format(f"namespaces/{self.namespace.name}")
            status, text = self._api.ask(Admin, "DELETE", f"/{path}?propagationPolicy=Background")
            assert status == 200, text
        eventually("what of workloads is left",
                   lambda: self.namespace.kubectl("get", "jobs,deployments,statefulsets,pods", "-o", "name"), "")

    def lives(self):
        """What must not change of pods that run."""
        return sorted([one["metadata"]["uid"], one["metadata"].get("labels"), one["spec"].get("affinity"), one["spec"].get("nodeName"),
                       one["status"]["containerStatuses"][0]["restartCount"]] for one in self.namespace.list("pods"))
