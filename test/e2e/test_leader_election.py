"""Replicas of the controller: one leads, and another takes over."""

import re
import time

import pytest
from cluster import Setup
from namespaces import DRIVER
from objects import domain
from requests_of import time_of
from waiting import eventually

CLUSTER = Setup(nodes=16, placement=True)
pytestmark = pytest.mark.usefixtures("no_controller")
UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"


def lease(cluster):
    return cluster.get("lease", "cdom-controller", DRIVER)["spec"]


def test_a_leader_that_is_killed_is_replaced_by_the_other_replica_after_its_term(cluster):
    """The rows "exactly one leader among two replicas" and "standby takes over"."""
    cluster.start_controller()

    def is_held_by(name):
        eventually("the holder of the Lease", lambda: lease(cluster)["holderIdentity"],
                   re.compile(rf"^cdom-{name}-\d+-{UUID}$"), within=40)
    is_held_by("controller")
    with cluster.replica("standby") as standby:
        eventually("the other stands by", lambda: standby.says("Standing by"), within=30)
        is_held_by("controller")
        assert not standby.says("Reconciling")
        cluster.controller.kill()
        # What the dead one wrote last, and the other first, by the clock that both have here.
        renewed = time_of(lease(cluster)["renewTime"])
        is_held_by("standby")
        later = (time_of(lease(cluster)["acquireTime"]) - renewed).total_seconds()
        # Its term is over then, and not before; 2 s are promised on top of it, and the machine may be busy for 2 s more.
        assert 15 <= later <= 19
        eventually("the other works", lambda: standby.says("Reconciling"), within=20)
        assert standby.is_running()


def test_a_standby_takes_over_at_once_when_the_leader_is_stopped(cluster, namespace):
    cluster.run_controller()
    with cluster.replica("standby") as standby:
        eventually("the other stands by", lambda: standby.says("Standing by"), within=30)
        assert not standby.says("Reconciling")
        cluster.controller.end()
        began = time.monotonic()
        eventually("the other leads", lambda: standby.says("Reconciling"), within=10)
        # It tries every two seconds; the Lease would last for fifteen.
        assert time.monotonic() - began <= 4
        namespace.apply(domain("after"))
        namespace.is_idle("after")
        namespace.delete("computedomain", "after", timeout=30)
