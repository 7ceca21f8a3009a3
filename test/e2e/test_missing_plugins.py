"""What status says of nodes whose kubelet plugin, fabric or IMEX has a fault. Takes minutes, in which the controller is patient."""

import pytest
from cluster import Setup
from namespaces import DRIVER, is_ready
from objects import LABEL, domain, pod_on
from waiting import eventually

CLUSTER = Setup(nodes=16, nodesim=("--imex-reports",), controller=("--membership-writer", "controller"))
pytestmark = pytest.mark.usefixtures("nothing_is_left_in_shape")


def use(namespace, name, node):
    """A domain with one pod, on that node."""
    namespace.apply(domain(name), pod_on(name, node, f"{name}-channel"))
    namespace.is_used(name, within=90)
    eventually("its pod is ready", lambda: is_ready(namespace.get("pod", name)))


def test_REV4_14_a_daemon_deleted_under_a_pod_is_told_as_imex_restart_until_the_pod_ends(cluster, namespace):
    use(namespace, "again", "node-006")
    cluster.kubectl("delete", "pods", "-n", DRIVER, "--field-selector", "spec.nodeName=node-006", "--grace-period=1")
    told = namespace.says("again", "ImexRestartedUnderJob", r"All 1/1 members are ready\. "
                          r"IMEX was started again under pods that use it: node-006\.", kind="MembersReady", within=60)
    namespace.tells("again", "Warning ImexRestartedUnderJob .*node-006")
    assert told["status"] == "True"
    namespace.shows("again", ("Ready", "MemoryShared"), ready="False", shared="False", members="1/1")
    namespace.kubectl("delete", "pod", "again", "--grace-period=1")
    namespace.apply(pod_on("again", "node-006", "again-channel"))
    namespace.is_used("again")
    namespace.shows("again", ready="True", shared="True")


@pytest.mark.since_kubernetes("1.36", "taints of devices: older API servers drop them")
def test_a_fabric_error_is_told_with_its_node_until_the_taint_is_removed(cluster, namespace):
    use(namespace, "broken", "node-007")
    before = cluster.lives("")
    patch, since = slice_patcher(cluster, "node-007"), cluster.audit_size()
    patch('[{"op": "add", "path": "/spec/devices/0/taints", "value": ['
          '{"key": "cdom.dev/fabric-error", "value": "gpu-3", "effect": "NoSchedule"}]}]')
    told = namespace.says("broken", "FabricError", r"node-007 \(gpu-3\).*nvidia-smi", kind="MembersReady")
    namespace.tells("broken", "Warning FabricError .*node-007")
    assert told["status"] == "True"
    assert cluster.lives("") == before
    patch('[{"op": "remove", "path": "/spec/devices/0/taints"}]')
    namespace.is_ready("broken", 1)
    # Both times the controller heard of it by its watch.
    assert cluster.audited("list", "resourceslices", since) == []
    namespace.kubectl("delete", "pod", "broken", "--grace-period=1")
    namespace.delete("computedomain", "broken")


def slice_patcher(cluster, node):
    """As the node's kubelet plugin writes its slice."""
    (name,) = slices_of(cluster, node)
    return lambda patch: cluster.kubectl("patch", "resourceslice", name, "--type=json", "-p", patch)


def slices_of(cluster, node):
    found = cluster.kubectl_json("get", "resourceslices", "--field-selector", f"spec.nodeName={node}")["items"]
    return [one["metadata"]["name"] for one in found]


def is_missing(namespace, message):
    return namespace.says("lonely", "PluginMissing", message, kind="MembersReady", within=100, and_also={"status": "Ready"})


def test_a_missing_plugin_is_named_with_the_pods_that_hang_until_it_returns(cluster, namespace):
    """A plugin that is not registered: nothing starts and nothing ends there."""
    use(namespace, "lonely", "node-008")
    before = cluster.lives("")
    cluster.nodesim.stop_plugin("node-008")
    told = is_missing(namespace, "registered on node-008:.*check that")
    # Its daemon goes on, and so does the workload.
    assert cluster.lives("") == before
    assert told["status"] == "True"
    namespace.tells("lonely", "Warning PluginMissing .*node-008")
    # Back, and stopped again for less than the patience: no second Event.
    cluster.nodesim.start_plugin("node-008")
    namespace.is_ready("lonely", 1)
    cluster.nodesim.stop_plugin("node-008")
    eventually("the slices of node-008", lambda: slices_of(cluster, "node-008"), [])
    cluster.nodesim.start_plugin("node-008")
    eventually("how many slices node-008 has", lambda: len(slices_of(cluster, "node-008")), 1)
    assert namespace.event_count("lonely", "PluginMissing") == 1

    cluster.nodesim.stop_plugin("node-008")
    is_missing(namespace, "node-008")
    (daemon,) = [one["metadata"]["name"] for one in cluster.kubectl_json(
        "get", "pods", "-n", DRIVER, "-l", LABEL, "--field-selector", "spec.nodeName=node-008")["items"]]
    cluster.kubectl("delete", "pod", "-n", DRIVER, daemon, "--grace-period=1", "--wait=false")
    namespace.kubectl("delete", "pod", "lonely", "--grace-period=1", "--wait=false")
    namespace.kubectl("delete", "computedomain", "lonely", "--wait=false")
    namespace.says("lonely", "DeletionBlocked", "pods/lonely on node-008.*registered on node-008", kind="DeletionBlocked")
    namespace.says("lonely", "PodsStuckTerminating", f"pods/{DRIVER}/{daemon} on node-008", kind="MembersReady", within=180)
    namespace.tells("lonely", "Warning PodsStuckTerminating .*node-008")
    cluster.nodesim.start_plugin("node-008")
    eventually("the domain", lambda: namespace.get("computedomain", "lonely"), None)
