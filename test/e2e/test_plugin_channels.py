"""The kubelet plugin as a process, under the permissions that docs/kubelet-plugin.md names. The cases stand for kubelet, scheduler and
controller. Needs root.
"""

import contextlib
import json
import os
import re
import time
import urllib.error

import pytest
from cluster import REPO, Setup
from namespaces import label_of
from nvidia_driver import FEATURE_GATES, UNSUPPORTED_GATES, says_each_gate_once, shows_each_gate
from objects import CLIQUE as CLIQUE_LABEL
from plugin_process import CLIQUE, DRIVER, NODE, Domain, Plugin, is_given
from permissions import PLUGIN, rights_by
from waiting import eventually

CLUSTER = Setup(nodes=0)
ACCOUNT = "system:serviceaccount:cdom-system:cdom-kubelet-plugin"
ON_HOSTS = ("--imex-mode", "hostManaged", "--feature-gates", "HostManagedIMEXDaemon=true")
REST_SECONDS = 10


@pytest.fixture(scope="module")
def shared_plugin(cluster, programs):
    since = cluster.audit_size()
    cluster.kubectl("apply", "-f", REPO / "manifests/kubelet-plugin/access.yaml")
    made = Plugin(cluster, programs)
    made.start()
    yield made
    made.stop()
    cluster.kubectl("delete", "-f", REPO / "manifests/kubelet-plugin/access.yaml")
    # What is of no resource asks which versions are served.
    used = {(one["verb"], one["objectRef"]["resource"]) for one in cluster.requests_of(ACCOUNT, since)
            if "objectRef" in one and one["responseStatus"]["code"] < 400}
    assert used - {(one.verb, one.resource) for one in rights_by(PLUGIN)} == set()


@pytest.fixture
def plugin(cluster, shared_plugin):
    """It runs with IMEX in daemons' pods, on a node that no domain has. No controller runs."""
    cluster.end_controller()
    shared_plugin.run_with()
    return shared_plugin


@pytest.fixture
def shared(namespace, plugin):
    """A domain with a daemon on the node, whose claims are taken back when the case is over."""
    made = Domain(namespace, "shared")
    with made.daemon(plugin):
        yield made
        for claim in made.claims:
            plugin.unprepare(claim)
        made.delete_clique()


def waits(plugin, asking, claim, pattern):
    """Waits until the plugin logs what the claim waits for; who asks has no answer then."""
    name = claim.rpartition("/")[0]
    eventually(f"the plugin says what {name} waits for", plugin.log, re.compile(f'Claim waits.*claim="{name}".*{pattern}'))
    assert asking.status() is None


def has_no_domain(cluster):
    eventually("the domain that has the node", lambda: label_of(cluster, NODE), None)


def test_a_channel_is_given_once_the_daemon_is_ready_and_unprepare_leaves_no_trace(cluster, plugin, shared):
    before = plugin.files()
    claim = shared.claim("first")
    shared.set_node("NotReady")
    with plugin.asked("prepare", claim) as asking:
        eventually("the domain that has the node", lambda: label_of(cluster, NODE), shared.uid)
        waits(plugin, asking, claim, f"the daemon of ComputeDomain .* is not ready on node {NODE}")
        shared.set_node("Ready")
        is_given(asking)
    specs = [json.loads(file.read_text()) for file in plugin.cdi.glob(f"k8s.{DRIVER}-claim_{claim.rpartition('/')[2]}*")]
    assert [node["path"] for spec in specs for device in spec["devices"] for node in device["containerEdits"]["deviceNodes"]] == [
        "/dev/nvidia-caps-imex-channels/channel0"]
    plugin.unprepare(claim)
    has_no_domain(cluster)
    assert plugin.files() == before


def test_feature_gates_without_effect_are_said_and_do_not_keep_a_channel_from_a_pod(plugin, shared):
    plugin.run_with(environment={"FEATURE_GATES": FEATURE_GATES})
    claim = shared.claim("gated")
    shared.set_node("Ready")
    plugin.prepare(claim)
    plugin.unprepare(claim)
    assert says_each_gate_once(plugin.log())
    assert shows_each_gate(plugin.get("/metrics")[1])
    assert plugin.get("/livez") == (200, "ok")
    with pytest.raises(urllib.error.HTTPError) as answer:  # No kubelet has registered it.
        plugin.get("/readyz")
    text = answer.value.read().decode()
    assert re.findall("note: Feature gate (.*) is not supported", text) == list(UNSUPPORTED_GATES), text


