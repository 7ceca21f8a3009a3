"""GPUs by cdom on real kubelets: what is published, and what the containers of a pod are given.

NVIDIA's library is a stand-in that reads its GPUs from a file of the node. It stands for what the library says, not for a GPU: no
program here uses one. The numbers of device nodes are those of the node's file of /proc/devices.
"""

import contextlib
import re
import subprocess

import pytest
import yaml
from cluster import REPO
from objects import domain
from pages import run_commands
from real_gpus import GPU_DRIVER, GPUS, IN_EACH, LIBRARY, MIG, Nvidia, claim, gpus_in, installed, machine, pod, running
from real_nodes import NODES
from waiting import eventually


@pytest.fixture(scope="module")
def gpus(nodes):
    """The component for GPUs is applied meanwhile."""
    with installed(nodes) as made:
        yield made


def test_a_node_publishes_its_gpus_as_nvidias_driver_does(gpus):
    """Names and attributes as a selector of a user names them. The goldens of five machines are units."""
    found = gpus.slice_of("node-1")["gpu-1"]
    attributes = {name: next(iter(value.values())) for name, value in found["attributes"].items()}
    assert attributes.pop("uuid") == "GPU-43-1"
    assert attributes.items() >= {"type": "gpu", "productName": "NVIDIA H100 80GB HBM3", "driverVersion": "580.95.5",
                                  "cudaDriverVersion": "13.0.0", "resource.kubernetes.io/pciBusID": "0000:43:00.0", "resource.kubernetes.io/pcieRoot": "pci0000:43"}.items()
    assert found["capacity"] == {"memory": {"value": "81559Mi"}}


def test_the_commands_of_the_page_show_gpus_and_that_nothing_is_missing(nodes, gpus):
    run_commands(nodes, "docs/gpus.md", names={"POD": gpus.plugin_on("node-1")["metadata"]["name"]})


@pytest.mark.parametrize("version", ["v1", "v1beta2", "v1beta1"])
def test_two_containers_of_a_pod_share_the_gpu_of_a_claim_by_name(nodes, gpus, made, version):
    made(claim("one-gpu", version), pod("shares", {"resourceClaimName": "one-gpu"}, ("ctr0", "ctr1")))
    shares = running(nodes, "shares")
    node = shares["spec"]["nodeName"]
    given = gpus.devices_in(shares, "ctr0")
    assert gpus.devices_in(shares, "ctr1") == given
    [gpu] = gpus_in(given)
    assert given == {**IN_EACH, gpu: f"195:{gpu.removeprefix('/dev/nvidia')}"}
    process = nodes.process_of_container(shares, "ctr1")
    nodes.run(node, "cmp", f"/proc/{process}/root{LIBRARY}", f"/run/nvidia/driver{LIBRARY}")
    environment = gpus.environment_in(shares, "ctr0")
    assert (environment["NVIDIA_VISIBLE_DEVICES"], environment["LD_LIBRARY_PATH"]) == ("void", "/usr/lib64")


def test_two_pods_that_name_one_claim_share_its_gpu_until_the_last_ends(nodes, gpus, made):
    made(claim("shared-gpu"), pod("first", {"resourceClaimName": "shared-gpu"}))
    first = running(nodes, "first")
    made(pod("second", {"resourceClaimName": "shared-gpu"}))
    second = running(nodes, "second")
    assert gpus_in(gpus.devices_in(first, "work")) == gpus_in(gpus.devices_in(second, "work"))
    nodes.kubectl("delete", "pod", "first", "--timeout=60s")
    assert len(gpus.files(second["spec"]["nodeName"])) == 1
    nodes.kubectl("delete", "pod", "second", "--timeout=60s")
    gpus.wait_until_nothing_is_left()


