"""The driver of GPUs as a process: what it costs, and what it does with files that are not its own.

The kubelet is `ask-plugin`, and NVIDIA's library a stand-in with eight GPUs. Real kubelets are in test_gpus_on_real_nodes.py.
"""

import json

import pytest
from actors import named
from cluster import REPO, Setup
from gpu_process import DRIVER, GpuPlugin
from plugin_process import NODE
from waiting import eventually

CLUSTER = Setup(nodes=0)
ACCOUNT = "system:serviceaccount:cdom-system:cdom-kubelet-plugin"
KIB = 1024


@pytest.fixture(scope="module")
def plugin(cluster, programs):
    since = cluster.audit_size()
    cluster.kubectl("apply", "-f", REPO / "manifests/kubelet-plugin/access.yaml")
    made = GpuPlugin(cluster, programs)
    made.start()
    yield made
    made.stop()
    cluster.kubectl("delete", "-f", REPO / "manifests/kubelet-plugin/access.yaml")
    asked = [one for one in cluster.requests_of(ACCOUNT, since) if "objectRef" in one]
    assert [one for one in asked if one["responseStatus"]["code"] == 403] == []
    # Less than what the account may do, which is that of the plugin for domains.
    assert {one["objectRef"]["resource"] for one in asked} == {"nodes", "resourceclaims", "resourceslices"}


def claim(cluster, namespace, name, *devices, config=()):
    """NAMESPACE/NAME/UID of a claim that has these devices of the plugin's node, as the scheduler leaves it."""
    requests = [{"name": f"r{i}", "exactly": {"deviceClassName": "gpu.nvidia.com"}} for i in range(len(devices))]
    namespace.apply(named("ResourceClaim", name, spec={"devices": {"requests": requests}}))
    results = [{"request": f"r{i}", "driver": DRIVER, "pool": NODE, "device": device} for i, device in enumerate(devices)]
    namespace.kubectl("patch", "resourceclaim", name, "--subresource=status", "--type=merge", "-p",
                      json.dumps({"status": {"allocation": {"devices": {"results": results, "config": [*config]}}}}))
    return f"{namespace.name}/{name}/{cluster.get('resourceclaim', name, namespace.name)['metadata']['uid']}"


def anonymous(plugin):
    """KiB of its memory that no file backs."""
    return plugin.number("RssAnon")


def test_a_thousand_claims_leave_no_memory_and_no_file(cluster, namespace, plugin):
    asked = [claim(cluster, namespace, f"cycle-{i}", f"gpu-{i}", f"gpu-{i + 1}") for i in (0, 2)]
    plugin.cycle(200, *asked)  # So that what is needed once is there.
    before, files, descriptors = anonymous(plugin), plugin.files(), plugin.descriptors()
    said = plugin.cycle(1000, *asked)
    grown = anonymous(plugin) - before
    print(f"\n1000 claims: {said}; anonymous memory {before} KiB, grown by {grown} KiB")
    assert (plugin.files(), plugin.descriptors()) == (files, descriptors)
    assert grown < 2 * KIB
    assert before < 10 * KIB


def test_claims_of_nvidias_driver_are_answered_as_before_and_its_files_stay(cluster, namespace, plugin):
    """It has prepared one of two GPUs before it ended: its checkpoint has no names of prepared claims, and its spec has what cdom's
    own lack."""
    asked = claim(cluster, namespace, "theirs", "gpu-6")
    uid = asked.rpartition("/")[2]
    plugin.prepare(asked)
    plugin.end()
    spec = plugin.cdi / f"k8s.{DRIVER}-claim_{uid}.yaml"
    theirs = json.loads(spec.read_text())
    theirs["containerEdits"]["additionalGids"] = [44]
    spec.write_text(json.dumps(theirs))
    written = spec.read_bytes()
    plugin.run()
    assert plugin.prepare(asked) == [f"k8s.{DRIVER}/claim={uid}-gpu-6"]
    assert spec.read_bytes() == written
    plugin.unprepare(asked)
    assert not spec.exists()


@pytest.mark.parametrize("then", ["prepare", "unprepare"])
@pytest.mark.parametrize("what", ["prepare", "unprepare"])
def test_a_plugin_that_is_killed_before_any_change_of_files_goes_on_as_if_it_was_not(cluster, namespace, plugin, what, then):
    """It is killed before the first change, and then before the second, until it answers. It starts again, and the kubelet asks for
    the same, or for the opposite. In the end, nothing is left."""
    asked = claim(cluster, namespace, f"killed-{what}-{then}", "gpu-0", "gpu-1")
    spec = plugin.cdi / f"k8s.{DRIVER}-claim_{asked.rpartition('/')[2]}.yaml"
    with plugin.mortal():
        nothing = plugin.files(), claims_in(plugin)
        answer = plugin.prepare(asked)
        prepared = plugin.files(), claims_in(plugin), spec.read_text()
        plugin.unprepare(asked)
        assert (plugin.files(), claims_in(plugin)) == nothing
        struck = []
        while True:
            if what == "unprepare":
                plugin.prepare(asked)
            change = plugin.killed_in(what, asked, at=len(struck) + 1)
            if change:
                struck.append(change)
            plugin.is_back()
            if then == "prepare":
                assert plugin.prepare(asked) == answer
                assert (plugin.files(), claims_in(plugin), spec.read_text()) == prepared, f"after {struck[-1:]}"
            plugin.unprepare(asked)
            assert (plugin.files(), claims_in(plugin)) == nothing, f"after {struck[-1:]}"
            if not change:
                break
    print(f"\n{len(struck)} kills by signal 9 in {what}, then {then}")
    stored = [change.split()[0] for change in struck if f" plugins/{DRIVER}/" in change and "pu.lock" not in change]
    once = ["unlink", "open", "write", "fsync", "rename"]
    assert stored == (once * 2 if what == "prepare" else once)
    assert (f"rename cdi/{spec.name}" if what == "prepare" else f"unlink cdi/{spec.name}") in struck


def claims_in(plugin):
    """The entries of its checkpoint."""
    return json.loads(plugin.checkpoint())["v2"].get("preparedClaims", {})


@pytest.mark.parametrize(("config", "said"), [
    ({"kind": "GpuConfig", "sharing": {"strategy": "TimeSlicing"}}, "GpuConfig: sharing.strategy TimeSlicing is not supported: remove the field"),
    ({"kind": "GpuConfig", "unknown": 1}, 'strict decoding error: unknown field "unknown"'),
    ({"kind": "MigDeviceConfig"}, "has a MigDeviceConfig, and was given gpu-7")], ids=["sharing", "unknown-field", "of-mig"])
def test_a_configuration_that_cannot_be_is_refused_in_words(cluster, namespace, plugin, config, said):
    parameters = {"apiVersion": "resource.nvidia.com/v1beta1", **config}
    one = {"source": "FromClaim", "requests": ["r0"], "opaque": {"driver": DRIVER, "parameters": parameters}}
    asked = claim(cluster, namespace, f"refused-{config['kind'].lower()}", "gpu-7", config=[one])
    with plugin.asked("prepare", asked) as asking:
        eventually("it is answered", lambda: asking.status() is not None)
        assert said in asking.out.read_text() + asking.log.read_text()
