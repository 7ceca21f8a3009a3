"""What docs/controller-down.md says of domains and jobs while no controller runs."""

import pytest
from cluster import Setup
from namespaces import DRIVER
from objects import domain, workers
from waiting import eventually

CLUSTER = Setup(nodes=16, placement=True)


@pytest.mark.usefixtures("nothing_is_left")
def test_without_a_controller_jobs_continue_and_new_domains_wait(cluster, namespace, writer):
    namespace.apply(domain("kept"), workers("kept", 2))
    namespace.is_in_step("kept", 2)
    cluster.end_controller()
    lives, version = namespace.lives("app=kept"), namespace.version("kept")

    namespace.apply(domain("new"), workers("new", 1))
    namespace.kubectl("scale", "deployment", "kept", "--replicas=3")
    if writer == "daemon":
        eventually("nodes on which workers are ready", lambda: len(namespace.workers_on("kept")), 3)
    else:
        def daemons():
            """Whether each is ready."""
            return sorted(any(one["type"] == "Ready" and one["status"] == "True" for one in pod["status"].get("conditions", []))
                          for pod in cluster.list("pods", DRIVER, namespace.label("kept")))
        eventually("which daemons are ready, and on how many nodes workers are",
                   lambda: (daemons(), len(namespace.workers_on("kept"))), ([False, True, True], 2))
    assert all(life in namespace.lives("app=kept") for life in lives)
    assert not namespace.exists("resourceclaimtemplate", "new-channel")
    assert "status" not in namespace.get("computedomain", "new")

    namespace.kubectl("scale", "deployment", "kept", "--replicas=0")
    eventually("nodes with the domain's label", lambda: cluster.list("nodes", "", namespace.label("kept")), [])
    eventually("daemons", lambda: cluster.list("pods", DRIVER, namespace.label("kept")), [])
    assert namespace.version("kept") == version, "somebody has written it"
    namespace.kubectl("delete", "computedomain", "kept", "--wait=false")
    assert namespace.exists("computedomain", "kept")

    cluster.controller_with("--membership-writer", writer)
    namespace.is_in_step("new", 1)
    eventually("the deleted domain", lambda: namespace.exists("computedomain", "kept"), False)
