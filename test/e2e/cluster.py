"""A real control plane on loopback, simulated nodes, and the controller as a process under its own account.

Everything that is started here is ended here, by its process id.
"""

import contextlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import typing
import urllib.request

import dra
from nodesim import NodeSim
from process import Process
from versions import HAS_PLACEMENT, PLACEMENT_FOLDER, PLACEMENT_ON
from waiting import CommandFailed, eventually

REPO = pathlib.Path(__file__).resolve().parents[2]
CONTROL_PLANE = REPO / "test/cluster/controlplane"
BEFORE = (REPO / "test/e2e/upgrade_from").read_text().splitlines()[-1]  # The commit from which upgrades are tested.
PLACEMENT = REPO / "manifests" / PLACEMENT_FOLDER
GPU_CLASS = REPO / "test/cluster/gpu_class.yaml"
ACCOUNT = "system:serviceaccount:cdom-system:cdom-controller"
DAEMONS = "system:serviceaccount:cdom-system:compute-domain-daemon-service-account"
REFUSAL = "refused by the test"
OF_KUBERNETES = ("node.kubernetes.io/", "nvidia.com/gpu")  # Taints that are not a case's.


class Setup(typing.NamedTuple):
    """What cluster a module needs: it says so in its constant CLUSTER. Modules of one process that need the same share it."""

    nodes: int = 8  # Without any, nodesim does not run.
    cliques: int = 2
    nodesim: tuple = ()  # More of its options.
    controlplane: tuple = ()  # Options of `controlplane up`.
    manifests: pathlib.Path | None = REPO / "manifests/local"  # None: nothing is applied.
    placement: bool = False  # Whether manifests/placement is applied, as well, where it can be.
    controller: tuple | None = None  # Flags of the controller that runs when a case begins; None: cases start their own.


DEFAULT = Setup(nodesim=("--gpus", "4"))  # Of a module that says nothing.


def built_before(*options):
    """The folder with what test/e2e/build_before.sh builds of the commit BEFORE."""
    built = subprocess.run([REPO / "test/e2e/build_before.sh", BEFORE, *options], check=True, stdout=subprocess.PIPE, text=True)
    return pathlib.Path(built.stdout.strip())


