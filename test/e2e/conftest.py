"""Options and fixtures of the end-to-end cases. Run them with

    python3 -m pytest test/e2e --programs build/release/bin [-k PATTERN] [--lf] [--keep]
"""

import json
import pathlib
import re

import pytest

pytest.register_assert_rewrite("namespaces", "crew", "actors", "real_nodes", "real_gpus", "imex_daemons", "plugin_process", "gpu_process")

import clusters as stages  # noqa: E402
import requests_of  # noqa: E402
from cluster import ACCOUNT, DAEMONS, REPO, ControlPlane  # noqa: E402
from namespaces import Namespaces  # noqa: E402
from objects import as_list  # noqa: E402
from real_nodes import RealNodes  # noqa: E402
from report import describe  # noqa: E402
from snapshot import difference, shapes, snapshot  # noqa: E402
from versions import is_before  # noqa: E402
from waiting import eventually  # noqa: E402


def pytest_addoption(parser):
    parser.addoption("--programs", type=pathlib.Path, default=REPO / "build/release/bin", help="folder of the release programs")
    parser.addoption("--large-objects", type=int, default=120, help="how many large objects there are of a kind")
    parser.addoption("--daemons", type=int, default=18, help="how many IMEX daemons there are as processes")
    parser.addoption("--rest", type=int, default=5, help="for how many seconds it is counted what daemons at rest ask for")
    parser.addoption("--imex", type=pathlib.Path, help="folder of NVIDIA's own nvidia-imex and nvidia-imex-ctl, in place of stand-ins")
    parser.addoption("--write-fixtures", action="store_true", help="write what a real API server says into test/fixtures")
    parser.addoption("--took", type=pathlib.Path, help="a JSON file with the seconds that modules took before, by their names")
    parser.addoption("--keep", action="store_true", help="leave the cluster running after the run, or after the first case "
                     "that fails, with what that made (fixtures of some modules remove theirs), and say how to use it")


def pytest_configure(config):
    config.addinivalue_line("markers", "since_kubernetes(version, reason): not run on an older version, which lacks what the reason names")
    config.addinivalue_line("markers", "timing: looks at a clock; runs in the quiet lane, alone, after all else")
    if config.getoption("--keep"):
        config.option.maxfail = 1


@pytest.hookimpl(tryfirst=True)  # Before pytest-xdist reads the marks.
def pytest_collection_modifyitems(config, items):
    took = None
    if getattr(config.option, "loadgroup", False):
        file = config.getoption("--took")
        took = json.loads(file.read_text()) if file and file.exists() else {}
    items[:] = stages.in_order(items, took)
    for item in items:
        for mark in item.iter_markers("since_kubernetes"):
            if is_before(mark.args[0]):
                item.add_marker(pytest.mark.skip(reason=f"needs Kubernetes {mark.args[0]}: {mark.args[1]}"))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item):
    """What the cluster showed when a case failed."""
    report = (yield).get_result()
    used = getattr(item, "funcargs", {})
    cluster = next((one for one in used.values() if isinstance(one, ControlPlane)), None)
    if report.failed and cluster:
        own = used.get("namespace")
        report.sections += [(f"{title}, as it failed", text) for title, text in describe(cluster, own.name if own else "")]
        report.sections.append(("logs", f"are in {getattr(cluster, 'folder', 'the folder that the end of the run names')}"))


@pytest.fixture(scope="session")
def programs(request):
    """The folder of the programs that are tested."""
    return request.config.getoption("--programs").resolve()


@pytest.fixture(scope="session")
def clusters(request, programs):
    made = stages.Clusters(programs, request.session, request.config.getoption("--keep"))
    yield made
    made.end()


@pytest.fixture(scope="module")
def cluster(request, clusters):
    """The cluster that the module asks for in its constant CLUSTER."""
    return clusters.get(stages.setup_of(request.module))


@pytest.fixture(scope="session")
def nodes(programs, request):
    """Two real nodes, which modules of one process share."""
    with stages.started(RealNodes, programs, request, "cdom-real-nodes.") as cluster:
        yield cluster


