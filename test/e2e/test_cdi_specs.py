"""CDI specs: cdom's kubelet plugin and NVIDIA's find and remove each other's under the same file names.

A program of the CDI project's library, which NVIDIA's plugin uses, stands in for NVIDIA's plugin.
"""

import pathlib
import subprocess

import pytest
from cluster import REPO
from namespaces import Namespace
from plugin_process import Domain, Plugin

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
def shared(cluster):
    """A domain for which the plugin's node is ready. No controller runs."""
    cluster.end_controller()
    made = Domain(Namespace(cluster, "default"), "shared")
    made.set_node("Ready")
    yield made
    made.end()


@pytest.fixture(scope="module")
def plugin(cluster, programs, shared):
    cluster.kubectl("apply", "-f", REPO / "manifests/kubelet-plugin/access.yaml")
    made = Plugin(cluster, programs)
    made.start()
    with shared.daemon(made):
        yield made
    made.stop()


@pytest.fixture
def nvidia(plugin):
    return Nvidia(plugin.cdi)


@pytest.fixture
def claim(cluster, shared):
    """A claim of the domain's channel, allocated on the plugin's node: NAMESPACE/NAME/UID."""
    yield shared.claim("swapped")
    cluster.kubectl("delete", "resourceclaim", "swapped", "-n", "default", "--timeout=90s")


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
