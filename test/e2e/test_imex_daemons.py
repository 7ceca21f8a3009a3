"""IMEX daemons as processes, under both membership writers: they form a domain, and say what becomes of IMEX and of peers.

All of it runs in a network of its own, where the pods' addresses are. Needs root. With --imex it is NVIDIA's IMEX that runs.
"""

import json
import os
import re
import signal
import time

import pytest
from cluster import Cluster, Setup
from clusters import started
from dry_runs import DryRuns
from imex_daemon import CLIQUE_SIZE
from imex_daemons import Daemons
from kustomizations import overlay
from namespaces import DRIVER
from network import own_network
from nvidia_driver import says_each_gate_once
from waiting import eventually


@pytest.fixture(scope="module")
def cluster(request, programs):
    count = request.config.getoption("--daemons")
    setup = Setup(nodes=count, cliques=-(-count // CLIQUE_SIZE), nodesim=("--daemons-elsewhere", "--daemon-delay", "0ms"))

    def make(programs, folder):
        # With only the permissions that docs/imex-daemon.md names for this membership writer.
        manifests = overlay(folder / "site", "local", components=("controller-writes/permissions",))
        return Cluster(programs, folder, setup._replace(manifests=manifests))
    with own_network("10.0.0.0/8"), started(make, programs, request, "cdom-daemons.") as made:
        yield made


@pytest.fixture(scope="module")
def shared_daemons(request, cluster, programs):
    imex = request.config.getoption("--imex")
    for name in ("nvidia-imex", "nvidia-imex-ctl") if imex else ():
        assert os.access(imex / name, os.X_OK), f"there is no program {imex / name}: --imex names the folder of NVIDIA's IMEX"
    made = Daemons(cluster, programs, imex)
    yield made
    made.end()


@pytest.fixture
def daemons(request, shared_daemons):
    """They are gone after a case that failed."""
    yield shared_daemons
    if getattr(request.node, "has_failed", False):
        print(shared_daemons.logs())
        shared_daemons.end()


@pytest.fixture
def formed(daemons):
    """The controller writes their cliques."""
    daemons.settle("controller")
    return daemons


@pytest.fixture
def joined(daemons):
    """They write their cliques themselves, as NVIDIA's do."""
    daemons.settle("daemon")
    return daemons


@pytest.fixture
def stand_in(request):
    if request.config.getoption("--imex"):
        pytest.skip("NVIDIA's IMEX does not do this on request")


def test_daemons_form_a_clique_without_a_conflict_and_all_are_connected(formed):
    assert {account for account, _, _ in formed.writes} == {"cdom-controller"}
    assert [one for one in formed.writes if one[2] == 409] == []
    # Each write has changed something; the simulation counts how many a formation may need.
    cliques = formed.cluster.list("computedomaincliques", DRIVER, formed.label(formed.domain))
    assert sum(one["metadata"]["generation"] for one in cliques) == len(formed.writes)
    print(f"\ndaemons formed: {formed.figure}, {len(formed.writes)} clique writes")


def test_feature_gates_without_effect_are_said_and_stop_no_daemon(formed):
    assert [one.name for one in formed.daemons.values() if not says_each_gate_once(one.log())] == []


def test_daemons_at_rest_send_no_request_and_have_little_memory(request, formed):
    seconds = request.config.getoption("--rest")
    assert formed.asked() >= formed.count, "the audit log does not have what daemons ask for"
    # What they report of their formation may come late.
    formed.all_are_connected()
    formed.all_report()
    before = formed.asked()
    time.sleep(seconds)  # For so long it is counted.
    sent, largest = formed.asked() - before, max(one.memory() for one in formed.daemons.values())
    print(f"\ndaemons at rest: {sent} requests of {formed.count} daemons in {seconds} s, {largest} KiB of its own the largest")
    assert sent == 0
    assert 0 < largest <= 4 << 10


def test_the_token_of_a_daemon_writes_no_clique_and_no_other_pod(formed):
    daemon, other = formed["node-000"], formed["node-001"].name
    pods = f"/api/v1/namespaces/{DRIVER}/pods"
    clique = f"/apis/resource.nvidia.com/v1beta1/namespaces/{DRIVER}/computedomaincliques/{formed.uid(formed.domain)}.{daemon.clique}"
    api = DryRuns(formed.cluster)
    api.add_token("daemon", daemon.token)
    asked = [
        ("patch", clique, {"daemons": []}),
        ("delete", clique, None),
        ("patch", f"{pods}/{other}", {"metadata": {"annotations": {"cdom.dev/imex": "x"}}}),
        ("patch", f"{pods}/{other}", {"metadata": {"labels": {"resource.nvidia.com/computeDomain.cliqueID": "x"}}}),
        ("patch", f"{pods}/{daemon.name}", {"metadata": {"labels": {"app": "x"}}}),
        ("patch", f"{pods}/{daemon.name}", {"metadata": {"annotations": {"cdom.dev/other": "x"}}}),
        ("patch", f"{pods}/{daemon.name}", {"spec": {"activeDeadlineSeconds": 1}}),
        ("get", pods, None),
        ("get", f"/api/v1/namespaces/{DRIVER}/secrets", None),
        ("get", "/api/v1/nodes", None),
    ]
    answers = [(*one, api.ask("daemon", one[0], one[1], one[2] and json.dumps(one[2])).code) for one in asked]
    assert answers == [(*one, 403) for one in asked]


@pytest.mark.usefixtures("stand_in")
def test_an_imex_that_does_not_say_whom_it_reaches_is_reported_and_told(formed):
    before = formed.members_ready()
    with formed["node-003"].told("hangs"):
        eventually("what node-003 reports", lambda: formed.report("node-003", "state", "peersUnanswered"), ("READY", True), within=90)
        # Each daemon asks all IMEX, so none of the eighteen gets an answer.
        formed.says(formed.domain, "ImexPeersUnknown", r"which peers it reaches: (node-\d+, ){4}[^.]*node-\d+ and 13 more\.",
                    kind="MembersReady", within=90)
    eventually("the condition is as before", formed.members_ready, before, within=90)


@pytest.mark.usefixtures("stand_in")
def test_a_daemon_whose_imex_waits_for_others_reports_its_state_and_is_not_ready(formed):
    daemon = formed["node-004"]
    with daemon.told("state", "WAITING_FOR_RECOVERY"):
        eventually("its probe", daemon.probe, (1, "IMEX is not ready: WAITING_FOR_RECOVERY"))
        eventually("what it reports", lambda: formed.report("node-004", "state"), ("WAITING_FOR_RECOVERY",))
    eventually("its probe", daemon.probe, (0, ""))
    eventually("what it reports", lambda: formed.report("node-004", "state"), ("READY",))


def test_an_imex_that_dies_is_started_again_told_and_ends_its_peers_sessions(request, formed):
    daemon, peer = formed["node-005"], formed["node-000"]
    (index, restarts), before, since = formed.report("node-005", "index", "restarts"), formed.restarted(), len(peer.log())
    daemon.kill_imex()
    eventually("what it reports", lambda: formed.report("node-005", "state", "restarts"), ("READY", (restarts or 0) + 1))
    assert daemon.process.is_running()
    if not request.config.getoption("--imex"):  # The message is the stand-in's.
        eventually("its peers say what is lost", lambda: peer.log(since),
                   re.compile(f"Session with node {index} has ended: what was imported from it is lost"))
    formed.all_are_connected()
    formed.all_report()
    eventually("nodes whose IMEX was started again under a job", formed.restarted, before | {"node-005"})


def test_a_peer_that_cannot_be_reached_is_reported_and_fails_no_probe(formed):
    index, before = formed.report("node-007", "index")[0], formed.restarted()
    with formed["node-007"].told("deaf"):
        formed["node-006"].kill_imex()  # Whose next one has to connect.
        eventually("what node-006 reports", lambda: formed.report("node-006", "unreachable"), ([index],))
        eventually("its probe", formed["node-006"].probe, (0, ""))
        formed.says(formed.domain, "ImexPeersUnreachable", r"node-\d+ to node-007", kind="MembersReady", within=60)
    formed.all_report(within=90)
    eventually("nodes whose IMEX was started again under a job", formed.restarted, before | {"node-006"})


@pytest.mark.usefixtures("stand_in")
def test_an_imex_that_ends_with_an_error_is_told_and_started_until_it_is_ready(formed):
    daemon, restarts = formed["node-005"], formed.report("node-005", "restarts")[0] or 0
    since = len(daemon.log())
    with daemon.told("fails", "GPU initialization failed"):
        eventually("what it reports", lambda: formed.report("node-005", "state"), ("ENDED",))
        assert re.search("ERROR.*GPU initialization failed", daemon.log(since))
        assert daemon.process.is_running()
    eventually("state and restarts that it reports", lambda: formed.report("node-005", "state", "restarts"),
               lambda got: got[0] == "READY" and got[1] > restarts, within=90)
    formed.all_are_connected()


@pytest.mark.usefixtures("stand_in")
def test_an_imex_that_was_killed_waits_for_the_node_that_had_imported_from_it(formed):
    daemon, importer = formed["node-001"], formed["node-002"]
    index = str(formed.report("node-002", "index")[0])
    with daemon.told("importers", index):
        eventually("importers that it has noted", daemon.importers, [index])
        with importer.frozen_imex():
            daemon.kill_imex()
            eventually("what it reports", lambda: formed.report("node-001", "state"), ("WAITING_FOR_RECOVERY",))
            eventually("its probe", daemon.probe, (1, "IMEX is not ready: WAITING_FOR_RECOVERY"))
        eventually("what it reports", lambda: formed.report("node-001", "state"), ("READY",))
    formed.all_report(within=90)


def test_daemons_that_are_told_to_end_take_imex_along_and_leave_no_trace(formed):
    first = formed["node-000"]
    # It is told three times before its IMEX ended: to give up would be to kill IMEX.
    with first.frozen_imex():
        os.kill(first.process.pid, signal.SIGTERM)
        eventually("it is about to end", lambda: first.process.says("Stopping"))
        os.kill(first.process.pid, signal.SIGINT)
        os.kill(first.process.pid, signal.SIGTERM)
    formed.stop()
    formed.delete_domain()


def test_daemons_that_write_cliques_join_for_themselves_and_all_are_connected(joined):
    own = [code for account, _, code in joined.writes if account.startswith("compute-domain-daemon")]
    assert 403 not in [code for _, _, code in joined.writes]
    assert joined.reports()["node-000"] == {}
    print(f"\ndaemons joined: {joined.figure}, {len(own)} writes, {own.count(409)} of them conflicts")


def test_daemons_that_write_cliques_take_their_entries_out_at_their_end(joined):
    assert joined.entries() == joined.count
    # Each gives its write up after 10 s, which the conflicts of all at once may take on a busy machine.
    joined.stop(together=False)
    eventually("entries in cliques", joined.entries, 0)
