"""Replicas of the controller: one leads, and another takes over. Controllers whose Leases have different names."""

import re
import subprocess

import pytest
from cluster import ACCOUNT, Setup
from hand_overs import hand_overs
from namespaces import DRIVER
from objects import domain
from process import Process
from requests_of import READS, of_controllers
from waiting import eventually

CLUSTER = Setup(nodes=16, placement=True)
pytestmark = pytest.mark.usefixtures("no_controller")
TERM = 15  # Seconds, the duration of the Lease.
UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"


def lease(cluster):
    return cluster.get("lease", "cdom-controller", DRIVER)["spec"]


def test_a_leader_that_is_killed_is_replaced_by_the_other_replica_after_its_term(cluster):
    """The rows "exactly one leader among two replicas" and "standby takes over"."""
    since = cluster.audit_size()
    cluster.start_controller()

    def is_held_by(name):
        eventually("the holder of the Lease", lambda: lease(cluster)["holderIdentity"],
                   re.compile(rf"^cdom-{name}-\d+-{UUID}$"))
    is_held_by("controller")
    with cluster.replica("standby") as standby:
        eventually("the other stands by", lambda: standby.says("Standing by"))
        is_held_by("controller")
        assert not standby.says("Reconciling")
        cluster.controller.kill()
        is_held_by("standby")
        (taken,) = eventually("hand-overs", lambda: hand_overs(cluster.audit_entries(since), "cdom-controller"))
        # Its term was over, and the other took the Lease when it looked next: it looks as the term ends, and perhaps just before that.
        assert not taken.released and taken.seconds >= TERM, taken
        assert taken.late_looks(TERM) <= 2, taken
        eventually("the other works", lambda: standby.says("Reconciling"))
        assert standby.is_running()


def test_a_standby_takes_over_at_once_when_the_leader_is_stopped(cluster, namespace):
    since = cluster.audit_size()
    cluster.run_controller()
    with cluster.replica("standby") as standby:
        eventually("the other stands by", lambda: standby.says("Standing by"))
        assert not standby.says("Reconciling")
        cluster.controller.end()
        eventually("the other leads", lambda: standby.says("Reconciling"))
        # The leader let the Lease go, and the other took it when it looked next.
        (taken,) = eventually("hand-overs", lambda: hand_overs(cluster.audit_entries(since), "cdom-controller"))
        assert taken.released and len(taken.looks) <= 1, taken
        namespace.apply(domain("after"))
        namespace.is_idle("after")
        namespace.delete("computedomain", "after")


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
        eventually("the later one waits", lambda: other.says("Another controller leads under another Lease"))
        assert other.says(f'lease="{DRIVER}/cdom-controller"')
        assert cluster.get("lease", NVIDIAS, DRIVER) is None
        cluster.end_controller()
        eventually("it leads", lambda: other.says("Reconciling"))


def test_a_controller_whose_namespace_nobody_set_does_not_lead_beside_the_one_in_the_cluster(cluster, programs, tmp_path):
    """As when an administrator starts one by hand: its Lease is in the namespace default."""
    cluster.run_controller()
    astray = Process("astray", [programs / "compute-domain-controller", "--kubeconfig", cluster.plane / "admin.kubeconfig",
                                "--pod-name", "astray", "--image-name", "cdom:0.2.0", "--debug-endpoint", "127.0.0.1:0"], tmp_path, {})
    try:
        eventually("it waits", lambda: astray.says(f'lease="{DRIVER}/cdom-controller"'))
        eventually("it says why", lambda: astray.says("Another controller leads under another Lease"))
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
        eventually("it leads", lambda: leader.says("Reconciling"))
        status, said = release(cluster, programs, "--namespace", DRIVER)
        assert (status, f"holds the Lease {DRIVER}/{NVIDIAS}" in said) == (1, True), said
        # The namespace where it is looked for is `default`, if none is named.
        status, said = release(cluster, programs)
        assert (status, "namespace default has no Lease of these names: cdom-controller, " in said) == (1, True), said
        assert release(cluster, programs, "--namespace", DRIVER, "--force")[0] == 0
    assert release(cluster, programs, "--namespace", DRIVER)[0] == 0


@pytest.fixture
def dry(cluster):
    """A dry run as the administrator, by whom its requests are known. Other cases have left no Lease."""
    cluster.kubectl("delete", "lease", "cdom-controller", "-n", DRIVER, "--ignore-not-found")
    with cluster.replica("dry", "--dry-run", kubeconfig=cluster.plane / "admin.kubeconfig") as dry:
        eventually("it is ready", lambda: dry.says("Dry run: writes are only logged"))
        yield dry


def test_a_dry_run_logs_what_it_would_do_and_leaves_the_lease_to_others(cluster, namespace, dry):
    since = cluster.audit_size()

    def plans(name, *actions):
        for action in actions:
            pattern = rf'Would act.*domain="{namespace.name}/{name}".*action="{action}'
            eventually(f"it would act for {name}", lambda: dry.log.read_text(), re.compile(pattern))  # noqa: B023

    def children(name):
        return namespace.exists("resourceclaimtemplate", f"{name}-channel"), "status" in namespace.get("computedomain", name)

    # Alone.
    namespace.apply(domain("alone"))
    plans("alone", "patch finalizers of ComputeDomain", "create ResourceClaimTemplate", "patch status of ComputeDomain")
    assert children("alone") == (False, False)
    assert cluster.get("lease", "cdom-controller", DRIVER) is None
    # Beside a controller, which serves although it came later.
    cluster.run_controller()
    namespace.is_idle("alone")
    assert children("alone") == (True, True)
    assert namespace.get("computedomain", "alone")["metadata"]["finalizers"] != []
    # And when that has ended.
    cluster.end_controller()
    namespace.apply(domain("later"))
    plans("later", "create ResourceClaimTemplate")
    assert children("later") == (False, False)
    assert lease(cluster)["holderIdentity"] == ""
    cluster.run_controller()
    namespace.is_idle("later")
    namespace.delete("computedomain", "alone", "later")

    asked = {(one["verb"], one["objectRef"]["resource"]) for one in of_controllers(cluster.audit_entries(since))
             if one["user"]["username"] != ACCOUNT}
    assert ("list", "resourceclaims") in asked, "these are the requests of the dry run"
    assert {one for one in asked if one[0] not in READS or one[1] == "leases"} == set()
    assert not dry.says("Reconciling") and not dry.says("Standing by")