def test_four_gpus_and_a_channel_are_one_claim_by_both_of_our_drivers(nodes, gpus, made):
    """A ComputeDomain that asks for GPUs, on the only node that has as many."""
    made({**domain("both"), "metadata": {"name": "both", "namespace": "default", "annotations": {"cdom.dev/gpus": "4"}}},
         pod("both", {"resourceClaimTemplateName": "both-channel"}))
    both = running(nodes, "both")
    assert both["spec"]["nodeName"] == "node-2"
    given = gpus.devices_in(both, "work")
    assert gpus_in(given) == {f"/dev/nvidia{minor}" for minor in range(4)}
    assert given["/dev/nvidia-caps-imex-channels/channel0"] == "235:0"


def test_002_2_a_pod_that_asks_for_nvidia_com_gpu_gets_a_whole_one_by_the_device_class(nodes, gpus, made):
    asks = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "extended", "namespace": "default"}, "spec": {
        "terminationGracePeriodSeconds": 1,
        "containers": [{"name": "work", "image": "cdom.test/work:1", "resources": {"limits": {"nvidia.com/gpu": 1}}}]}}
    made(asks)
    assert len(gpus_in(gpus.devices_in(running(nodes, "extended"), "work"))) == 1


def test_001_7_a_claim_names_the_model_and_the_memory_of_its_gpus(nodes, gpus, made):
    selectors = ["device.attributes['gpu.nvidia.com'].productName.contains('GB200')",
                 "device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('160Gi')) >= 0"]
    made(claim("large", count=2, selectors=selectors), pod("large", {"resourceClaimName": "large"}))
    large = running(nodes, "large")
    assert large["spec"]["nodeName"] == "node-2"
    assert len(gpus_in(gpus.devices_in(large, "work"))) == 2


def test_001_6_classes_of_an_administrator_give_each_user_gpus_of_his_kind(nodes, gpus, made):
    """The example, by a pod of each."""
    for file in ("device-classes", "claims"):
        made(*yaml.safe_load_all((REPO / f"examples/device-classes/{file}.yaml").read_text()))
    made(pod("training", {"resourceClaimTemplateName": "for-training"}), pod("inference", {"resourceClaimTemplateName": "for-inference"}))
    given = {name: (one["spec"]["nodeName"], len(gpus_in(gpus.devices_in(one, "work"))))
             for name in ("training", "inference") for one in [running(nodes, name)]}
    assert given == {"training": ("node-2", 2), "inference": ("node-1", 1)}


def test_001_2_a_gpu_and_a_network_card_are_chosen_behind_one_pcie_root(nodes, gpus, made):
    """The card is a device of a driver that nobody runs here. So the scheduler's choice is what is looked at: the pod does not start."""
    roots = [f"pci0000:{bus}" for *_, bus in GPUS["node-2"]]
    cards = [{"name": f"card-{i}", "attributes": {"resource.kubernetes.io/pcieRoot": {"string": root}}}
             for i, root in enumerate(["pci0000:77", roots[2]])]  # The first card is beside no GPU.
    near = claim("near")
    near["spec"]["devices"] |= {"constraints": [{"matchAttribute": "resource.kubernetes.io/pcieRoot"}]}
    near["spec"]["devices"]["requests"].append({"name": "card", "exactly": {"deviceClassName": "card.example.com"}})
    made({"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "card.example.com"},
          "spec": {"selectors": [{"cel": {"expression": "device.driver == 'card.example.com'"}}]}},
         {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": "cards"},
          "spec": {"driver": "card.example.com", "nodeName": "node-2", "pool": {"name": "node-2", "generation": 1, "resourceSliceCount": 1},
                   "devices": cards}},
         near, pod("near", {"resourceClaimName": "near"}))

    def chosen():
        devices = nodes.get("resourceclaim", "near").get("status", {}).get("allocation", {}).get("devices", {})
        return {one["request"]: one["device"] for one in devices.get("results", [])}
    eventually("devices of the claim", chosen, {"gpu": "gpu-2", "card": "card-1"})


