"""cdom's controller with --beside-nvidia, and a stand-in for NVIDIA's controller: at any time one of both acts."""

import contextlib
import datetime
import itertools
import os
import re
import signal

import beside
import pytest
from beside import ELECTS, LASTS, LEASE, TERM_FLAGS
from cluster import ACCOUNT, Setup
from endpoint import Endpoint
from hand_overs import hand_overs
from namespaces import DRIVER, conditions
from nvidia_driver import install_crds
from objects import domain, workers
from requests_of import READS, time_of
from test_upgrades import serving, watched
from versions import needs_dra_v1
from waiting import eventually

CLUSTER = Setup(nodes=16, nodesim=("--job-duration", "12000"))
pytestmark = [pytest.mark.usefixtures("no_controller"), needs_dra_v1]  # The stand-in for NVIDIA's controller has v1 alone.
KILLS = 50 if os.environ.get("CDOM_NIGHTLY") else 6
# The chart leaves NVIDIA's CRDs. A night has those of cdom, too, as the page about the switch recommends them.
CRDS = ("main", "cdom") if os.environ.get("CDOM_NIGHTLY") else ("main",)
FLAGS = ("--beside-nvidia", "--membership-writer", "daemon", "--logging-format", "json", "--leader-election-lease-lock-name", LEASE,
         *TERM_FLAGS)
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
    eventually(f"children of {name}", lambda: namespace.exists("resourceclaimtemplate", f"{name}-channel"))


def nvidias_serves(namespace, name):
    """Applies a domain, and waits for a status as NVIDIA's controller writes it."""
    namespace.apply(domain(name))
    is_provisioned(namespace, name)
    eventually(f"status of {name}", lambda: namespace.status(name), {"status": "Ready"})


def all_writes_of_cdoms(cluster, since):
    """ "VERB RESOURCE NAME" of each, of its Lease too. A review creates nothing."""
    return [f"{one['verb']} {one['objectRef']['resource']} {one['objectRef'].get('name', '')}" for one in cluster.requests_of(ACCOUNT, since)
            if one["verb"] not in READS and not one["objectRef"]["resource"].endswith("reviews")]


def seconds_since(then):
    return (datetime.datetime.now(datetime.timezone.utc) - then).total_seconds()


def has_expired(taken):
    """Whether the Lease was taken when it had expired: not before that, and by cdom when it looked next. How soon NVIDIA's
    controller takes it depends on when that one has read the answer to its look, which no log shows."""
    in_time = not taken.taker.startswith("cdom-controller") or taken.late_looks(LASTS) <= 2
    return not taken.released and taken.seconds >= LASTS and in_time


def is_handed_over(taken):
    """Whether its holder let the Lease go, and the other took it when it looked next."""
    return taken.released and len(taken.looks) <= 1


def writes_of_lease(cluster, since):
    """When each write of the Lease that was accepted came, by whichever controller."""
    return [time_of(one["requestReceivedTimestamp"]) for one in cluster.audit_entries(since) if one["verb"] in ("create", "update")
            and one["objectRef"].get("resource") == "leases" and one["objectRef"].get("name") == LEASE
            and one["responseStatus"]["code"] < 300]


def leads_at_its_first_look(cluster, since):
    """Whether cdom's took the Lease when NVIDIA's had been away for the duration of one: not before that, and without another look
    at its Deployment."""
    left, taken = said_at(cluster, ABSENT) + datetime.timedelta(seconds=LASTS), min(writes_of_lease(cluster, since))
    looks = [time_of(one["requestReceivedTimestamp"]) for one in cluster.audited("list", "deployments", since)]
    return left <= taken and len([look for look in looks if left <= look < taken]) <= 2


