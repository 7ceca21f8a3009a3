"""What Kubernetes' own limits on affinity make of the pods that manifests/placement places."""

import pytest
from cluster import REPO, domain, wait_until

NAMESPACE = "few-affinities"


def placed_domain(value):
    found = domain("placed")
    found["metadata"].update(namespace=NAMESPACE, labels={"cdom.dev/placement": value})
    return found


@pytest.fixture(scope="module")
def placement(cluster):
    cluster.run_controller()
    cluster.kubectl("apply", "-k", REPO / "manifests/placement")
    cluster.kubectl("create", "namespace", NAMESPACE)
    yield
    cluster.kubectl("delete", "namespace", NAMESPACE, "--timeout=90s")
    cluster.kubectl("delete", "-k", REPO / "manifests/placement")


def pod(cluster):
    """What comes of a pod of the domain: its affinity once the policy places it, or the refusal. It is not created."""
    made = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "worker", "namespace": NAMESPACE},
            "spec": {"containers": [{"name": "work", "image": "work"}],
                     "resourceClaims": [{"name": "channel", "resourceClaimTemplateName": "placed-channel"}]}}
    return cluster.try_to_create(made)


def test_REV3_X16_a_quota_on_affinity_across_namespaces_refuses_pods_of_an_exclusive_clique_alone(cluster, placement):
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "none", "namespace": NAMESPACE},
             "spec": {"hard": {"pods": "0"}, "scopeSelector": {"matchExpressions": [
                 {"scopeName": "CrossNamespacePodAffinity", "operator": "Exists"}]}}}
    cluster.apply(quota, placed_domain("clique"))
    wait_until("the quota has counted", lambda: "hard" in cluster.get("resourcequota", "none", NAMESPACE).get("status", {}))
    wait_until("the policy places pods", lambda: "podAffinity" in pod(cluster))
    cluster.apply(placed_domain("exclusive-clique"))
    wait_until("the quota refuses", lambda: "exceeded quota: none" in pod(cluster))
