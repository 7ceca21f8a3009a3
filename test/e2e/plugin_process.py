"""The kubelet plugin as a process on loopback, with stand-ins for NVIDIA's driver, on a Node of its own."""

import contextlib
import json
import pathlib
import re
import subprocess
import tempfile
import urllib.request

from cluster import REPO
from endpoint import free_port
from process import Process
from waiting import eventually

NODE = "with-a-plugin"
DRIVER = "compute-domain.nvidia.com"
CLIQUE = "01010101-0101-0101-0101-010101010101.1"  # Of the stand-in for NVIDIA's library.
UNKNOWN_CLAIM = "default/unknown/00000000-0000-4000-8000-000000000000"


def allocate(cluster, claim):
    """A channel of the plugin's node, as the scheduler does, to a claim of actors.channel_claim() that exists: NAMESPACE/NAME/UID."""
    name, namespace = claim["metadata"]["name"], claim["metadata"]["namespace"]
    result = {"request": "channel", "driver": DRIVER, "pool": NODE, "device": "channel-0"}
    config = [{**one, "source": "FromClaim"} for one in claim["spec"]["devices"]["config"]]
    cluster.kubectl("patch", "resourceclaim", name, "-n", namespace, "--subresource=status", "--type=merge", "-p",
                    json.dumps({"status": {"allocation": {"devices": {"results": [result], "config": config}}}}))
    return f"{namespace}/{name}/{cluster.get('resourceclaim', name, namespace)['metadata']['uid']}"


class Plugin:
    """A plugin that publishes its devices; `port` and `health_port` are those that other pods of the cluster reach."""

    def __init__(self, cluster, programs):
        self._cluster = cluster
        self._programs = programs
        self._folder = pathlib.Path(tempfile.mkdtemp(prefix="plugin.", dir=cluster.folder))
        self.cdi = self._folder / "cdi"
        self.port = free_port()
        self.health_port = free_port()

    def start(self):
        self.set_up()
        self.run()
        eventually("the plugin publishes its devices", self.slices)

    def set_up(self):
        """Makes the node, and all that run() needs."""
        folder = self._folder
        for name in ("registry", "plugins", "cdi", "driver/dev", "driver/usr/lib64",
                     "driver/proc/driver/nvidia/capabilities"):
            (folder / name).mkdir(parents=True)
        self._make_driver(folder / "driver")
        (folder / "devices").write_text("Character devices:\n235 nvidia-caps-imex-channels\n236 nvidia-caps\n\n"
                                        "Block devices:\n")
        self._cluster.apply({"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE}})
        self._kubeconfig = self._make_kubeconfig()

    def run(self, *arguments):
        """Starts the program. Its log begins again."""
        folder = self._folder
        (folder / "plugin.log").write_text("")
        self._process = Process("plugin", [
            self._programs / "compute-domain-kubelet-plugin", "--node-name", NODE, "--namespace", "cdom-system",
            "--kubeconfig", self._kubeconfig, "--kubelet-registrar-directory-path", folder / "registry",
            "--kubelet-plugins-directory-path", folder / "plugins", "--cdi-root", folder / "cdi",
            "--nvidia-driver-root", folder / "driver", "--container-driver-root", folder / "driver",
            "--proc-devices", folder / "devices", "--config-template", REPO / "node/imex/imexd.cfg.tmpl",
            "--http-endpoint", f"127.0.0.1:{self.port}", "--healthcheck-port", str(self.health_port), *arguments],
            folder, {"STAND_IN_NVML_GPUS": "GB200,0,3,0,1,1"})

    def end(self):
        self._process.end()

    def log(self):
        """What it has written since run()."""
        return self._process.log.read_text() + self._process.out.read_text()

    def stop(self):
        self.end()
        self._cluster.kubectl("delete", "node", NODE)
        for name in self.slices():
            self._cluster.kubectl("delete", "resourceslice", name, "--ignore-not-found")

    def slices(self):
        """The names of its ResourceSlices."""
        found = json.loads(self._cluster.kubectl("get", "resourceslices", "-o", "json"))["items"]
        return [one["metadata"]["name"] for one in found if one["spec"].get("nodeName") == NODE]

    def get(self, path):
        """Status and text of its port."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=10) as answer:
            return answer.status, answer.read().decode()

    def prepare(self, claim):
        """As a kubelet does on its socket, for NAMESPACE/NAME/UID: the CDI names of the devices. Raises on an error."""
        done = self._call("prepare", claim)
        assert done.returncode == 0, done
        return done.stdout.split()

    def unprepare(self, claim):
        """As a kubelet does on its socket. Raises on an error."""
        done = self._call("unprepare", claim)
        assert done.returncode == 0, done

    def unprepare_an_unknown_claim(self):
        """As a kubelet does on its socket. Raises if there is no good answer."""
        self.unprepare(UNKNOWN_CLAIM)

    def prepare_an_unknown_claim(self):
        """As a kubelet does on its socket. Raises if it is not answered that there is no such claim."""
        done = self._call("prepare", UNKNOWN_CLAIM)
        assert "not found" in done.stdout + done.stderr, done

    @contextlib.contextmanager
    def asked(self, what, claim):
        """A kubelet asks meanwhile, without waiting for the answer. `claim`: NAMESPACE/NAME/UID."""
        socket = self._folder / "plugins" / DRIVER / "dra.sock"
        eventually("the plugin can be asked", socket.exists)
        asking = Process("ask", [self._programs / "ask-plugin", socket, what, claim], self._folder)
        try:
            yield
        finally:
            asking.end()

    def _call(self, what, claim):
        socket = self._folder / "plugins" / DRIVER / "dra.sock"
        return subprocess.run([self._programs / "ask-plugin", socket, what, claim], check=False, capture_output=True,
                              text=True, timeout=50)  # It waits 45 s for a prepare, as a kubelet does.

    def descriptors(self):
        """How many it has, and how many it may have: the soft limit."""
        process = pathlib.Path(f"/proc/{self._process.pid}")
        limit = re.search(r"^Max open files +(\d+)", (process / "limits").read_text(), re.MULTILINE)
        return len(list((process / "fd").iterdir())), int(limit[1])

    def _make_driver(self, driver):
        (driver / "dev/nvidia0").symlink_to("/dev/null")
        library = driver / "usr/lib64/libnvidia-ml.so.1"
        library.symlink_to(self._programs.parent / "node/nvml/libnvml_stand_in.so")
        (driver / "proc/driver/nvidia/capabilities/fabric-imex-mgmt").write_text(
            "DeviceFileMinor: 512\nDeviceFileMode: 438\nDeviceFileModify: 0\n")

    def _make_kubeconfig(self):
        """With a token that is bound to the node, as a pod's is: the policies want that."""
        kubectl = self._cluster.kubectl
        config = json.loads(kubectl("config", "view", "--raw", "-o", "json"))
        config["users"][0]["user"] = {"token": kubectl(
            "create", "token", "cdom-kubelet-plugin", "-n", "cdom-system", "--duration", "2h",
            "--bound-object-kind", "Node", "--bound-object-name", NODE).strip()}
        path = self._folder / "kubeconfig"
        path.write_text(json.dumps(config))
        return path