def test_003_7_the_check_of_a_gpu_and_a_channel_completes(nodes, gpus, made, tmp_path):
    """examples/gdc as it is. Its image and nvidia-smi are made of programs of this machine."""
    load_ubuntu(nodes, tmp_path)
    for node in NODES:
        nodes.run(node, "bash", "-ec", "cat >/run/nvidia/driver/usr/bin/nvidia-smi && chmod 755 /run/nvidia/driver/usr/bin/nvidia-smi",
                  stdin="#!/bin/sh\nfor gpu in /dev/nvidia[0-9]*; do test -c $gpu && echo \"GPU: $gpu\" && found=yes; done\ntest -n \"$found\"\n")
    with driver_of_another_file(gpus):
        for file in ("gpu-claim", "domain", "check"):
            made(*({**one, "metadata": {**one["metadata"], "namespace": "default"}}
                   for one in yaml.safe_load_all((REPO / f"examples/gdc/{file}.yaml").read_text())))
        eventually("phase of the check", lambda: nodes.pod("gdc-check")["status"].get("phase"), "Succeeded", within=90)


def load_ubuntu(nodes, folder):
    """Gives each node an image that is called ubuntu:22.04, and has a shell, on which the check runs."""
    shell = subprocess.run(["realpath", "/bin/bash"], check=True, capture_output=True, text=True).stdout.strip()
    needed = re.findall(r"(/\S+)", subprocess.run(["ldd", shell], check=True, capture_output=True, text=True).stdout)
    archive = folder / "ubuntu.tar"
    subprocess.run([REPO / "test/cluster/realnodes/archive.sh", archive, "docker.io/library/ubuntu:22.04", "/bin/sh", f"{shell}=/bin/sh",
                    f"{shell}=/bin/bash", *(f"{file}={file}" for file in needed)], check=True)
    for node in NODES:
        nodes.run(node, nodes.plane.parent / "containerd/ctr", "--namespace", "k8s.io", "images", "import", archive)


@contextlib.contextmanager
def driver_of_another_file(gpus):
    """Meanwhile the drivers have seen that there is a further program of NVIDIA's."""
    for node in NODES:
        gpus.kill(node)
    yield


def of_profile(profile):
    return [f"device.attributes['gpu.nvidia.com'].profile == '{profile}'"]


def mig_in(devices):
    """The name of the only MIG device of which a container has the capabilities."""
    caps = {name.rpartition("nvidia-cap")[2] for name in devices if name.startswith("/dev/nvidia-caps/")}
    [name] = [name for name, (_, *minors) in MIG.items() if caps == set(map(str, minors))]
    return name


def test_pods_get_mig_devices_of_one_gpu_by_profile_and_none_gets_it_whole(nodes, gpus, made):
    with gpus.mig_devices():
        made(claim("small", device_class="mig.nvidia.com", selectors=of_profile("1g.10gb"), kind="ResourceClaimTemplate"),
             claim("any", device_class="mig.nvidia.com"), claim("both", count=2),
             *(pod(name, {"resourceClaimTemplateName": "small"}) for name in ("small-0", "small-1")),
             pod("both", {"resourceClaimName": "both"}, node="node-1"))
        given = {name: gpus.devices_in(running(nodes, name), "work") for name in ("small-0", "small-1")}
        made(pod("any", {"resourceClaimName": "any"}))
        given["any"] = gpus.devices_in(running(nodes, "any"), "work")
        has = {name: mig_in(devices) for name, devices in given.items()}
        assert set(has.values()) == set(MIG)
        assert "1g10gb" in has["small-0"]
        assert "1g10gb" in has["small-1"]
        for name, devices in given.items():
            caps = {f"/dev/nvidia-caps/nvidia-cap{minor}": f"236:{minor}" for minor in MIG[has[name]][1:]}
            assert devices == {**IN_EACH, "/dev/nvidia1": "195:1", **caps}
        # The node has one whole GPU.
        eventually("why the pod with two GPUs waits", lambda: nodes.pod("both")["status"]["conditions"][0]["message"],
                   re.compile("cannot allocate all claims"))
        nodes.kubectl("delete", "pod", *given, "both", "--timeout=60s")
        gpus.wait_until_nothing_is_left()


