"""cdom's controller with --beside-nvidia, and a stand-in for NVIDIA's controller: at any time one of both acts."""

import contextlib
import datetime
import itertools
import os
import re
import signal

import beside
import pytest
from beside import ELECTS, LEASE, TERM_FLAGS
from cluster import ACCOUNT, Setup
from endpoint import Endpoint
from namespaces import DRIVER
from nvidias import install_crds
from objects import domain, workers
from requests_of import READS, time_of
from test_upgrades import serving, watched
from waiting import eventually

CLUSTER = Setup(nodes=16, nodesim=("--job-duration", "12000"))
pytestmark = pytest.mark.usefixtures("no_controller")
KILLS = 50 if os.environ.get("CDOM_NIGHTLY") else 6
# The chart leaves NVIDIA's CRDs. A night has those of cdom, too, as the page about the switch recommends them.
CRDS = ("main", "cdom") if os.environ.get("CDOM_NIGHTLY") else ("main",)
LASTS = 3  # Seconds, the duration of the Lease.
LONG = {"LEASE_DURATION": "8s", "RENEW_DEADLINE": "6s", "RETRY_PERIOD": "500ms"}
BESIDE = ("--beside-nvidia", "--membership-writer", "daemon", "--logging-format", "json", "--leader-election-lease-lock-name", LEASE)
FLAGS = (*BESIDE, *TERM_FLAGS)
ALONE = "NVIDIA's controller acts without leader election"
ELSEWHERE = "NVIDIA's controller elects on another Lease"
SAME = "NVIDIA's controller elects on the same Lease"
ABSENT = "NVIDIA's controller is not there"


@pytest.fixture(scope="module")
def permitted(cluster):
    made = beside.Nvidia(cluster)
    made.permit()
    yield made
    made.forbid()


@pytest.fixture
def nvidia(permitted):
    """NVIDIA's controller, of which nothing exists when the case begins."""
    permitted.remove()
    yield permitted
    permitted.remove()


def said_at(cluster, text):
    """When the controller first logged that."""
    (line, *_) = [line for line in cluster.controller_log().splitlines() if text in line]
    return time_of(re.search(r'"ts":"([^"]+)"', line)[1])


def is_provisioned(namespace, name):
    eventually(f"children of {name}", lambda: namespace.exists("resourceclaimtemplate", f"{name}-channel"), within=20)


def nvidias_serves(namespace, name):
    """Applies a domain, and waits for a status as NVIDIA's controller writes it."""
    namespace.apply(domain(name))
    is_provisioned(namespace, name)
    eventually(f"status of {name}", lambda: namespace.status(name), {"status": "Ready"}, within=20)


def all_writes_of_cdoms(cluster, since):
    """ "VERB RESOURCE NAME" of each, of its Lease too. A review creates nothing."""
    return [f"{one['verb']} {one['objectRef']['resource']} {one['objectRef'].get('name', '')}" for one in cluster.requests_of(ACCOUNT, since)
            if one["verb"] not in READS and not one["objectRef"]["resource"].endswith("reviews")]


def seconds_since(then):
    return (datetime.datetime.now(datetime.timezone.utc) - then).total_seconds()


class Both:
    """The two controllers as processes, which elect on one Lease."""

    def __init__(self, cluster, nvidia, term):
        self._cluster = cluster
        self._nvidia = nvidia
        self._term = term
        self._process = None

    def start(self, who):
        """Starts it, and waits until it stands by."""
        if who == "cdom":
            self._cluster.start_controller(*BESIDE, *beside.flags_of(self._term))
            eventually("cdom's stands by", lambda: self._cluster.controller_says("Standing by"), within=30)
        else:
            self._process = self._nvidia.start(**beside.variables_of(self._term))
            eventually("NVIDIA's stands by", lambda: self._process.says("Attempting to acquire leader lease"), within=20)

    def kill(self, who):
        (self._cluster.controller if who == "cdom" else self._process).kill()

    def end(self, who):
        """By SIGTERM, as Kubernetes ends a pod."""
        if who == "cdom":
            self._cluster.end_controller()
        else:
            self._process.end()


@pytest.fixture
def crds(request, cluster):
    install_crds(cluster, request.param)
    yield
    install_crds(cluster, "cdom")


@pytest.fixture
def both(request, cluster, nvidia):
    term = getattr(request, "param", beside.TERM)
    made = Both(cluster, nvidia, term)
    nvidia.deploy(**beside.variables_of(term))
    made.start(nvidia.name)
    eventually("NVIDIA's leads", nvidia.holder, nvidia.name)
    made.start("cdom")
    yield made
    made.end(nvidia.name)
    cluster.apply(*beside.CDOMS_PERMISSIONS)  # A case takes them away.


