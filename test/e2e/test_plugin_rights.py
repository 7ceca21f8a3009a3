"""Each permission of the kubelet plugin is needed: without it the plugin names it when it comes to that work.

The permissions are read from manifests/, so a new one fails here until WORK has a row for it.
"""

import json

import pytest
from actors import channel_claim
from cluster import REPO
from objects import domain
from plugin_process import NODE, UNKNOWN_CLAIM, Plugin, allocate
from rights import LABEL, PLUGIN, Roles, rights_by
from waiting import eventually

ACCOUNT = "system:serviceaccount:cdom-system:cdom-kubelet-plugin"
RIGHTS = rights_by(PLUGIN)


@pytest.fixture(scope="module")
def roles(cluster):
    cluster.kubectl("apply", "-f", REPO / "manifests/kubelet-plugin/access.yaml")
    yield Roles(cluster)
    cluster.kubectl("delete", "-f", REPO / "manifests/kubelet-plugin/access.yaml")


@pytest.fixture(scope="module")
def claim(cluster):
    """NAMESPACE/NAME/UID of a claim for a channel of the node, which waits for the domain's daemon."""
    cluster.end_controller()
    cluster.apply(domain("waits"))
    made = channel_claim("waits", cluster.get("computedomain", "waits")["metadata"]["uid"])
    made["metadata"]["namespace"] = "default"
    cluster.apply(made)
    yield allocate(cluster, made)
    cluster.kubectl("delete", "resourceclaim", "waits", "--timeout=60s")
    cluster.kubectl("patch", "computedomain", "waits", "--type=merge", "-p", '{"metadata": {"finalizers": null}}')
    cluster.kubectl("delete", "computedomain", "waits", "--timeout=60s")


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
