"""The kubelet plugin's memory is bounded by what it keeps of claims, whatever tenants write into them.

The claims come from an API server that has only what the plugin reads. The scheduler would copy their configurations into
the status, as here. The plugin runs in a cgroup with the limit of its container.
"""

import functools
import json
import pathlib
import re
import tempfile

import pytest
from cluster import REPO
from large_objects import UID, Handler, LargeObjects
from memory_cgroup import memory_cgroup
from objects import LABEL
from plugin_process import DRIVER, NODE, Plugin
from waiting import eventually

OVERHEAD = 4 << 20
MOST_KEPT = 8 << 20
LIMIT = int(re.search(r"limits:\s+memory: (\d+)Mi", (REPO / "manifests/kubelet-plugin/daemon-set.yaml").read_text())[1]) << 20
OTHER = "x.example.com"
ZEROS = '{"a":[' + "0," * 5100 + "0]}"  # 10 KiB, the most that a configuration may have.


def config(driver, parameters):
    return '{"source":"FromClaim","opaque":{"driver":"%s","parameters":%s}}' % (driver, parameters)


def own(**more):
    return config(DRIVER, json.dumps({"apiVersion": "resource.nvidia.com/v1beta1", "kind": "ComputeDomainChannelConfig",
                                      "domainID": UID % 0, **more}))


# By kind: configurations, metadata and status that a claim has beside what it needs, and how many claims there are.
HOSTILE = {
    "configurations of another driver": (",".join([config(OTHER, ZEROS)] * 62), "", "", 24),
    "nested configurations of another driver": (",".join([config(OTHER, '{"a":' + "[" * 5000 + "]" * 5000 + "}")] * 62), "", "", 24),
    "a nested configuration of another driver": (config(OTHER, '{"a":' + "[" * 504 + "]" * 504 + "}"), "", "", 4),
    "annotations": ("", ',"annotations":{%s}' % ",".join(f'"{i}":""' for i in range(30_000)), "", 24),
    "a status of devices of another driver": ("", "", ',"devices":[%s]' % ",".join(['{"driver":"%s","data":%s}' % (OTHER, ZEROS)] * 32), 24),
    "as many own configurations as are taken": (",".join([own(allocationMode="x" * 10_000)] * 6), "", "", 128),
    "more own configurations than are taken": (",".join([own(allocationMode="x" * 10_000)] * 62), "", "", 24),
    "nested own configurations": (",".join([own(allocationMode=json.loads("[" * 90 + "]" * 90))] * 200), "", "", 24),
}


class Claims(LargeObjects):
    """Has one domain, and any claim that it is asked for, with what `hostile` adds. `count` lists them on the plugin's node."""

    def __init__(self):
        super().__init__("resourceclaims", 0)
        self.RequestHandlerClass = ClaimHandler
        self.hostile = "", "", ""

    def claim(self, name):
        configs, metadata, status = self.hostile
        result = '{"request":"r","driver":"%s","pool":"%s","device":"channel-0"}' % (DRIVER, NODE)
        devices = '{"results":[%s],"config":[%s]}' % (result, (configs and configs + ",") + own())
        return ('{"metadata":{"name":"%s","namespace":"team","uid":"%s","resourceVersion":"1"%s},'
                '"status":{"allocation":{"devices":%s}%s}}' % (name, uid_of(name), metadata, devices, status)).encode()

    def item(self, i):
        return self.claim(f"c-{i}")


class ClaimHandler(Handler):
    def do_GET(self):
        path, query = self._target()
        if path == "/api/v1/nodes" and "watch" not in query:  # In the domain, whose daemon never gets ready.
            node = {"metadata": {"name": NODE, "uid": "n", "resourceVersion": "1", "labels": {LABEL: UID % 0}}}
            return self._answer(200, {"kind": "NodeList", "metadata": {"resourceVersion": "1"}, "items": [node]})
        name = re.fullmatch(r".*/resourceclaims/(c-\d+)", path)
        if not name:
            return super().do_GET()
        self._begin()
        self._chunk(self.server.claim(name[1]))
        self._chunk(b"")


