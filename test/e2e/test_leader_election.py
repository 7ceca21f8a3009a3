"""Replicas of the controller: one leads, and another takes over. Controllers whose Leases have different names."""

import re
import subprocess
import time

import pytest
from cluster import Setup
from namespaces import DRIVER
from objects import domain
from process import Process
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
        # Its term is over then, and not before; 2 s are promised on top of it, and the machine may be busy for 6 s more.
        assert 15 <= later <= 23
        eventually("the other works", lambda: standby.says("Reconciling"), within=20)
        assert standby.is_running()


def test_a_standby_takes_over_at_once_when_the_leader_is_stopped(cluster, namespace):
    cluster.run_controller()
    with cluster.replica("standby") as standby:
        eventually("the other stands by", lambda: standby.says("Standing by"), within=30)
        assert not standby.says("Reconciling")
        began = time.monotonic()
        cluster.controller.end()
        eventually("the other leads", lambda: standby.says("Reconciling"), within=20)
        # It tries every two seconds, and a busy machine may need more; the Lease would last for thirteen more.
        assert time.monotonic() - began <= 12
        namespace.apply(domain("after"))
        namespace.is_idle("after")
        namespace.delete("computedomain", "after", timeout=30)


NVIDIAS = "nvidia-compute-domain-controller"


@pytest.fixture
def nvidias(cluster):
    """nvidias(NAME): one more process, whose Lease has the name of NVIDIA's."""
    def replica(name):
        return cluster.replica(name, "--leader-election-lease-lock-name", NVIDIAS, kubeconfig=cluster.plane / "admin.kubeconfig")
    yield replica
    cluster.kubectl("delete", "lease", NVIDIAS, "-n", DRIVER, "--ignore-not-found")


def test_controllers_with_leases_of_different_names_do_not_lead_together(cluster, nvidias):
    cluster.run_controller()
    with nvidias("other") as other:
        eventually("the later one waits", lambda: other.says("Another controller leads under another Lease"), within=30)
        assert other.says(f'lease="{DRIVER}/cdom-controller"')
        assert cluster.get("lease", NVIDIAS, DRIVER) is None
        cluster.end_controller()
        eventually("it leads", lambda: other.says("Reconciling"), within=30)


def test_a_controller_whose_namespace_nobody_set_does_not_lead_beside_the_one_in_the_cluster(cluster, programs, tmp_path):
    """As when an administrator starts one by hand: its Lease is in the namespace default."""
    cluster.run_controller()
    astray = Process("astray", [programs / "compute-domain-controller", "--kubeconfig", cluster.plane / "admin.kubeconfig",
                                "--pod-name", "astray", "--image-name", "cdom:0.2.0"], tmp_path, {"DEBUG_ENDPOINT": "127.0.0.1:0"})
    try:
        eventually("it waits", lambda: astray.says(f'lease="{DRIVER}/cdom-controller"'), within=30)
        eventually("it says why", lambda: astray.says("Another controller leads under another Lease"), within=30)
        assert cluster.get("lease", "cdom-controller", "default") is None
    finally:
        astray.end()


def release(cluster, programs, *flags):
    """Status and words of `release-finalizers`, as the administrator."""
    done = subprocess.run([programs / "compute-domain-controller", "release-finalizers", "--dry-run",
                           "--kubeconfig", cluster.plane / "admin.kubeconfig", *flags],
                          check=False, timeout=120, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode, done.stdout


def test_finalizers_are_not_released_under_a_leader_of_another_name_or_without_a_lease(cluster, nvidias, programs):
    cluster.kubectl("delete", "lease", "cdom-controller", "-n", DRIVER, "--ignore-not-found")
    status, said = release(cluster, programs, "--namespace", DRIVER)
    assert (status, "Which one does your controller use?" in said) == (1, True), said
    with nvidias("leader") as leader:
        eventually("it leads", lambda: leader.says("Reconciling"), within=30)
        status, said = release(cluster, programs, "--namespace", DRIVER)
        assert (status, f"holds the Lease {DRIVER}/{NVIDIAS}" in said) == (1, True), said
        # The namespace where it is looked for is `default`, if none is named.
        status, said = release(cluster, programs)
        assert (status, "namespace default has no Lease of these names: cdom-controller, " in said) == (1, True), said
        assert release(cluster, programs, "--namespace", DRIVER, "--force")[0] == 0
    assert release(cluster, programs, "--namespace", DRIVER)[0] == 0
