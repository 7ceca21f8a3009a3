"""The kubelet plugin as a process on loopback, with stand-ins for NVIDIA's driver, on a Node of its own."""

import contextlib
import copy
import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import urllib.request

from actors import channel_claim, named
from cluster import REPO
from endpoint import free_port
from objects import LABEL, domain
from process import Process
from waiting import eventually

NODE = "with-a-plugin"
DRIVER = "compute-domain.nvidia.com"
CLIQUE = "01010101-0101-0101-0101-010101010101.1"  # Of the stand-in for NVIDIA's library.
UNKNOWN_CLAIM = "default/unknown/00000000-0000-4000-8000-000000000000"


def allocate(cluster, claim):
    """The device that it asks for, of the plugin's node, as the scheduler does, to a claim that exists: NAMESPACE/NAME/UID."""
    name, namespace = claim["metadata"]["name"], claim["metadata"]["namespace"]
    [request] = claim["spec"]["devices"]["requests"]
    result = {"request": request["name"], "driver": DRIVER, "pool": NODE, "device": f"{request['name']}-0"}
    config = [{**one, "source": "FromClaim"} for one in claim["spec"]["devices"]["config"]]
    cluster.kubectl("patch", "resourceclaim", name, "-n", namespace, "--subresource=status", "--type=merge", "-p",
                    json.dumps({"status": {"allocation": {"devices": {"results": [result], "config": config}}}}))
    return f"{namespace}/{name}/{cluster.get('resourceclaim', name, namespace)['metadata']['uid']}"


def is_given(asking):
    """Waits until the kubelet that asks, as in Plugin.asked(), has the channel."""
    eventually("exit status of who asks", asking.status, 0)
    assert asking.out.read_text().startswith(f"k8s.{DRIVER}/claim=")


class Domain:
    """A domain of which no controller knows. A case says in its clique what the plugin's node does in it."""

    def __init__(self, namespace, name):
        namespace.apply(domain(name))
        self.namespace = namespace
        self._cluster = namespace.cluster
        self._name = name
        self.uid = namespace.uid(name)
        self._clique = f"{self.uid}.{CLIQUE}"
        self.claims = []

    def claim(self, name, *configs):
        """NAMESPACE/NAME/UID of a claim of its channel, as the scheduler leaves it for the plugin's node. `configs`: more of them."""
        made = channel_claim(name, self.uid, allocationMode="Single")
        made["spec"]["devices"]["config"] += configs
        self.namespace.apply(made)
        self.claims.append(allocate(self._cluster, made))
        return self.claims[-1]

    @contextlib.contextmanager
    def daemon(self, plugin):
        """Meanwhile the claim of its daemon is prepared on the plugin's node, as that of a daemon's pod."""
        config = {"apiVersion": "resource.nvidia.com/v1beta1", "kind": "ComputeDomainDaemonConfig", "domainID": self.uid}
        claim = named("ResourceClaim", f"daemon-{self.uid}", spec={"devices": {
            "requests": [{"name": "daemon", "exactly": {"deviceClassName": "compute-domain-daemon.nvidia.com"}}],
            "config": [{"opaque": {"driver": DRIVER, "parameters": config}}]}})
        claim["metadata"]["namespace"] = "cdom-system"
        self._cluster.apply(claim)
        allocated = allocate(self._cluster, claim)
        plugin.prepare(allocated)
        try:
            yield
        finally:
            plugin.unprepare(allocated)
            self._cluster.kubectl("delete", "resourceclaim", claim["metadata"]["name"], "-n", "cdom-system", "--timeout=60s")

    def set_node(self, status):
        """What the node's daemon says in the clique: Ready or NotReady."""
        entry = {"nodeName": NODE, "ipAddress": "10.0.0.1", "cliqueID": CLIQUE, "index": 0, "status": status}
        self._cluster.apply({"apiVersion": "resource.nvidia.com/v1beta1", "kind": "ComputeDomainClique", "daemons": [entry], "metadata": {
            "name": self._clique, "namespace": "cdom-system", "labels": {LABEL: self.uid}, "annotations": {"cdom.dev/allow-deletion": "true"}}})

    def delete_clique(self):
        self._cluster.kubectl("delete", "computedomainclique", self._clique, "-n", "cdom-system", "--ignore-not-found")

    def end(self):
        """It is deleted, with its claims, as a controller would do it."""
        self.delete_clique()
        for claim in self.claims:
            self.namespace.kubectl("delete", "resourceclaim", claim.split("/")[1], "--ignore-not-found", "--timeout=60s")
        self.namespace.kubectl("patch", "computedomain", self._name, "--type=merge", "-p", '{"metadata": {"finalizers": null}}')
        self.namespace.kubectl("delete", "computedomain", self._name, "--timeout=60s")


