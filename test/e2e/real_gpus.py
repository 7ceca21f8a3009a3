"""The driver of GPUs on real kubelets, with a stand-in for NVIDIA's library that reads its GPUs from a file of the node."""

import base64
import contextlib
import json
import pathlib
import subprocess

import yaml
from cluster import REPO
from real_nodes import NODES, PodLog
from waiting import eventually

GPU_DRIVER = "gpu.nvidia.com"
PLUGIN_FOLDER = f"plugins/{GPU_DRIVER}"
# By node: each GPU's NVML minor, its model, memory in MiB, and the bus of its PCI address.
GPUS = {"node-1": [(0, "NVIDIA H100 80GB HBM3", 81559, "1b"), (1, "NVIDIA H100 80GB HBM3", 81559, "43")],
        "node-2": [(minor, "NVIDIA GB200", 189471, bus) for minor, bus in enumerate(["08", "09", "18", "19"])]}
IN_EACH = {"/dev/nvidiactl": "195:255", "/dev/nvidia-uvm": "510:0", "/dev/nvidia-uvm-tools": "510:1"}
LIBRARY = "/usr/lib64/libnvidia-ml.so.580.95.05"
# The second GPU of node-1, once an administrator has made MIG devices of it: by name the UUID, and the minors of the capabilities.
MIG = {"gpu-1-mig-1g10gb-19-2": ("MIG-43-2", 84, 85), "gpu-1-mig-1g10gb-19-3": ("MIG-43-3", 93, 94), "gpu-1-mig-3g40gb-9-4": ("MIG-43-4", 12, 13)}
MIG_LINES = """profile number=0 id=19 slices=1 memory=9856 sms=16 copy=1 decoders=1 jpeg=1
profile number=2 id=9 slices=3 memory=40192 sms=60 copy=3 decoders=3 jpeg=3
instance index=0 uuid=MIG-43-2 gi=9 ci=0 profile=19 start=2 size=1 compute=1
instance index=1 uuid=MIG-43-3 gi=10 ci=0 profile=19 start=3 size=1 compute=1
instance index=2 uuid=MIG-43-4 gi=1 ci=0 profile=9 start=4 size=4 compute=3
"""
MIG_INSTANCES = {"gpu-1-mig-1g10gb-19-2": 9, "gpu-1-mig-1g10gb-19-3": 10, "gpu-1-mig-3g40gb-9-4": 1}


def machine(gpus):
    """What the stand-in reads. `gpus` as in GPUS."""
    return "driver version=580.95.05 cuda=13000\n" + "".join(
        f"gpu minor={minor} uuid=GPU-{bus}-{minor} name={name.replace(' ', '_')} memory={mib << 20} pci=00000000:{bus}:00.0\n"
        for minor, name, mib, bus in gpus)


