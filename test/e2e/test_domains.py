"""Domains that compete, whose jobs lose everything, and whose names, namespaces and CRDs are deleted and made again."""

import re

import pytest
from cluster import REPO, Setup
from namespaces import DRIVER, is_free, label_of
from objects import domain, job, pod_on
from waiting import eventually

OWN_WRITER = ("--membership-writer", "controller")
CLUSTER = Setup(nodes=16, placement=True, controller=OWN_WRITER)


@pytest.mark.usefixtures("nothing_is_left")
def test_a_job_survives_that_workers_and_all_daemons_are_force_deleted(cluster, namespace, writer):
    """Failover: the rows "force-delete worker pod 0", "force-delete all IMEX daemons", "regular-delete worker pod 1"."""
    namespace.apply(domain("failover"), job("failover", 4, seconds=8))
    # Not all of them: on a busy machine the first may end before the last begins.
    running = eventually("two workers run", lambda: namespace.ready_pods("app=failover"), lambda found: len(found) >= 2)
    names = [one["metadata"]["name"] for one in running]
    namespace.kubectl("delete", "pod", names[0], "--grace-period=0", "--force")
    cluster.kubectl("delete", "pods", "-n", DRIVER, "-l", namespace.label("failover"), "--grace-period=0", "--force")
    namespace.kubectl("delete", "pod", names[-1])
    # No worker starts where no daemon is ready, so this is proof that the domain has healed.
    succeeds(namespace, "failover", 4, within=120)
    namespace.delete("job", "failover")
    namespace.delete("computedomain", "failover")


@pytest.mark.usefixtures("nothing_is_left")
def test_four_domains_that_compete_for_two_cliques_say_who_waits_and_all_finish(namespace):
    names = ("red", "green", "blue", "white")
    for name in names:
        namespace.apply(domain(name), job(name, 8, seconds=-1))
    eventually("each domain whose pods wait says so", lambda: who_waits(namespace), is_told, within=120)
    eventually("how many pods there are", lambda: len(namespace.list("pods")), 32)
    # From here on each ends as soon as it runs.
    namespace.kubectl("annotate", "pods", "--selector", "app in (red, green, blue, white)", "--overwrite",
                      "nodesim.cdom.dev/run-seconds=1")
    for name in names:
        succeeds(namespace, name, 8, within=180)
    namespace.delete("job", *names)
    namespace.delete("computedomain", *names)


def who_waits(namespace):
    """The domains of pods without a node, and the message of InUse of each. In one look, since it changes."""
    found = namespace.json("get", "computedomains,pods")["items"]
    waiting = {one["metadata"]["labels"]["app"] for one in found if one["kind"] == "Pod" and "nodeName" not in one["spec"]}
    return {name: next((condition["message"] for one in found for condition in one["status"].get("conditions", [])
                        if one["kind"] == "ComputeDomain" and one["metadata"]["name"] == name
                        and condition["type"] == "InUse"), None) for name in sorted(waiting)}


def is_told(waiting):
    """Whether two domains or more wait, as 32 workers on 16 nodes do, and each says why."""
    return len(waiting) >= 2 and all(
        message and re.search(f"Waiting for a node: pods/{name}-.*Unschedulable", message) for name, message in waiting.items())


@pytest.mark.usefixtures("nothing_is_left")
def test_a_name_may_be_used_again_at_once_however_often(cluster, namespace):
    for _ in range(8):
        namespace.create_objects(domain("again"))
        namespace.delete("computedomain", "again")
    # With a pod in it: the second domain comes as soon as the API server takes it.
    namespace.create_objects(domain("again"), pod_on("again", "node-007", "again-channel"))
    namespace.is_used("again", within=90)
    before = namespace.uid("again")
    namespace.kubectl("delete", "computedomain", "again", "--wait=false")
    namespace.kubectl("delete", "pod", "again", "--wait=false")
    eventually("the name can be used", lambda: namespace.create_objects(domain("again")))
    namespace.create_objects(pod_on("second", "node-007", "again-channel"))
    namespace.is_used("again")
    after = namespace.uid("again")
    assert after != before
    assert label_of(cluster, "node-007") == after
    assert cluster.kubectl("get", "daemonsets", "-n", DRIVER, "-o", "name").split() == [
        f"daemonset.apps/computedomain-daemon-{after}"]
    namespace.delete("pod", "second")
    namespace.delete("computedomain", "again")