class ControlPlane:
    """A cluster as its API server shows it: by kubectl, and by the audit log."""

    enter = ()  # The beginning of a command that runs another one where the API server can be reached.

    def __init__(self, kubectl, audit_log, env=None):
        """`kubectl` is the beginning of a command that is the administrator's."""
        self._kubectl = kubectl
        self._audit_log = audit_log
        # Thousands of short runs of kubectl collect nothing that is worth the processor.
        self._env = {**os.environ, "GOGC": "400", **(env or {})}

    def kubectl(self, *arguments, stdin=None, check=True, quiet=False):
        """What kubectl prints, as text. Raises with its error unless `check` is False; with `quiet`, also with its warnings."""
        done = self._run_kubectl(*arguments, stdin=stdin)
        if (check and done.returncode != 0) or (quiet and done.stderr):
            raise CommandFailed(f"kubectl {' '.join(map(str, arguments))}: {done.stderr}")
        return done.stdout

    def quietly(self, *arguments, **options):
        """As kubectl(), and without a warning."""
        return self.kubectl(*arguments, quiet=True, **options)

    def kubectl_json(self, *arguments):
        return dra.as_v1(json.loads(self.kubectl(*arguments, "-o", "json")))

    def refused(self, *arguments, stdin=None):
        """What kubectl says on standard error. Raises if it succeeds."""
        done = self._run_kubectl(*arguments, stdin=stdin)
        assert done.returncode != 0, f"kubectl {' '.join(map(str, arguments))} succeeded: {done.stdout}"
        return done.stderr

    def apply(self, *objects):
        self.kubectl("apply", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))

    def create(self, *objects):
        """As apply(), of objects that do not exist. Returns what kubectl says."""
        return self.kubectl("create", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))

    def try_to_create(self, made):
        """The object as the API server would store it, or why it would not: as text, and without a trace."""
        done = self._run_kubectl("create", "--dry-run=server", "-f", "-", "-o", "json", stdin=json.dumps(made))
        return done.stdout + done.stderr

    def get(self, kind, name, namespace="default"):
        """The object, or None if there is none."""
        found = self.kubectl("get", kind, name, "-n", namespace, "--ignore-not-found", "-o", "json")
        return dra.as_v1(json.loads(found)) if found.strip() else None

    def list(self, kind, namespace, selector=""):
        """The objects; of all namespaces if `namespace` is empty."""
        where = ("-n", namespace) if namespace else ("--all-namespaces",)
        return self.kubectl_json("get", kind, *where, "-l", selector)["items"]

    def lives(self, namespace, selector=""):
        """Of each pod the life that it lives now. One that was made again, has restarted, has ended or is about to has another."""
        return sorted([one["metadata"]["uid"], one["metadata"].get("deletionTimestamp", ""), one["status"].get("phase", ""),
                       *[container["restartCount"] for container in one["status"].get("containerStatuses", [])[:1]]]
                      for one in self.list("pods", namespace, selector))

    def condition(self, domain, kind, namespace="default"):
        """The condition of that type; an empty one if it is not there."""
        found = self.get("computedomain", domain, namespace) or {}
        conditions = found.get("status", {}).get("conditions", [])
        return next((one for one in conditions if one["type"] == kind), {})

    def requests_of(self, account, since=0, stages=("ResponseComplete",)):
        """What that account has asked, by the API server's audit log: one entry an answered request."""
        return [entry for entry in self.audit_entries(since, stages) if entry["user"]["username"] == account]

    def audit_entries(self, since=0, stages=("ResponseComplete",)):
        """All answered requests. A watch that is being answered has the stage ResponseStarted."""
        entries = []
        with self._audit_log.open() as log:
            log.seek(since)
            for line in log:
                if not line.endswith("\n"):
                    break  # It is being written.
                entry = json.loads(line)
                if entry["stage"] in stages:
                    entries.append(entry)
        return entries

    def audit_size(self):
        return self._audit_log.stat().st_size

    def command(self, *arguments):
        """A command of kubectl that the caller runs, such as a watch."""
        return [*self._kubectl, *arguments]

    def _run_kubectl(self, *arguments, stdin=None):
        if not dra.IS_V1_SERVED:
            arguments, stdin = self._as_served(arguments, stdin)
        return subprocess.run([*self._kubectl, *arguments], input=stdin, env=self._env,
                              capture_output=True, text=True, check=False, timeout=180)

    def _as_served(self, arguments, stdin):
        """The same command for the version of resource.k8s.io that is served. A file or a kustomization becomes standard input."""
        arguments = [dra.request_as_served(one)[0] if isinstance(one, str) else one for one in arguments]
        if "-k" in arguments:
            at = arguments.index("-k")
            with tempfile.TemporaryDirectory() as folder:
                made = dra.manifests_as_served(arguments[at + 1], pathlib.Path(folder) / "manifests")
                done = subprocess.run([*self._kubectl, "kustomize", made], capture_output=True, text=True, check=False)
            if done.returncode == 0:  # If not, kubectl says why.
                arguments[at:at + 2], stdin = ["-f", "-"], done.stdout
        files = [arguments[at + 1] for at, one in enumerate(arguments) if one == "-f"]
        if files and all(pathlib.Path(one).is_file() for one in files):
            text = "\n---\n".join(pathlib.Path(one).read_text() for one in files)
            if dra.text_as_served(text) != text:
                rest = [one for at, one in enumerate(arguments) if one != "-f" and (at == 0 or arguments[at - 1] != "-f")]
                arguments, stdin = [*rest, "-f", "-"], text
        return arguments, dra.text_as_served(stdin)