class Gpus:
    """The driver of GPUs in the pods of the kubelet plugin."""

    def __init__(self, nodes):
        self.nodes = nodes

    def set_machine(self, node, gpus):
        """From now on the node has these GPUs."""
        self.set_text(node, machine(gpus))

    def set_text(self, node, text):
        """The same, as the stand-in reads it."""
        self.nodes.run(node, "bash", "-c", "cat >/run/nvidia/driver/gpus.new && mv /run/nvidia/driver/gpus.new /run/nvidia/driver/gpus",
                       stdin=text)

    @contextlib.contextmanager
    def mig_devices(self):
        """Meanwhile the second GPU of node-1 has MIG devices, and the driver of GPUs has read that."""
        for name, instance in MIG_INSTANCES.items():
            for part, minor in zip(("access", "ci0/access"), MIG[name][1:], strict=True):
                file = f"/run/nvidia/driver/proc/driver/nvidia/capabilities/gpu1/mig/gi{instance}/{part}"
                self.nodes.run("node-1", "bash", "-ec", f"mkdir -p {file.rpartition('/')[0]} && cat >{file}",
                               stdin=f"DeviceFileMinor: {minor}\nDeviceFileMode: 292\nDeviceFileModify: 1\n")
        self.set_text("node-1", machine(GPUS["node-1"]).rstrip("\n") + " mig=1\n" + MIG_LINES)
        self.touch_driver("node-1")
        eventually("devices with MIG", lambda: set(self.slice_of("node-1")), {"gpu-0", *MIG})
        try:
            yield
        finally:
            self.set_machine("node-1", GPUS["node-1"])
            self.touch_driver("node-1")
            eventually("devices without MIG", lambda: set(self.slice_of("node-1")), {"gpu-0", "gpu-1"})

    def touch_driver(self, node):
        """As if NVIDIA's driver was installed again: it is read within seconds."""
        self.nodes.run(node, "touch", f"/run/nvidia/driver{LIBRARY}")

    @contextlib.contextmanager
    def none_on(self, node):
        """Meanwhile no plugin of cdom runs on the node."""
        self.nodes.kubectl("label", "node", node, "nvidia.com/gpu.present-")
        eventually(f"no plugin is on {node}", lambda: [one for one in self.nodes.plugins() if one["spec"]["nodeName"] == node], [])
        yield
        self.nodes.kubectl("label", "node", node, "nvidia.com/gpu.present=true")
        eventually(f"the driver is ready on {node}", lambda: self.is_ready(node))

    @contextlib.contextmanager
    def powered_off(self, node, *pods):
        """Meanwhile the node's kubelet is killed, and with it the plugin and these pods, with their sandboxes. A kubelet that starts asks
        for the claims of each pod that it starts."""
        plugin = self.plugin_on(node)
        before = {one["metadata"]["name"]: container_of(one) for one in pods}
        with self.nodes.without_kubelet(node):
            self.end(node, plugin, *pods)
            yield
        for name, container in before.items():
            eventually(f"pod {name} runs again", lambda name=name: container_of(self.nodes.pod(name)), lambda now, old=container: now and now != old, within=90)

    def end(self, node, *pods):
        """Kills all processes of the pods, also those of their sandboxes."""
        for one in pods:
            uid = one["metadata"]["uid"].replace("-", "[-_]")
            self.nodes.run(node, "bash", "-c", f"for at in /proc/[0-9]*; do grep -q 'pod{uid}' $at/cgroup && kill -KILL ${{at#/proc/}}; done 2>/dev/null; true")

    def make_sysfs(self, node):
        """What the kernel says of where its GPUs are: each is behind a PCIe root of its own."""
        for *_, bus in GPUS[node]:
            device, at = f"pci0000:{bus}/0000:{bus}:00.0", "/run/nvidia/driver/sys"
            self.nodes.run(node, "bash", "-ec", f"mkdir -p {at}/devices/{device} {at}/bus/pci/devices && "
                           f"ln -sfn ../../../devices/{device} {at}/bus/pci/devices/0000:{bus}:00.0")

    def slice_of(self, node):
        """The devices that the node publishes, by name; None before that."""
        found = [one for one in self.nodes.kubectl_json("get", "resourceslices")["items"]
                 if one["spec"]["driver"] == GPU_DRIVER and one["spec"].get("nodeName") == node]
        assert len(found) < 2
        return {device["name"]: device for device in found[0]["spec"].get("devices", [])} if found else None

    def devices_in(self, pod, container):
        """The device nodes of NVIDIA in a container, with their numbers."""
        process = self.nodes.process_of_container(pod, container)
        text = self.nodes.run(pod["spec"]["nodeName"], "bash", "-c",
                              f"cd /proc/{process}/root && find dev -name '*nvidia*' -o -path '*channel*' | xargs -r stat -c '%n %F %Hr:%Lr'")
        return {f"/{line.split()[0]}": line.split()[-1] for line in text.splitlines() if "character" in line}

    def environment_in(self, pod, container):
        process = self.nodes.process_of_container(pod, container)
        text = self.nodes.run(pod["spec"]["nodeName"], "bash", "-c", f"tr '\\0' '\\n' </proc/{process}/environ")
        return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)

    def files(self, node):
        """The CDI files of claims for GPUs on the node, by claim's UID."""
        # A file may go meanwhile.
        text = self.nodes.run(node, "bash", "-c", f"cd /run/cdi && for file in k8s.{GPU_DRIVER}-claim_*; do "
                              'content=$(base64 -w 0 "$file" 2>/dev/null) && echo "$file $content"; done; true')
        return {line.split()[0].rpartition("_")[2].removesuffix(".yaml"): base64.b64decode(line.split()[1]).decode() for line in text.splitlines()}

    def identities(self, node):
        """Of each of these files inode, time of the last change, and hash, by claim's UID: none of them changes if it is not written."""
        text = self.nodes.run(node, "bash", "-c", f"cd /run/cdi && for file in k8s.{GPU_DRIVER}-claim_*; do "
                              'echo "$file $(stat -c "%i %y" "$file") $(sha256sum <"$file")"; done')
        return {line.split()[0].rpartition("_")[2].removesuffix(".yaml"): line for line in text.splitlines()}

    def checkpoint(self, node):
        """The entries of its checkpoint by claim's UID."""
        noted = json.loads(self.nodes.run(node, "cat", f"{self.nodes.kubelet_root}/{PLUGIN_FOLDER}/checkpoint.json"))
        return noted["v2"].get("preparedClaims") or {}

    def kill(self, node):
        """Kills the plugin's process on the node. Returns when the next one is ready: a kubelet asks again only after a minute."""
        pod = self.plugin_on(node)
        restarts = self._status(pod)["restartCount"]
        self.nodes.run(node, "kill", "-KILL", str(self.nodes.process_of_container(pod, "gpus")))
        eventually("the container is ready again", lambda: self._status(pod)["restartCount"] > restarts and self._status(pod)["ready"])

    def plugin_on(self, node):
        """The plugin's pod on the node; one that ends may be beside it."""
        [pod] = [one for one in self.nodes.plugins() if one["spec"]["nodeName"] == node and "deletionTimestamp" not in one["metadata"]]
        return pod

    def is_ready(self, node):
        found = [one for one in self.nodes.plugins() if one["spec"]["nodeName"] == node]
        return len(found) == 1 and "containerStatuses" in found[0]["status"] and self._status(found[0])["ready"]

    def _status(self, pod):
        statuses = self.nodes.get("pod", pod["metadata"]["name"], "cdom-system")["status"]["containerStatuses"]
        return next(one for one in statuses if one["name"] == "gpus")

    def says(self, node, text):
        """Whether the driver that runs on that node now has said so."""
        pod = self.plugin_on(node)["metadata"]["name"]
        return text in self.nodes.kubectl("-n", "cdom-system", "logs", pod, "-c", "gpus")

    def log(self, node):
        """What the driver on that node says from now on."""
        pod = self.plugin_on(node)["metadata"]
        return PodLog(self.nodes.plane.parent / "nodes" / node / "log/pods" / f"cdom-system_{pod['name']}_{pod['uid']}/gpus/0.log")

    def wait_until_nothing_is_left(self):
        for node in NODES:
            eventually(f"no claim for GPUs is prepared on {node}", lambda node=node: (self.files(node), self.checkpoint(node)), ({}, {}))


