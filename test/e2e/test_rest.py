"""A controller that starts over a domain at rest has nothing to write. What it logs, and says of its threads."""

import os
import pathlib
import re
import signal

import pytest
from cluster import ACCOUNT, PLACEMENT, Setup
from namespaces import DRIVER, is_ready
from objects import domain, pod_on
from requests_of import status_writes, writes
from versions import needs_placement
from waiting import eventually

CLUSTER = Setup(nodes=16, placement=True, controller=("--membership-writer", "daemon"))


def pass_is_over(cluster):
    """Whether the controller has looked at each domain, and none waits or is worked on."""
    if not cluster.controller_says("Reconciling"):
        return False
    text = cluster.controller_get("health and metrics", "/metrics")

    def values(name):
        return [float(value) for value in re.findall(rf"^{name}(?:{{.*}})? (\S+)$", text, re.MULTILINE)]
    passes = sum(values("controller_runtime_reconcile_total"))
    busy = values("workqueue_depth") + values("controller_runtime_active_workers")
    return passes >= 1 and busy == [0, 0]


@pytest.mark.usefixtures("nothing_is_left")
def test_a_controller_at_any_log_level_writes_nothing_to_a_domain_at_rest(cluster, namespace):
    """The rows "controller verbosity levels" and "daemon verbosity"."""
    namespace.apply(domain("rests"), pod_on("rests", "node-004", "rests-channel"))
    namespace.is_used("rests", within=90)
    eventually("its pod is ready", lambda: is_ready(namespace.get("pod", "rests")))
    version, before = namespace.version("rests"), cluster.lives("")
    cluster.end_controller()
    since = cluster.audit_size()
    for level in range(7):
        cluster.start_controller("-v", str(level))
        eventually(f"the controller at level {level} has looked at the domain, and has nothing more to do",
                   lambda: pass_is_over(cluster))
        cluster.end_controller()
    assert writes(cluster.requests_of(ACCOUNT, since)) == []
    assert status_writes(cluster.requests_of(ACCOUNT, since), "rests") == []
    assert namespace.version("rests") == version
    assert cluster.lives("") == before
    cluster.start_controller("--log-verbosity-cd-daemon", "4")

    def level_of_daemons():
        found = cluster.get("daemonset", namespace.daemon_set("rests"), DRIVER)
        env = found["spec"]["template"]["spec"]["containers"][0]["env"]
        return {one["name"]: one.get("value") for one in env}["LOG_VERBOSITY"]
    eventually("the daemons' log level", level_of_daemons, "4")
    namespace.delete("pod", "rests")
    namespace.delete("computedomain", "rests")


@needs_placement
@pytest.mark.usefixtures("nothing_is_left_in_shape")
def test_a_controller_that_starts_where_no_policy_places_pods_writes_nothing_to_a_domain_at_rest(cluster, namespace):
    cluster.kubectl("delete", "-k", PLACEMENT)
    cluster.run_controller()
    namespace.apply(domain("unplaced"))
    namespace.says("unplaced", "Accepted", "cdom-placement does not exist", kind="Accepted")
    version, since = namespace.version("unplaced"), cluster.audit_size()
    for _ in range(3):
        cluster.start_controller()
        eventually("the controller has looked at the domain, and has nothing more to do", lambda: pass_is_over(cluster))
    assert status_writes(cluster.requests_of(ACCOUNT, since), "unplaced") == []
    assert namespace.version("unplaced") == version
    cluster.kubectl("apply", "-k", PLACEMENT)
    namespace.delete("computedomain", "unplaced")


OF_LEVEL = {"Processing a ComputeDomain": 2, "Listing a resource": 3, "Watching a resource": 3, "Response verb=": 6}


def test_each_log_level_adds_its_lines(cluster, namespace):
    namespace.apply(domain("logged"))
    for level in (0, 1, 2, 3, 5, 6):
        cluster.run_controller("-v", str(level))
        eventually(f"the controller at level {level} has looked at the domain", lambda: pass_is_over(cluster))
        log = cluster.controller_log()
        said = {words for words in OF_LEVEL if words in log}
        assert said == {words for words, least in OF_LEVEL.items() if least <= level}, level
        assert f"Verbosity: {level}, driverNamespace: {DRIVER}, additionalNamespaces: []" in log
        assert '"MPSSupport":false' in log
    # Neither a token nor what an object has in it.
    assert not re.search("Bearer|Authorization|managedFields", log)
    namespace.delete("computedomain", "logged")


def test_a_controller_that_gets_sigusr2_says_where_each_thread_is_and_goes_on(cluster, namespace):
    cluster.run_controller()
    os.kill(cluster.controller.pid, signal.SIGUSR2)
    eventually("the controller has written it", lambda: cluster.controller_says("Wrote what each thread does"))
    text = pathlib.Path("/tmp/goroutine-stacks.dump").read_text()
    assert text.startswith("compute-domain-controller ")
    for function in ("kube::WatchLoop::Run(", "kube::BlockingQueue::Get"):
        assert function in text
    assert "it does not answer" not in text
    assert cluster.controller.is_running()
    # It still reads and writes.
    namespace.apply(domain("after-the-dump"))
    eventually("the domain is provided for", lambda: namespace.get("resourceclaimtemplate", "after-the-dump-channel"))
    namespace.delete("computedomain", "after-the-dump")
