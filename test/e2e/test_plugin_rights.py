"""Each permission of the kubelet plugin is needed: without it the plugin names it when it comes to that work.

The permissions are read from manifests/, so a new one fails here until WORK has a row for it.
"""

import contextlib
import json
import time

import pytest
from cluster import REPO
from connection import Way
from namespaces import Namespace
from plugin_process import NODE, UNKNOWN_CLAIM, Domain, Plugin, is_given
from permissions import LABEL, PLUGIN, Roles, rights_by, was_refused
from waiting import eventually

ACCOUNT = "system:serviceaccount:cdom-system:cdom-kubelet-plugin"
RIGHTS = rights_by(PLUGIN)


@pytest.fixture(scope="module")
def roles(cluster):
    cluster.kubectl("apply", "-f", REPO / "manifests/kubelet-plugin/access.yaml")
    yield Roles(cluster)
    cluster.kubectl("delete", "-f", REPO / "manifests/kubelet-plugin/access.yaml")


@pytest.fixture(scope="module")
def waits(cluster):
    """A domain that no controller serves."""
    cluster.end_controller()
    made = Domain(Namespace(cluster, "default"), "waits")
    yield made
    made.end()


@pytest.fixture(scope="module")
def claim(waits):
    """NAMESPACE/NAME/UID of a claim for a channel of the node, which waits for the domain's daemon."""
    return waits.claim("waits")


@pytest.fixture(scope="module")
def plugin(cluster, programs, roles, claim):
    """A plugin that has published its devices once, and has ended."""
    made = Plugin(cluster, programs)
    made.start()
    made.claim = claim
    made.end()
    yield made
    made.stop()


# --- Work for a plugin; each starts it, and returns once it is at work.

def start(_, plugin):
    plugin.run()


def publish_devices_for_the_first_time(cluster, plugin):
    cluster.kubectl("delete", "resourceslices", *plugin.slices())
    plugin.run()


def publish_devices(plugin):
    plugin.run()
    eventually("the plugin publishes its devices", plugin.slices)
    plugin.end()


def restore_a_device(cluster, plugin):
    publish_devices(plugin)
    cluster.kubectl("patch", "resourceslice", *plugin.slices(), "--type=json", "-p",
                    '[{"op": "remove", "path": "/spec/devices/0"}]')
    plugin.run()


def delete_a_second_slice(cluster, plugin):
    publish_devices(plugin)
    second = json.loads(cluster.kubectl("get", "resourceslice", *plugin.slices(), "-o", "json"))
    second["metadata"] = {"name": "one-too-many"}
    cluster.apply(second)
    plugin.run()


def prepare_an_unknown_claim(_, plugin):
    plugin.run()
    eventually("the plugin publishes its devices", plugin.slices)
    with plugin.asked("prepare", UNKNOWN_CLAIM):
        eventually("the plugin has asked for the claim", lambda: "resourceclaims" in plugin.log())


def reserve_the_node(cluster, plugin):
    plugin.run()
    with plugin.asked("prepare", plugin.claim):
        eventually("the plugin has labelled the node, or tried to", lambda: "label node" in plugin.log())


def look_at_the_clique(cluster, plugin):
    plugin.run()
    with plugin.asked("prepare", plugin.claim):
        eventually("the plugin has labelled the node",
                   lambda: LABEL in cluster.get("node", NODE)["metadata"].get("labels", {}))
        eventually("the plugin has asked for the clique", lambda: "computedomaincliques" in plugin.log())


def preflight(_, plugin):
    plugin.run("preflight")


WORK = {
    ("list", "computedomains"): start,
    ("watch", "computedomains"): start,
    ("get", "resourceclaims"): prepare_an_unknown_claim,
    ("list", "resourceslices"): start,
    ("watch", "resourceslices"): start,
    ("create", "resourceslices"): publish_devices_for_the_first_time,
    ("get", "resourceslices"): start,
    ("update", "resourceslices"): restore_a_device,
    ("delete", "resourceslices"): delete_a_second_slice,
    ("list", "nodes"): start,
    ("watch", "nodes"): start,
    ("get", "nodes"): preflight,
    ("patch", "nodes"): reserve_the_node,
    ("list", "computedomaincliques"): look_at_the_clique,
    ("watch", "computedomaincliques"): look_at_the_clique,
}
# The plugin says nothing of these; the audit log alone shows the refusal.
SILENT = {("get", "nodes"): "the preflight does not say which container runtime the node has, and nothing else changes"}


def test_REV3_X14_each_right_of_the_plugin_has_its_work():
    assert sorted(WORK) == sorted((one.verb, one.resource) for one in RIGHTS)
    assert set(SILENT) <= set(WORK)


def test_REV3_X14_the_roles_on_the_cluster_are_those_of_the_plugin_that_are_tried(roles):
    assert roles.granted(RIGHTS) == sorted(RIGHTS)


@pytest.mark.parametrize("right", RIGHTS, ids=str)
def test_REV3_X14_the_plugin_names_the_right_that_it_lacks(cluster, roles, plugin, right):
    what = right.verb, right.resource
    try:
        roles.show_needed(right, ACCOUNT, lambda: WORK[what](cluster, plugin), None if what in SILENT else plugin.log)
    finally:
        plugin.end()


@pytest.fixture
def running_plugin(plugin):
    yield plugin
    plugin.end()


def right_to(verb, resource):
    [right] = [one for one in RIGHTS if (one.verb, one.resource) == (verb, resource)]
    return right