class Nvidia:
    """What NVIDIA's driver is to files of a node: its reader and writer of checkpoints, and CDI files with what it writes into them."""

    def __init__(self, gpus):
        built = subprocess.run([REPO / "test/cluster/controlplane/checkpoint/build.sh"], check=True, capture_output=True, text=True)
        self._program = pathlib.Path(built.stdout.strip()) / "checkpoint"
        self._gpus = gpus
        self._folder = f"{gpus.nodes.kubelet_root}/{PLUGIN_FOLDER}"

    def reads(self, node):
        """What it reads in the checkpoint, whose sums are right and which it would write in the same way: by UID the state, and each
        device with its UUID."""
        lines = self._gpus.nodes.run(node, self._program, "gpus", "check", self._folder).splitlines()
        return {line.split(" ", 1)[0]: line.split(" ", 1)[1] for line in lines}

    def takes_over(self, node):
        """Claims that are prepared look as if it had prepared them."""
        self._gpus.nodes.run(node, self._program, "gpus", "rewrite", self._folder)
        for uid, text in self._gpus.files(node).items():
            if text.startswith("---"):
                continue  # It has written this one.
            spec = json.loads(text)
            spec["cdiVersion"] = "0.7.0"
            spec["containerEdits"]["env"].append("NVIDIA_CTK_LIBCUDA_DIR=/usr/lib64")
            spec["containerEdits"]["additionalGids"] = [44]
            self._gpus.nodes.run(node, "bash", "-c", f"cat >/run/cdi/k8s.{GPU_DRIVER}-claim_{uid}.yaml", stdin="---\n" + yaml.safe_dump(spec))


