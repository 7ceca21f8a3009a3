"""A real control plane on loopback, simulated nodes, and the controller as a process under its own account.

Everything that is started here is ended here, by its process id. A wait has a deadline and says what it waited for.
"""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

REPO = pathlib.Path(__file__).resolve().parents[2]
CONTROL_PLANE = REPO / "test/cluster/controlplane"
ACCOUNT = "system:serviceaccount:cdom-system:cdom-controller"
REFUSAL = "refused by the test"


class TimedOut(AssertionError):
    """What was waited for did not happen."""


def wait_until(what, is_so, seconds=60):
    """Returns the first true answer of is_so(). Raises TimedOut with `what` after that many seconds."""
    deadline = time.monotonic() + seconds
    while True:
        if answer := is_so():
            return answer
        if time.monotonic() > deadline:
            raise TimedOut(f"after {seconds} s it is not so that {what}")
        time.sleep(0.2)  # Between two looks.


def wait_for_value(what, get, wanted, seconds=60):
    """Returns once get() == wanted. Raises TimedOut with `what`, and what it was instead."""
    deadline = time.monotonic() + seconds
    while (got := get()) != wanted:
        if time.monotonic() > deadline:
            raise TimedOut(f"after {seconds} s {what}: got {got!r}, wanted {wanted!r}")
        time.sleep(0.2)  # Between two looks.


class Process:
    """A program of ours, with what it writes in a file."""

    def __init__(self, name, command, folder, env=None):
        self.log = folder / f"{name}.log"
        self.out = folder / f"{name}.out"
        with self.log.open("ab") as log, self.out.open("wb") as out:
            self._process = subprocess.Popen(command, stdout=out, stderr=log, env={**os.environ, **(env or {})})

    @property
    def pid(self):
        return self._process.pid

    def is_running(self):
        return self._process.poll() is None

    def says(self, text):
        return text in self.log.read_text() or text in self.out.read_text()

    def end(self):
        if self.is_running():
            self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class ControlPlane:
    """A cluster as its API server shows it: by kubectl, and by the audit log."""

    def __init__(self, kubectl, audit_log, env=None):
        """`kubectl` is the beginning of a command that is the administrator's."""
        self._kubectl = kubectl
        self._audit_log = audit_log
        self._env = {**os.environ, **(env or {})}

    def kubectl(self, *arguments, stdin=None, check=True):
        """What kubectl prints, as text. Raises with its error unless `check` is False."""
        done = self._run_kubectl(*arguments, stdin=stdin)
        if check and done.returncode != 0:
            raise AssertionError(f"kubectl {' '.join(map(str, arguments))}: {done.stderr}")
        return done.stdout

    def apply(self, *objects):
        self.kubectl("apply", "-f", "-", stdin=as_list(objects))

    def try_to_create(self, made):
        """The object as the API server would store it, or why it would not: as text, and without a trace."""
        done = self._run_kubectl("create", "--dry-run=server", "-f", "-", "-o", "json", stdin=json.dumps(made))
        return done.stdout + done.stderr

    def get(self, kind, name, namespace="default"):
        """The object, or None if there is none."""
        found = self.kubectl("get", kind, name, "-n", namespace, "--ignore-not-found", "-o", "json")
        return json.loads(found) if found.strip() else None

    def list(self, kind, namespace, selector=""):
        found = self.kubectl("get", kind, "-n", namespace, "-l", selector, "-o", "json")
        return json.loads(found)["items"]

    def condition(self, domain, kind):
        """The condition of that type; an empty one if it is not there."""
        found = self.get("computedomain", domain) or {}
        conditions = found.get("status", {}).get("conditions", [])
        return next((one for one in conditions if one["type"] == kind), {})

    def requests_of(self, account, since=0):
        """What that account has asked, by the API server's audit log: one entry an answered request."""
        entries = []
        with self._audit_log.open() as log:
            log.seek(since)
            for line in log:
                if not line.endswith("\n"):
                    break  # It is being written.
                entry = json.loads(line)
                if entry["user"]["username"] == account and entry["stage"] == "ResponseComplete":
                    entries.append(entry)
        return entries

    def audit_size(self):
        return self._audit_log.stat().st_size

    def _run_kubectl(self, *arguments, stdin=None):
        return subprocess.run([*self._kubectl, *arguments], input=stdin, env=self._env,
                              capture_output=True, text=True, check=False, timeout=180)