def test_a_node_goes_from_nvidias_driver_to_cdoms_and_back_under_pods_whose_files_stay(nodes, gpus, made):
    """A claim of a GPU and a MIG device, and one of a MIG device. NVIDIA's reader and writer of checkpoints is the judge, and stands for
    its driver."""
    nvidia = Nvidia(gpus)
    both = claim("both", device_class="mig.nvidia.com", selectors=of_profile("3g.40gb"))
    both["spec"]["devices"]["requests"].insert(0, {"name": "whole", "exactly": {"deviceClassName": "gpu.nvidia.com"}})

    def pods():
        return [running(nodes, name) for name in ("both", "part")]

    def devices():
        return [gpus.devices_in(one, "work") for one in pods()]

    def uid(name):
        return nodes.get("resourceclaim", name)["metadata"]["uid"]
    with gpus.mig_devices():
        made(both, claim("part", device_class="mig.nvidia.com", selectors=of_profile("1g.10gb")),
             *(pod(name, {"resourceClaimName": name}, node="node-1") for name in ("both", "part")))
        given = devices()
        assert [sorted(gpus_in(one)) for one in given] == [["/dev/nvidia0", "/dev/nvidia1"], ["/dev/nvidia1"]]
        found = nvidia.reads("node-1")
        assert found == {uid("both"): "PrepareCompleted gpu-0=GPU-1b-0 gpu-1-mig-3g40gb-9-4=MIG-43-4", uid("part"): found[uid("part")]}
        assert found[uid("part")].startswith("PrepareCompleted gpu-1-mig-1g10gb-19-")
        with gpus.none_on("node-1"):
            nvidia.takes_over("node-1")
            before, known = gpus.identities("node-1"), nvidia.reads("node-1")
        # The pods start again under cdom's driver, which has to answer what NVIDIA's has prepared.
        with gpus.powered_off("node-1", *pods()):
            pass
        assert devices() == given
        for one in pods():  # By NVIDIA's files.
            assert gpus.environment_in(one, "work")["NVIDIA_CTK_LIBCUDA_DIR"] == "/usr/lib64"
        made(claim("next", device_class="mig.nvidia.com", selectors=of_profile("1g.10gb")), pod("next", {"resourceClaimName": "next"}, node="node-1"))
        running(nodes, "next")
        with gpus.none_on("node-1"):
            after, found = gpus.identities("node-1"), nvidia.reads("node-1")
            assert {name: after[name] for name in before} == before
            assert found == {**known, uid("next"): found[uid("next")]}
            nvidia.takes_over("node-1")
            nodes.run("node-1", "rm", f"/run/cdi/k8s.{GPU_DRIVER}-claim_{uid('both')}.yaml")
        # A file that was lost is written again, when the kubelet asks.
        with gpus.powered_off("node-1", pods()[0]):
            pass
        assert devices() == given
        nodes.kubectl("delete", "pod", "both", "part", "next", "--timeout=60s")
        gpus.wait_until_nothing_is_left()
        assert nvidia.reads("node-1") == {}


def test_a_node_that_is_started_again_forgets_claims_and_its_pods_get_their_gpus_again(nodes, gpus, made):
    made(*(one for name in ("stays", "leaves") for one in (claim(name), pod(name, {"resourceClaimName": name}, node="node-1"))))
    stays, leaves = (running(nodes, name) for name in ("stays", "leaves"))
    given = gpus.devices_in(stays, "work")
    uid = nodes.get("resourceclaim", "stays")["metadata"]["uid"]
    before = gpus.identities("node-1")
    with gpus.powered_off("node-1", stays):
        gpus.end("node-1", leaves)
        nodes.run("node-1", "cp", "/proc/sys/kernel/random/uuid", "/run/nvidia/driver/boot_id")
        nodes.kubectl("delete", "pod", "leaves", "--force", "--grace-period=0")
    eventually("the driver drops what it had stored", lambda: gpus.says("node-1", 'Read the checkpoint claims="0" otherBoot="true"'))
    assert gpus.devices_in(nodes.pod("stays"), "work") == given
    eventually("claims that have files", lambda: (set(gpus.files("node-1")), set(gpus.checkpoint("node-1"))), ({uid}, {uid}))
    assert gpus.identities("node-1")[uid] != before[uid]
    nodes.kubectl("delete", "pod", "stays", "--timeout=60s")
    gpus.wait_until_nothing_is_left()


