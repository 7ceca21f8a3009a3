"""What status says of members that serve, and of the cliques and the fabric that they have."""

import pytest
from cluster import Setup
from clusters import is_kept
from crew import Crew
from namespaces import conditions
from objects import CLIQUE, domain, pod_on
from waiting import eventually

CLUSTER = Setup(nodes=16, placement=True, controller=("--membership-writer", "controller"))
ALL_READY = r"^All 4/4 members are ready\.$"


@pytest.fixture(scope="module")
def shared_crew(request, cluster):
    cluster.run_controller(*CLUSTER.controller)
    made = Crew(cluster, "warned")
    yield made
    if not is_kept(request):
        made.clear()
        made.delete_it()


@pytest.fixture(autouse=True)
def fresh_controller(cluster, running_controller):
    """Each case has the Events that a controller sends of one object."""
    cluster.run_controller(*CLUSTER.controller)


def leaving(cluster):
    lines = cluster.controller_get("health and metrics", "/metrics").splitlines()
    return [line for line in lines if line.startswith("cdom_members_leaving")]


def test_a_cordoned_or_tainted_member_is_told_before_it_leaves_and_no_longer_after(cluster, crew):
    node, lives = crew.node(), crew.lives("app=crew")
    assert leaving(cluster) == ["cdom_members_leaving 0"]
    cluster.kubectl("cordon", node)
    ready = crew.says("crew", "NodeLeaving", rf"All 4/4 .*About to leave: {node} \(cordoned\)", and_also={"status": "Ready"})
    assert ready["status"] == "True"
    assert leaving(cluster) == ["cdom_members_leaving 1"]
    crew.tells("crew", f"Warning NodeLeaving .*{node}")
    cluster.kubectl("uncordon", node)
    crew.is_in_step("crew", 4)
    assert leaving(cluster) == ["cdom_members_leaving 0"]

    cluster.kubectl("taint", "node", node, "karpenter.sh/disrupted:NoSchedule")
    crew.says("crew", "NodeLeaving", rf"{node} \(taint karpenter.sh/disrupted\)")
    cluster.kubectl("taint", "node", node, "karpenter.sh/disrupted-")
    crew.is_in_step("crew", 4)
    # A taint that only prefers other nodes, or one of another kind, does not say that the node leaves.
    cluster.kubectl("taint", "node", node, "ToBeDeletedByClusterAutoscaler:PreferNoSchedule", "example.com/tuned:NoSchedule")
    cluster.kubectl("taint", "node", node, "cloud.google.com/impending-node-termination:NoSchedule")
    crew.says("crew", "NodeLeaving", rf"About to leave: {node} \(taint cloud.google.com/impending-node-termination\)\.")
    cluster.kubectl("taint", "node", node, "cloud.google.com/impending-node-termination-")
    crew.is_in_step("crew", 4)
    cluster.kubectl("taint", "node", node, "ToBeDeletedByClusterAutoscaler-", "example.com/tuned-")
    assert crew.lives("app=crew") == lives


def test_REV4_1_a_domain_whose_pods_are_in_two_cliques_says_so(cluster, crew):
    """And one that did not ask for placement is told how to ask, or that several are meant."""
    node = crew.node()
    old, new = crew.clique_beside(node)
    crew.kubectl("label", "computedomain", "crew", "cdom.dev/placement=rack")
    crew.says("crew", "AnnotationInvalid", r"^Label cdom.dev/placement is ignored: use clique, exclusive-clique or any\.$",
              kind="Accepted")
    cluster.nodesim.move(node, new)
    crew.says("crew", "SpansCliques",
              rf"in 2 cliques: 3 in {old}, 1 in {new}\..*label the domain cdom.dev/placement=clique", within=60)
    shared = crew.says("crew", "SpansCliques", "Pods share no memory across cliques", kind="MemoryShared")
    assert shared["status"] == "False"
    crew.tells("crew", "Warning SpansCliques .*cdom.dev/placement=any if this is meant")
    crew.shows("crew", ("MemoryShared",), ready="True", shared="False", cliques="2")
    crew.kubectl("label", "computedomain", "crew", "cdom.dev/placement=any", "--overwrite")
    crew.says("crew", "AllMembersReady", ALL_READY)
    assert crew.says("crew", "SharedWithinCliques", "in 2 cliques", kind="MemoryShared")["status"] == "True"
    crew.kubectl("label", "computedomain", "crew", "cdom.dev/placement=clique", "--overwrite")
    ready = crew.says("crew", "SpansCliques", rf"in 2 cliques although cdom.dev/placement asks for one: 3 in {old}, 1 in {new}\.",
                      and_also=lambda status: conditions(status)["Accepted"]["reason"] == "Accepted")
    assert ready["status"] == "True"
    crew.tells("crew", "Warning SpansCliques .*manifests/placement")
    crew.kubectl("annotate", "computedomain", "crew", "cdom.dev/placement-group-label=example.com/rank")
    crew.says("crew", "AllMembersReady", ALL_READY)  # Each of two groups may be in a clique of its own.
    assert crew.says("crew", "GroupsNotRead", "in 2 cliques", kind="MemoryShared")["status"] == "Unknown"
    crew.kubectl("annotate", "computedomain", "crew", "cdom.dev/placement-group-label-")
    crew.says("crew", "SpansCliques", new)
    cluster.nodesim.move(node, old)
    crew.is_in_step("crew", 4)
    crew.says("crew", "AllMembersReady", ALL_READY)
    assert crew.says("crew", "AllInOneClique", old, kind="MemoryShared")["status"] == "True"
    crew.kubectl("label", "computedomain", "crew", "cdom.dev/placement-")


def test_members_without_fabric_are_named_and_a_domain_with_no_others_shares_nothing(cluster, crew, namespace):
    node = crew.node()
    clique, _ = crew.clique_beside(node)
    cluster.nodesim.move(node)
    crew.says("crew", "AllMembersReady",
              rf"^All 4/4 members are ready\. Without NVLink fabric: {node}\. Pods there share no memory", within=60)
    cluster.nodesim.move(node, clique)
    crew.says("crew", "AllMembersReady", ALL_READY, within=60)

    node = max(set(cluster.nodes()) - set(crew.members("crew")))
    clique = cluster.get("node", node)["metadata"]["labels"][CLIQUE]
    cluster.nodesim.move(node)
    namespace.apply(domain("lone"), pod_on("lone", node, "lone-channel"))
    ready = namespace.says("lone", "NoFabric", rf"^All 1/1 members are ready\. No member has NVLink fabric: {node}\. "
                           "Pods share no memory across nodes", and_also={"status": "Ready"})
    assert ready["status"] == "True"
    namespace.tells("lone", f"Warning NoFabric .*{node}")
    cluster.nodesim.move(node, clique)
    # The node's clique may be that of the other domain as well, of which it speaks then.
    eventually("the message of Ready", lambda: conditions(namespace.status("lone"))["Ready"]["message"],
               lambda said: said.startswith("All 1/1 members are ready.") and "fabric" not in said)
    namespace.delete("pod", "lone")
    namespace.delete("computedomain", "lone")