class Plugin:
    """A plugin that publishes its devices; `port` and `health_port` are those that other pods of the cluster reach."""

    program = "compute-domain-kubelet-plugin"
    driver_name = DRIVER
    options = ("--config-template", REPO / "node/imex/imexd.cfg.tmpl")
    environment = {"STAND_IN_NVML_GPUS": "GB200,0,3,0,1,1"}

    def __init__(self, cluster, programs):
        self._cluster = cluster
        self._programs = programs
        self._folder = pathlib.Path(tempfile.mkdtemp(prefix="plugin.", dir=cluster.folder))
        self.cdi = self._folder / "cdi"
        self.driver = self._folder / "driver"
        self._name = "plugin"
        self._socket = self._folder / "plugins" / self.driver_name / "dra.sock"
        self._runs = None  # What run_with() was given, if it runs with that.
        self.port = free_port()
        self.health_port = free_port()

    def start(self):
        self.set_up()
        self.run()
        eventually("the plugin publishes its devices", self.slices)

    def run_with(self, *arguments, **how):
        """A plugin that was given these runs, and can be asked: the one that does, or another. `how` as in run()."""
        if self._runs == (arguments, how) and self._process.is_running():
            return
        ran = self._process.is_running()
        self.end()
        assert not ran or self._process.status() == 0
        self._cluster.kubectl("delete", "resourceslices", "--all")
        self.run(*arguments, **how)
        self._runs = arguments, how
        eventually("the devices that the plugin publishes", self.devices, lambda found: "channel-0" in found)
        self.wait_until_it_can_be_asked()

    def set_up(self):
        """Makes the node, and all that run() needs."""
        folder = self._folder
        for name in ("registry", "plugins", "cdi", "driver/dev", "driver/usr/lib64",
                     "driver/proc/driver/nvidia/capabilities"):
            (folder / name).mkdir(parents=True)
        self._make_driver(self.driver)
        (folder / "devices").write_text("Character devices:\n195 nvidia\n235 nvidia-caps-imex-channels\n236 nvidia-caps\n510 nvidia-uvm\n\n"
                                        "Block devices:\n")
        self._cluster.apply({"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE}})
        self.kubeconfig = self._make_kubeconfig()

    def run(self, *arguments, within=(), devices=True, kubeconfig=None, environment=None):
        """Starts the program. Its log begins again. `within` is a command that runs it; with `devices`, it is told of another file
        than /proc/devices. `kubeconfig`: instead of its own. `environment`: more variables."""
        folder = self._folder
        (folder / f"{self._name}.log").write_text("")
        self._runs = None
        self._process = Process(self._name, [
            *within, self._programs / self.program, "--node-name", NODE, "--namespace", "cdom-system",
            "--kubeconfig", kubeconfig or self.kubeconfig, "--kubelet-registrar-directory-path", folder / "registry",
            "--kubelet-plugins-directory-path", folder / "plugins", "--cdi-root", folder / "cdi",
            "--nvidia-driver-root", self.driver, "--container-driver-root", self.driver,
            *(["--proc-devices", folder / "devices"] if devices else []), *self.options,
            "--http-endpoint", f"127.0.0.1:{self.port}", "--healthcheck-port", str(self.health_port), *arguments],
            folder, {**self.environment, **(environment or {})})

    def preflight(self, environment):
        """What preflight says with these variables."""
        done = subprocess.run([self._programs / "compute-domain-kubelet-plugin", "preflight", "--node-name", NODE, "--container-driver-root",
                               self.driver, "--proc-devices", self._folder / "devices", "--cdi-root", self.cdi],
                              env={"STAND_IN_NVML_GPUS": "GB200,0,3,0,1,1", **environment}, check=False, capture_output=True,
                              text=True, timeout=60)
        return done.stdout + done.stderr

    @contextlib.contextmanager
    def younger(self):
        """Meanwhile another instance serves beside it, as in a rolling update."""
        made = copy.copy(self)
        made._name, made._socket = "younger", self._socket.with_name("dra-younger.sock")
        made.port, made.health_port = free_port(), free_port()
        made.run("--pod-uid", "younger")
        try:
            yield made
        finally:
            made.end()

    def end(self):
        self._process.end()

    def exit_status(self):
        """None while it runs."""
        return self._process.status()

    def has_ended(self):
        return not self._process.is_running()

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

    def devices(self):
        """The names of the devices that are published, in order."""
        return sorted(device["name"] for one in self._cluster.kubectl_json("get", "resourceslices")["items"] if one["spec"].get("nodeName") == NODE
                      for device in one["spec"].get("devices", []))

    def get(self, path):
        """Status and text of its port."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=60) as answer:
            return answer.status, answer.read().decode()

    def wait_until_it_can_be_asked(self):
        """Fails at once, with its log, if it has ended."""
        eventually("the plugin can be asked", lambda: self._socket.exists() or self.has_ended())
        assert not self.has_ended(), self.log()

    def prepare(self, claim):
        """As a kubelet does on its socket, for NAMESPACE/NAME/UID: the CDI names of the devices. Raises on an error."""
        self.wait_until_it_can_be_asked()
        done = self._call("prepare", claim)
        assert done.returncode == 0, done
        return done.stdout.split()

    def unprepare(self, claim):
        """As a kubelet does on its socket. Raises on an error."""
        self.wait_until_it_can_be_asked()
        done = self._call("unprepare", claim)
        assert done.returncode == 0, done

    def cycle(self, count, *claims):
        """Prepares and unprepares them in turn, so often in all. What a kubelet would say of the time that it took."""
        done = subprocess.run([self._programs / "ask-plugin", self._socket, "cycle", str(count), *claims], check=True, capture_output=True,
                              text=True, timeout=170)
        return done.stdout.strip()

    def unprepare_an_unknown_claim(self):
        """As a kubelet does on its socket. Raises if there is no good answer."""
        self.unprepare(UNKNOWN_CLAIM)

    def prepare_an_unknown_claim(self):
        """As a kubelet does on its socket. Raises if it is not answered that there is no such claim."""
        done = self._call("prepare", UNKNOWN_CLAIM)
        assert "not found" in done.stdout + done.stderr, done

    @contextlib.contextmanager
    def asked(self, what, claim):
        """A kubelet asks meanwhile, without waiting for the answer: the process that does. `claim`: NAMESPACE/NAME/UID."""
        self.wait_until_it_can_be_asked()
        asking = Process("ask", [self._programs / "ask-plugin", self._socket, what, claim], self._folder)
        try:
            yield asking
        finally:
            asking.end()

    def _call(self, what, claim):
        return subprocess.run([self._programs / "ask-plugin", self._socket, what, claim], check=False, capture_output=True,
                              text=True, timeout=50)  # It waits 45 s for a prepare, as a kubelet does.

    @property
    def process(self):
        """Where Linux tells of its process."""
        return pathlib.Path(f"/proc/{self._process.pid}")

    def capabilities(self):
        """The sets of capabilities that its threads have, each as Linux writes it."""
        text = "".join((thread / "status").read_text() for thread in (self.process / "task").iterdir())
        return set(re.findall(r"^Cap(?:Prm|Eff|Bnd):\s+(\w+)", text, re.MULTILINE))

    def number(self, name):
        """Of that name in /proc's status."""
        return int(re.search(rf"^{name}:\s+(\d+)", (self.process / "status").read_text(), re.MULTILINE)[1])

    def faults_of_programs(self):
        """Page faults of the programs that it has run to their end: more after each."""
        return int((self.process / "stat").read_text().rpartition(")")[2].split()[8])

    def files(self):
        """What it has on the node, sockets, too."""
        return sorted(str(file.relative_to(self._folder)) for folder in ("cdi", "plugins", "registry")
                      for file in (self._folder / folder).rglob("*") if not file.is_dir())

    def checkpoint(self):
        return (self._socket.parent / "checkpoint.json").read_text()

    def set_host_imex(self, state):
        """What the host's nvidia-imex-ctl says. The plugin asks it under the driver's root."""
        program = self.driver / "opt/bin/nvidia-imex-ctl"
        if not program.exists():
            program.parent.mkdir(parents=True)
            subprocess.run(["gcc", "-static", "-Os", "-o", program, REPO / "test/cluster/stubs/imex/host_imex.c"], check=True)
        (self.driver / "imex-state").write_text(f"{state}\n")

    def mask(self):
        """A command that runs a program where the driver's files are hidden, as by a container runtime that gives it GPUs."""
        script = """
            mount -t tmpfs tmpfs /proc/driver && cp -r "$0/driver/proc/driver/nvidia" /proc/driver
            echo ModifyDeviceFiles: 1 >/proc/driver/nvidia/params
            echo ModifyDeviceFiles: 0 >"$0/masked" && mount --bind "$0/masked" /proc/driver/nvidia/params
            mount -t tmpfs tmpfs /proc/driver/nvidia/capabilities && mount --bind "$0/devices" /proc/devices
            exec "$@" """
        return ("unshare", "--mount", "--propagation", "private", "bash", "-ec", script, self._folder)

    def descriptors(self):
        """How many it has, and how many it may have: the soft limit."""
        limit = re.search(r"^Max open files +(\d+)", (self.process / "limits").read_text(), re.MULTILINE)
        return len(list((self.process / "fd").iterdir())), int(limit[1])

    def _make_driver(self, driver):
        (driver / "dev/nvidia0").symlink_to("/dev/null")
        library = driver / "usr/lib64/libnvidia-ml.so.580.95.05"
        shutil.copy(self._programs.parent / "node/nvml/libnvml_stand_in.so", library)
        (library.parent / "libnvidia-ml.so.1").symlink_to(library.name)
        (driver / "proc/driver/nvidia/capabilities/fabric-imex-mgmt").write_text(
            "DeviceFileMinor: 512\nDeviceFileMode: 438\nDeviceFileModify: 0\n")

    def _make_kubeconfig(self):
        """With a token that is bound to the node, as a pod's is: the policies want that."""
        path = self._folder / "kubeconfig"
        path.write_text(json.dumps(self._cluster.config_of("cdom-kubelet-plugin", "Node", NODE)))
        return path