def test_a_driver_that_is_upgraded_under_a_pod_is_given_to_the_next_and_the_pods_files_are_renewed(nodes, gpus, made):
    """The pod's containers may start again in place: then they need libraries that exist."""
    made(claim("old"), pod("old", {"resourceClaimName": "old"}, node="node-1"))
    running(nodes, "old")
    [(uid, before)] = gpus.files("node-1").items()
    with upgraded(gpus, "node-1"):
        eventually("the pod's file names the new libraries", lambda: gpus.files("node-1")[uid], lambda text: "580.105.08" in text)
        assert "580.95.05" in before
        assert "580.95.05" not in gpus.files("node-1")[uid]
        eventually("version that is published", lambda: gpus.slice_of("node-1")["gpu-0"]["attributes"]["driverVersion"]["version"], "580.105.8")
        made(claim("new"), pod("new", {"resourceClaimName": "new"}, node="node-1"))
        running(nodes, "new")
    nodes.kubectl("delete", "pod", "old", "new", "--timeout=60s")
    gpus.wait_until_nothing_is_left()


def test_a_node_is_drained_for_another_driver_while_the_plugin_stays(nodes, gpus, made):
    """As GPU Operator does it: labels keep clients of the driver away, pods are evicted, and the driver is replaced. Here it is gone
    before the pods are, as after a reboot. The plugin does not select by the labels, because the kubelet ends no pod without it."""
    made(claim("drained"), pod("drained", {"resourceClaimName": "drained"}, node="node-1"))
    running(nodes, "drained")
    plugin = gpus.plugin_on("node-1")["metadata"]["uid"]
    paused = [f"nvidia.com/gpu.deploy.{who}" for who in ("client", "dra-driver")]
    nodes.kubectl("label", "node", "node-1", *(f"{label}=paused-for-driver-upgrade" for label in paused))
    try:
        with upgraded(gpus, "node-1", in_between=lambda: (
                nodes.kubectl("drain", "node-1", "--force", "--ignore-daemonsets", "--pod-selector=!cdom", "--timeout=60s"),
                gpus.wait_until_nothing_is_left())):
            nodes.kubectl("uncordon", "node-1")
            made(pod("again", {"resourceClaimName": "drained"}, node="node-1"))
            running(nodes, "again")
            [text] = gpus.files("node-1").values()
            assert "580.105.08" in text
            assert gpus.plugin_on("node-1")["metadata"]["uid"] == plugin
    finally:
        nodes.kubectl("uncordon", "node-1")
        nodes.kubectl("label", "node", "node-1", *(f"{label}-" for label in paused))
    nodes.kubectl("delete", "pod", "again", "--timeout=60s")
    gpus.wait_until_nothing_is_left()


@contextlib.contextmanager
def upgraded(gpus, node, in_between=lambda: None):
    """Meanwhile the node has a newer driver. `in_between` it has none."""
    folder, now, later = "/run/nvidia/driver/usr/lib64", "580.95.05", "580.105.08"

    def replace(one, other, in_between=lambda: None):
        gpus.nodes.run(node, "bash", "-ec", f"cd {folder} && rm libnvidia-ml.so.1 && mv libnvidia-ml.so.{one} libnvidia-ml.gone && "
                       f"mv libcuda.so.{one} libcuda.so.{other}")
        try:
            in_between()
        finally:
            gpus.nodes.run(node, "bash", "-ec", f"cd {folder} && mv libnvidia-ml.gone libnvidia-ml.so.{other} && "
                           f"ln -sfn libnvidia-ml.so.{other} libnvidia-ml.so.1 && sed -i s/version={one}/version={other}/ ../../gpus")
    try:
        replace(now, later, in_between)
        yield
    finally:
        replace(later, now)