class NoCluster:
    """What a Plugin needs of a cluster that has no Node."""

    def __init__(self, folder, url):
        self.folder = folder
        self._url = url

    def apply(self, _):
        pass

    def config_of(self, *_):
        return {"apiVersion": "v1", "kind": "Config", "current-context": "x", "users": [{"name": "u", "user": {"token": "t"}}],
                "clusters": [{"name": "c", "cluster": {"server": self._url}}],
                "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}]}


def uid_of(name):
    return UID % (1 + int(name.removeprefix("c-")))


def begins_again(plugin):
    """Its peak is from here on that of what follows."""
    (plugin.process / "clear_refs").write_text("5")


def peak(plugin):
    return plugin.number("VmHWM") << 10


def ask_and_go(plugin, i):
    """A pod whose claim is prepared until it waits for the node, or is refused, and that is deleted then."""
    claim = f"team/c-{i}/{uid_of(f'c-{i}')}"
    with plugin.asked("prepare", claim) as asking:
        eventually("the claim waits, or is refused", lambda: asking.status() is not None or f'Claim waits claim="team/c-{i}"' in plugin.log())
        plugin.unprepare(claim)


@pytest.fixture
def served(programs):
    server = Claims()
    # The path of a socket may have 106 characters.
    with tempfile.TemporaryDirectory(prefix="claims.") as folder, memory_cgroup(LIMIT) as cgroup:
        plugin = Plugin(NoCluster(pathlib.Path(folder), server.url), programs)
        plugin.set_up()
        plugin.run = functools.partial(plugin.run, within=cgroup.within)
        plugin.run()
        plugin.wait_until_it_can_be_asked()
        yield server, plugin
        plugin.end()
        assert cgroup.kills() == "0"
    server.stop()


@pytest.mark.parametrize("kind", HOSTILE)
def test_REV4_Y3_memory_is_bounded_by_what_is_kept(kind, served):
    """While the claims come, and when the plugin starts again with all of them."""
    server, plugin = served
    *server.hostile, count = HOSTILE[kind]
    ask_and_go(plugin, 9_999)  # Of this kind, so that what is needed once is there.
    begins_again(plugin)
    idle = peak(plugin)
    for i in range(count):
        ask_and_go(plugin, i)
    size = len(plugin.checkpoint())
    running = peak(plugin)
    plugin.end()
    plugin.run()
    ask_and_go(plugin, 9_998)
    started = peak(plugin)
    most = idle + 3 * size + OVERHEAD
    print(f"\n{kind}: {count} claims of {len(server.claim('c-0')) >> 10} KiB, checkpoint {size >> 10} KiB, idle {idle >> 10} KiB, "
          f"peak {running >> 10} KiB, after a start {started >> 10} KiB; most {most >> 10} KiB")
    assert re.search('Read the checkpoint.*unreadable=""', plugin.log())
    assert size <= MOST_KEPT + OVERHEAD
    assert running <= most < LIMIT
    assert started <= most


def test_REV4_Y3_memory_is_bounded_while_a_checkpoint_is_rebuilt(served):
    server, plugin = served
    *server.hostile, _ = HOSTILE["configurations of another driver"]
    ask_and_go(plugin, 0)
    begins_again(plugin)
    idle = peak(plugin)
    plugin.end()
    (plugin._socket.parent / "checkpoint.json").write_text("{")
    server.count = 50
    plugin.run()
    eventually("it is rebuilt", plugin.log, re.compile("The checkpoint could not be read and is rebuilt from claims"))
    print(f"\nrebuilt: idle {idle >> 10} KiB, peak {peak(plugin) >> 10} KiB")
    assert peak(plugin) <= idle + 2 * (4 << 20) + OVERHEAD  # A page is 4 MiB at most, and grows by doubling.
