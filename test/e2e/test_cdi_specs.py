"""CDI specs: cdom's kubelet plugin and NVIDIA's find and remove each other's under the same file names.

A program of the CDI project's library, which NVIDIA's plugin uses, stands in for NVIDIA's plugin.
"""

import pathlib
import subprocess

import pytest
from actors import channel_claim
from cluster import REPO
from objects import domain
from plugin_process import CLIQUE, NODE, Plugin, allocate

CHANNEL = "c 235 0 /dev/nvidia-caps-imex-channels/channel0"


class Nvidia:
    """Reads, writes and removes the specs in a folder as NVIDIA's plugin does."""

    def __init__(self, folder):
        built = subprocess.run([REPO / "test/cluster/stubs/cdi/build.sh"], check=True, capture_output=True, text=True)
        self._program = pathlib.Path(built.stdout.strip()) / "cdi"
        self._folder = folder

    def write(self, uid):
        """The name of the file that it writes for the claim."""
        return self._run("write", uid)

    def inject(self, device):
        """What a container gets for the device. Raises if any spec in the folder is invalid."""
        return self._run("inject", device)

    def remove(self, uid):
        """Raises if the claim had no spec, or has it still."""
        self._run("remove", uid)

    def _run(self, command, what):
        done = subprocess.run([self._program, command, self._folder, what], check=False, capture_output=True, text=True,
                              timeout=30)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()


@pytest.fixture(scope="module")
def plugin(cluster, programs):
    """A plugin on a node that is ready for the domain `shared`. No controller runs."""
    cluster.end_controller()
    cluster.kubectl("apply", "-f", REPO / "manifests/kubelet-plugin/access.yaml")
    cluster.apply(domain("shared"))
    uid = cluster.get("computedomain", "shared")["metadata"]["uid"]
    entry = {"nodeName": NODE, "ipAddress": "10.0.0.1", "cliqueID": CLIQUE, "index": 0, "status": "Ready"}
    clique = {"apiVersion": "resource.nvidia.com/v1beta1", "kind": "ComputeDomainClique",
              "metadata": {"name": f"{uid}.{CLIQUE}", "namespace": "cdom-system",
                           "labels": {"resource.nvidia.com/computeDomain": uid},
                           "annotations": {"cdom.dev/allow-deletion": "true"}}, "daemons": [entry]}
    cluster.apply(clique)
    made = Plugin(cluster, programs)
    made.start()
    yield made
    made.stop()
    cluster.kubectl("delete", "computedomainclique", clique["metadata"]["name"], "-n", "cdom-system")
    cluster.kubectl("delete", "computedomain", "shared", "-n", "default", "--timeout=90s")


@pytest.fixture
def nvidia(plugin):
    return Nvidia(plugin.cdi)


@pytest.fixture
def claim(cluster, removed_later):
    """A claim of the domain's channel, allocated on the plugin's node: NAMESPACE/NAME/UID."""
    made = channel_claim("swapped", cluster.get("computedomain", "shared")["metadata"]["uid"], allocationMode="Single")
    made["metadata"]["namespace"] = "default"
    removed_later(made)
    return allocate(cluster, made)


def specs_of(plugin, claim):
    """The names of the files in the plugin's CDI folder that have to do with the claim."""
    return [file.name for file in plugin.cdi.iterdir() if claim.rpartition("/")[2] in file.read_text()]


def test_cdi_spec_of_cdom_is_valid_and_removed_by_nvidias_plugin(plugin, nvidia, claim):
    device, = plugin.prepare(claim)
    assert nvidia.inject(device) == CHANNEL
    nvidia.remove(claim.rpartition("/")[2])
    assert specs_of(plugin, claim) == []
    plugin.unprepare(claim)


def test_cdi_spec_of_nvidias_plugin_replaces_cdoms_and_is_removed_by_unprepare(plugin, nvidia, claim):
    device, = plugin.prepare(claim)
    ours = specs_of(plugin, claim)
    assert ours == [nvidia.write(claim.rpartition("/")[2])]
    assert specs_of(plugin, claim) == ours
    assert nvidia.inject(device) == CHANNEL
    plugin.unprepare(claim)
    assert specs_of(plugin, claim) == []


def test_cdi_spec_of_a_claim_that_only_nvidias_plugin_prepared_is_removed_by_unprepare(plugin, nvidia, claim):
    assert specs_of(plugin, claim) == []
    name = nvidia.write(claim.rpartition("/")[2])
    assert specs_of(plugin, claim) == [name]
    plugin.unprepare(claim)
    assert specs_of(plugin, claim) == []
