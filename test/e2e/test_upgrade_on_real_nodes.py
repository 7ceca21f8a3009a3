"""An upgrade on real kubelets, and back: controller, kubelet plugin and daemons change one after the other under a running job."""

import itertools
import os
import re
import subprocess

import pytest
from cluster import REPO
from kustomizations import objects_in
from namespaces import conditions
from objects import domain
from real_nodes import BEFORE, LABEL, NODES, NOW, PLUGIN_PODS, REAL_NODES, version_of, worker
from recorder import recorded, several, states
from waiting import eventually

REGISTRY = {"now": NOW, "before": BEFORE}
COMPONENTS = ("controller", "plugin", "daemons")
# The one in which each works with what is older than itself for as long as possible; a night has all.
ORDERS = list(itertools.permutations(COMPONENTS)) if os.environ.get("CDOM_NIGHTLY") else [("daemons", "plugin", "controller")]
ROLLED = ("deployment/cdom-controller", "daemonset/cdom-kubelet-plugin")


class Versions:
    """The manifests of two commits, and which of them each component has."""

    def __init__(self, nodes, before, folder):
        self._nodes = nodes
        self._trees = {"now": REPO, "before": before}
        self._folder = folder
        self._made = {}  # By versions of manifests and daemons: the objects.

    def install(self, shared, controller, plugin, daemons):
        """Applies these versions, and waits until they run. `shared` is what is no component: CRDs, permissions, policies."""
        chosen = [*self._objects(shared, daemons, None), *self._objects(controller, daemons, "controller"),
                  *self._objects(plugin, daemons, "plugin")]
        self._nodes.apply(*chosen)
        for workload in ROLLED:
            self._nodes.kubectl("-n", "cdom-system", "rollout", "status", workload, "--timeout=240s")
        eventually("versions of controller and plugin", self._running, {"controller": {controller}, "plugin": {plugin}}, within=60)

    def of(self, pod):
        """The version that the pod runs."""
        image = pod["spec"]["containers"][0]["image"]
        return next(version for version, registry in REGISTRY.items() if re.fullmatch(f"{registry}/cdom-[a-z]+:.*", image))

    def _running(self):
        def pods(selector):
            return {self.of(one) for one in self._nodes.list("pods", "cdom-system", selector)}
        return {"controller": pods("app.kubernetes.io/component=controller"), "plugin": pods(PLUGIN_PODS)}

    def _objects(self, version, daemons, component):
        """What that version's manifests have for the component."""
        key = (version, daemons)
        if key not in self._made:
            folder = self._folder / "-".join(key)
            self._write(folder, version, daemons)
            self._made[key] = objects_in(
                self._nodes.kubectl("create", "--dry-run=client", "--validate=false", "-k", folder, "-o", "json"))
        return [one for one in self._made[key] if component_of(one) == component]

    def _write(self, folder, version, daemons):
        """As test/cluster/realnodes writes it, with the images of these versions."""
        made = 'repo=$1; source "$2/gpu_nodes.sh"; whole_site "$3"'
        subprocess.run(["bash", "-euc", made, "bash", self._trees[version], REAL_NODES, folder], check=True)
        file = folder / "kustomization.yaml"
        image = f"{REGISTRY[daemons]}/cdom-driver:{version_of(self._trees[daemons])}"
        text, images = re.subn(r"IMAGE_NAME=[^]]+\]", f"IMAGE_NAME={image}, MEMBERSHIP_WRITER=controller]", file.read_text())
        assert images == 1
        names = "".join(f"- {{name: {REGISTRY['now']}/{name}, newName: {REGISTRY[version]}/{name}}}\n"
                        for name in ("cdom-controller", "cdom-driver"))
        file.write_text(f"{text}replicas: [{{name: cdom-controller, count: 1}}]\nimages:\n{names}")


def component_of(one):
    """Whose Deployment, DaemonSet or settings it is; None of everything else."""
    return next((component for component, names in {"controller": r"cdom-controller|cdom-settings-\w+",
                                                    "plugin": r"cdom-kubelet-plugin|cdom-kubelet-plugin-settings-\w+"}.items()
                 if one["kind"] in ("Deployment", "DaemonSet", "ConfigMap") and re.fullmatch(names, one["metadata"]["name"])), None)


