"""How a domain is deleted: under its pods, past them, and past finalizers."""

import re
import subprocess

import pytest
from cluster import Setup
from namespaces import DRIVER, conditions
from objects import domain, job
from snapshot import snapshot
from waiting import eventually

CLUSTER = Setup(nodes=16, placement=True, controller=("--membership-writer", "controller"))
pytestmark = pytest.mark.usefixtures("requests_are_allowed")


def run_four_workers(namespace, name, **annotations):
    """A domain with four workers that do not end."""
    made = domain(name)
    made["metadata"]["annotations"] = annotations
    namespace.apply(made, job(name, 4, seconds=-1))
    namespace.says(name, "AllMembersReady", "4/4", within=60)
    eventually("where workers run", lambda: len(namespace.workers_on(name)), 4)


def is_deleted(namespace, name, within=60):
    eventually(f"the domain {name}", lambda: namespace.get("computedomain", name), None, within)


def delete_child(cluster, kind, name):
    """As the policy wants it from people."""
    cluster.kubectl("annotate", "-n", DRIVER, kind, name, "cdom.dev/allow-deletion=true")
    cluster.kubectl("delete", "-n", DRIVER, kind, name, "--timeout=60s")


def test_a_domain_deleted_under_a_running_pod_waits_for_it_and_says_so(cluster, namespace):
    run_four_workers(namespace, "waits")
    label = namespace.label("waits")

    def lives():
        return cluster.lives(DRIVER, label), namespace.lives("app=waits")
    before = lives()
    namespace.kubectl("delete", "computedomain", "waits", "--wait=false")
    namespace.says("waits", "DeletionBlocked", "pods/waits-")
    namespace.tells("waits", "Warning DeletionBlocked .*pods/waits-")
    assert lives() == before, "daemons and workers keep running"
    namespace.delete("job", "waits")
    is_deleted(namespace, "waits")


def test_a_domain_deleted_without_grace_period_does_not_wait_for_its_pods(namespace):
    run_four_workers(namespace, "hasty", **{"cdom.dev/deletion-grace": "0"})
    before = namespace.lives("app=hasty")
    namespace.kubectl("delete", "computedomain", "hasty", "--wait=false")
    is_deleted(namespace, "hasty")
    # Its pods are the user's: they keep running, and a warning names them.
    assert namespace.lives("app=hasty") == before
    namespace.tells("hasty", "Warning DeletionForced .*pods/hasty-")
    namespace.delete("job", "hasty")


def test_the_grace_period_of_deletions_is_a_flag_of_the_controller(cluster, namespace):
    cluster.run_controller(*CLUSTER.controller, "--deletion-grace", "0s")
    run_four_workers(namespace, "brief")
    namespace.kubectl("delete", "computedomain", "brief", "--wait=false")
    is_deleted(namespace, "brief")
    namespace.tells("brief", "Warning DeletionForced .*pods/brief-")
    namespace.delete("job", "brief")


def test_a_finalizer_of_others_on_a_domain_or_its_child_is_named_and_waited_for(cluster, namespace):
    namespace.apply(domain("kept"))
    namespace.is_idle("kept")
    daemons = namespace.daemon_set("kept")
    cluster.kubectl("patch", "daemonset", "-n", DRIVER, daemons, "--type=merge", "-p",
                    '{"metadata": {"finalizers": ["example.com/archive"]}}')
    namespace.kubectl("patch", "computedomain", "kept", "--type=json", "-p",
                      '[{"op": "add", "path": "/metadata/finalizers/-", "value": "example.com/bill"}]')
    namespace.kubectl("delete", "computedomain", "kept", "--wait=false")
    namespace.says("kept", "HeldByFinalizer", rf"DaemonSet {DRIVER}/{daemons} \(finalizer example.com/archive\)",
                   and_also=lambda status: "example.com/archive" in conditions(status)["DeletionBlocked"]["message"])
    namespace.tells("kept", "Warning HeldByFinalizer .*example.com/archive")
    cluster.kubectl("patch", "daemonset", "-n", DRIVER, daemons, "--type=merge", "-p", '{"metadata": {"finalizers": null}}')
    namespace.says("kept", "HeldByFinalizer", rf"ComputeDomain {namespace.name}/kept \(finalizer example.com/bill\)")
    assert cluster.get("daemonset", daemons, DRIVER) is None
    assert namespace.get("computedomain", "kept")["metadata"]["finalizers"] == ["example.com/bill"]
    namespace.kubectl("patch", "computedomain", "kept", "--type=merge", "-p", '{"metadata": {"finalizers": null}}')
    is_deleted(namespace, "kept")


@pytest.fixture
def release(cluster, programs):
    """release(FLAG...): status and lines of `release-finalizers`, as the controller's account."""
    def run(*flags):
        done = subprocess.run(
            [programs / "compute-domain-controller", "release-finalizers", "--kubeconfig", cluster.controller_config,
             "--namespace", DRIVER, *flags],
            check=False, timeout=120, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return done.returncode, done.stdout.splitlines()
    return run


@pytest.mark.usefixtures("nothing_is_left")
def test_a_domain_whose_finalizer_was_released_is_deleted_without_a_controller(cluster, namespace, release):
    before = set(snapshot(cluster))
    namespace.apply(domain("left"))
    namespace.is_idle("left")
    name = namespace.daemon_set("left")
    # As NVIDIA's controller leaves it.
    cluster.kubectl("patch", "daemonset", "-n", DRIVER, name, "--type=merge",
                    "-p", '{"metadata": {"finalizers": ["resource.nvidia.com/computeDomain"]}}')
    status, lines = release()
    assert status != 0 and "replicas=0" in "\n".join(lines), "a controller runs"
    cluster.end_controller()
    status, dry = release("--dry-run")
    assert status == 0, dry
    assert [one for one in namespace.get("computedomain", "left")["metadata"]["finalizers"] if "computeDomain" in one]
    status, released = release()
    assert (status, released) == (0, [re.sub("^would release", "released", line) for line in dry])
    assert f"released ComputeDomain {namespace.name}/left" in released
    assert f"released DaemonSet {DRIVER}/{name}" in released
    assert release() == (0, ["released 0, failed 0"])

    namespace.delete("computedomain", "left")
    eventually("the workload's template", lambda: namespace.get("resourceclaimtemplate", "left-channel"), None)
    # What the README says is left, and nothing else; a DaemonSet's history is deleted with it.
    assert sorted(one for one in set(snapshot(cluster)) - before if one[0] != "ControllerRevision") == [
        ("DaemonSet", DRIVER, name), ("ResourceClaimTemplate", DRIVER, name)]
    delete_child(cluster, "daemonset", name)
    delete_child(cluster, "resourceclaimtemplate", name)
