"""An upgrade from an earlier commit: domains and jobs run while manifests and controller change under them."""

import json
import re

import pytest
from cluster import REPO, Cluster, Setup, built_before
from clusters import started
from namespaces import DRIVER, Namespace, conditions
from objects import LABEL, domain, job, pod_on, workers
from recorder import recorded, several, states
from waiting import eventually

COUNTS = {"worker-a": 3, "worker-b": 2}


@pytest.fixture(scope="module")
def before():
    """A folder with manifests and controller of the earlier commit."""
    return built_before()


@pytest.fixture
def cluster(request, programs, before):
    """A cluster of the case, with the earlier manifests."""
    setup = Setup(nodes=16, manifests=before / "manifests/local")
    with started(lambda programs, folder: Cluster(programs, folder, setup), programs, request, "cdom-upgrade.") as made:
        yield made


def of_workers(lines, uids):
    """Without what belongs to domains and pods that came later."""
    return [line for line in lines if re.search(f" worker-[ab]-| computedomain-daemon-({'|'.join(uids)})", line)]


def serve(namespace):
    for name, count in COUNTS.items():
        def get(name=name):
            return conditions(namespace.status(name))["Ready"]["status"], namespace.members(name), namespace.workers_on(name)
        # Whatever the reason says: the two may share a clique.
        eventually(f"{name} serves", get,
                   lambda got, count=count: got[0] == "True" and len(got[1]) == count and got[1] == got[2], within=100)


def ready_since(namespace):
    """When each domain in use became Ready."""
    found = {name: namespace.status(name) for name in COUNTS}
    return {name: (one["status"], conditions(one)["Ready"]["status"], conditions(one)["Ready"]["lastTransitionTime"])
            for name, one in found.items()}


@pytest.mark.parametrize("entries_by", ["daemon", "controller"])
def test_an_upgrade_restarts_nothing_and_no_domain_leaves_ready(cluster, before, entries_by):
    flags = ("--membership-writer", entries_by)
    namespace = Namespace(cluster, "default")
    cluster.run_controller(*flags, program=before / "compute-domain-controller")
    namespace.apply(domain("worker-a"), domain("worker-b"), domain("idle"), workers("worker-a", 3, one_clique=True),
                    job("worker-b", 2, seconds=-1))
    serve(namespace)
    since, uids = ready_since(namespace), [namespace.uid(name) for name in (*COUNTS, "idle")]
    with recorded(cluster) as recorders:
        # As an administrator does it: first the manifests, then the program.
        cluster.kubectl("apply", "-k", REPO / "manifests/local")
        cluster.run_controller(*flags)
        # It has done what there was to do: a domain that is made now is served, used and ended.
        namespace.apply(domain("next"))
        eventually("the next domain has its template", lambda: namespace.get("resourceclaimtemplate", "next-channel"))
        node = json.loads(cluster.kubectl("get", "nodes", "-l", f"!{LABEL}", "-o", "json"))["items"][0]["metadata"]["name"]
        namespace.apply(pod_on("next", node, "next-channel"))
        namespace.kubectl("wait", "--for=condition=Ready", "pod/next", "--timeout=100s")
        namespace.delete("pod", "next")
        namespace.delete("computedomain", "next")

    domains = [line for line in recorders["computedomains"].lines() if line.split()[1] != "next"]
    assert states(domains) == {name: ["Ready True"] for name in (*COUNTS, "idle")}
    assert several(domains) == ({}, [])
    namespace.is_idle("idle")
    assert ready_since(namespace) == since
    sets = of_workers(recorders["daemonsets"].lines(), uids[:-1])
    assert sets
    assert several(sets) == ({}, [])
    # A domain without daemons gets names of its own in IMEX, if they are cdom's daemons.
    eventually("DaemonSets with names", lambda: [
        "IMEX_NODE_NAMES" in json.dumps(cluster.get("daemonset", f"computedomain-daemon-{uid}", DRIVER)) for uid in uids],
        [False, False, entries_by == "controller"])
    pods = of_workers(recorders["pods"].lines(), uids)
    assert several(pods) == ({}, [])
    assert len(states(pods)) == 10, "five workers and five daemons"

    # And they can end.
    namespace.delete("deployment", "worker-a")
    namespace.delete("job", "worker-b")
    cluster.kubectl("delete", "computedomains", "--all", "--timeout=90s")
    eventually("children that are left", lambda: cluster.kubectl(
        "get", "daemonsets,resourceclaimtemplates,computedomaincliques", "--all-namespaces", "-o", "name").split(), [])