def container_of(pod):
    """The id of the pod's container that runs; None if none does."""
    [status] = pod["status"]["containerStatuses"]
    return status["containerID"] if "running" in status["state"] else None


def with_gpus(folder):
    """Makes the folder: a kustomization of what is installed beside it, and the component for GPUs."""
    folder.mkdir()
    patch = [{"op": "add", "path": "/spec/template/spec/containers/1/env/-",
              "value": {"name": "STAND_IN_NVML_FILE", "value": "/driver-root/gpus"}}]
    (folder / "kustomization.yaml").write_text(yaml.safe_dump({
        "apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "resources": ["../site"],
        "components": [relative(REPO / "manifests/overlays/gpus", folder)],
        "patches": [{"target": {"kind": "DaemonSet", "name": "cdom-kubelet-plugin"}, "patch": json.dumps(patch)}]}))
    return folder


def relative(path, folder):
    up = "/".join([".."] * len(folder.resolve().parts[1:]))
    return f"{up}{path}"


@contextlib.contextmanager
def installed(nodes):
    """The component for GPUs is applied meanwhile: a Gpus."""
    made = Gpus(nodes)
    for node in NODES:
        made.make_sysfs(node)
        made.set_machine(node, GPUS[node])
    site = nodes.plane.parent.parent / "site"
    folder = with_gpus(site.with_name("site-gpus"))
    nodes.kubectl("apply", "-k", str(folder))
    nodes.kubectl("-n", "cdom-system", "rollout", "status", "daemonset/cdom-kubelet-plugin", "--timeout=120s")
    for node in NODES:
        eventually(f"{node} publishes its GPUs", lambda node=node: set(made.slice_of(node) or ()),
                   {f"gpu-{minor}" for minor, *_ in GPUS[node]})
    yield made
    nodes.kubectl("apply", "-k", str(site))
    nodes.kubectl("-n", "cdom-system", "rollout", "status", "daemonset/cdom-kubelet-plugin", "--timeout=120s")
    nodes.kubectl("delete", "-f", str(REPO / "manifests/overlays/gpus/device-classes.yaml"))
    for node in NODES:
        eventually(f"the kubelet removes the slice of {node}", lambda node=node: made.slice_of(node), None, within=90)


def claim(name, version="v1", count=1, device_class="gpu.nvidia.com", selectors=(), kind="ResourceClaim"):
    request = {"deviceClassName": device_class, "count": count, "selectors": [{"cel": {"expression": one}} for one in selectors]}
    one = {"name": "gpu", **request} if version == "v1beta1" else {"name": "gpu", "exactly": request}
    spec = {"devices": {"requests": [one]}}
    return {"apiVersion": f"resource.k8s.io/{version}", "kind": kind, "metadata": {"name": name, "namespace": "default"},
            "spec": {"spec": spec} if kind == "ResourceClaimTemplate" else spec}


def pod(name, source, containers=("work",), node=None):
    """A pod of these containers, which all have the claim. `source` as in its resourceClaims."""
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"}, "spec": {
        "terminationGracePeriodSeconds": 1, **({"nodeSelector": {"kubernetes.io/hostname": node}} if node else {}),
        "resourceClaims": [{"name": "claim", **source}],
        "containers": [{"name": one, "image": "cdom.test/work:1", "resources": {"claims": [{"name": "claim"}]}} for one in containers]}}


def running(nodes, name):
    nodes.wait_until_it_runs(name)
    return nodes.pod(name)


def gpus_in(devices):
    return {name for name in devices if name.removeprefix("/dev/nvidia").isdigit()}