@pytest.mark.usefixtures("crds")
@pytest.mark.parametrize("crds", CRDS, indirect=True)
def test_when_the_acting_controller_is_killed_the_other_takes_over_and_writes_never_overlap(cluster, namespace, nvidia, both):
    holders = [(nvidia.name, "cdom")[i % 2] for i in range(KILLS + 1)]
    since, waits = cluster.audit_size(), []
    namespace.apply(domain("served"), workers("served", 4))
    eventually("members of the domain", lambda: (len(namespace.workers_on("served")), namespace.members("served")),
               lambda got: got[0] == 4 and got[1] == namespace.workers_on("served"), within=90)
    eventually("the domain", lambda: namespace.status("served")["status"], "Ready", within=20)
    before = serving(namespace, "served")
    with watched(namespace, "served", "{.object.status.status} {.object.status.nodes[*].name}") as lines:
        for i, holder in enumerate(holders):
            # In each term one domain is made, and the one of the other's term is deleted.
            assert nvidia.holder() == holder
            namespace.apply(domain(f"term-{i}"))
            is_provisioned(namespace, f"term-{i}")
            if i > 0:
                namespace.delete("computedomain", f"term-{i - 1}", timeout=30)
            if i < KILLS:
                killed = datetime.datetime.now(datetime.timezone.utc)
                both.kill(holder)
                eventually("the other leads", nvidia.holder, holders[i + 1], within=30)
                waits.append((nvidia.acquired() - killed).total_seconds())
                both.start(holder)
        shown = [" ".join(sorted(line.split())) for line in lines()]
    assert serving(namespace, "served") == before
    assert len(set(shown)) == 1, shown
    assert re.fullmatch(r"Ready( node-\d+){4}", shown[0])

    written = beside.writes(cluster.audit_entries(since), ACCOUNT, beside.ACCOUNT)
    terms = beside.terms(written)
    count = {who: sum(one[1] for one in terms if one[0] == who) for who in (ACCOUNT, beside.ACCOUNT)}
    overlaps = [(one[3] - other[2]).total_seconds() * 1000 for one, other in itertools.pairwise(terms)]
    print(f"{KILLS} kills: {count[ACCOUNT]} writes of cdom's controller, {count[beside.ACCOUNT]} of NVIDIA's; "
          f"largest overlap {max(0, *overlaps):.0f} ms, smallest pause {-max(overlaps):.0f} ms; "
          f"taken over after {min(waits):.1f} to {max(waits):.1f} s")
    assert [one[0] for one in terms] == [ACCOUNT if who == "cdom" else beside.ACCOUNT for who in holders], written
    assert max(overlaps) < 0
    # The killed one renewed within its deadline of 2 s. cdom's, which may have started only just, looks at the Deployment for the
    # duration of a Lease before it takes part. Attempts take 1 s, a busy machine 2 s.
    assert LASTS - 2 <= min(waits) <= max(waits) <= 2 * LASTS + 3


@pytest.mark.parametrize("both", [LONG], indirect=True, ids=["long"])
def test_one_that_ends_hands_over_at_once_and_an_uninstalled_one_within_the_time_of_a_lease(cluster, namespace, nvidia, both):
    def took(follows, ends):
        """Seconds until the other acts, after ends()."""
        began = datetime.datetime.now(datetime.timezone.utc)
        ends()
        eventually("the other leads", nvidia.holder, follows, within=30)
        return (nvidia.acquired() - began).total_seconds()
    namespace.apply(domain("served"), workers("served", 1))
    eventually("the domain", lambda: (namespace.status("served")["status"], namespace.members("served")),
               lambda got: got == ("Ready", namespace.workers_on("served")) and got[1], within=90)
    before = serving(namespace, "served")
    with watched(namespace, "served", "{.object.status.status} {.object.status.nodes[*].name}") as lines:
        # A controller of cdom first looks at the Deployment, for the 8 s of a Lease.
        eventually("cdom's takes part", lambda: seconds_since(said_at(cluster, SAME)) > 9, within=20)
        # The Lease would last for 8 s.
        assert took("cdom", lambda: both.end(nvidia.name)) < 7
        both.start(nvidia.name)
        assert took(nvidia.name, lambda: both.end("cdom")) < 7
        both.start("cdom")
        took("cdom", lambda: both.end(nvidia.name))
        both.start(nvidia.name)

        def uninstall():
            # As `helm uninstall` does: the permissions can go before the pod has ended.
            cluster.kubectl("delete", "role,rolebinding", "beside-nvidia", "-n", DRIVER)
            both.end("cdom")
        log = cluster.controller.log
        assert 6 <= took(nvidia.name, uninstall) <= 20
        assert "The Lease was not released and will expire" in log.read_text()
        namespace.apply(domain("next"))
        is_provisioned(namespace, "next")
        namespace.delete("computedomain", "next", timeout=30)
        shown = set(lines())
    assert serving(namespace, "served") == before
    assert len(shown) == 1 and re.fullmatch(r"Ready node-\d+", *shown), shown
    namespace.delete("deployment", "served", timeout=30)
    namespace.delete("computedomain", "served", timeout=30)


