"""What manifests/placement makes of domains that do not fit, of GPUs, and what Kubernetes' own limits on affinity make of it."""

import re

import pytest
from cluster import DEFAULT, PLACEMENT, REPO
from objects import domain, workers
from versions import PLACEMENT_ON, needs_placement
from waiting import eventually

pytestmark = needs_placement

CLUSTER = DEFAULT._replace(controlplane=PLACEMENT_ON)

NAMESPACE = "few-affinities"
CLIQUE = "nvidia.com/gpu.clique"


def placed_domain(name, value, namespace="default"):
    found = domain(name)
    found["metadata"].update(namespace=namespace, labels={"cdom.dev/placement": value})
    return found


@pytest.fixture(scope="module", autouse=True)
def placement(cluster):
    cluster.run_controller()
    cluster.kubectl("apply", "-k", PLACEMENT)
    cluster.kubectl("create", "namespace", NAMESPACE)
    yield
    cluster.kubectl("delete", "namespace", NAMESPACE, "--timeout=90s")
    cluster.kubectl("delete", "-k", PLACEMENT)


def pod(cluster, template, namespace):
    """What comes of a pod of the domain: its affinity once the policy places it, or the refusal. It is not created."""
    made = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "worker", "namespace": namespace},
            "spec": {"containers": [{"name": "work", "image": "work"}],
                     "resourceClaims": [{"name": "channel", "resourceClaimTemplateName": template}]}}
    return cluster.try_to_create(made)


def wait_for_placement(cluster, template, namespace="default"):
    """The API server's policy hears of a domain a moment after it is made."""
    eventually("the policy places pods", lambda: "podAffinity" in pod(cluster, template, namespace))


def run_workers(cluster, removed_later, name, value, count, running):
    """That many workers of a domain with that placement, of which `running` find a node."""
    removed_later(placed_domain(name, value))
    wait_for_placement(cluster, f"{name}-channel")
    removed_later(workers(name, count))
    eventually(f"{running} workers of {name} run", lambda: len(nodes_of(cluster, f"app={name}")), running)


def nodes_of(cluster, selector):
    """The nodes of the pods that run."""
    return {one["spec"]["nodeName"] for one in cluster.list("pods", "default", selector)
            if one["status"].get("phase") == "Running"}


def cliques_of(cluster, nodes):
    labels = (cluster.get("node", node)["metadata"]["labels"] for node in nodes)
    return {found[CLIQUE] for found in labels}


def wait_for_no_room(cluster, name, text):
    def in_use():
        found = cluster.condition(name, "InUse")
        return found.get("reason") == "NoRoomInClique" and re.search(text, found["message"])
    eventually(f"{name} says that it does not fit: {text}", in_use)


def test_G22_a_placed_domain_that_is_larger_than_a_clique_says_what_is_free_in_each(cluster, removed_later):
    run_workers(cluster, removed_later, "large", "clique", count=6, running=4)
    (full,) = cliques_of(cluster, nodes_of(cluster, "app=large"))
    wait_for_no_room(cluster, "large", rf"pods that wait: 2\. .* Free nodes by clique: \S+ 4 of 4, {re.escape(full)} 0 of 4\.$")


def test_G26_nodes_beside_an_exclusive_domain_are_not_free_for_another(cluster, removed_later):
    run_workers(cluster, removed_later, "alone", "exclusive-clique", count=1, running=1)
    (taken,) = cliques_of(cluster, nodes_of(cluster, "app=alone"))
    run_workers(cluster, removed_later, "beside", "clique", count=6, running=4)
    assert cliques_of(cluster, nodes_of(cluster, "app=beside")).isdisjoint({taken})
    wait_for_no_room(cluster, "beside", rf"{re.escape(taken)} 0 of 4 \(3 reserved\)")


def test_G15_each_worker_of_the_example_has_gpus_and_all_are_in_one_clique(cluster, removed_later):
    removed_later({"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "gpu.nvidia.com"},
                   "spec": {"selectors": [{"cel": {"expression": "device.driver == 'gpu.nvidia.com'"}}]}})
    example = (REPO / "examples/gpu-and-channel.yaml").read_text()
    cluster.kubectl("apply", "-f", "-", stdin=example.partition("\n---\n")[0])
    wait_for_placement(cluster, "gpu-and-channel")
    cluster.kubectl("apply", "-f", "-", stdin=example)
    nodes = eventually("four workers have a node", lambda: (found := [
        one["spec"].get("nodeName") for one in cluster.list("pods", "default", "app=gpu-and-channel")])
        and len(found) == 4 and all(found) and set(found))
    claims = [one["status"]["allocation"]["devices"]["results"] for one in cluster.list("resourceclaims", "default", "")
              if "allocation" in one.get("status", {})]
    assert len(nodes) == 4 and len(cliques_of(cluster, nodes)) == 1
    assert sorted(sum(device["driver"] == "gpu.nvidia.com" for device in one) for one in claims) == [4, 4, 4, 4]
    cluster.kubectl("wait", "--for=condition=Complete", "job/gpu-and-channel", "--timeout=90s")
    cluster.kubectl("delete", "-f", "-", "--timeout=90s", stdin=example)


def test_REV3_X16_a_quota_on_affinity_across_namespaces_refuses_pods_of_an_exclusive_clique_alone(cluster):
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "none", "namespace": NAMESPACE},
             "spec": {"hard": {"pods": "0"}, "scopeSelector": {"matchExpressions": [
                 {"scopeName": "CrossNamespacePodAffinity", "operator": "Exists"}]}}}
    cluster.apply(quota, placed_domain("placed", "clique", NAMESPACE))
    eventually("the quota has counted", lambda: "hard" in cluster.get("resourcequota", "none", NAMESPACE).get("status", {}))
    wait_for_placement(cluster, "placed-channel", NAMESPACE)
    cluster.apply(placed_domain("placed", "exclusive-clique", NAMESPACE))
    eventually("the quota refuses", lambda: "exceeded quota: none" in pod(cluster, "placed-channel", NAMESPACE))