def test_a_clique_that_may_not_be_watched_is_read_and_a_watch_is_refused_once(cluster, roles, running_plugin, waits, claim):
    """As NVIDIA's roles have it: cliques may be read, and not watched."""
    since = cluster.audit_size()

    def asked():
        return [f"{one['verb']} {one['responseStatus']['code']}" for one in cluster.requests_of(ACCOUNT, since)
                if one.get("objectRef", {}).get("resource") == "computedomaincliques"]
    with roles.with_only("get", right_to("list", "computedomaincliques"), ACCOUNT):
        running_plugin.run()
        with waits.daemon(running_plugin):
            for _ in range(2):
                waits.set_node("NotReady")
                with running_plugin.asked("prepare", claim) as asking:
                    eventually("the clique is read", asked, lambda got: "get 200" in got)
                    waits.set_node("Ready")
                    is_given(asking)
                running_plugin.unprepare(claim)
        assert [one for one in asked() if not one.startswith("get")] in (["list 403"], ["watch 403"])


def test_a_clique_whose_watch_is_slow_is_waited_for_and_not_read(cluster, running_plugin, waits, claim, tmp_path):
    """It may be watched; to read it takes a permission that the plugin does not have."""
    way = Way(json.loads(running_plugin.kubeconfig.read_text()))
    before = Domain(waits.namespace, "before")
    since = cluster.audit_size()
    try:
        running_plugin.run(kubeconfig=way.write_config(tmp_path / "slow.kubeconfig"))
        waits.set_node("Ready")
        before.set_node("Ready")
        first = before.claim("before")
        with before.daemon(running_plugin):
            with running_plugin.asked("prepare", first) as asking:
                is_given(asking)
            running_plugin.unprepare(first)
        with waits.daemon(running_plugin):
            # Connections for claims and nodes are open; the one for the watch of another clique is new.
            with way.held(), running_plugin.asked("prepare", claim) as asking:
                eventually("the clique's watch begins", lambda: way.waiting > 0)
                time.sleep(1)  # For so long it is slow.
                assert asking.status() is None
            running_plugin.prepare(claim)
            running_plugin.unprepare(claim)
        assert [one for one in cluster.requests_of(ACCOUNT, since) if one["responseStatus"]["code"] == 403] == []
    finally:
        before.end()
        way.end()


def test_a_claim_that_may_not_be_read_yet_is_prepared_once_it_may(cluster, roles, running_plugin, waits, claim):
    """The node authorizer says so of a claim whose pod it has not heard of yet."""
    waits.set_node("Ready")
    running_plugin.run()
    right = right_to("get", "resourceclaims")
    with contextlib.ExitStack() as asked:
        asked.enter_context(waits.daemon(running_plugin))
        since = cluster.audit_size()
        with roles.without(right, ACCOUNT):
            asking = asked.enter_context(running_plugin.asked("prepare", claim))
            eventually("it is refused", lambda: was_refused(cluster, ACCOUNT, right, since))
            assert asking.status() is None
        is_given(asking)
        running_plugin.unprepare(claim)


# --- Rights of the process: NVIDIA's library makes device nodes that do not exist.

@pytest.fixture
def node_made_by_the_library(tmp_path):
    """Its path, and the variables that tell the library of it."""
    made = tmp_path / "nvidiactl"
    return made, {"STAND_IN_NVML_NODE": str(made)}


def test_REV4_Y5_the_library_makes_its_device_nodes_when_the_plugin_first_reads_the_driver(running_plugin, node_made_by_the_library):
    made, environment = node_made_by_the_library
    running_plugin.run(environment=environment)
    eventually("the library has made the node", made.is_char_device)
    eventually("no thread has a capability left", running_plugin.capabilities, {"0" * 16})
    # No thread takes the signal but the one that handles it.
    running_plugin.end()
    assert running_plugin.exit_status() == 0


def test_REV4_Y5_while_the_driver_is_incomplete_only_one_thread_can_make_device_nodes(running_plugin, node_made_by_the_library):
    made, environment = node_made_by_the_library
    gpu = running_plugin.driver / "dev/nvidia0"
    target = gpu.readlink()
    gpu.unlink()
    try:
        running_plugin.run(environment=environment)
        eventually("the plugin says what is missing", running_plugin.log, lambda log: "1 of 1 GPUs have no device node" in log)
        # CAP_CHOWN, CAP_SETPCAP, CAP_MKNOD.
        assert running_plugin.capabilities() == {"0" * 16, "0000000008000101"}
        made.unlink()
        gpu.symlink_to(target)
        eventually("it is made again", made.is_char_device)
        eventually("no thread has a capability left", running_plugin.capabilities, {"0" * 16})
    finally:
        if not gpu.is_symlink():
            gpu.symlink_to(target)


def test_REV4_Y5_preflight_has_the_capabilities_of_the_first_read(plugin, node_made_by_the_library):
    made, environment = node_made_by_the_library
    said = plugin.preflight(environment)
    assert "MISSING NVIDIA's driver" not in said
    assert made.is_char_device()


def test_REV4_Y5_preflight_finds_what_the_plugin_may_not_do(plugin):
    """A library that needs another capability than the plugin has, such as CAP_SYS_ADMIN."""
    assert "MISSING NVIDIA's driver: start: NVML says" in plugin.preflight({"STAND_IN_NVML_ADMIN": "1"})
    assert "MISSING NVIDIA's driver" not in plugin.preflight({"STAND_IN_NVML_ADMIN": "1", "KEEP_PRIVILEGES": "true"})
