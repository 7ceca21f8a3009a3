"""Examples do what their pages promise, with what a user has installed beside them."""

import json

import pytest
from cluster import DEFAULT, GPU_CLASS, PLACEMENT, REPO
from versions import PLACEMENT_ON, needs_placement
from waiting import eventually

pytestmark = needs_placement

CLUSTER = DEFAULT._replace(controlplane=PLACEMENT_ON)


@pytest.fixture(scope="module", autouse=True)
def placement(cluster):
    """The policy behind the label cdom.dev/placement, and the class of GPUs that NVIDIA's driver brings."""
    cluster.run_controller()
    cluster.kubectl("apply", "-k", PLACEMENT)
    cluster.kubectl("apply", "-f", GPU_CLASS)
    yield
    cluster.kubectl("delete", "-f", GPU_CLASS)
    cluster.kubectl("delete", "-k", PLACEMENT)


def test_G15_four_workers_of_the_example_with_gpus_are_in_one_clique(cluster):
    example = REPO / "examples/gpu-and-channel.yaml"
    domain, job = json.loads(cluster.kubectl("apply", "--dry-run=client", "-o", "json", "-f", example))["items"]
    cluster.apply(domain)
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "tried", "namespace": "default"},
           "spec": job["spec"]["template"]["spec"]}
    # A policy is in force some time after it is stored.
    eventually("pods of the domain are placed", lambda: "podAffinity" in cluster.kubectl(
        "create", "--dry-run=server", "-o", "json", "-f", "-", stdin=json.dumps(pod)))
    cluster.apply(job)
    try:
        def nodes():
            pods = cluster.list("pods", "default", "app=gpu-and-channel")
            placed = {one["spec"].get("nodeName") for one in pods}
            return placed if len(placed) == 4 and None not in placed else None
        where = eventually("four workers have a node each", nodes, within=90)
        cliques = {cluster.get("node", name)["metadata"]["labels"]["nvidia.com/gpu.clique"] for name in where}
        assert len(cliques) == 1, f"{where} are in {cliques}"
    finally:
        cluster.kubectl("delete", "-f", example, "--timeout=90s")