class Cluster(ControlPlane):
    """One plane for all cases of a run. `folder` is made and left by the caller."""

    def __init__(self, bin_folder, folder):
        self._bin = bin_folder
        self.folder = folder
        self._plane = folder / "plane"
        programs = subprocess.run([CONTROL_PLANE / "build.sh"], check=True, capture_output=True, text=True)
        kubectl = pathlib.Path(programs.stdout.strip()) / "kubectl"
        super().__init__([kubectl, "--kubeconfig", self._plane / "admin.kubeconfig"], self._plane / "audit.log")
        self._nodesim = None
        self._controller = None

    def start(self):
        subprocess.run([CONTROL_PLANE / "controlplane", "up", self._plane], check=True)
        self.kubectl("apply", "-k", REPO / "manifests/local")
        config = self._config_of("cdom-controller")
        self._controller_config = self.folder / "controller.kubeconfig"
        self._controller_config.write_text(json.dumps(config))
        self._nodesim = Process(
            "nodesim",
            [self._bin / "nodesim", "--kubeconfig", self._plane / "nodesim.kubeconfig", "--control-port", "0",
             "--nodes", "8", "--cliques", "2", "--gpus", "4", "--daemon-account"],
            self.folder)
        wait_until("the simulated nodes are there", lambda: self._nodesim.says(" ready\n"), 120)

    def stop(self):
        for process in (self._controller, self._nodesim):
            if process:
                process.end()
        subprocess.run([CONTROL_PLANE / "controlplane", "down", self._plane], check=False, stdout=subprocess.DEVNULL)

    def run_controller(self, *flags):
        """Ends the controller that runs, if any, and waits until one with these flags leads."""
        self.start_controller(*flags)
        wait_until("the controller leads", lambda: self._controller.says("Reconciling"))

    def start_controller(self, *flags):
        """As run_controller(), without waiting until it leads."""
        self.end_controller()
        (self.folder / "controller.log").write_text("")
        self._controller = self.start_replica("controller", *flags)

    def end_controller(self):
        if self._controller:
            self._controller.end()
        self._controller = None

    def start_replica(self, name, *flags):
        """One more process of the controller, with its log under that name. Who calls this ends it."""
        return Process(
            name,
            [self._bin / "compute-domain-controller", "--kubeconfig", self._controller_config,
             "--pod-name", f"cdom-{name}-{time.monotonic_ns()}", "--namespace", "cdom-system",
             "--image-name", "cdom:0.1.0", "--leader-election-lease-lock-name", "cdom-controller",
             "--http-endpoint", "127.0.0.1:0", *flags],
            self.folder)

    @contextlib.contextmanager
    def two_replicas(self):
        """The one that leads and one that stands by, as processes."""
        self.run_controller()
        standby = self.start_replica("standby")
        try:
            wait_until("the other stands by", lambda: standby.says("Standing by"))
            yield self._controller, standby
        finally:
            standby.end()

    def controller_says(self, text):
        """Whether the controller has logged that since it was run."""
        return self._controller.says(text)

    def controller_runs(self):
        return self._controller.is_running()

    def is_refused_to_the_controller(self, *arguments):
        """Whether a policy of refusal() stops this command of kubectl, were it the controller's."""
        return REFUSAL in self._run_kubectl(*arguments, "--as", ACCOUNT, "--dry-run=server").stderr

    def audited(self, verb, resource, since=0):
        """What the controller has asked with that verb."""
        return [one for one in self.requests_of(ACCOUNT, since)
                if one["verb"] == verb and one.get("objectRef", {}).get("resource") == resource]

    def _config_of(self, account):
        token = self.kubectl("create", "token", account, "-n", "cdom-system", "--duration", "2h").strip()
        admin = json.loads(self.kubectl("config", "view", "--raw", "-o", "json"))
        admin["users"][0]["user"] = {"token": token}
        return admin


@contextlib.contextmanager
def started(kind, programs, request, prefix):
    """The one cluster of that kind of this run, in a folder of its own. What it logged is kept if a case failed."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix=prefix))
    made = kind(programs, folder)
    try:
        made.start()
        yield made
    finally:
        made.stop()
    if request.session.testsfailed:
        print(f"\nlogs are in {folder}")
    else:
        shutil.rmtree(folder)


def as_list(objects):
    """The text of these objects together, as kubectl takes it."""
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)})


def domain(name):
    """A ComputeDomain in `default` whose claim template is NAME-channel."""
    return {"apiVersion": "resource.nvidia.com/v1beta1", "kind": "ComputeDomain",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"numNodes": 0, "channel": {"resourceClaimTemplate": {"name": f"{name}-channel"}}}}


def workers(name, count):
    """A Deployment of that many pods, each on a node of its own, that use the domain until they are deleted."""
    pod = {"terminationGracePeriodSeconds": 1,
           "resourceClaims": [{"name": "channel", "resourceClaimTemplateName": f"{name}-channel"}],
           "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
           "containers": [{"name": "worker", "image": "busybox", "resources": {"claims": [{"name": "channel"}]}}]}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": "default"},
            "spec": {"replicas": count, "selector": {"matchLabels": {"app": name}},
                     "template": {"metadata": {"labels": {"app": name},
                                               "annotations": {"nodesim.cdom.dev/run-seconds": "-1"}},
                                  "spec": pod}}}


def refusal(name, operation, group, resource, namespace):
    """A policy, and its binding, that refuses the controller this operation on the resource in that namespace."""
    kind = "admissionregistration.k8s.io/v1"
    return ({"apiVersion": kind, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": name},
             "spec": {"matchConstraints": {
                 "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
                 "resourceRules": [{"apiGroups": [group], "apiVersions": ["*"], "operations": [operation],
                                    "resources": [resource]}]},
                 "validations": [{"expression": f"request.userInfo.username != '{ACCOUNT}'",
                                  "message": REFUSAL}]}},
            {"apiVersion": kind, "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": name},
             "spec": {"policyName": name, "validationActions": ["Deny"]}})