@pytest.mark.parametrize(("env", "said", "remedy"), [
    ({}, ALONE, "controller.leaderElection.enabled=true"),
    ({**ELECTS, "LEADER_ELECTION_LEASE_LOCK_NAME": "another"}, ELSEWHERE, "LEADER_ELECTION_LEASE_LOCK_NAME"),
], ids=["alone", "elsewhere"])
def test_while_nvidias_does_not_elect_on_the_same_lease_cdoms_stands_by_and_says_what_to_set(cluster, namespace, nvidia, env, said, remedy):
    nvidia.deploy(**env)
    since = cluster.audit_size()
    with nvidia.running(**env):
        cluster.start_controller(*FLAGS)
        eventually("what to set", cluster.controller_log, re.compile(f'{said}.*"remedy":"[^"]*{re.escape(remedy)}'), within=20)
        nvidias_serves(namespace, "first")
        # A Lease that nobody holds would be its own by then.
        eventually("more than the duration of a Lease", lambda: seconds_since(said_at(cluster, said)) > LASTS + 2, within=20)
    assert all_writes_of_cdoms(cluster, since) == []
    nvidia.deploy(**ELECTS)
    eventually("it sees that", lambda: cluster.controller_says(SAME), within=20)
    eventually("it leads, since no other does", lambda: cluster.controller_says("Reconciling"), within=20)
    namespace.says("first", "Idle", within=20)


def test_without_nvidias_deployment_cdoms_acts_after_the_time_of_a_lease(cluster, nvidia):
    del nvidia
    cluster.run_controller(*FLAGS)
    assert LASTS <= (said_at(cluster, "Reconciling") - said_at(cluster, ABSENT)).total_seconds() <= LASTS + 6


def test_when_nvidias_deployment_is_scaled_to_zero_cdoms_acts_after_the_time_of_a_lease(cluster, nvidia):
    nvidia.deploy()
    cluster.start_controller(*FLAGS)
    eventually("it stands by", lambda: cluster.controller_says(ALONE), within=20)
    nvidia.deploy(replicas=0)
    eventually("it leads", lambda: cluster.controller_says("Reconciling"), within=20)
    assert LASTS <= (said_at(cluster, "Reconciling") - said_at(cluster, ABSENT)).total_seconds() <= LASTS + 6


def test_when_nvidias_appears_without_election_cdoms_stands_down_and_writes_nothing_more(cluster, namespace, nvidia):
    cluster.run_controller(*FLAGS)
    namespace.apply(domain("first"))
    namespace.is_idle("first")
    term = cluster.audit_size()
    nvidia.deploy()
    eventually("the end of its term", lambda: cluster.controller_says("Released the Lease to NVIDIA's controller"), within=20)
    assert nvidia.holder() == ""
    assert all_writes_of_cdoms(cluster, term)[-1] == f"update leases {LEASE}"
    since = cluster.audit_size()
    with nvidia.running():
        nvidias_serves(namespace, "second")
        namespace.delete("computedomain", "first", "second", timeout=30)
    assert all_writes_of_cdoms(cluster, since) == []
    assert cluster.controller_runs()


@contextlib.contextmanager
def paused(process):
    os.kill(process.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(process.pid, signal.SIGCONT)


@pytest.fixture
def token(cluster):
    """Of an account that may read the metrics."""
    cluster.kubectl("create", "clusterrolebinding", "beside-metrics", "--clusterrole=cdom-metrics-reader", "--serviceaccount=default:default")
    yield cluster.kubectl("create", "token", "default").strip()
    cluster.kubectl("delete", "clusterrolebinding", "beside-metrics")


def test_writes_of_nvidias_controller_while_cdoms_leads_become_a_condition_an_event_and_a_metric(cluster, namespace, nvidia, token):
    endpoint = Endpoint(cluster, "daemon")

    def metric_is(value):
        series = f'cdom_domain_conflicted{{namespace="{namespace.name}",name="both"}} {value}'
        eventually(series, lambda: series in endpoint.metrics(token)[1].splitlines(), within=20)
    namespace.apply(domain("both"))
    namespace.is_idle("both")
    assert namespace.condition("both", "Conflicted") == {}
    metric_is(0)
    with nvidia.running() as process:
        # cdom's could write the same first, and leave nothing to write.
        with paused(cluster.controller):
            namespace.apply(workers("both", 1))
            eventually("NVIDIA's writes the member", lambda: process.says('"Wrote" verb="update" resource="computedomains"'), within=30)
        found = namespace.says("both", "OtherControllerWrites", "stop one of them", kind="Conflicted", within=20)
        assert found["status"] == "True"
    namespace.tells("both", "^Warning OtherControllerWrites ")
    metric_is(1)
    # The domain works, as far as cdom's serves it.
    namespace.is_ready("both", 1)
    # A controller that starts later has seen no such write.
    cluster.run_controller("--membership-writer", "daemon")
    eventually("the condition", lambda: namespace.condition("both", "Conflicted"), {}, within=20)
    namespace.is_ready("both", 1)
