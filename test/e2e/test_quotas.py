"""Each quota of examples/tenants/quota.yaml stops a tenant at its number and no earlier."""

import json
import re

import pytest
from cluster import REPO
from objects import as_list, domain, job
from tenants import CLUSTER, binding, tenants  # noqa: F401
from waiting import eventually

CHANNELS = "compute-domain-default-channel.nvidia.com.deviceclass.resource.k8s.io/devices"


class Quota:
    """The sample's quota in the namespace of a case, which user `owner` may edit."""

    def __init__(self, namespace):
        self.namespace = namespace
        namespace.apply(binding(namespace.name, "owner", "edit"))
        namespace.kubectl("apply", "-f", REPO / "examples/tenants/quota.yaml")
        self._number = namespace.get("resourcequota", "compute-domains")["spec"]["hard"]
        # Kubernetes learns of new kinds every half a minute, and looks at a quota from before again after five minutes only.
        eventually("resources that are not counted", self._count_again, set())

    def _count_again(self):
        missing = self._number.keys() - self.used().keys()
        if missing:
            self.namespace.kubectl("replace", "--force", "-f", REPO / "examples/tenants/quota.yaml")
            eventually("the quota has a status", self.used)
        return self._number.keys() - self.used().keys()

    def used(self):
        return self.namespace.get("resourcequota", "compute-domains")["status"].get("used", {})

    def number(self, resource):
        return int(self._number[resource])

    def kubectl(self, *arguments, **options):
        return self.namespace.kubectl("--as", "owner", *arguments, **options)

    def create(self, *objects):
        for one in objects:
            one["metadata"]["namespace"] = self.namespace.name
        self.kubectl("create", "-f", "-", stdin=as_list(objects))

    def refuses(self, resource, made):
        """And says over what."""
        said = self.namespace.cluster.refused("-n", self.namespace.name, "--as", "owner", "create", "-f", "-",
                                              stdin=json.dumps(made))
        assert "exceeded quota: compute-domains" in said and resource in said


@pytest.fixture
def quota(tenants, namespace):  # noqa: ARG001
    return Quota(namespace)


def in_no_namespace(made):
    del made["metadata"]["namespace"]
    return made


def without_devices(kind, name):
    return {"apiVersion": "resource.k8s.io/v1", "kind": kind, "metadata": {"name": name},
            "spec": {} if kind == "ResourceClaim" else {"spec": {}}}


def claim_of_gpus(name, count):
    request = {"name": "g", "exactly": {"deviceClassName": "gpu.nvidia.com", "count": count}}
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": name},
            "spec": {"devices": {"requests": [request]}}}


def pod_of_gpus(name, count):
    """By the device plugin."""
    container = {"name": "c", "image": "i", "resources": {"limits": {"nvidia.com/gpu": count}}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [container]}}


def test_quota_of_domains_stops_at_its_number(quota):
    resource = "count/computedomains.resource.nvidia.com"
    quota.create(*(domain(f"d{i}") for i in range(quota.number(resource))))
    quota.refuses(resource, in_no_namespace(domain("more")))


def test_pods_past_the_quota_of_channels_wait_and_say_why(quota):
    namespace, number = quota.namespace, quota.number(CHANNELS)

    def claims():
        return len(namespace.list("resourceclaims"))
    quota.create(domain("crowd"))
    eventually("the template exists", lambda: namespace.exists("resourceclaimtemplate", "crowd-channel"))
    # Kubernetes makes the claims, for pods.
    quota.create(job("crowd", number + 2, -1))
    eventually("claims", claims, number)
    eventually("a pod past them says why it waits", lambda: "\n".join(
        one["message"] for one in json.loads(quota.kubectl("get", "events", "-o", "json"))["items"]),
        re.compile(f"exceeded quota: compute-domains.*{CHANNELS}=1"))
    assert claims() == number
    quota.kubectl("delete", "job", "crowd", "--timeout=60s")
    eventually("claims", claims, 0)


def test_quota_of_templates_counts_those_of_domains_too(quota):
    resource = "count/resourceclaimtemplates.resource.k8s.io"
    quota.create(domain("d"))
    eventually("the domain has its template", lambda: quota.namespace.exists("resourceclaimtemplate", "d-channel"))
    quota.create(*(without_devices("ResourceClaimTemplate", f"n{i}") for i in range(quota.number(resource) - 1)))
    quota.refuses(resource, without_devices("ResourceClaimTemplate", "more"))


def test_quota_of_claims_stops_at_its_number(quota):
    resource = "count/resourceclaims.resource.k8s.io"
    quota.create(*(without_devices("ResourceClaim", f"n{i}") for i in range(quota.number(resource))))
    quota.refuses(resource, without_devices("ResourceClaim", "more"))
    # By one request: one each takes kubectl more than a minute.
    quota.kubectl("delete", "--raw", f"/apis/resource.k8s.io/v1/namespaces/{quota.namespace.name}/resourceclaims")
    eventually("claims that the quota counts", lambda: quota.used()[resource], "0")


def test_quota_of_gpus_by_claim_stops_at_its_number(quota):
    resource = "gpu.nvidia.com.deviceclass.resource.k8s.io/devices"
    quota.create(*(claim_of_gpus(f"g{i}", 24) for i in range(quota.number(resource) // 24)))
    quota.refuses(resource, claim_of_gpus("more", 1))


def test_quota_of_gpus_by_device_plugin_binds_its_namespace_alone(quota, tenants):
    resource = "requests.nvidia.com/gpu"
    quota.create(pod_of_gpus("all", quota.number(resource)))
    quota.refuses(resource, pod_of_gpus("more", 1))
    tenants.kubectl("create", "--as", "edit", "-n", "team", "--dry-run=server", "-f", "-", stdin=json.dumps(pod_of_gpus("more", 1)))
