"""Two real kubelets in namespaces of this machine, with controller, kubelet plugin and daemons as pods from our images.

test/cluster/realnodes makes them, and gives them NVIDIA's driver and IMEX as stand-ins.
"""

import contextlib
import datetime
import json
import re
import subprocess

import yaml
from cluster import REPO, ControlPlane, built_before
from waiting import eventually

REAL_NODES = REPO / "test/cluster/realnodes"
PLUGIN = "system:serviceaccount:cdom-system:cdom-kubelet-plugin"
PLUGIN_PODS = "app.kubernetes.io/component=kubelet-plugin"
DRIVER = "compute-domain.nvidia.com"
LABEL = "resource.nvidia.com/computeDomain"
NODES = ("node-1", "node-2")
NOW = "registry.example.com"  # Where the images come from.
BEFORE = "registry.example.com/before"  # And those of the release before.


def version_of(tree):
    """The version of the manifests in that folder, which is the tag of their images."""
    return yaml.safe_load((tree / "manifests/chart/Chart.yaml").read_text())["appVersion"]


class RealNodes(ControlPlane):
    """`folder` is made and left by the caller. What all of it logged is in its `logs` after stop()."""

    kubelet_root = "/var/lib/kubelet"

    def __init__(self, bin_folder, folder):
        self._bin = bin_folder
        self._folder = folder
        self._cluster = folder / "cluster"
        super().__init__([REAL_NODES / "realnodes", "kubectl", self._cluster], self._cluster / "plane/audit.log",
                         {"KUBECACHEDIR": str(folder / "cache"), "KUBERC": "off"})
        self.plane = self._cluster / "plane"
        self.program = self._cluster / "bin/kubectl"
        self.enter = (REAL_NODES / "realnodes", "in", self._cluster, "plane")
        self._process = None
        self._before = None

    def start(self):
        log = self._folder / "start.log"
        with log.open("wb") as errors:
            self._process = subprocess.Popen(
                [REAL_NODES / "gpu_cluster.sh", self._bin, self._folder, self.kubelet_root],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True)
        said = self._process.stdout.readline()
        if said != "ready\n":
            raise AssertionError(f"the real nodes do not come up:\n{log.read_text()[-4000:]}")

    def stop(self):
        if self._process:
            self._process.stdin.close()
            self._process.wait(120)

    def load(self, layout, name):
        """Gives every node the image in that OCI layout, under that name."""
        subprocess.run([REAL_NODES / "realnodes", "load", self._cluster, layout, name], check=True)

    def load_before(self):
        """Gives every node the images of the release before. Returns the folder with its manifests."""
        if not self._before:
            self._before = built_before("--images")
            for image in ("controller", "driver"):
                self.load(self._before / f"image-{image}", f"{BEFORE}/cdom-{image}")
        return self._before

    # --- Nodes

    def run(self, node, *command, stdin=None):
        """What the command prints, in all namespaces of that node."""
        done = subprocess.run([REAL_NODES / "realnodes", "in", self._cluster, node, *command],
                              input=stdin, capture_output=True, text=True, check=False, timeout=60)
        if done.returncode != 0:
            raise AssertionError(f"{' '.join(map(str, command))} on {node}: {done.stderr}")
        return done.stdout

    def process_of(self, pod):
        """The id of the first process of the pod's container, in its node's namespaces."""
        return self.process_of_container(pod, pod["status"]["containerStatuses"][0]["name"])

    def process_of_container(self, pod, name):
        """The same of a container by its name."""
        [status] = [one for one in pod["status"]["containerStatuses"] if one["name"] == name]
        container = status["containerID"].removeprefix("containerd://")
        ctr = (self._cluster / "containerd/ctr", "--namespace", "k8s.io")
        tasks = self.run(pod["spec"]["nodeName"], *ctr, "tasks", "ls")
        return dict(line.split()[:2] for line in tasks.splitlines())[container]

    def status_of(self, pod):
        """Of all threads of that process, each once: the values of /proc's status by their names."""
        threads = f"/proc/{self.process_of(pod)}/task"
        text = self.run(pod["spec"]["nodeName"], "bash", "-c", f"cat {threads}/*/status || true")  # A thread may end.
        found = {}
        for name, value in re.findall(r"^(\w+):\s*(.*)$", text, re.MULTILINE):
            found.setdefault(name, set()).add(value)
        return found

    def listening_ports(self, pod):
        """TCP ports on which somebody in the pod listens, the loopback apart."""
        process = self.process_of(pod)
        text = self.run(pod["spec"]["nodeName"], "bash", "-c", f"cat /proc/{process}/net/tcp /proc/{process}/net/tcp6")
        listening = re.findall(r"^ *\d+: ([0-9A-F]+):([0-9A-F]{4}) \S+ 0A ", text, re.MULTILINE)
        return {int(port, 16) for address, port in listening if not is_loopback(address)}

    @contextlib.contextmanager
    def without_kubelet(self, node):
        """The node's kubelet is killed, and started again at the end."""
        self.run(node, "bash", "-c", 'touch /run/kubelet.off && kill -KILL "$(cat /run/kubelet.pid)"')
        try:
            yield
        finally:
            self.run(node, "rm", "/run/kubelet.off")

    @contextlib.contextmanager
    def network_plugin(self):
        """Each node enforces NetworkPolicies meanwhile. Controller and plugins are new ones: nobody tracked the connections
        that they had before, and so an answer of the API server would pass for a stranger's packet."""
        built = subprocess.run([REAL_NODES / "netpol/build.sh"], check=True, capture_output=True, text=True)
        program = f"{built.stdout.strip()}/kube-router"
        pid_file = "/run/kube-router.pid"
        command = f'echo $$ >{pid_file} && exec {program} "$@"'
        options = ("--run-firewall", "--run-router=false", "--run-service-proxy=false", "--health-port=0",
                   f"--kubeconfig={self._cluster}/plane/admin.kubeconfig", "--master=https://10.0.0.1:443")
        started = []
        try:
            for node in NODES:
                log = self._folder / f"kube-router-{node}.log"
                with log.open("wb") as out:
                    started.append((node, log, subprocess.Popen(
                        [REAL_NODES / "realnodes", "in", self._cluster, node, "bash", "-c", command, "bash",
                         *options, f"--hostname-override={node}", "--v=1"], stdout=out, stderr=out)))
            for node, log, _ in started:
                eventually(f"{node} enforces policies", lambda log=log: b"sync iptables took" in log.read_bytes())
            for workload in ("deployment/cdom-controller", "daemonset/cdom-kubelet-plugin"):
                self.kubectl("-n", "cdom-system", "rollout", "restart", workload)
            for workload in ("deployment/cdom-controller", "daemonset/cdom-kubelet-plugin"):
                self.kubectl("-n", "cdom-system", "rollout", "status", workload, "--timeout=120s")
            yield
        finally:
            for node, _, process in started:
                self.run(node, "bash", "-c", f'kill "$(cat {pid_file})"')
                process.wait(30)
                # Nobody else has any there.
                self.run(node, "bash", "-ec", "iptables -F && iptables -X && ipset destroy")

    def label(self, node):
        """The UID of the domain that has the node; None if none has."""
        return self.get("node", node)["metadata"]["labels"].get(LABEL)

    def spec_files(self, node):
        """The CDI specs on the node by the names of their files."""
        files = self.run(node, "find", "/run/cdi", "-name", f"k8s.{DRIVER}-*", "-print").split()
        return {file.rpartition("/")[2]: json.loads(self.run(node, "cat", file)) for file in files}

    def checkpoint(self, node):
        """The state that the plugin noted of each claim, by its UID."""
        noted = json.loads(self.run(node, "cat", f"{self.kubelet_root}/plugins/{DRIVER}/checkpoint.json"))
        claims = noted["v2"].get("preparedClaims") or {}
        return {uid: claim["checkpointState"] for uid, claim in claims.items()}

    # --- Pods

    def pod(self, name):
        return self.get("pod", name)

    def wait_until_it_runs(self, name, seconds=60):
        eventually(f"phase of pod {name}", lambda: self.pod(name)["status"].get("phase"), "Running", within=seconds)

    def claim_of(self, pod):
        """Name and UID of the claim for a channel that was made for this pod."""
        def name():
            found = self.pod(pod)["status"].get("resourceClaimStatuses", [{}])
            return found[0].get("resourceClaimName")
        claim = eventually(f"pod {pod} has a claim", name)
        return claim, self.get("resourceclaim", claim)["metadata"]["uid"]

    def give_channel_of(self, holder, pod):
        """Gives `pod`, which is left_alone(), the channel that pod `holder` has, and places it on that node."""
        claim, _ = self.claim_of(holder)
        allocation = self.get("resourceclaim", claim)["status"]["allocation"]
        name, _ = self.claim_of(pod)
        by = {"resource": "pods", "name": pod, "uid": self.pod(pod)["metadata"]["uid"]}
        self.kubectl("patch", "resourceclaim", name, "--subresource=status", "--type=merge", "-p",
                     json.dumps({"status": {"allocation": allocation, "reservedFor": [by]}}))
        node = {"apiVersion": "v1", "kind": "Node", "name": self.pod(holder)["spec"]["nodeName"]}
        self.kubectl("create", "--raw", f"/api/v1/namespaces/default/pods/{pod}/binding", "-f", "-", stdin=json.dumps(
            {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": pod}, "target": node}))

    def daemon_on(self, node):
        """The IMEX daemon's pod on that node; None if there is none."""
        return self._pod_on(node, LABEL)

    def plugins(self):
        return self.list("pods", "cdom-system", PLUGIN_PODS)

    def plugin_log(self, node):
        """What the plugin on that node says from now on."""
        pod = self._pod_on(node, PLUGIN_PODS)["metadata"]
        return PodLog(self._cluster / "nodes" / node / "log/pods" /
                      f"cdom-system_{pod['name']}_{pod['uid']}/compute-domains/0.log")

    def _pod_on(self, node, selector):
        pods = [one for one in self.list("pods", "cdom-system", selector)
                if one["spec"].get("nodeName") == node and "deletionTimestamp" not in one["metadata"]]
        return pods[0] if pods else None


def is_loopback(address):
    """Of an address as /proc/net writes it: words of 32 bits, the lowest byte first."""
    return address.endswith("7F") if len(address) == 8 else address in (
        "00000000000000000000000001000000", "0000000000000000FFFF00000100007F")


class PodLog:
    """What a container of ours writes from now on, read where its kubelet keeps it."""

    def __init__(self, path):
        self._path = path
        self._begin = path.stat().st_size

    def lines(self, message, **fields):
        """The lines with this message, and these values of their keys."""
        with self._path.open() as log:
            log.seek(self._begin)
            # Behind the time, the stream and whether the line is whole, which containerd puts in front.
            texts = [line.split(" ", 3)[3].rstrip("\n") for line in log if line.endswith("\n")]
        wanted = [message + " ", *(f'{key}="{value}' for key, value in fields.items())]
        return [text for text in texts if all(part in text + " " for part in wanted)]

    def wait_for(self, message, seconds=60, **fields):
        """The first line with this message and these values."""
        what = f"the plugin says '{message}' {fields}"
        return eventually(what, lambda: self.lines(message, **fields), within=seconds)[0]


def time_of(line):
    """When the line was written, by who wrote it. Of no use over midnight."""
    found = re.match(r"[IWED]\d{4} (\d\d:\d\d:\d\d\.\d{6}) ", line)
    assert found, f"no time in {line!r}"
    return datetime.datetime.strptime(found[1], "%H:%M:%S.%f")


def worker(name, node, domain_name):
    """A pod on that node with a channel of that domain, which ends when it is told to."""
    container = {"name": "work", "image": "cdom.test/work:1", "resources": {"claims": [{"name": "channel"}]}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"},
            "spec": {"nodeSelector": {"kubernetes.io/hostname": node}, "terminationGracePeriodSeconds": 2,
                     "containers": [container],
                     "resourceClaims": [{"name": "channel", "resourceClaimTemplateName": f"{domain_name}-channel"}]}}


def left_alone(pod):
    """The same pod, which no scheduler places."""
    return {**pod, "spec": {**pod["spec"], "schedulerName": "none"}}