@pytest.mark.usefixtures("nothing_is_left")
def test_a_namespace_that_is_deleted_in_use_ends_and_the_same_names_elsewhere_go_on(cluster, namespaces):
    first, second = namespaces("first"), namespaces("second")
    first.apply(domain("same"), pod_on("same", "node-001", "same-channel"))
    second.apply(domain("same"), pod_on("same", "node-009", "same-channel"))
    first.is_used("same")
    second.is_used("same")
    version = second.version("same")
    cluster.kubectl("delete", "namespace", first.name, "--timeout=90s")
    is_free(cluster, "node-001")
    assert second.version("same") == version, "the other domain was written"
    assert [one["metadata"]["name"] for one in second.ready_pods("")] == ["same"]
    cluster.kubectl("delete", "namespace", second.name, "--timeout=90s")


@pytest.mark.usefixtures("nothing_is_left_in_shape")
def test_crds_that_are_deleted_and_made_again_take_the_domains_and_nothing_else(cluster, namespace):
    began, process = cluster.log_size(), cluster.controller.pid
    namespace.apply(domain("swept"), pod_on("swept", "node-002", "swept-channel"))
    namespace.is_used("swept", within=90)
    namespace.kubectl("annotate", "computedomain", "swept", "cdom.dev/deletion-grace=0")
    cluster.kubectl("delete", "-k", REPO / "crds", "--timeout=120s")
    eventually("the controller names the CRD", lambda: cluster.controller_log(began),
               re.compile(r"computedomains\.resource\.nvidia\.com"))
    assert cluster.kubectl("get", "daemonsets", "-n", DRIVER, "-o", "name") == ""
    namespace.delete("pod", "swept")
    cluster.kubectl("apply", "-k", REPO / "crds")
    eventually("the CRDs are served", lambda: namespace.json("get", "computedomains"))
    namespace.apply(domain("next"), pod_on("next", "node-002", "next-channel"))
    namespace.is_used("next", within=90)
    assert (cluster.controller_runs(), cluster.controller.pid) == (True, process)
    namespace.delete("pod", "next")
    namespace.delete("computedomain", "next")


@pytest.mark.usefixtures("nothing_is_left_in_shape")
def test_a_driver_namespace_that_is_deleted_ends_and_its_domains_heal_with_the_next(cluster, namespace):
    namespace.apply(domain("uprooted"), pod_on("uprooted", "node-003", "uprooted-channel"))
    namespace.is_used("uprooted", within=90)
    uid = namespace.uid("uprooted")
    cluster.kubectl("delete", "namespace", DRIVER, "--timeout=120s")
    # Its account and Lease are deleted as well: a controller in the cluster would end, this one ends or is refused.
    cluster.end_controller()
    cluster.kubectl("apply", "-k", REPO / "manifests/local")
    cluster.write_controller_config()
    cluster.run_controller(*OWN_WRITER)
    namespace.is_used("uprooted", within=90)
    assert namespace.uid("uprooted") == uid
    namespace.delete("pod", "uprooted")
    namespace.delete("computedomain", "uprooted")


def succeeds(namespace, name, count, within):
    eventually(f"how many workers of {name} have succeeded", lambda: namespace.get("job", name)["status"].get("succeeded"),
               count, within)


def test_a_domain_without_spec_says_what_to_do(namespace):
    namespace.apply({"apiVersion": "resource.nvidia.com/v1beta1", "kind": "ComputeDomain", "metadata": {"name": "bare"}})
    namespace.says("bare", "SpecMissing", "create it again", and_also={"status": "NotReady"})
    namespace.delete("computedomain", "bare")