class Cluster(ControlPlane):
    """One plane, as `setup` says. `folder` is made and left by the caller."""

    def __init__(self, bin_folder, folder, setup=DEFAULT):
        self._bin = bin_folder
        self.folder = folder
        self.setup = setup
        self.plane = folder / "plane"
        programs = subprocess.run([CONTROL_PLANE / "build.sh"], check=True, stdout=subprocess.PIPE, text=True)
        self.program = pathlib.Path(programs.stdout.strip()) / "kubectl"
        # Each kubectl ends before there is garbage worth collecting, which would be a quarter of its work.
        super().__init__([self.program, "--kubeconfig", self.plane / "admin.kubeconfig"], self.plane / "audit.log",
                         {"GOGC": "off", "GOMEMLIMIT": "500MiB"})
        self.nodesim = None
        self.controller = None
        self._translator = None  # Between nodesim and the API server, where that has no resource.k8s.io/v1.
        self._admin = None  # Its kubeconfig.
        self._flags = None  # Of the controller that runs.

    def start(self):
        options = (*self.setup.controlplane, *(PLACEMENT_ON if self.setup.placement else ()))
        subprocess.run([CONTROL_PLANE / "controlplane", "up", self.plane, *options], check=True, stdout=subprocess.DEVNULL)
        if self.setup.manifests:
            self.kubectl("apply", "-k", self.setup.manifests)
            self.write_controller_config()
        if self.setup.placement and HAS_PLACEMENT:
            self.kubectl("apply", "-k", PLACEMENT)
        if self.setup.nodes:
            self.start_nodes(*self.setup.nodesim)

    def write_controller_config(self):
        """With a token of the controller's account, as long as that account exists."""
        self.controller_config = self.folder / "controller.kubeconfig"
        self.controller_config.write_text(json.dumps(self.config_of("cdom-controller")))

    def start_nodes(self, *options):
        kubeconfig = self.plane / "nodesim.kubeconfig"
        if not dra.IS_V1_SERVED:
            kubeconfig = self._dra_for_nodesim(kubeconfig)
        self.nodesim = NodeSim(Process(
            "nodesim",
            [self._bin / "nodesim", "--kubeconfig", kubeconfig, "--control-port", "0",
             "--nodes", str(self.setup.nodes), "--cliques", str(self.setup.cliques), "--daemon-account", *options],
            self.folder))

    def _dra_for_nodesim(self, kubeconfig):
        """The kubeconfig of an API server that has v1, as nodesim needs it."""
        if not self._translator:
            program = REPO / "test/e2e/dra_for_nodesim.py"
            self._translator = Process("dra_for_nodesim", [sys.executable, program, self.plane], self.folder)
        text = eventually("nodesim's API server listens", lambda: self._translator.out.read_text(), re.compile(r"serving on \d+"))
        made = self.folder / "nodesim.kubeconfig"
        made.write_text(re.sub(r"(server: https://127\.0\.0\.1):\d+", rf"\1:{text.split()[-1]}", kubeconfig.read_text()))
        return made

    def nodes(self):
        return [one["metadata"]["name"] for one in self.kubectl_json("get", "nodes")["items"]]

    def heal(self):
        """Takes back what a case that failed may have done to nodes, CRDs and the controller."""
        self.kubectl("apply", "-k", REPO / "crds")
        if self.nodesim:
            self.nodesim.heal(f"node-{i:03}" for i in range(self.setup.nodes))
        taints = sorted({taint["key"] for node in self.kubectl_json("get", "nodes")["items"]
                         for taint in node["spec"].get("taints", []) if not taint["key"].startswith(OF_KUBERNETES)})
        if taints:
            self.kubectl("taint", "nodes", "--all", *[f"{key}-" for key in taints], check=False)
        self.kubectl("uncordon", *self.nodes(), check=False)
        self.run_controller()

    def stop(self):
        for process in (self.controller, self.nodesim, self._translator):
            if process:
                process.end()
        subprocess.run([CONTROL_PLANE / "controlplane", "down", self.plane], check=False, stdout=subprocess.DEVNULL)

    def usage(self):
        """How a person uses what runs, and ends it."""
        processes = " ".join(str(one.pid) for one in (self.controller, self.nodesim, self._translator) if one)
        return "\n".join((
            f"  export KUBECONFIG={self.plane}/admin.kubeconfig PATH={self.program.parent}:$PATH",
            "  kubectl get computedomains --all-namespaces",
            *([f"  curl -X POST '{self.nodesim.url}/kill?node=node-000'  # test/cluster/nodesim/README.md has the others"]
              if self.nodesim else []),
            f"  less {self.folder}/controller.log",
            "To end it:",
            f"  kill {processes}; {CONTROL_PLANE}/controlplane down {self.plane} && rm -r {self.folder}"))

    # --- The controller

    def run_controller(self, *flags, **how):
        """Ends the controller that runs, if any, and waits until one with these flags leads."""
        self.start_controller(*flags, **how)
        eventually("the controller leads", lambda: self.controller.says("Reconciling"))

    def controller_with(self, *flags, **how):
        """A controller with these flags leads: the one that runs, or another. `how` as in start_replica()."""
        if self._flags != (flags, how) or not self.controller.is_running():
            self.run_controller(*flags, **how)

    def start_controller(self, *flags, **how):
        """As run_controller(), without waiting until it leads."""
        self.end_controller()
        self.controller = self.start_replica("controller", *flags, **how)
        self._flags = (flags, how)

    def end_controller(self):
        if self.controller:
            self.controller.end()
        self.controller = self._flags = None

    def start_replica(self, name, *flags, kubeconfig=None, image="cdom:0.2.0", program=None, **env):
        """One more process of the controller, with its log under that name. Who calls this ends it."""
        (self.folder / f"{name}.log").write_text("")
        # The debug pages by the environment: an earlier version does not know the flag.
        return Process(
            name,
            [program or self._bin / "compute-domain-controller", "--kubeconfig", kubeconfig or self.controller_config,
             "--pod-name", f"cdom-{name}-{time.monotonic_ns()}", "--namespace", "cdom-system",
             "--image-name", image, "--leader-election-lease-lock-name", "cdom-controller",  # Not the default of earlier ones.
             "--http-endpoint", "127.0.0.1:0", *flags],
            self.folder, {"DEBUG_ENDPOINT": "127.0.0.1:0", **env})

    @contextlib.contextmanager
    def replica(self, name, *flags, **how):
        """One more process of the controller meanwhile."""
        process = self.start_replica(name, *flags, **how)
        try:
            yield process
        finally:
            process.end()

    @contextlib.contextmanager
    def two_replicas(self):
        """The one that leads and one that stands by, as processes."""
        self.run_controller()
        with self.replica("standby") as standby:
            eventually("the other stands by", lambda: standby.says("Standing by"))
            yield self.controller, standby

    def controller_says(self, text):
        """Whether the controller has logged that since it was run."""
        return self.controller.says(text)

    def controller_log(self, since=0):
        """What it has logged since it was run, or since log_size() was that."""
        return self.controller.log.read_text()[since:]

    def said_twice(self, pattern):
        """The lines of its log that match and came more than once, but for their time."""
        lines = [re.sub(r"^([A-Z])\d{4} [\d:.]+ +\d* *", r"\1 ", line) for line in self.controller_log().splitlines()
                 if re.search(pattern, line)]
        return sorted({line for line in lines if lines.count(line) > 1})

    def log_size(self):
        return len(self.controller.log.read_text())

    def controller_runs(self):
        return self.controller.is_running()

    def port_of(self, what):
        """Where the controller serves that, as it has logged."""
        return int(re.findall(rf"Serving {what}.*?port[=\"]+(\d+)", self.controller_log())[-1])

    def controller_get(self, what, path):
        """The text of that page of the controller. `what` as in port_of()."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port_of(what)}{path}", timeout=60) as answer:
            return answer.read().decode()

    def is_refused_to_the_controller(self, *arguments):
        """Whether a policy of refusal() stops this command of kubectl, were it the controller's."""
        return REFUSAL in self._run_kubectl(*arguments, "--as", ACCOUNT, "--dry-run=server").stderr

    def audited(self, verb, resource, since=0):
        """What the controller has asked with that verb."""
        return [one for one in self.requests_of(ACCOUNT, since)
                if one["verb"] == verb and one.get("objectRef", {}).get("resource") == resource]

    def config_of(self, account, kind="", name="", uid="", namespace="cdom-system"):
        """A kubeconfig with a token of that account, which is bound to that object, if one is named."""
        bound = {"kind": kind, "name": name, "uid": uid}
        token = self.kubectl("create", "token", account, "-n", namespace, "--duration", "2h",
                             *[f"--bound-object-{key}={value}" for key, value in bound.items() if value]).strip()
        self._admin = self._admin or self.kubectl_json("config", "view", "--raw")
        return {**self._admin, "users": [{**self._admin["users"][0], "user": {"token": token}}]}