class Both:
    """The two controllers as processes, which elect on one Lease."""

    def __init__(self, cluster, nvidia):
        self._cluster = cluster
        self._nvidia = nvidia
        self._process = None

    def start(self, who):
        """Starts it, and waits until it stands by."""
        if who == "cdom":
            self._cluster.start_controller(*FLAGS)
            eventually("cdom's stands by", lambda: self._cluster.controller_says("Standing by"))
        else:
            self._process = self._nvidia.start(**ELECTS)
            eventually("NVIDIA's stands by", lambda: self._process.says("Attempting to acquire leader lease"))

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
def both(cluster, nvidia):
    made = Both(cluster, nvidia)
    nvidia.deploy(**ELECTS)
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
    since = cluster.audit_size()
    namespace.apply(domain("served"), workers("served", 4))
    eventually("members of the domain", lambda: (len(namespace.workers_on("served")), namespace.members("served")),
               lambda got: got[0] == 4 and got[1] == namespace.workers_on("served"), within=90)
    eventually("the domain", lambda: namespace.status("served")["status"], "Ready")
    before = serving(namespace, "served")
    with watched(namespace, "served", "{.object.status.status} {.object.status.nodes[*].name}") as lines:
        for i, holder in enumerate(holders):
            # In each term one domain is made, and the one of the other's term is deleted.
            assert nvidia.holder() == holder
            namespace.apply(domain(f"term-{i}"))
            is_provisioned(namespace, f"term-{i}")
            if i > 0:
                namespace.delete("computedomain", f"term-{i - 1}")
            if i < KILLS:
                both.kill(holder)
                eventually("the other leads", nvidia.holder, holders[i + 1])
                both.start(holder)
        shown = [" ".join(sorted(line.split())) for line in lines()]
    assert serving(namespace, "served") == before
    assert len(set(shown)) == 1, shown
    assert re.fullmatch(r"Ready( node-\d+){4}", shown[0])

    written = beside.writes(cluster.audit_entries(since), ACCOUNT, beside.ACCOUNT)
    terms = beside.terms(written)
    count = {who: sum(one[1] for one in terms if one[0] == who) for who in (ACCOUNT, beside.ACCOUNT)}
    overlaps = [(one[3] - other[2]).total_seconds() * 1000 for one, other in itertools.pairwise(terms)]
    taken = hand_overs(cluster.audit_entries(since), LEASE)
    print(f"{KILLS} kills: {count[ACCOUNT]} writes of cdom's controller, {count[beside.ACCOUNT]} of NVIDIA's; "
          f"smallest pause {-max(overlaps):.0f} ms; taken over after {', '.join(f'{one.seconds:.1f}' for one in taken)} s")
    assert [one[0] for one in terms] == [ACCOUNT if who == "cdom" else beside.ACCOUNT for who in holders], written
    assert [(one, other) for one, other in itertools.pairwise(terms) if not one[3] < other[2]] == []
    assert [nvidia.named(one.taker) for one in taken] == holders[1:]
    assert [one for one in taken if not has_expired(one)] == []


def test_one_that_ends_hands_over_at_once_and_an_uninstalled_one_within_the_time_of_a_lease(cluster, namespace, nvidia, both):
    begun = cluster.audit_size()

    def taken_by(follows, ends):
        """The hand-over to the other, after ends()."""
        since = cluster.audit_size()
        eventually("the holder renews", lambda: writes_of_lease(cluster, since))
        ends()
        eventually("the other leads", nvidia.holder, follows)
        (taken,) = eventually("hand-overs", lambda: hand_overs(cluster.audit_entries(since), LEASE))
        return taken
    namespace.apply(domain("served"), workers("served", 1))
    eventually("the domain", lambda: (namespace.status("served")["status"], namespace.members("served")),
               lambda got: got == ("Ready", namespace.workers_on("served")) and got[1], within=90)
    before = serving(namespace, "served")
    with watched(namespace, "served", "{.object.status.status} {.object.status.nodes[*].name}") as lines:
        # A controller of cdom first looks at the Deployment, for the duration of a Lease.
        eventually("cdom's takes part",
                   lambda: [one for one in cluster.audited("get", "leases", begun) if one["objectRef"]["name"] == LEASE])
        assert is_handed_over(taken_by("cdom", lambda: both.end(nvidia.name)))
        both.start(nvidia.name)
        assert is_handed_over(taken_by(nvidia.name, lambda: both.end("cdom")))
        both.start("cdom")
        assert taken_by("cdom", lambda: both.end(nvidia.name)).released
        both.start(nvidia.name)

        def uninstall():
            # As `helm uninstall` does: the permissions can go before the pod has ended.
            cluster.kubectl("delete", "role,rolebinding", "beside-nvidia", "-n", DRIVER)
            both.end("cdom")
        log = cluster.controller.log
        assert has_expired(taken_by(nvidia.name, uninstall))
        assert "The Lease was not released and will expire" in log.read_text()
        namespace.apply(domain("next"))
        is_provisioned(namespace, "next")
        namespace.delete("computedomain", "next")
        shown = set(lines())
    assert serving(namespace, "served") == before
    assert len(shown) == 1 and re.fullmatch(r"Ready node-\d+", *shown), shown
    namespace.delete("deployment", "served")
    namespace.delete("computedomain", "served")