@pytest.fixture
def made(nodes):
    """made(OBJECT...): applies them, and deletes them when the case is over."""
    applied = []

    def apply(*objects):
        applied.extend(objects)
        nodes.apply(*objects)

    yield apply
    nodes.kubectl("delete", "-f", "-", "--ignore-not-found", "--timeout=90s", stdin=as_list(reversed(applied)))


@pytest.fixture(scope="module", params=["daemon", "controller"])
def writer(request, cluster):
    """Who writes the entries of cliques. A case that asks for it runs once with each."""
    cluster.controller_with("--membership-writer", request.param)
    return request.param


@pytest.fixture(autouse=True)
def running_controller(request):
    """The controller that the case needs leads when it begins, whatever the case before did to it."""
    if "writer" in request.fixturenames:
        request.getfixturevalue("cluster").controller_with("--membership-writer", request.getfixturevalue("writer"))
    elif (flags := stages.setup_of(request.module).controller) is not None:
        request.getfixturevalue("cluster").controller_with(*flags)


@pytest.fixture
def no_controller(request, cluster):
    """None runs when the case begins, and none after it."""
    cluster.end_controller()
    yield
    if not stages.is_kept(request):
        cluster.end_controller()


@pytest.fixture
def namespaces(request, cluster):
    """namespaces(NAME): makes one of the case. What it left in them is deleted; after a failure nodes are healed, too."""
    made = Namespaces(cluster)
    yield made
    if stages.is_kept(request):
        return
    failed = has_failed(request)
    if failed:
        cluster.heal()
    made.clear(force=failed)
    made.delete()


@pytest.fixture
def namespace(request, namespaces):
    """The case's own namespace."""
    return namespaces(re.sub(r"[^a-z0-9]+", "-", request.node.name.lower().removeprefix("test_"))[:40].strip("-"))


@pytest.fixture
def nothing_is_left(request, cluster, namespaces):
    """After the case the cluster has the same objects as before, each as it was."""
    yield from compared(request, cluster, namespaces, snapshot)


@pytest.fixture
def nothing_is_left_in_shape(request, cluster, namespaces):
    """After the case the cluster has objects of the same names as before; they may have been made again."""
    yield from compared(request, cluster, namespaces, lambda cluster: shapes(snapshot(cluster)))


@pytest.fixture(scope="module")
def requests_are_allowed(cluster):
    """During the module the controller used one account, and wrote nothing invalid; daemons used theirs, and were refused nothing."""
    since = cluster.audit_size()
    yield
    entries = cluster.audit_entries(since)
    own, daemons = requests_of.of_controllers(entries), requests_of.of_daemons(entries)
    assert requests_of.accounts(own) == {ACCOUNT}
    assert requests_of.answered(own, 400, 422) == []
    assert requests_of.accounts(daemons) <= {DAEMONS}
    assert requests_of.answered(daemons, 403) == []


def compared(request, cluster, namespaces, look):
    before = look(cluster)
    yield
    if not has_failed(request):
        namespaces.clear()
        eventually("what differs from before the case",
                   lambda: difference(before, namespaces.without_their_own(look(cluster))), [], within=90)


def has_failed(request):
    """Whether the case has failed by now."""
    return getattr(request.node, "has_failed", False)


@pytest.fixture
def removed_later(request, cluster):
    """removed_later(OBJECT...): applies them, and deletes them when the case is over."""
    made = []

    def apply(*objects):
        made.extend(objects)
        cluster.apply(*objects)

    yield apply
    for one in [] if stages.is_kept(request) else reversed(made):
        namespace = one["metadata"].get("namespace", "default")
        cluster.kubectl("delete", one["kind"], one["metadata"]["name"], "-n", namespace,
                        "--ignore-not-found", "--timeout=90s")


@pytest.fixture
def crew(request, cluster, shared_crew):
    """The domain that cases of the module share: four workers, each on a ready member."""
    shared_crew.settle()
    yield shared_crew
    if has_failed(request) and not stages.is_kept(request):
        cluster.heal()
        shared_crew.clear(force=True)
