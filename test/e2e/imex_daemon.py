"""An IMEX daemon as a process, in the place of its pod's container, and its IMEX: the stand-in, or NVIDIA's own."""

import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess

from cluster import REPO
from namespaces import DRIVER
from nvidia_driver import FEATURE_GATES
from process import Process

CLIQUE_SIZE = 18
# NVIDIA's IMEX knows one hosts file, and has places of its own for logs and for what it keeps.
ALONE = 'mount --bind "$0" /etc/hosts && mount -t tmpfs tmpfs /run && mount -t tmpfs tmpfs /var/log && exec "$@"'


class Daemon:
    """The process in the place of a pod's container. `imex` is the folder of NVIDIA's own IMEX; None: the stand-ins."""

    def __init__(self, folder, programs, imex, pod, clique):
        self.folder = folder
        self.clique = clique
        self._program = programs / "compute-domain-daemon"
        self._imex, self._control = ((imex or programs / "imex") / name for name in ("nvidia-imex", "nvidia-imex-ctl"))
        self._is_real = imex is not None
        self._pod = pod
        self._hosts, self._kubeconfig = folder / "hosts", folder / "kubeconfig"
        self.process = None

    @property
    def name(self):
        return self._pod["metadata"]["name"]

    def set_up(self, config):
        """`config`: a kubeconfig with the pod's token, as the kubelet mounts it."""
        self.token = config["users"][0]["user"]["token"]
        self.folder.mkdir(parents=True)
        (self.folder / "imexd.cfg.tmpl").write_bytes((REPO / "node/imex/imexd.cfg.tmpl").read_bytes())
        self._hosts.write_text(f"127.0.0.1\tlocalhost\n{self._pod['status']['podIP']}\t{self.name}\n")
        self._kubeconfig.write_text(json.dumps(config))

    def start(self, domain_name, uid):
        pod, alone = self._pod, []
        given = {one["name"]: one.get("value") for one in pod["spec"]["containers"][0]["env"]}
        if self._is_real:
            alone = ["unshare", "--mount", "--propagation", "private", "bash", "-c", ALONE, self._hosts]
        self.process = Process("daemon", [*alone, *self._command(
            "-v", "4", "run", IMEX_PROGRAM=self._imex, HOSTS_FILE=self._hosts, KUBECONFIG=self._kubeconfig, COMPUTE_DOMAIN_UUID=uid,
            COMPUTE_DOMAIN_NAME=domain_name, NODE_NAME=pod["spec"]["nodeName"], POD_IP=pod["status"]["podIP"],
            POD_UID=pod["metadata"]["uid"], POD_NAME=self.name, POD_NAMESPACE=DRIVER, MAX_NODES_PER_IMEX_DOMAIN=CLIQUE_SIZE,
            IMEX_NODE_NAMES=given.get("IMEX_NODE_NAMES", "shared"), FEATURE_GATES=FEATURE_GATES,
            **({"IMEX_ARGUMENTS": "--nogpu"} if self._is_real else {}))], self.folder)

    def end(self):
        if self.process:
            self.process.end()

    def probe(self):
        """(exit status, last line) of what the kubelet runs."""
        done = subprocess.run(self._command("check"), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=30)
        return done.returncode, "".join(done.stdout.splitlines()[-1:]).rstrip()

    def connections(self):
        """How many there are in the whole clique, as its IMEX says."""
        done = subprocess.run(["env", "-i", f"IMEX_STANDIN_HOSTS={self._hosts}", self._control, "-c", self.folder / "imexd.cfg", "-N", "-j"],
                              capture_output=True, text=True, check=False, timeout=30)
        nodes = json.loads(done.stdout or "{}").get("nodes", {}).values()
        return sum(one["status"] == "CONNECTED" for node in nodes if node["status"] == "READY" for one in node["connections"].values())

    def imex(self):
        """The ids of its IMEX: one, or none."""
        found = subprocess.run(["pgrep", "-f", f"^{self._imex} -c {self.folder}/imexd.cfg"], capture_output=True, text=True, check=False)
        return [int(word) for word in found.stdout.split()]

    def kill_imex(self):
        [process] = self.imex()
        os.kill(process, signal.SIGKILL)

    @contextlib.contextmanager
    def frozen_imex(self):
        """Its IMEX gets no processor meanwhile."""
        [process] = self.imex()
        os.kill(process, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(process, signal.SIGCONT)

    @contextlib.contextmanager
    def told(self, what, text=""):
        """The stand-in is told this meanwhile: test/cluster/stubs/imex/README.md says what it does then."""
        file = self.folder / f"hosts.{what}"
        file.write_text(text)
        try:
            yield
        finally:
            file.unlink()

    def importers(self):
        """The indices that the stand-in has noted."""
        return (self.folder / "hosts.persist").read_text().splitlines()[1:]

    def log(self, since=0):
        return self.process.log.read_text()[since:]

    def memory(self):
        """KiB that the daemon has for itself."""
        return int(re.search(r"^RssAnon:\s+(\d+)", pathlib.Path(f"/proc/{self.process.pid}/status").read_text(), re.MULTILINE)[1])

    def _command(self, *arguments, **variables):
        variables = {"IMEX_CTL_PROGRAM": self._control, "IMEX_STANDIN_HOSTS": self._hosts, "IMEX_FOLDER": self.folder,
                     "CLIQUE_ID": self.clique, **variables}
        return ["env", "-i", *(f"{name}={value}" for name, value in variables.items()), self._program, *arguments]
