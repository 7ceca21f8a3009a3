"""How often the pods of a domain that says nothing of placement are in one clique: the table of docs/placement.md.

As a program: placement_shares.py PROGRAMS NODES [TRIES] starts a cluster of that many nodes in cliques of 18, and prints a row
for each scene. The real scheduler places the pods; nodes and kubelets are simulated.
"""

import collections
import json
import pathlib
import shutil
import sys
import tempfile

from cluster import Cluster, Setup
from namespaces import Namespace
from objects import CLIQUE, domain
from placed import NEAR, Placed, job, unplaced
from waiting import eventually

IN_A_CLIQUE = 18
WORKERS = 4
ZONE = "topology.kubernetes.io/zone"
IMAGE = "registry.example.com/train:1"


def stateful_set(name):
    return {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": name},
            "spec": {"replicas": WORKERS, "podManagementPolicy": "Parallel", "selector": {"matchLabels": {"app": name}},
                     "template": unplaced(name, {"app": name})}}


def job_of_image(name):
    made = job(name, name, WORKERS)
    for container in made["spec"]["template"]["spec"]["containers"]:
        container["image"] = IMAGE
    return made


def plain_job(name):
    return job(name, name, WORKERS)


class Shares:
    def __init__(self, cluster, tries):
        self._cluster = cluster
        self._tries = tries
        self._placed = Placed(Namespace(cluster, "default"))
        self._cliques = {one["metadata"]["name"]: one["metadata"]["labels"][CLIQUE] for one in cluster.kubectl_json("get", "nodes")["items"]}

    def measure(self, scene, make):
        together = 0
        for number in range(self._tries):
            name = f"try-{number}"
            self._placed.create_ready(domain(name))
            self._placed.places(name, NEAR)
            self._placed.create(make(name))
            where = eventually(f"pods of {name} have nodes", lambda name=name: self._placed.cliques().get(name, []),
                               lambda found: len(found) == WORKERS and None not in found)
            assert "unplaced" not in where
            together += len(set(where)) == 1
            self._remove(name)
        print(f"| {len(self._cliques)} | {scene} | {together} of {self._tries} |", flush=True)

    def _remove(self, name):
        namespace = self._placed.namespace
        namespace.kubectl("delete", "jobs,statefulsets,computedomains", name, "--ignore-not-found", "--wait=false")
        eventually(f"{name} is gone", lambda: namespace.kubectl(
            "get", f"computedomain/{name}", "--ignore-not-found", "-o", "name"), "", within=120)

    def fill(self, share):
        """Another domain has so much of the nodes, wherever the scheduler puts its pods. Returns how full they are, in words."""
        made = domain("filler")
        made["metadata"]["labels"] = {"cdom.dev/placement": "any"}
        self._placed.create_ready(made)
        count = round(len(self._cliques) * share)
        self._placed.create(job("filler", "filler", count))
        namespace = self._placed.namespace
        pods = eventually("the nodes are full", lambda: [one for one in namespace.list("pods") if "nodeName" in one["spec"]],
                          lambda found: len(found) == count, within=600)
        free = collections.Counter(self._cliques.values())
        free.subtract(self._cliques[one["spec"]["nodeName"]] for one in pods)
        return f"{share:.0%} full: {sum(count >= WORKERS for count in free.values())} of {len(free)} cliques have room"

    def label_zones(self):
        """Racks as zones."""
        for node, clique in self._cliques.items():
            self._cluster.kubectl("label", "node", node, f"{ZONE}=zone-{clique.rpartition('.')[2]}", "--overwrite")

    def put_image(self):
        """On the nodes of one clique alone."""
        clique, _ = collections.Counter(self._cliques.values()).most_common(1)[0]
        images = [{"names": [IMAGE], "sizeBytes": 20 * 10**9}]
        for node, its in self._cliques.items():
            if its == clique:
                self._cluster.kubectl("patch", "node", node, "--subresource=status", "--type=merge", "-p",
                                      json.dumps({"status": {"images": images}}))


def main(programs, nodes, tries):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="cdom-shares."))
    cluster = Cluster(programs, folder, Setup(nodes=nodes, cliques=nodes // IN_A_CLIQUE, placement=True,
                                              nodesim=("--job-duration", "60000")))
    try:
        cluster.start()
        cluster.run_controller()
        eventually("all nodes are ready", lambda: len(cluster.kubectl("get", "nodes", "--no-headers").splitlines()), nodes, within=300)
        shares = Shares(cluster, tries)
        shares.measure("idle", plain_job)
        shares.label_zones()
        shares.measure("idle, a StatefulSet, each rack is a zone", stateful_set)
        shares.put_image()
        shares.measure("idle, the image is on the nodes of one clique", job_of_image)
        full = shares.fill(0.7)
        shares.measure(full, plain_job)
        shares.measure("the same, the image is on the nodes of one clique", job_of_image)
    finally:
        cluster.stop()
        shutil.rmtree(folder)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 20)
