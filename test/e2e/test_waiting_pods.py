"""Pods that wait for a channel: the domain says on which node and why."""

import contextlib
import json

import pytest
from cluster import REPO, Setup
from objects import domain, naming, pod_on
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


def claim_by_hand(cluster, namespace, name, user, node):
    """A claim of a channel that names no domain, and a pod on that node that uses it."""
    request = {"name": "channel", "exactly": {"deviceClassName": "compute-domain-default-channel.nvidia.com"}}
    by_hand = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": name},
               "spec": {"devices": {"requests": [request]}}}
    with without_the_policy(cluster, "cdom-channel-claims"):
        eventually("the claim is taken", lambda: namespace.create_objects(by_hand))
    namespace.apply(naming(pod_on(user, node, ""), name))


def test_a_channel_held_by_a_claim_written_by_hand_is_told_to_the_pod_that_waits(cluster, namespace):
    claim_by_hand(cluster, namespace, "by-hand", "thief", "node-000")
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


def test_REV4_P12_a_pod_pinned_to_a_node_without_plugin_is_told_so_and_harms_nobody(cluster, namespace):
    """A domain elsewhere, and a claim that somebody wrote by hand elsewhere, are not in its way."""
    claim_by_hand(cluster, namespace, "elsewhere", "neighbour", "node-001")
    namespace.apply(domain("busy"), pod_on("busy", "node-002", "busy-channel"))
    cluster.nodesim.stop_plugin("node-003")
    eventually("devices that node-003 publishes", lambda: cluster.kubectl_json(
        "get", "resourceslices", "--field-selector", "spec.nodeName=node-003")["items"], [], within=90)
    try:
        namespace.apply(domain("pinned"), pod_on("pinned", "node-003", "pinned-channel"))
        namespace.says("pinned", "NoPlugin", r"pods/pinned .*publish no devices of compute-domain\.nvidia\.com \(node-003\)", within=60)
        namespace.tells("pinned", "Warning NoPlugin .*node-003", kind="Pod")
        (shown,) = [one for one in json.loads(cluster.controller_get("debug pages", "/debug/domains")) if one["name"] == "pinned"]
        assert shown["advice"] == {"do": "InstallPlugin", "objects": ["node-003"], "number": 0}
    finally:
        cluster.nodesim.start_plugin("node-003")
    namespace.says("pinned", "ClaimsReserved", "pods/pinned", kind="InUse", within=120)
    namespace.delete("pod", "pinned", "busy", "neighbour")
    namespace.delete("resourceclaim", "elsewhere")
    namespace.delete("computedomain", "pinned", "busy")


def test_REV4_P27_a_pod_whose_container_lists_no_claim_is_named(namespace):
    forgot = pod_on("forgot", "node-004", "forgot-channel")
    for container in forgot["spec"]["containers"]:
        del container["resources"]["claims"]
    namespace.apply(domain("forgot"), forgot)
    namespace.says("forgot", "ClaimNotListed", "No container lists the claim that holds the channel: pods/forgot", kind="MemoryShared",
                   within=60)
    namespace.tells("forgot", "Warning ClaimNotListed .*pods/forgot")
    namespace.delete("pod", "forgot")
    namespace.apply(pod_on("forgot", "node-004", "forgot-channel"))
    namespace.says("forgot", "AllInOneClique", kind="MemoryShared", within=60)
    namespace.delete("pod", "forgot")
    namespace.delete("computedomain", "forgot")


@pytest.mark.since_kubernetes("1.36", "MutatingAdmissionPolicy")
def test_REV4_1_a_domain_says_that_the_policies_of_placement_are_missing(cluster, namespace):
    """The controller looks when it starts."""
    cluster.kubectl("delete", "-k", REPO / "manifests/placement")
    try:
        cluster.run_controller(*CLUSTER.controller)
        namespace.apply(domain("unplaced"), domain("placed"))
        namespace.kubectl("label", "computedomain", "placed", "cdom.dev/placement=clique")
        namespace.says("unplaced", "Accepted", "Nothing keeps the domain's pods in one clique: .*apply cdom-placement.yaml", kind="Accepted")
        namespace.says("placed", "PlacementMissing", "Label cdom.dev/placement has no effect")
    finally:
        cluster.kubectl("apply", "-k", REPO / "manifests/placement")
    cluster.run_controller(*CLUSTER.controller)
    namespace.says("unplaced", "Accepted", r"^The spec is valid, and the cluster has what it needs\.$", kind="Accepted")
    namespace.says("placed", "Idle")
    namespace.delete("computedomain", "unplaced", "placed")
