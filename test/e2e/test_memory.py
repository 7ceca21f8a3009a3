"""X1: objects of tenants with as much metadata as the API server takes keep no controller from running."""

import re
import urllib.request

import pytest
from actors import Api, User, path
from cluster import Cluster
from clusters import started
from large_objects import KINDS, LargeObjects, large_object
from objects import domain
from process import Process
from waiting import eventually

MOST = 64 << 20  # The limit of the controller's Deployment is 128 MiB.
MOST_TOGETHER = 96 << 20  # With all replies in memory that there can be.
MOST_OF_ONE = 32 << 20  # Of a controller with one worker, which has one reply in memory at a time.
REPLIES = 8  # So many are in memory at most, however many workers there are: pkg/kube/runtime/shared_lists_test.cc.
KUBECONFIG = """apiVersion: v1
kind: Config
clusters: [{{name: c, cluster: {{server: "{url}"}}}}]
users: [{{name: u, user: {{token: t}}}}]
contexts: [{{name: x, context: {{cluster: c, user: u}}}}]
current-context: x
"""


def peak_of(process):
    status = open(f"/proc/{process.pid}/status").read()
    return int(re.search(r"VmHWM:\s+(\d+) kB", status).group(1)) << 10


def start(bin_folder, folder, config, name):
    return Process(name, [bin_folder / "compute-domain-controller", "--kubeconfig", config, "--namespace", "cdom-system",
                          "--image-name", "cdom:test", "--http-endpoint", "127.0.0.1:0", "--workers", "1"],
                   folder, {"POD_NAME": name})


def has_made_passes(process, count):
    """Whether that controller has made so many passes, or all that there were to make."""
    port = re.findall(r"Serving health and metrics.*?port[=\"]+(\d+)", process.log.read_text())[-1]
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as answer:
        text = answer.read().decode()
    [added] = re.findall(r"^workqueue_adds_total\S* (\d+)$", text, re.MULTILINE)
    made = re.findall(r"^controller_runtime_reconcile_total\S* (\d+)$", text, re.MULTILINE)
    return sum(map(int, made)) >= max(1, min(int(added), count))


@pytest.mark.parametrize("plural", sorted(KINDS))
def test_REV3_X1_controllers_stay_small_whatever_objects_carry(plural, programs, tmp_path, request):
    """Both replicas, while they read all of it, and once more after a restart. With one worker: how many replies of how many
    workers are in memory together is a matter of how busy the machine is, so the most is computed."""
    count = request.config.getoption("--large-objects")
    server = LargeObjects(plural, count)
    config = tmp_path / "kubeconfig"
    config.write_text(KUBECONFIG.format(url=server.url))
    peaks = []
    try:
        for turn in ("first", "again"):
            server.listed = 0
            both = [start(programs, tmp_path, config, f"{turn}-{i}") for i in range(2)]
            try:
                eventually("both have read everything", lambda: server.listed >= 2 * count, within=300)
                eventually("one leads", lambda: any(each.says("Reconciling") for each in both), within=120)
                eventually("one stands by", lambda: any(each.says("Standing by") for each in both), within=120)
                leader = next(each for each in both if each.says("Reconciling"))
                # What follows the first reads: plans, and writes that are refused. A pass that reads all objects by itself takes
                # so long on this server that the reads of many passes are counted instead.
                eventually("each domain had a pass, or passes read everything again and again",
                           lambda: has_made_passes(leader, count) or server.listed >= 5 * count, within=300)
                assert all(each.is_running() for each in both)
                peaks += [peak_of(each) for each in both]
            finally:
                for each in both:
                    each.end()
    finally:
        server.stop()
    print(f"{plural}: {count} objects, {len(server.item(0)) >> 10} KiB each, peaks "
          + ", ".join(f"{peak / (1 << 20):.1f} MiB" for peak in peaks))
    assert max(peaks) < MOST_OF_ONE
    assert min(peaks) + REPLIES * (max(peaks) - min(peaks)) < MOST_TOGETHER


@pytest.fixture(scope="module")
def plane(programs, request):
    """One of their own: nobody else should have to live with such objects, nor to remove them."""
    with started(Cluster, programs, request, "cdom-memory.") as made:
        # A wall of its own, with rows of its own. Without it, this is what a tenant may do.
        made.kubectl("delete", "validatingadmissionpolicybinding", "cdom-object-sizes")
        yield made


def make(api, plural, made):
    def is_made():  # A policy that was deleted is heard of by and by.
        status, said = api.ask(User("admin", "system:masters"), "POST",
                               path(plural, namespace=made["metadata"]["namespace"]), made)
        assert status == 201 or "cdom-object-sizes" in said, said[:500]
        return status == 201
    eventually("the API server takes it", is_made)


@pytest.mark.parametrize("plural", ["computedomains", "resourceclaims", "resourceclaimtemplates"])
def test_REV3_X1_controllers_of_a_real_server_stay_small_under_what_tenants_may_make(plural, plane):
    """They hear of each object as it is made, and read all of them after a restart."""
    api, count = Api(plane), 120
    namespace = f"with-{plural}"
    plane.kubectl("create", "namespace", namespace)
    peaks = []
    for turn in ("by watch", "by list"):
        with plane.two_replicas() as both:
            if turn == "by watch":
                for i in range(count):
                    make(api, plural, large_object(plural, i, namespace))
            name = f"after-{plural}-{turn[3:]}"
            plane.apply(domain(name))  # It comes behind all of them.
            eventually("it is provided for", lambda: plane.condition(name, "Provisioned").get("status"), "True", within=120)
            assert all(each.is_running() for each in both)
            peaks += [peak_of(each) for each in both]
    print(f"{plural}: {count} objects, peaks " + ", ".join(f"{peak / (1 << 20):.1f} MiB" for peak in peaks))
    assert max(peaks) < MOST
