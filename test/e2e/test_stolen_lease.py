"""A Lease that another client takes while the controller works."""

import contextlib
import datetime
import json
import os
import re
import signal

import pytest
from cluster import ACCOUNT, Setup
from connection import Way
from namespaces import DRIVER
from objects import LABEL, domain
from requests_of import READS, time_of
from waiting import eventually

CLUSTER = Setup(nodes=0)
COUNT = 600
LATENCY = 0.4  # Seconds. To remove all labels takes 14 s.
UNDER_WAY = 16  # Writes that the controller has sent and that have not arrived, at most.


@pytest.fixture
def controllers_of_kubernetes_are_stopped(cluster):
    """Nobody acts on what is made: no daemons, no evictions."""
    pids = [int((cluster.plane / "pids" / name).read_text().split()[0]) for name in ("kube-controller-manager", "kube-scheduler")]
    with contextlib.ExitStack() as later:
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
            later.callback(os.kill, pid, signal.SIGCONT)
        yield


@pytest.fixture
def nodes_are_deleted(cluster):
    yield
    cluster.kubectl("delete", "--raw", "/api/v1/nodes?labelSelector=cdom.test%2Fbare")  # In one request.


@pytest.fixture
def slow_way(cluster, tmp_path):
    """A kubeconfig of the controller whose requests arrive late."""
    way = Way(json.loads(cluster.controller_config.read_text()), LATENCY)
    yield way.write_config(tmp_path / "slow.kubeconfig")
    way.end()


def labelled(cluster, uid):
    return len(cluster.kubectl("get", "nodes", "-l", f"{LABEL}={uid}", "-o", "name").split())


def now():
    return datetime.datetime.now(datetime.timezone.utc)


def bare_node(i, uid):
    """A node with the label of the domain, and no kubelet."""
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"bare-{i}", "labels": {LABEL: uid, "cdom.test/bare": ""}}}


@pytest.mark.usefixtures("nodes_are_deleted", "controllers_of_kubernetes_are_stopped")
def test_a_lease_that_is_stolen_during_a_deletion_ends_all_writing(cluster, removed_later, slow_way):
    """At its next renewal. What it has sent by then may still arrive."""
    cluster.run_controller()
    removed_later(domain("doomed"))
    eventually("the domain has its children", lambda: cluster.condition("doomed", "Ready")["reason"], "Idle")
    uid = cluster.get("computedomain", "doomed")["metadata"]["uid"]
    # Ended meanwhile, or it would remove the labels as of nodes that no pod uses.
    cluster.end_controller()
    cluster.create(*[bare_node(i, uid) for i in range(COUNT)])
    cluster.run_controller("--logging-format", "json", kubeconfig=slow_way)
    since = cluster.audit_size()
    cluster.kubectl("delete", "computedomain", "doomed", "--wait=false")
    eventually("labels are removed", lambda: cluster.audited("patch", "nodes", since))
    stolen = now().strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    cluster.kubectl("patch", "lease", "-n", DRIVER, "cdom-controller", "--type=merge", "-p",
                    f'{{"spec": {{"holderIdentity": "thief", "renewTime": "{stolen}"}}}}')
    said = re.compile(r'"ts":"([^"]+)".*"msg":"No more writes are sent"')
    log = eventually("the controller's log", cluster.controller_log, said)
    seen = time_of(said.search(log)[1])
    cluster.end_controller()

    left = labelled(cluster, uid)
    (theft,) = [time_of(one["stageTimestamp"]) for one in cluster.audit_entries(since)
                if one["verb"] == "patch" and one["objectRef"]["resource"] == "leases" and one["userAgent"].startswith("kubectl/")]
    renewals = [(one["verb"], one["responseStatus"]["code"]) for one in cluster.requests_of(ACCOUNT, since)
                if one["objectRef"].get("name") == "cdom-controller" and time_of(one["stageTimestamp"]) > theft]
    written = [(time_of(one["requestReceivedTimestamp"]), one["verb"], one["objectRef"]["resource"], one["objectRef"].get("name"))
               for one in cluster.requests_of(ACCOUNT, since) if one["verb"] not in READS]
    last = max(written)[0]
    print(f"{left} of {COUNT} labels are left; seen {(seen - theft).total_seconds():.3f} s after the theft, "
          f"last write {(last - theft).total_seconds():.3f} s after it")
    assert 0 < left < COUNT, "no deletion was under way"
    # Its next renewal was refused, and when it looked why, it stopped.
    assert renewals[:2] == [("update", 409), ("get", 200)]
    assert "The term is over, because another replica holds the Lease" in log
    # Both by the clock of this machine.
    assert len([one for one in written if one[0] > seen]) <= UNDER_WAY
    assert cluster.get("lease", "cdom-controller", DRIVER)["spec"]["holderIdentity"] == "thief"

    cluster.kubectl("delete", "lease", "-n", DRIVER, "cdom-controller")
    cluster.start_controller()
    eventually("the domain, which another leader deletes", lambda: cluster.get("computedomain", "doomed"), None)
    assert labelled(cluster, uid) == 0