@pytest.fixture(scope="module")
def versions(nodes, tmp_path_factory):
    made = Versions(nodes, nodes.load_before(), tmp_path_factory.mktemp("sites"))
    yield made
    made.install("now", "now", "now", "now")


def wait_for_template(nodes, name):
    eventually(f"the template of {name}", lambda: nodes.get("resourceclaimtemplate", f"{name}-channel"))


def serve_another(nodes, made, versions, daemons):
    """A domain that is made now is served on the other node, by a daemon of that version, used and ended."""
    nodes.apply(domain("next"))
    wait_for_template(nodes, "next")
    made(worker("next", "node-2", "next"))
    nodes.wait_until_it_runs("next", 90)
    assert versions.of(nodes.daemon_on("node-2")) == daemons
    nodes.kubectl("delete", "pod", "next", "--timeout=60s")
    nodes.kubectl("delete", "computedomain", "next", "--timeout=90s")
    eventually("the label of node-2", lambda: nodes.label("node-2"), None, within=60)


def wait_until_ready(nodes, name, members):
    def get():
        status = nodes.get("computedomain", name).get("status", {})
        return status.get("status"), conditions(status).get("Ready", {}).get("status"), status.get("members")
    eventually(f"status of {name}", get, ("Ready", "True", members), within=60)


def assert_nothing_changed(recorders, uid, pods):
    """The domain of that UID stayed Ready, and none of these pods or its DaemonSet was replaced or restarted."""
    domains = [line for line in recorders["computedomains"].lines() if line.split()[1] == "steady"]
    assert states(domains) == {"steady": ["Ready True"]}
    own = rf" steady-\d | computedomain-daemon-{uid}"
    # A DaemonSet may be told of a new image: its pods then keep theirs, and its generation is another one.
    sets = [re.sub(r" \d+$", "", line) for line in recorders["daemonsets"].lines() if re.search(own, line)]
    assert len(states(sets)) == 1
    assert several(sets) == ({}, [])
    of_job = [line for line in recorders["pods"].lines() if re.search(own, line)]
    assert several(of_job) == ({}, [])
    assert len(states(of_job)) == pods


@pytest.mark.parametrize("order", ORDERS, ids="-".join)
def test_versions_change_one_after_the_other_and_back_under_a_running_job(nodes, made, versions, order):
    state = dict.fromkeys(("shared", *COMPONENTS), "before")
    versions.install(**state)
    made(domain("steady"))
    wait_for_template(nodes, "steady")
    made(worker("steady-1", "node-1", "steady"))
    nodes.wait_until_it_runs("steady-1", 90)
    wait_until_ready(nodes, "steady", "1/1")
    uid = nodes.get("computedomain", "steady")["metadata"]["uid"]

    with recorded(nodes) as recorders:
        for part in ("shared", *order):
            state[part] = "now"
            versions.install(**state)
            serve_another(nodes, made, versions, state["daemons"])
    assert_nothing_changed(recorders, uid, pods=2)

    # It grows, and then has a daemon of each version.
    made(worker("steady-2", "node-2", "steady"))
    nodes.wait_until_it_runs("steady-2", 90)
    wait_until_ready(nodes, "steady", "2/2")
    assert [versions.of(nodes.daemon_on(node)) for node in NODES] == ["before", "now"]
    with recorded(nodes) as recorders:
        versions.install(**dict.fromkeys(state, "before"))
    assert_nothing_changed(recorders, uid, pods=4)

    nodes.kubectl("delete", "pod", "steady-2", "--timeout=60s")
    wait_until_ready(nodes, "steady", "1/1")
    serve_another(nodes, made, versions, "before")
    nodes.kubectl("delete", "pod", "steady-1", "--timeout=60s")
    nodes.kubectl("delete", "computedomain", "steady", "--timeout=90s")
    eventually("daemons that are left", lambda: nodes.list("pods", "cdom-system", LABEL), [], within=60)