@pytest.mark.parametrize(("env", "said", "remedy"), [
    ({}, ALONE, "controller.leaderElection.enabled=true"),
    ({**ELECTS, "LEADER_ELECTION_LEASE_LOCK_NAME": "another"}, ELSEWHERE, "LEADER_ELECTION_LEASE_LOCK_NAME"),
], ids=["alone", "elsewhere"])
def test_while_nvidias_does_not_elect_on_the_same_lease_cdoms_stands_by_and_says_what_to_set(cluster, namespace, nvidia, env, said, remedy):
    nvidia.deploy(**env)
    since = cluster.audit_size()
    with nvidia.running(**env):
        cluster.start_controller(*FLAGS)
        eventually("what to set", cluster.controller_log, re.compile(f'{said}.*"remedy":"[^"]*{re.escape(remedy)}'))
        nvidias_serves(namespace, "first")
        # A Lease that nobody holds would be its own by then.
        eventually("more than the duration of a Lease", lambda: seconds_since(said_at(cluster, said)) > LASTS + 2)
    assert all_writes_of_cdoms(cluster, since) == []
    nvidia.deploy(**ELECTS)
    eventually("it sees that", lambda: cluster.controller_says(SAME))
    eventually("it leads, since no other does", lambda: cluster.controller_says("Reconciling"))
    namespace.says("first", "Idle")


def test_without_nvidias_deployment_cdoms_acts_after_the_time_of_a_lease(cluster, nvidia):
    del nvidia
    since = cluster.audit_size()
    cluster.run_controller(*FLAGS)
    assert leads_at_its_first_look(cluster, since)


def test_when_nvidias_deployment_is_scaled_to_zero_cdoms_acts_after_the_time_of_a_lease(cluster, nvidia):
    nvidia.deploy()
    since = cluster.audit_size()
    cluster.start_controller(*FLAGS)
    eventually("it stands by", lambda: cluster.controller_says(ALONE))
    nvidia.deploy(replicas=0)
    eventually("it leads", lambda: cluster.controller_says("Reconciling"))
    assert leads_at_its_first_look(cluster, since)


def test_when_nvidias_appears_without_election_cdoms_stands_down_and_writes_nothing_more(cluster, namespace, nvidia):
    cluster.run_controller(*FLAGS)
    namespace.apply(domain("first"))
    namespace.is_idle("first")
    term = cluster.audit_size()
    nvidia.deploy()
    eventually("the end of its term", lambda: cluster.controller_says("Released the Lease to NVIDIA's controller"))
    assert nvidia.holder() == ""
    assert all_writes_of_cdoms(cluster, term)[-1] == f"update leases {LEASE}"
    since = cluster.audit_size()
    with nvidia.running():
        nvidias_serves(namespace, "second")
        namespace.delete("computedomain", "first", "second")
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
        eventually(series, lambda: series in endpoint.metrics(token)[1].splitlines())
    namespace.apply(domain("both"))
    namespace.is_idle("both")
    eventually("conditions, which do not have it", lambda: {"Ready", "Conflicted"} & conditions(namespace.status("both")).keys(), {"Ready"})
    metric_is(0)
    with nvidia.running() as process:
        # cdom's could write the same first, and leave nothing to write.
        with paused(cluster.controller):
            namespace.apply(workers("both", 1))
            eventually("NVIDIA's writes the member", lambda: process.says('"Wrote" verb="update" resource="computedomains"'))
        found = namespace.says("both", "OtherControllerWrites", "stop one of them", kind="Conflicted")
        assert found["status"] == "True"
    namespace.tells("both", "^Warning OtherControllerWrites ")
    metric_is(1)
    # The domain works, as far as cdom's serves it.
    namespace.is_ready("both", 1)
    # A controller that starts later has seen no such write.
    cluster.run_controller("--membership-writer", "daemon")
    eventually("the condition", lambda: namespace.condition("both", "Conflicted"), {})
    namespace.is_ready("both", 1)
