"""Commands of the pages that need a kubelet: they reach a port of a pod, read its log, or what an init container says."""

import contextlib
import re

import pytest
import yaml
from cluster import REPO
from objects import domain
from pages import run_commands
from real_nodes import NOW, PLUGIN_PODS, version_of, worker
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
    run_commands(nodes, "docs/symptoms.md", section="Ask the controller")


@pytest.mark.usefixtures("served")
def test_plugin_and_daemon_say_what_their_threads_do_as_the_page_of_symptoms_says(nodes):
    plugin = nodes.list("pods", "cdom-system", PLUGIN_PODS)[0]["metadata"]["name"]
    run_commands(nodes, "docs/symptoms.md", section="See what a process does", names={"POD": plugin})
    daemon = ("-n", "cdom-system", nodes.daemon_on("node-1")["metadata"]["name"], "--")
    nodes.kubectl("exec", *daemon, "kill", "-s", "SIGUSR2", "1")
    eventually("the daemon's file", lambda: "main" in nodes.kubectl("exec", *daemon, "cat", "/tmp/goroutine-stacks.dump"))


@pytest.mark.usefixtures("served", "monitored")
def test_metrics_are_read_as_their_page_says(nodes):
    try:
        run_commands(nodes, "docs/metrics.md")
    finally:
        nodes.kubectl("delete", "clusterrolebinding", "prometheus-reads-cdom", "--ignore-not-found")
        nodes.kubectl("delete", "-k", "manifests/monitoring", "--ignore-not-found")


def without_gpus(example):
    """The objects of that file of examples/check, with an image that lacks their programs, and without GPUs of a device plugin."""
    text = (REPO / "examples/check" / example).read_text()
    text = re.sub(r"image: .*", f"image: {NOW}/cdom-driver:{version_of(REPO)}", text)
    return list(yaml.safe_load_all(re.sub(r"\n *limits:\n *nvidia.com/gpu: 4", "", text)))


def test_the_check_of_shared_memory_says_that_its_program_is_missing(nodes, made):
    made({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "check-keys", "namespace": "default"}, "stringData": {"key": "none"}},
         *without_gpus("nvbandwidth.yaml"))
    eventually("the Job fails", lambda: [one["reason"] for one in nodes.get("job", "check").get("status", {}).get("conditions", [])
                                         if (one["type"], one["status"]) == ("Failed", "True")], ["BackoffLimitExceeded"], within=120)
    # The worker that fails first ends the Job, and Kubernetes deletes the other one if it has not failed too.
    failed = [one["metadata"] for one in nodes.list("pods", "default", "app=check") if one["status"]["phase"] == "Failed"]
    lacks = {"0": "mpirun: command not found", "1": "/usr/sbin/sshd: No such file or directory"}
    assert failed
    for one in failed:
        assert lacks[one["labels"]["batch.kubernetes.io/job-completion-index"]] in nodes.kubectl("logs", one["name"])


def test_the_check_as_an_mpijob_has_workers_that_say_what_they_lack(nodes, made):
    """Its operator is not here: the test makes one pod of each template."""
    domain_of, job = without_gpus("nvbandwidth-mpijob.yaml")
    pods = [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"check-{name.lower()}", "namespace": "default"},
             "spec": {**one["template"]["spec"], "restartPolicy": "Never"}} for name, one in job["spec"]["mpiReplicaSpecs"].items()]
    made(domain_of, *pods)
    for name, program in (("check-launcher", "mpirun"), ("check-worker", "/usr/sbin/sshd")):
        said = eventually(f"{name} fails", lambda name=name: [one["state"]["terminated"]["message"] for one in nodes.pod(name)["status"].get(
            "containerStatuses", []) if "terminated" in one["state"]], within=120)
        assert f'"{program}"' in said[0]


def test_a_node_that_lacks_imex_is_found_as_the_plugins_page_says(nodes, programs):
    with without_imex(nodes, "node-1") as pod:
        run_commands(nodes, "docs/kubelet-plugin.md", names={"POD": pod}, programs=programs)
