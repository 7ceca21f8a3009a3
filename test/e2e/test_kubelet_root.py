"""Real kubelets with another root folder than Kubernetes' default: manifests/overlays/kubelet-root, and one socket for all."""

import clusters as stages
import pytest
from objects import domain
from real_nodes import DRIVER, NODES, RealNodes, worker
from waiting import eventually

CHANNELS = "dev/nvidia-caps-imex-channels"


class OfMicrok8s(RealNodes):
    kubelet_root = "/var/lib/snap/microk8s/common/var/lib/kubelet"  # microk8s has it in /var/snap, with four characters less.


@pytest.fixture(scope="module")
def elsewhere(programs, request):
    with stages.started(OfMicrok8s, programs, request, "cdom-kubelet-root.") as cluster:
        yield cluster


def sockets(nodes, node):
    """Of the plugin on the node, by their folders below the kubelet's."""
    found = nodes.run(node, "find", f"{nodes.kubelet_root}/plugins_registry", f"{nodes.kubelet_root}/plugins/{DRIVER}", "-type", "s", "-printf", "%P\n")
    return found.split()


def test_REV4_Y8_P8_kubelets_with_another_root_folder_give_pods_their_channels(elsewhere):
    nodes = elsewhere
    try:
        nodes.apply(domain("far"), *(worker(f"far-{node}", node, "far") for node in NODES))
        for node in NODES:
            nodes.wait_until_it_runs(f"far-{node}", 120)
            root = f"/proc/{nodes.process_of(nodes.pod(f'far-{node}'))}/root"
            assert nodes.run(node, "ls", f"{root}/{CHANNELS}").split() == ["channel0"]
            [name] = sockets(nodes, node)
            assert name.startswith("cd-")

        # The next plugin registers beside the one before, and takes over.
        before = {node: sockets(nodes, node) for node in NODES}
        nodes.kubectl("-n", "cdom-system", "rollout", "restart", "daemonset/cdom-kubelet-plugin")
        nodes.kubectl("-n", "cdom-system", "rollout", "status", "daemonset/cdom-kubelet-plugin", "--timeout=240s")
        for node in NODES:
            eventually(f"one socket of a new plugin on {node}", lambda node=node: sockets(nodes, node),
                       lambda got, node=node: len(got) == 1 and got != before[node], within=90)
        nodes.kubectl("delete", "pods", *(f"far-{node}" for node in NODES), "--timeout=90s")
        eventually("claims that are prepared", lambda: [uid for node in NODES for uid, state in nodes.checkpoint(node).items()
                                                        if state == "PrepareCompleted"], [], within=90)
    finally:
        nodes.kubectl("delete", "pods", *(f"far-{node}" for node in NODES), "--timeout=90s", "--ignore-not-found")
        nodes.kubectl("delete", "computedomain", "far", "--timeout=90s", "--ignore-not-found")