def test_a_job_with_a_gpu_for_each_pod_gives_no_gpu_twice(nodes, gpus, made):
    spec = pod("each", {"resourceClaimTemplateName": "each"})["spec"]
    made(claim("each", kind="ResourceClaimTemplate"),
         {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "each", "namespace": "default"},
          "spec": {"parallelism": 6, "completions": 6, "template": {"spec": {**spec, "restartPolicy": "Never"}}}})
    total = sum(map(len, GPUS.values()))

    def run():
        return [one for one in nodes.list("pods", "default", "job-name=each") if one["status"].get("phase") == "Running"]
    eventually("pods of the Job that run", lambda: len(run()), total, within=90)
    given = [(one["spec"]["nodeName"], *gpus_in(gpus.devices_in(one, "work"))) for one in run()]
    assert len(set(given)) == total
    assert {node for node, _ in given} == set(NODES)
    nodes.kubectl("delete", "job", "each", "--timeout=90s")
    gpus.wait_until_nothing_is_left()


def test_a_plugin_that_is_killed_under_a_pod_leaves_its_files_and_serves_the_next_pod(nodes, gpus, made):
    made(claim("kept"), pod("kept", {"resourceClaimName": "kept"}, node="node-1"))
    running(nodes, "kept")
    before = gpus.files("node-1"), gpus.checkpoint("node-1")
    gpus.kill("node-1")
    made(claim("next"), pod("next", {"resourceClaimName": "next"}, node="node-1"))
    running(nodes, "next")
    kept = {uid: gpus.files("node-1")[uid] for uid in before[0]}
    assert (kept, {uid: gpus.checkpoint("node-1")[uid] for uid in before[1]}) == before
    assert gpus_in(gpus.devices_in(nodes.pod("kept"), "work")) != gpus_in(gpus.devices_in(nodes.pod("next"), "work"))


def test_a_gpu_that_is_lost_under_a_pod_is_no_longer_offered_and_the_pod_can_end(nodes, gpus, made):
    """The pod keeps what it has. Its kubelet learns that the device is ill. The other GPU is served."""
    made(claim("ill"), pod("ill", {"resourceClaimName": "ill"}, node="node-1"))
    ill = running(nodes, "ill")
    [gpu] = gpus_in(gpus.devices_in(ill, "work"))
    name = f"gpu-{gpu.removeprefix('/dev/nvidia')}"
    with lost_gpu(gpus, "node-1", int(name.removeprefix("gpu-"))):
        eventually("devices that are offered", lambda: set(gpus.slice_of("node-1")), {"gpu-0", "gpu-1"} - {name}, within=90)

        def health():
            statuses = nodes.pod("ill")["status"]["containerStatuses"][0].get("allocatedResourcesStatus") or []
            return [one["health"] for status in statuses for one in status["resources"]]
        eventually("health of the pod's device", health, ["Unhealthy"], within=60)
        made(claim("well"), pod("well", {"resourceClaimName": "well"}, node="node-1"))
        assert gpus_in(gpus.devices_in(running(nodes, "well"), "work")) == {"/dev/nvidia0", "/dev/nvidia1"} - {gpu}
        nodes.kubectl("delete", "pod", "ill", "well", "--timeout=60s")
        gpus.wait_until_nothing_is_left()
    eventually("devices that are offered", lambda: set(gpus.slice_of("node-1")), {"gpu-0", "gpu-1"}, within=90)


@contextlib.contextmanager
def lost_gpu(gpus, node, minor):
    """Meanwhile NVML says of that GPU that it is lost."""
    text = "".join(line + (" fail=15" if f"minor={minor} " in line else "") + "\n" for line in machine(GPUS[node]).splitlines())
    gpus.nodes.run(node, "bash", "-c", "cat >/run/nvidia/driver/gpus.new && mv /run/nvidia/driver/gpus.new /run/nvidia/driver/gpus", stdin=text)
    try:
        yield
    finally:
        gpus.set_machine(node, GPUS[node])
