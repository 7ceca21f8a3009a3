"""Which nodes are members of a domain, while its pods and their nodes come and go. Both membership writers."""

import uuid

import pytest
from clusters import is_kept
from crew import CLUSTER, Crew, indices  # noqa: F401
from namespaces import DRIVER, WHEN_READY, conditions, daemons_on, field_in, is_free, is_up, label_of, members_in, no_daemon_on
from objects import CLIQUE, LABEL, domain, workers
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
    before = crew.settle()
    assert [one for one in before["nodes"] if one["status"] != "Ready" or not daemons_on(cluster, one["name"])] == []
    node = members_in(before)[0]
    (was,) = daemons_on(cluster, node)
    cluster.kubectl("delete", "pods", "-n", DRIVER, "-l", LABEL, "--field-selector", f"spec.nodeName={node}", "--wait=false")
    eventually(f"another daemon on {node} than {was}", lambda: daemons_on(cluster, node),
               lambda now: len(now) == 1 and now != [was])
    assert indices(crew.is_in_step("crew", 4)) == indices(before)


def test_sdn19_02_a_node_whose_channel_is_withdrawn_leaves_and_the_others_stay(cluster, crew):
    before = indices(crew.status("crew"))
    rest = members_in(crew.scale(3))
    (left,) = before.keys() - set(rest)
    no_daemon_on(cluster, left)
    is_free(cluster, left)
    now = indices(crew.scale(6))
    assert {node: now[node] for node in rest} == {node: before[node] for node in rest}
    assert len(set(now.values())) == 6, now
    crew.scale(4)


def test_sdn20_02_a_rebooted_node_is_named_and_rejoins_for_the_same_workload(cluster, namespace, crew):
    work = workers("boots", 2)
    # Its pods stay, however long the node takes. They are in the clique where the others' are not.
    work["spec"]["template"]["spec"]["tolerations"].append({"operator": "Exists", "effect": "NoExecute"})
    work["spec"]["template"]["spec"]["nodeSelector"] = {CLIQUE: crew.clique_beside(crew.node())[1]}
    namespace.apply(domain("boots"), work)
    node, before = members_in(namespace.is_in_step("boots", 2, within=90))[0], uids(namespace, "boots")
    boot, other = boot_of(cluster, node), str(uuid.uuid4())
    # What a kubelet that has just started says, before any of its pods runs again.
    cluster.nodesim.kill(node)
    cluster.kubectl("patch", "node", node, "--subresource=status", "--type=merge", "-p",
                    f'{{"status": {{"nodeInfo": {{"bootID": "{other}"}}}}}}')
    # Soon it is a lost node, and named as that.
    namespace.tells("boots", f"Warning NodeRebooted .*{node}")
    eventually(f"status of {node}", lambda: namespace.field("boots", node, "status"), "NotReady")
    cluster.nodesim.reboot(node)
    eventually(f"{node} has another boot than {other}", lambda: boot_of(cluster, node), lambda now: now != other)
    is_up(cluster, node)
    assert node in members_in(namespace.is_in_step("boots", 2, within=90))
    assert boot_of(cluster, node) != boot
    assert CLIQUE in cluster.get("node", node)["metadata"]["labels"]
    assert uids(namespace, "boots") == before


def test_a_lost_or_deleted_node_is_replaced_and_returns_without_the_domain(cluster, crew):
    node = crew.node()
    cluster.nodesim.kill(node)
    crew.says("crew", "NodeLost", node, and_also=lambda status: field_in(status, node, "status") == "NotReady")
    crew.says("crew", "NodeLost", "4/5 members", within=60)
    cluster.nodesim.revive(node)
    assert node not in members_in(crew.is_in_step("crew", 4, within=90))
    is_free(cluster, node, within=60)

    node = crew.node()
    cluster.nodesim.remove(node)
    crew.says("crew", "NodeLost", rf"{node} \(does not exist\)", within=60)
    # The garbage collector of pods would wait for 40 s.
    cluster.kubectl("delete", "pods", "--all-namespaces", "--field-selector", f"spec.nodeName={node}", "--grace-period=0", "--force")
    assert node not in members_in(crew.is_in_step("crew", 4, within=90))
    cluster.nodesim.revive(node)
    eventually(f"{node} exists again", lambda: cluster.get("node", node))
    is_up(cluster, node)
    assert node not in members_in(crew.scale(3))  # The controller has written status since.
    assert label_of(cluster, node) is None


def test_a_cordoned_node_that_does_not_serve_is_named_and_replaced_when_drained(cluster, crew):
    node = crew.node()
    cluster.nodesim.stall_daemon(node)
    crew.says("crew", "MembersNotReady", node)
    cluster.kubectl("cordon", node)
    crew.says("crew", "NodeDrained", node)
    cluster.nodesim.unstall_daemon(node)
    # A cordoned node that serves is as good as any, and about to leave.
    leaving = crew.says("crew", "NodeLeaving", rf"All 4/4 members are ready\. About to leave: {node} \(cordoned\)",
                        and_also=lambda status: node in members_in(status))
    assert leaving["status"] == "True"
    cluster.kubectl("drain", node, "--ignore-daemonsets", "--timeout=60s")
    assert node not in members_in(crew.is_in_step("crew", 4, within=90))
    no_daemon_on(cluster, node)
    cluster.kubectl("uncordon", node)


def test_a_node_that_moves_to_another_clique_is_counted_there_alone(cluster, crew):
    node = crew.node()
    old, new = crew.clique_beside(node)
    cluster.nodesim.move(node, new)
    status = has_moved(crew, node, new)
    assert sorted((one["members"], one["ready"]) for one in status["cliques"]) == [(1, 1), (3, 3)]
    entries = [entry["nodeName"] for clique in cluster.list("computedomaincliques", DRIVER) for entry in clique["daemons"]]
    assert entries.count(node) == 1, entries
    cluster.nodesim.move(node, old)
    assert has_moved(crew, node, old)["cliqueCount"] == 1


def test_a_domain_that_is_deleted_leaves_nothing_on_nodes_and_no_object(cluster, crew):
    """Whatever the cases before did to it."""
    crew.delete("deployment", "crew")
    crew.delete("computedomain", "crew", timeout=90)
    eventually("what differs from before the domain", lambda: difference(crew.before, shapes(snapshot(cluster))), [], within=90)


def uids(namespace, app):
    """Of its pods."""
    return [one["metadata"]["uid"] for one in namespace.list("pods", f"app={app}")]


def boot_of(cluster, node):
    return cluster.get("node", node)["status"]["nodeInfo"]["bootID"]


def has_moved(crew, node, clique):
    """Returns status once that is so, and all are ready."""
    return eventually(f"status with {node} in {clique}", lambda: crew.status("crew"), lambda status: (
        conditions(status)["Ready"]["reason"] in WHEN_READY and status["members"] == "4/4"
        and field_in(status, node, "cliqueID") == clique))
