"""Commands of the pages that need a kubelet: they reach a port of a pod, read its log, or what an init container says."""

import contextlib

import pytest
from objects import domain
from pages import run_commands
from real_nodes import PLUGIN_PODS, worker
from waiting import eventually

# Of the Prometheus operator, as far as the API server asks for them.
GROUP = "monitoring.coreos.com"
KINDS = {"podmonitors": "PodMonitor", "prometheusrules": "PrometheusRule"}


def definition(plural, kind):
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": f"{plural}.{GROUP}"},
            "spec": {"group": GROUP, "scope": "Namespaced", "names": {"plural": plural, "kind": kind},
                     "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}]}}


@pytest.fixture
def served(nodes, made):
    """A domain that a pod uses."""
    made(domain("served"), worker("served", "node-1", "served"))
    nodes.wait_until_it_runs("served")


@pytest.fixture
def monitored(made):
    """A Prometheus could run in the namespace `monitoring`."""
    made({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "monitoring"}},
         {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "prometheus", "namespace": "monitoring"}},
         *(definition(*names) for names in KINDS.items()))


@contextlib.contextmanager
def without_imex(nodes, node):
    """A plugin's pod that found no IMEX on that node when it started."""
    imex = "/run/nvidia/driver/usr/bin/nvidia-imex"
    nodes.run(node, "mv", imex, "/run/nvidia/imex-that-was")
    try:
        def pod():
            found = [one["metadata"]["name"] for one in nodes.list("pods", "cdom-system", PLUGIN_PODS) if one["spec"].get("nodeName") == node]
            return found[0] if found else None
        before = pod()
        nodes.kubectl("-n", "cdom-system", "delete", "pod", before)
        yield eventually("another plugin's pod", pod, lambda name: name not in (None, before))
    finally:
        nodes.run(node, "mv", "/run/nvidia/imex-that-was", imex)
        nodes.kubectl("-n", "cdom-system", "rollout", "status", "daemonset/cdom-kubelet-plugin", "--timeout=120s")


@pytest.mark.usefixtures("served")
def test_the_controller_answers_as_the_page_of_symptoms_says(nodes):
    run_commands(nodes, "docs/symptoms.md")


@pytest.mark.usefixtures("served", "monitored")
def test_metrics_are_read_as_their_page_says(nodes):
    try:
        run_commands(nodes, "docs/metrics.md")
    finally:
        nodes.kubectl("delete", "clusterrolebinding", "prometheus-reads-cdom", "--ignore-not-found")
        nodes.kubectl("delete", "-k", "manifests/monitoring", "--ignore-not-found")


def test_a_node_that_lacks_imex_is_found_as_the_plugins_page_says(nodes, programs):
    with without_imex(nodes, "node-1") as pod:
        run_commands(nodes, "docs/kubelet-plugin.md", names={"POD": pod}, programs=programs)