def test_REV4_Y2_what_a_claim_has_for_another_driver_does_not_reach_the_checkpoint(plugin, shared):
    """JSON of so many levels once made the file unreadable for the plugin that wrote it."""
    nested = json.loads("[" * 504 + "]" * 504)
    claim = shared.claim("deep", {"opaque": {"driver": "x.example.com", "parameters": {"a": nested}}})
    shared.set_node("Ready")
    devices = plugin.prepare(claim)
    assert "x.example.com" not in plugin.checkpoint()
    plugin.end()
    plugin.run()
    eventually("it reads its checkpoint again", plugin.log, re.compile('Read the checkpoint claims="2" otherBoot="false" unreadable=""'))
    assert plugin.prepare(claim) == devices


def test_REV4_Y7_a_channel_waits_for_a_daemon_on_its_node_whatever_the_api_server_says(namespace, plugin):
    """Its daemon has ended, and nobody has written that down: the controller was down, too."""
    domain = Domain(namespace, "shared")
    domain.set_node("Ready")
    claim = domain.claim("first")
    try:
        with plugin.asked("prepare", claim) as asking:
            waits(plugin, asking, claim, f"no daemon of ComputeDomain {domain.uid} is prepared on node {NODE}")
            with domain.daemon(plugin):
                is_given(asking)
    finally:
        plugin.unprepare(claim)
        domain.delete_clique()


def test_REV4_Y9_pods_that_wait_for_their_daemon_keep_out_neither_it_nor_an_unprepare(namespace, plugin):
    """They share one claim, and there are more of them than calls had places."""
    domain = Domain(namespace, "shared")
    domain.set_node("Ready")
    claim, other = domain.claim("first"), domain.claim("other")
    with contextlib.ExitStack() as open_calls:
        pods = [open_calls.enter_context(plugin.asked("prepare", claim)) for _ in range(70)]
        waits(plugin, pods[0], claim, f"no daemon of ComputeDomain {domain.uid} is prepared on node {NODE}")
        eventually("descriptors, with one for each call", lambda: plugin.descriptors()[0], lambda count: count >= len(pods))
        plugin.unprepare(other)
        with domain.daemon(plugin):
            for pod in pods:
                is_given(pod)
            plugin.unprepare(claim)
    domain.delete_clique()


def test_REV4_P11_what_is_prepared_has_its_cdi_files_again_after_the_plugin_was_down(plugin, shared):
    shared.set_node("Ready")
    claim = shared.claim("first")
    devices = plugin.prepare(claim)
    before = plugin.files()
    plugin.end()
    lost = [*plugin.cdi.glob(f"*-claim_{claim.rpartition('/')[2]}*"), *plugin.cdi.glob("*-device_base*")]
    assert len(lost) == 2
    for file in lost:
        file.unlink()
    plugin.run()
    # No kubelet asks for it: containers that start again in place need the files.
    eventually("the files of before", plugin.files, before)
    assert plugin.prepare(claim) == devices
    for file in lost:
        file.unlink()
    eventually("the files of before, of a plugin that runs", plugin.files, before)


def test_REV4_Y10_an_unprepare_by_a_younger_instance_ends_a_prepare_that_waits_in_the_older(plugin, shared):
    shared.set_node("Ready")
    first, second = shared.claim("first"), shared.claim("second")
    plugin.prepare(first)
    with plugin.asked("prepare", second) as asking:
        waits(plugin, asking, second, "channel-0 is held by claim")
        with plugin.younger() as younger:
            younger.unprepare(second)
            younger.unprepare(first)
            eventually("exit status of who asked", asking.status, lambda status: status is not None)
    assert "stale prepare" in asking.out.read_text() + asking.log.read_text()
    assert "PrepareCompleted" not in {claim["checkpointState"] for uid, claim in
                                      json.loads(plugin.checkpoint())["v2"]["preparedClaims"].items() if uid in first + second}


def test_a_thousand_channels_leave_no_file_no_descriptor_and_no_memory(plugin, shared):
    def footprint():
        return plugin.descriptors()[0], plugin.files(), len(plugin.checkpoint())
    shared.set_node("Ready")
    claims = [shared.claim(f"cycle-{i}") for i in range(5)]
    plugin.cycle(200, *claims)  # What is allocated once, and kept, is not growth.
    before, threads, memory = footprint(), plugin.number("Threads"), plugin.number("RssAnon")
    times = plugin.cycle(1000, *claims)
    growth = plugin.number("RssAnon") - memory
    print(f"\n1000 channels: {times}; RssAnon {memory + growth} KiB, grown by {growth}")
    # The connection of the last client closes a little later.
    eventually("the footprint", footprint, before)
    # gRPC runs the ends of calls on threads that it starts when they lag: two for each processor, at most.
    assert plugin.number("Threads") - threads <= 2 * os.cpu_count()
    # Pages that the allocator happens to touch; a byte a cycle that is never given back would be a KiB.
    assert growth < 512


