"""Which nodes are members of a domain, while its pods and their nodes come and go. Both membership writers."""

import uuid

import pytest
from clusters import is_kept
from crew import CLUSTER, Crew  # noqa: F401
from namespaces import DRIVER, daemons_on, is_free, is_up, label_of, no_daemon_on
from objects import CLIQUE, LABEL
from snapshot import difference, shapes, snapshot
from waiting import eventually


@pytest.fixture(scope="module")
def shared_crew(request, cluster, writer):
    made = Crew(cluster, writer)
    yield made
    if not is_kept(request):
        made.clear()
        made.delete_it()


def test_sdn18_02_each_node_of_the_workload_is_a_member_and_rejoins_with_its_index(cluster, shared_crew):
    crew = shared_crew
    bound = 3 * crew.settle() + 30
    for member in crew.members("crew"):
        assert daemons_on(cluster, member) and crew.field("crew", member, "status") == "Ready", member
    node, indices = crew.node(), crew.indices()
    (was,) = daemons_on(cluster, node)
    cluster.kubectl("delete", "pods", "-n", DRIVER, "-l", LABEL, "--field-selector", f"spec.nodeName={node}", "--wait=false")
    eventually(f"another daemon on {node} than {was}", lambda: daemons_on(cluster, node),
               lambda now: len(now) == 1 and now != [was], bound)
    crew.is_in_step("crew", 4, bound)
    assert crew.indices() == indices


def test_sdn19_02_a_node_whose_channel_is_withdrawn_leaves_and_the_others_stay(cluster, crew):
    before, indices = crew.members("crew"), crew.indices()
    crew.scale(3)
    rest = crew.members("crew")
    (left,) = set(before) - set(rest)
    assert set(rest) < set(before)
    no_daemon_on(cluster, left)
    is_free(cluster, left)
    crew.scale(6)
    now = crew.indices()
    assert {node: now[node] for node in rest} == {node: indices[node] for node in rest}
    assert len(set(now.values())) == 6, now
    crew.scale(4)


def test_sdn20_02_a_rebooted_node_is_named_and_rejoins_for_the_same_workload(cluster, crew):
    node, workers = crew.node(), uids(crew)
    boot, other = boot_of(cluster, node), str(uuid.uuid4())
    # What a kubelet that has just started says, before any of its pods runs again.
    cluster.nodesim.kill(node)
    cluster.kubectl("patch", "node", node, "--subresource=status", "--type=merge", "-p",
                    f'{{"status": {{"nodeInfo": {{"bootID": "{other}"}}}}}}')
    crew.says("crew", "NodeRebooted", node, within=8)
    assert crew.field("crew", node, "status") == "NotReady"
    cluster.nodesim.reboot(node)
    eventually(f"{node} has another boot than {other}", lambda: boot_of(cluster, node), lambda now: now != other)
    is_up(cluster, node)
    crew.is_in_step("crew", 4, within=90)
    assert boot_of(cluster, node) != boot
    assert node in crew.members("crew")
    assert CLIQUE in cluster.get("node", node)["metadata"]["labels"]
    assert uids(crew) == workers
    crew.tells("crew", f"Warning NodeRebooted .*{node}")


def test_a_lost_or_deleted_node_is_replaced_and_returns_without_the_domain(cluster, crew):
    node = crew.node()
    cluster.nodesim.kill(node)
    crew.says("crew", "NodeLost", node, within=60)
    assert crew.field("crew", node, "status") == "NotReady"
    crew.says("crew", "NodeLost", "4/5 members", within=60)
    cluster.nodesim.revive(node)
    crew.is_in_step("crew", 4, within=90)
    assert node not in crew.members("crew")
    is_free(cluster, node, within=60)

    node = crew.node()
    cluster.nodesim.remove(node)
    crew.says("crew", "NodeLost", rf"{node} \(does not exist\)", within=60)
    # The garbage collector of pods would wait for 40 s.
    cluster.kubectl("delete", "pods", "--all-namespaces", "--field-selector", f"spec.nodeName={node}", "--grace-period=0", "--force")
    crew.is_in_step("crew", 4, within=90)
    assert node not in crew.members("crew")
    cluster.nodesim.revive(node)
    eventually(f"{node} exists again", lambda: cluster.get("node", node))
    is_up(cluster, node)
    crew.scale(3)  # The controller has written status since.
    assert node not in crew.members("crew")
    assert label_of(cluster, node) is None


def test_a_cordoned_node_that_does_not_serve_is_named_and_replaced_when_drained(cluster, crew):
    node = crew.node()
    cluster.nodesim.stall_daemon(node)
    crew.says("crew", "MembersNotReady", node, within=30)
    cluster.kubectl("cordon", node)
    crew.says("crew", "NodeDrained", node, within=30)
    cluster.nodesim.unstall_daemon(node)
    # A cordoned node that serves is as good as any, and about to leave.
    leaving = crew.says("crew", "NodeLeaving", rf"All 4/4 members are ready\. About to leave: {node} \(cordoned\)", within=60)
    assert leaving["status"] == "True"
    assert node in crew.members("crew")
    cluster.kubectl("drain", node, "--ignore-daemonsets", "--timeout=60s")
    crew.is_in_step("crew", 4, within=90)
    assert node not in crew.members("crew")
    no_daemon_on(cluster, node)
    cluster.kubectl("uncordon", node)


def test_a_node_that_moves_to_another_clique_is_counted_there_alone(cluster, crew):
    node = crew.node()
    old, new = crew.clique_beside(node)
    cluster.nodesim.move(node, new)
    has_moved(crew, node, new)
    assert sorted((one["members"], one["ready"]) for one in crew.status("crew")["cliques"]) == [(1, 1), (3, 3)]
    entries = [entry["nodeName"] for clique in cluster.list("computedomaincliques", DRIVER) for entry in clique["daemons"]]
    assert entries.count(node) == 1, entries
    cluster.nodesim.move(node, old)
    has_moved(crew, node, old)
    assert crew.status("crew")["cliqueCount"] == 1


def test_a_domain_that_is_deleted_leaves_nothing_on_nodes_and_no_object(cluster, crew):
    """Whatever the cases before did to it."""
    crew.delete("deployment", "crew")
    crew.delete("computedomain", "crew", timeout=90)
    eventually("what differs from before the domain", lambda: difference(crew.before, shapes(snapshot(cluster))), [], within=90)


def uids(crew):
    return [one["metadata"]["uid"] for one in crew.list("pods", "app=crew")]


def boot_of(cluster, node):
    return cluster.get("node", node)["status"]["nodeInfo"]["bootID"]


def has_moved(crew, node, clique):
    crew.is_ready("crew", 4)
    eventually(f"the clique of {node}", lambda: (crew.condition("crew")["reason"], crew.field("crew", node, "cliqueID")),
               ("AllMembersReady", clique))
