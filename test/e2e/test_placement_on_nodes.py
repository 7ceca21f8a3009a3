"""Where pods land by the policies of manifests/placement, on four cliques of eight nodes."""

import collections
import os

import pytest
from cluster import PLACEMENT, REPO, Setup
from kustomizations import objects_of
from pages import run_commands
from objects import domain
from placed import NEAR, Placed, five_kinds, job, placed_domain, pod
from versions import needs_placement, needs_placement_by_default
from waiting import eventually

pytestmark = needs_placement

CLUSTER = Setup(nodes=32, cliques=4, nodesim=("--job-duration", "60000"), placement=True, controller=())
ROUNDS = 200 if os.environ.get("CDOM_NIGHTLY") else 20
PREFERRING = 20 if os.environ.get("CDOM_NIGHTLY") else 5


@pytest.fixture
def placed(namespace):
    found = Placed(namespace)
    yield found
    found.end()


def test_pods_of_five_kinds_land_in_the_clique_of_their_domain(placed):
    # Four domains at a time, one a clique, of which at most one would take others in: so a pod that lands elsewhere is in the way.
    for number in range(0, ROUNDS, 4):
        names = [f"r{i}" for i in range(number, number + 4)]
        placed.create_ready(*(placed_domain(name, "clique" if name == names[0] else "exclusive-clique") for name in names))
        placed.create(*(one for name in names for one in five_kinds(name)))
        where = placed.have_nodes(28)
        assert {name: (len(found), len(set(found))) for name, found in where.items()} == dict.fromkeys(names, (7, 1))
        assert len({found[0] for found in where.values()} - {"unplaced"}) == 4, where
        placed.end()
    eventually("the domains that are left", lambda: placed.namespace.list("computedomains"), [])


def test_exclusive_domain_waits_for_a_free_clique_and_says_why(placed):
    namespace = placed.namespace
    # One more domain than there are cliques, each of three pods where eight have room.
    names = ["one", "two", "three", "four"]
    for name in names:
        placed.create_ready(placed_domain(name, "exclusive-clique"))
        placed.create(job(name, name, 3))
    assert len({placed.are_in_one_clique(name, 3) for name in names}) == 4
    placed.create_ready(placed_domain("waits", "exclusive-clique"))
    placed.create(job("waits", "waits", 3))
    namespace.says("waits", "PodsWaiting", "0/32 nodes are available: 32 node.*anti-affinity", kind="InUse", within=60)
    eventually("its pods", lambda: placed.cliques()["waits"], [None, None, None])
    # One that is not exclusive itself is kept out as well.
    placed.create_ready(placed_domain("guest", "clique"))
    placed.create(job("guest", "guest", 1))
    namespace.says("guest", "PodsWaiting", "existing pods anti-affinity", kind="InUse", within=60)
    namespace.kubectl("delete", "job,computedomain", "guest", "--wait=false")
    namespace.kubectl("delete", "job", "two")
    clique = placed.are_in_one_clique("waits", 3)
    # A pod that comes later follows, also where another clique has more room.
    placed.create(pod("late", "waits"))
    assert placed.are_in_one_clique("waits", 4) == clique


def test_groups_of_a_domain_have_a_clique_each(placed):
    group = "example.com/group"
    placed.create_ready(placed_domain("groups", "clique", group))
    placed.create(job("first", "groups", 8, {group: "1"}))
    # It fills a clique, so that the second has no room there; without groups that would have to wait.
    first = placed.are_in_one_clique("groups", 8)
    placed.create(job("second", "groups", 8, {group: "2"}))
    found = placed.have_nodes(16)["groups"]
    (second,) = set(found) - {first}
    assert second != "unplaced" and (found.count(first), found.count(second)) == (8, 8)


def test_pods_of_a_domain_that_says_nothing_of_placement_are_in_one_clique_if_there_is_room(placed):
    for number in range(PREFERRING):
        name = f"plain-{number}"
        placed.create_ready(domain(name))
        placed.places(name, NEAR)
        placed.create(job(name, name, 4))
        placed.are_in_one_clique(name, 4)
        placed.namespace.says(name, "AllInOneClique", kind="MemoryShared")
        placed.end()


def test_a_job_that_is_larger_than_a_clique_runs_in_several_and_its_domain_warns(placed):
    placed.create_ready(domain("large"))
    placed.places("large", NEAR)
    placed.create(job("large", "large", 12))
    where = placed.have_nodes(12)["large"]
    assert sorted(collections.Counter(where).values()) == [4, 8], where
    for kind, status in (("Ready", "True"), ("MemoryShared", "False")):
        assert placed.namespace.says("large", "SpansCliques", kind=kind)["status"] == status
    placed.namespace.tells("large", "^Warning SpansCliques ")


def test_running_pods_stay_as_they_are_when_placement_is_removed(placed, cluster):
    def running():
        return [one["status"].get("phase") for one in placed.namespace.list("pods")]
    placed.create_ready(placed_domain("undone", "clique"))
    placed.create(job("undone", "undone", 3))
    placed.are_in_one_clique("undone", 3)
    eventually("phases of its pods", running, ["Running"] * 3)
    lives = placed.lives()
    cluster.kubectl("delete", "-k", PLACEMENT)
    try:
        eventually("a pod is placed no more", lambda: placed.probe("undone"), (None, None))
        kinds = "mutatingadmissionpolicies,mutatingadmissionpolicybindings"
        assert cluster.kubectl("get", kinds, "-l", "app.kubernetes.io/part-of=cdom", "-o", "name") == ""
        assert placed.lives() == lives
    finally:
        cluster.kubectl("apply", "-k", PLACEMENT)
    placed.places("undone")
    assert placed.lives() == lives


def test_pods_are_created_as_before_while_the_crd_does_not_exist(placed, cluster):
    cluster.end_controller()
    cluster.kubectl("delete", "crd", "computedomains.resource.nvidia.com", "--timeout=60s")
    try:
        placed.create(pod("lonely", "none"))  # If the policy failed closed, nobody could.
        lonely = placed.namespace.get("pod", "lonely")
        assert (lonely["metadata"].get("labels"), lonely["spec"].get("affinity")) == (None, None)
        placed.namespace.kubectl("delete", "pod", "lonely", "--wait=false")
    finally:
        cluster.kubectl("apply", "-k", REPO / "crds")
    cluster.run_controller()
    placed.create(placed_domain("again", "clique"))
    placed.places("again")
    placed.namespace.delete("computedomain", "again")


@needs_placement_by_default
@pytest.mark.usefixtures("nothing_is_left_in_shape")
def test_each_command_of_the_placement_page_does_what_it_says(cluster):
    # On a busy machine the example's pods may be there before the API server knows their domain. Then it does not place them, as the page
    # says; so here the domain is there first.
    example = objects_of(cluster, (REPO / "examples/quickstart.yaml").read_text())
    cluster.apply(*(one for one in example if one["kind"] == "ComputeDomain"))
    cluster.kubectl("wait", "--for=condition=Ready", "cdom/quickstart", "--timeout=60s")
    try:
        run_commands(cluster, "docs/placement.md")
    finally:
        cluster.kubectl("apply", "-k", PLACEMENT)
