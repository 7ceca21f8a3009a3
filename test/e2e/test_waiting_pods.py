"""Pods that wait for a channel: the domain says on which node and why."""

import contextlib
import json

import pytest
from cluster import REPO, Setup
from objects import domain, pod_on
from waiting import eventually

CLUSTER = Setup(nodes=16, placement=True, controller=("--membership-writer", "controller"))
pytestmark = pytest.mark.usefixtures("requests_are_allowed")


def test_a_pod_that_finds_no_node_is_named_with_the_schedulers_message(cluster, namespace):
    namespace.apply(domain("crowded"))
    eventually("the template exists", lambda: namespace.get("resourceclaimtemplate", "crowded-channel"))
    namespace.apply(pod_on("first", "node-000", "crowded-channel"))
    namespace.says("crowded", "ClaimsReserved", "pods/first", kind="InUse", within=60)
    # A node has one channel.
    namespace.apply(pod_on("second", "node-000", "crowded-channel"))
    namespace.says("crowded", "ClaimsReserved", r"pods/second \(Unschedulable: .*cannot allocate all claims", kind="InUse", within=60)
    # In full on the debug page.
    page = json.loads(cluster.controller_get("debug pages", "/debug/domains"))
    (shown,) = [one for one in page if one["name"] == "crowded"]
    assert (shown["users"], len(shown["waiting"]), shown["status"]["members"]) == (["pods/first"], 1, "1/1")
    namespace.delete("pod", "first", "second")
    namespace.says("crowded", "NoClaims", "No pod", kind="InUse")
    namespace.delete("computedomain", "crowded")


@contextlib.contextmanager
def without_the_policy(cluster, name):
    """What is made meanwhile is as from before the policy."""
    cluster.kubectl("delete", "validatingadmissionpolicybinding", name)
    try:
        yield
    finally:
        cluster.kubectl("apply", "-k", REPO / "manifests/policies")


def test_a_channel_held_by_a_claim_written_by_hand_is_told_to_the_pod_that_waits(cluster, namespace):
    request = {"name": "channel", "exactly": {"deviceClassName": "compute-domain-default-channel.nvidia.com"}}
    by_hand = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "by-hand"},
               "spec": {"devices": {"requests": [request]}}}
    with without_the_policy(cluster, "cdom-channel-claims"):
        eventually("the claim is taken", lambda: namespace.create_objects(by_hand))
    thief = pod_on("thief", "node-000", "")
    thief["spec"]["resourceClaims"] = [{"name": "channel", "resourceClaimName": "by-hand"}]
    namespace.apply(thief)
    eventually("for how many pods the claim is reserved",
               lambda: len(namespace.get("resourceclaim", "by-hand")["status"]["reservedFor"]), 1)
    namespace.apply(domain("robbed"), pod_on("robbed", "node-000", "robbed-channel"))
    claim = f"ResourceClaim {namespace.name}/by-hand"
    namespace.says("robbed", "ChannelHeldByUnrelatedClaim", rf"pods/robbed .*the channel of node-000 by {claim} "
                   r"\(of no ComputeDomain\)\. Delete", kind="InUse", within=60)
    told = f"Warning ChannelHeldByUnrelatedClaim .*{claim}"
    namespace.tells("robbed", told, kind="Pod")
    namespace.tells("robbed", told)
    namespace.delete("pod", "thief")
    namespace.is_used("robbed")
    namespace.says("robbed", "ClaimsReserved", "pods/robbed", kind="InUse")
    namespace.delete("resourceclaim", "by-hand")
    namespace.delete("pod", "robbed")
    namespace.delete("computedomain", "robbed")