def test_a_plugin_without_work_sends_nothing_but_watches(cluster, plugin, shared):
    shared.set_node("Ready")
    claim = shared.claim("last")
    plugin.prepare(claim)
    plugin.unprepare(claim)
    has_no_domain(cluster)
    assert cluster.requests_of(ACCOUNT), "the audit log does not have what the plugin asks for"
    since = cluster.audit_size()
    time.sleep(REST_SECONDS)  # For so long it is counted.
    asked = cluster.requests_of(ACCOUNT, since, ("RequestReceived", "ResponseStarted", "ResponseComplete"))
    assert [(one["verb"], one["objectRef"]["resource"]) for one in asked if one["verb"] != "watch"] == []


def test_a_node_gets_its_clique_as_a_label_where_that_is_asked_for(cluster, plugin):
    def label():
        return cluster.get("node", NODE)["metadata"].get("labels", {}).get(CLIQUE_LABEL)
    assert label() is None
    plugin.run_with("--gpu-clique-label-enabled=true")
    eventually("the node's clique", label, CLIQUE)
    cluster.kubectl("label", "node", NODE, f"{CLIQUE_LABEL}-")


def test_REV3_N12_a_channel_is_given_once_the_hosts_imex_is_ready_without_a_label(cluster, plugin, shared):
    plugin.run_with(*ON_HOSTS)
    assert plugin.devices() == ["channel-0"]
    plugin.set_host_imex("NOT READY")
    claim = shared.claim("bare")
    with plugin.asked("prepare", claim) as asking:
        waits(plugin, asking, claim, "IMEX")
        plugin.set_host_imex("READY")
        is_given(asking)
    assert label_of(cluster, NODE) is None


def test_REV3_X14_a_plugin_without_the_capability_to_chroot_gives_no_channel(plugin, shared):
    """It asks the host's IMEX under the driver's root. Of its capabilities it keeps this one alone then."""
    plugin.set_host_imex("READY")
    plugin.run_with(*ON_HOSTS, within=("setpriv", "--bounding-set=-sys_chroot"))
    claim = shared.claim("locked")
    with plugin.asked("prepare", claim) as asking:
        waits(plugin, asking, claim, "IMEX does not say READY")
        for _ in range(3):
            before = plugin.faults_of_programs()
            eventually("it has tried to ask IMEX again", plugin.faults_of_programs, lambda now: now > before)  # noqa: B023
        assert asking.status() is None
        plugin.run_with(*ON_HOSTS)
        eventually("exit status of who asked", asking.status, lambda status: status is not None)
        assert asking.status() != 0
    [device] = plugin.prepare(claim)
    assert device.startswith(f"k8s.{DRIVER}/claim=")


def test_what_hides_the_drivers_files_is_removed_at_the_start_and_the_mask_of_its_parameters_stays(plugin):
    plugin.run_with(within=plugin.mask(), devices=False)
    mounts = [line.split()[4] for line in (plugin.process / "mountinfo").read_text().splitlines()]
    assert [path for path in mounts if path.startswith("/proc/d")] == ["/proc/driver", "/proc/driver/nvidia/params", "/proc/devices"]
    assert (plugin.process / "root/proc/driver/nvidia/params").read_text() == "ModifyDeviceFiles: 0\n"
    assert re.search('Unmounted a file.*file="/proc/driver/nvidia/capabilities"', plugin.log())


def test_a_slice_that_others_change_is_repaired_and_a_second_one_is_deleted(cluster, plugin):
    def devices():
        return [one["spec"]["devices"] for one in cluster.kubectl_json("get", "resourceslices")["items"]]
    before = devices()
    [name] = plugin.slices()
    one = cluster.get("resourceslice", name)
    cluster.kubectl("patch", "resourceslice", name, "--type=json", "-p", '[{"op": "remove", "path": "/spec/devices/0"}]')
    eventually("the devices of all slices", devices, before)
    one["metadata"] = {"generateName": "another-"}
    del one["spec"]["devices"][1:]
    cluster.create(one)
    eventually("the devices of all slices", devices, before)


def test_the_preflight_asks_for_its_node_alone(cluster, plugin):
    plugin.end()
    since = cluster.audit_size()
    plugin.run("preflight", "--preflight-wait", "0")
    eventually("the preflight ends", plugin.has_ended)
    asked = [(one["verb"], one["objectRef"]["resource"], one["objectRef"].get("name")) for one in cluster.requests_of(ACCOUNT, since)
             if one["verb"] != "watch"]
    assert set(asked) == {("get", "nodes", NODE)}
