"""What real kubelets do to the plugin and the daemons: calls that are given up, rollouts, upgrades of the driver."""

import contextlib
import datetime
import itertools
import json
import re
import urllib.parse

import pytest
from actors import channel_claim
from helm import CRDS, IN_RELEASE, MAJORS, WAIT, Helm, spec_of
from namespaces import conditions
from objects import domain, naming
from real_nodes import BEFORE, DRIVER, LABEL, NODES, NOW, PLUGIN, left_alone, time_of, version_of, worker
from waiting import eventually

PLUGINS = "daemonset/cdom-kubelet-plugin"
WRITES = {"create", "update", "patch", "delete"}


def uid_of(nodes, name):
    return nodes.get("computedomain", name)["metadata"]["uid"]


def writes_of_plugins(nodes, resource, since):
    """By which the plugins' instances changed such objects, or tried to."""
    return [one for one in nodes.requests_of(PLUGIN, since)
            if one["objectRef"]["resource"] == resource and one["verb"] in WRITES]


def wait_for_a_held_channel(nodes, made, log, holder, waiter):
    """Makes both pods, of which the second is given the channel of the first. Returns the UIDs of their claims.

    A scheduler does the same once the API server has forgotten a pod that still runs, as after a deletion by force.
    """
    made(holder, left_alone(waiter))
    holds, waits = holder["metadata"]["name"], waiter["metadata"]["name"]
    nodes.wait_until_it_runs(holds)
    held_claim, held = nodes.claim_of(holds)
    nodes.give_channel_of(holds, waits)
    claim, waiting = nodes.claim_of(waits)
    log.wait_for("Claim waits", claim=f"default/{claim}",
                 **{"for": f"channel-0 is held by claim default/{held_claim}"})
    return held, waiting


# --- N1: a prepare that its kubelet gave up

def test_REV3_N1_a_prepare_that_its_kubelet_gave_up_leaves_nothing_and_the_next_pod_is_served(nodes, made):
    log = nodes.plugin_log("node-1")
    made(domain("given-up"))
    held, given_up = wait_for_a_held_channel(nodes, made, log, worker("holds", "node-1", "given-up"),
                                             worker("gives-up", "node-1", "given-up"))
    # A kubelet that ends gives its calls up. One that runs waits for the answer, although the pod is deleted (1.36.3).
    with nodes.without_kubelet("node-1"):
        nodes.kubectl("delete", "pod", "gives-up", "--wait=false")
    log.wait_for("Unprepared a claim", uid=given_up)
    nodes.kubectl("delete", "pod", "holds", "--timeout=60s")
    log.wait_for("Unprepared a claim", uid=held)

    eventually("the node's label", lambda: nodes.label("node-1"), None)
    made(worker("next", "node-1", "given-up"))
    nodes.wait_until_it_runs("next")
    assert nodes.label("node-1") == uid_of(nodes, "given-up")
    assert log.lines("Prepared a claim", uid=given_up) == []
    assert [file for file in nodes.spec_files("node-1") if given_up in file] == []
    assert nodes.checkpoint("node-1").get(given_up) is None
    assert log.lines("Preparing a claim failed", uid=given_up, err="the kubelet has cancelled the call") != []


# --- N2: the names of daemons that there are not

def test_REV3_N2_each_name_that_imex_may_look_up_has_an_address_in_the_daemons_pod(nodes, made):
    made(domain("names"), worker("names-1", "node-1", "names"), worker("names-2", "node-2", "names"))
    for pod in ("names-1", "names-2"):
        nodes.wait_until_it_runs(pod)
    # Where daemons write cliques, as under NVIDIA's chart: test/cluster/realnodes/chart_cases.sh.
    assert nodes.daemon_on("node-1")["metadata"]["labels"]["cdom.dev/membership-writer"] == "controller"
    peers = {nodes.daemon_on(node)["status"]["podIP"] for node in NODES}

    def known():
        return {one.split()[1]: one.split()[0] for one in in_daemon(nodes, "node-1", "cat /etc/hosts").splitlines()
                if one and not one.startswith("#")}
    eventually("both daemons have a name", lambda: peers <= set(known().values()))
    asked = in_daemon(nodes, "node-1", "cat /imexd/nodes.cfg").split()
    addresses = known()
    assert len(asked) > len(NODES), "there are names to spare"
    assert sorted({addresses.get(name) for name in asked}) == sorted({*peers, "127.0.0.2"})
    # And libc finds it there, as the image tells it to.
    spare = next(name for name in asked if addresses[name] == "127.0.0.2")
    said = in_daemon(nodes, "node-1", f"(exec 3<>/dev/tcp/{spare}/1) 2>&1 || true")
    assert "Connection refused" in said, said


# --- N3: two instances, one ResourceSlice

def roll(nodes, *command):
    """Changes the plugin's DaemonSet by this command of kubectl. Returns once each node has one pod of it, a new one."""
    before = {one["metadata"]["name"] for one in nodes.plugins()}
    nodes.kubectl("-n", "cdom-system", *command)
    nodes.kubectl("-n", "cdom-system", "rollout", "status", PLUGINS, "--timeout=240s")

    def is_over():
        now = {one["metadata"]["name"] for one in nodes.plugins()}
        return len(now) == len(NODES) and not now & before
    eventually("each node has one plugin, a new one", is_over, within=90)


@contextlib.contextmanager
def plugins_with(nodes, variable):
    """The plugins have this variable of the environment, as in NAME=VALUE, meanwhile."""
    template = nodes.get("daemonset", "cdom-kubelet-plugin", "cdom-system")["spec"]["template"]
    roll(nodes, "set", "env", PLUGINS, variable)
    try:
        yield
    finally:
        roll(nodes, "patch", PLUGINS, "--type=json", "-p", json.dumps([{"op": "replace", "path": "/spec/template", "value": template}]))


@contextlib.contextmanager
def fabric_error(nodes):
    """The plugin finds an error of the fabric meanwhile. All nodes' plugins are replaced at once."""
    def surge(most):
        nodes.kubectl("-n", "cdom-system", "patch", PLUGINS, "-p",
                      json.dumps({"spec": {"updateStrategy": {"rollingUpdate": {"maxSurge": most}}}}))
    surge("100%")
    try:
        with plugins_with(nodes, "STAND_IN_NVML_GPUS=GB200,0,3,15,1,1"):
            yield
    finally:
        surge("10%")


def taints(nodes):
    """Key, effect and time of each device's taints, by node."""
    found = json.loads(nodes.kubectl("get", "resourceslices", "-o", "json"))["items"]
    return {one["spec"]["nodeName"]: [(taint["key"], taint["effect"], taint["timeAdded"])
                                      for device in one["spec"]["devices"] for taint in device.get("taints", [])]
            for one in found if one["spec"]["driver"] == DRIVER}


def seconds_between_writes(entries):
    """Of each instance of the plugin, by the name of its pod."""
    times = {}
    for one in entries:
        instance = one["user"]["extra"]["authentication.kubernetes.io/pod-name"][0]
        at = datetime.datetime.fromisoformat(one["stageTimestamp"])
        times.setdefault(instance, []).append(at)
    return {instance: [round((later - earlier).total_seconds(), 1) for earlier, later in itertools.pairwise(sorted(at))]
            for instance, at in times.items()}


def test_REV3_N3_a_rollout_during_a_fabric_error_costs_each_instance_one_slice_write_a_minute_at_most(nodes):
    since = nodes.audit_size()
    with fabric_error(nodes):
        eventually("how many taints the nodes' devices have",
                       lambda: [len(taints(nodes)[node]) for node in NODES], [2, 2])
        before = taints(nodes)
        begun = nodes.audit_size()
        roll(nodes, "rollout", "restart", PLUGINS)
        in_rollout = writes_of_plugins(nodes, "resourceslices", begun)
        after = taints(nodes)
    eventually("the taints of devices", lambda: taints(nodes), {node: [] for node in NODES})
    writes = writes_of_plugins(nodes, "resourceslices", since)
    apart = seconds_between_writes(writes)
    print(f"{len(in_rollout)} slice writes in the rollout; {len(writes)} with the error's begin and end, "
          f"by {len(apart)} instances")
    assert {instance: each for instance, each in apart.items() if min(each, default=60) < 60} == {}
    assert after == before, "the error is as old as before the rollout"
    assert len(writes) >= 2 * len(NODES), f"begin and end of the error are written: {apart}"


# --- N15: two instances, one label

CLIQUE_LABEL = "nvidia.com/gpu.clique"


def test_REV3_N15_a_rollout_takes_no_nodes_clique_label_off(nodes):
    def labels():
        return [nodes.get("node", node)["metadata"]["labels"].get(CLIQUE_LABEL) for node in NODES]
    assert labels() == [None, None]
    try:
        with plugins_with(nodes, "GPU_CLIQUE_LABEL_ENABLED=true"):
            eventually("each node has the label", lambda: all(labels()), within=60)
            since = nodes.audit_size()
            roll(nodes, "rollout", "restart", PLUGINS)
            assert all(labels())
            # The one that ends is gone by now, and whatever it did as it ended is in the log.
            assert [one["objectRef"]["name"] for one in writes_of_plugins(nodes, "nodes", since)] == []
    finally:
        for node in NODES:
            nodes.kubectl("label", "node", node, f"{CLIQUE_LABEL}-")


# --- The health of the fabric, which the driver reports beside its state

def test_a_fabric_that_is_degraded_is_told_in_the_pods_status_and_keeps_it_healthy(nodes, made):
    def told():
        containers = nodes.pod("degraded-1")["status"]["containerStatuses"]
        resources = [found for one in containers for found in one.get("allocatedResourcesStatus", [])]
        return {(one["health"], "degraded bandwidth" in one.get("message", ""))
                for found in resources for one in found.get("resources", [])}
    with plugins_with(nodes, "STAND_IN_NVML_HEALTH=1"):
        made(domain("degraded"), worker("degraded-1", "node-1", "degraded"))
        nodes.wait_until_it_runs("degraded-1")
        eventually("the channel's health", told, {("Healthy", True)}, within=60)


# --- N4: an IMEX that hangs

def report_on(nodes, node):
    """What the daemon there reports of its IMEX."""
    daemon = nodes.daemon_on(node)
    return json.loads(daemon["metadata"].get("annotations", {}).get("cdom.dev/imex", "{}"))


def in_daemon(nodes, node, script):
    name = nodes.daemon_on(node)["metadata"]["name"]
    return nodes.kubectl("exec", "-n", "cdom-system", name, "--", "bash", "-c", script)


def members_reason(nodes, name):
    return nodes.condition(name, "MembersReady").get("reason")


def pod_is_ready(pod):
    """As its condition says; a pod that the kubelet has yet to hear of has none."""
    return next((one["status"] for one in pod["status"].get("conditions", []) if one["type"] == "Ready"), None)


def test_REV3_N4_an_imex_that_hangs_is_told_by_all_who_ask_it_and_the_job_runs_on(nodes, made):
    made(domain("hangs"), worker("hangs-1", "node-1", "hangs"))
    nodes.wait_until_it_runs("hangs-1")
    in_daemon(nodes, "node-1", ": >/run/hosts.hangs")
    # A new peer, of which the daemon asks its IMEX at once.
    made(worker("hangs-2", "node-2", "hangs"))
    nodes.wait_until_it_runs("hangs-2")
    # Each daemon asks all IMEX of the domain, so the one that hangs leaves both without an answer.
    for node in NODES:
        eventually(f"whether the daemon of {node} knows nothing of its peers",
                       lambda node=node: report_on(nodes, node).get("peersUnanswered"), True, within=90)
    told = eventually("what is said of members", lambda: conditions(nodes.get("computedomain", "hangs")["status"]),
                      lambda said: said["MembersReady"]["reason"] == "ImexPeersUnknown"
                      and "which peers it reaches: node-1, node-2." in said["MembersReady"]["message"])
    assert told["Ready"]["status"] == "True"
    # Also the one that hangs answers of itself, which is what the probe asks.
    assert report_on(nodes, "node-1")["state"] == "READY"
    assert [pod_is_ready(nodes.daemon_on(node)) for node in NODES] == ["True", "True"]
    in_daemon(nodes, "node-1", "rm /run/hosts.hangs")
    eventually("the reason of MembersReady", lambda: members_reason(nodes, "hangs"), "AllMembersReady", within=90)


# --- N5: a claim that waits for another's channel

def test_REV3_N5_a_claim_that_waits_for_anothers_channel_gets_it_in_the_same_call(nodes, made):
    """Woken by the release: the rules have no other time to look again than the end of the call, after which the kubelet calls again."""
    log = nodes.plugin_log("node-2")
    made(domain("woken"))
    held, waiting = wait_for_a_held_channel(nodes, made, log, worker("holds", "node-2", "woken"), worker("woken", "node-2", "woken"))
    nodes.kubectl("delete", "pod", "holds", "--timeout=60s")
    released = time_of(log.wait_for("Unprepared a claim", uid=held))
    prepared = time_of(log.wait_for("Prepared a claim", uid=waiting))
    print(f"from the release of the channel to the next claim's answer: {(prepared - released).total_seconds() * 1000:.0f} ms")
    assert released <= prepared
    assert [one for one in log.lines("Preparing a claim failed", uid=waiting) if time_of(one) >= released] == []
    nodes.wait_until_it_runs("woken")


# --- N6: a pod that is replaced in place

def daemon_now(nodes, node):
    """What would be another after any restart of the daemon there, or of its IMEX."""
    daemon = nodes.daemon_on(node)
    status = daemon["status"]["containerStatuses"][0]
    return daemon["metadata"]["uid"], status["containerID"], status["restartCount"], report_on(nodes, node)["started"]


def test_REV3_N6_a_pod_replaced_in_place_finds_the_label_and_the_daemon_as_they_were(nodes, made):
    made(domain("replaced"), worker("replaced-1", "node-1", "replaced"))
    nodes.wait_until_it_runs("replaced-1")
    _, uid = nodes.claim_of("replaced-1")
    eventually("the daemon has reported", lambda: report_on(nodes, "node-1"))
    before = daemon_now(nodes, "node-1")
    log = nodes.plugin_log("node-1")
    since = nodes.audit_size()
    # It waits until the scheduler has the first one's channel again.
    made(worker("replaced-2", "node-1", "replaced"))
    nodes.claim_of("replaced-2")
    nodes.kubectl("delete", "pod", "replaced-1", "--timeout=60s")
    nodes.wait_until_it_runs("replaced-2")
    _, next_uid = nodes.claim_of("replaced-2")
    released = time_of(log.wait_for("Unprepared a claim", uid=uid))
    prepared = time_of(log.wait_for("Prepared a claim", uid=next_uid))
    print(f"from the release of the claim to the next claim's answer: {(prepared - released).total_seconds():.2f} s")
    changes = [(one["verb"], one["objectRef"]["name"]) for one in writes_of_plugins(nodes, "nodes", since)]
    assert changes == [], f"got {changes} as changes of nodes, wanted none"
    assert nodes.label("node-1") == uid_of(nodes, "replaced")
    assert daemon_now(nodes, "node-1") == before


@contextlib.contextmanager
def without_controller(nodes):
    """No replica runs meanwhile."""
    deployment = ("deployment/cdom-controller", "-n", "cdom-system")
    replicas = nodes.get("deployment", "cdom-controller", "cdom-system")["spec"]["replicas"]
    nodes.kubectl("scale", *deployment, "--replicas=0")
    try:
        eventually("no controller runs", lambda: not [
            one for one in nodes.kubectl_json("get", "pods", "-n", "cdom-system")["items"] if one["metadata"]["name"].startswith("cdom-controller-")])
        yield
    finally:
        nodes.kubectl("scale", *deployment, f"--replicas={replicas}")
        nodes.kubectl("rollout", "status", *deployment, "--timeout=120s")


@pytest.mark.parametrize("controller", ("runs", "is away"))
def test_a_pod_that_comes_back_within_seconds_finds_daemon_entry_and_index_and_does_not_wait(nodes, made, controller):
    made(domain("back"), worker("back-0", "node-1", "back"))
    nodes.wait_until_it_runs("back-0")
    uid = uid_of(nodes, "back")
    eventually("the daemon has reported", lambda: report_on(nodes, "node-1"))
    log = nodes.plugin_log("node-1")

    def members():
        return {one["name"]: one["index"] for one in nodes.get("computedomain", "back")["status"].get("nodes", [])}

    def entry():
        cliques = nodes.kubectl_json("get", "computedomaincliques", "-n", "cdom-system")["items"]
        return next(one for clique in cliques if clique["metadata"]["name"].startswith(uid) for one in clique["daemons"])

    def come_back(number):
        """What the next pod finds, which comes once the last one is gone."""
        before, daemon = entry(), daemon_now(nodes, "node-1")
        old, new = f"back-{number}", f"back-{number + 1}"
        _, released = nodes.claim_of(old)
        next_one = worker(new, "node-1", "back")
        next_one["spec"]["schedulingGates"] = [{"name": "example.com/until-the-other-is-gone"}]
        made(next_one)
        claim, claimed = nodes.claim_of(new)
        since = nodes.audit_size()
        nodes.kubectl("delete", "pod", old, "--timeout=60s")
        if controller == "runs":
            eventually("the node has left status", members, {})
        nodes.kubectl("patch", "pod", new, "--type=json", "-p", '[{"op":"remove","path":"/spec/schedulingGates"}]')
        nodes.wait_until_it_runs(new)
        took = time_of(log.wait_for("Prepared a claim", uid=claimed)) - time_of(log.wait_for("Unprepared a claim", uid=released))
        print(f"from the release of the claim to the next claim's answer: {took.total_seconds():.2f} s")
        return {"changes of nodes": len(writes_of_plugins(nodes, "nodes", since)), "waits": len(log.lines("Claim waits", claim=f"default/{claim}")),
                "same daemon": daemon_now(nodes, "node-1") == daemon, "same entry": entry() == before}

    with without_controller(nodes) if controller == "is away" else contextlib.nullcontext():
        as_it_was = {"changes of nodes": 0, "waits": 0, "same daemon": True, "same entry": True}
        for number in range(3):  # On a busy machine a pod may come back when the plugin has taken the label off.
            found = come_back(number)
            if found == as_it_was:
                break
        assert found == as_it_was
    eventually("members with their indices", members, {"node-1": entry()["index"]}, within=60)


# --- Pods that share a claim

def test_pods_that_name_one_claim_share_its_channel_until_the_last_ends(nodes, made):
    def sharer(name):
        return naming(worker(name, "node-1", ""), "common")

    def users():
        return sorted(one["name"] for one in nodes.get("resourceclaim", "common")["status"].get("reservedFor", []))

    def has_channel(pod):
        nodes.run("node-1", "test", "-c", f"/proc/{nodes.process_of(nodes.pod(pod))}/root/dev/nvidia-caps-imex-channels/channel0")

    log = nodes.plugin_log("node-1")
    made(domain("shared"))
    eventually("the domain has its template", lambda: nodes.get("resourceclaimtemplate", "shared-channel"))
    made(channel_claim("common", uid_of(nodes, "shared"), allocationMode="Single"), sharer("first"), sharer("second"))
    for pod in ("first", "second"):
        nodes.wait_until_it_runs(pod)
        has_channel(pod)
    claim = nodes.get("resourceclaim", "common")["metadata"]["uid"]
    eventually("the daemon has reported", lambda: report_on(nodes, "node-1"), within=30)
    before, since = daemon_now(nodes, "node-1"), nodes.audit_size()
    assert users() == ["first", "second"]

    nodes.kubectl("delete", "pod", "first", "--timeout=60s")
    eventually("the pods of the claim", users, ["second"])
    made(sharer("third"))
    nodes.wait_until_it_runs("third")
    for pod in ("second", "third"):
        has_channel(pod)
    assert log.lines("Unprepared a claim", uid=claim) == []
    assert nodes.checkpoint("node-1")[claim] == "PrepareCompleted"
    assert [file for file in nodes.spec_files("node-1") if claim in file] != []
    assert [one["verb"] for one in writes_of_plugins(nodes, "nodes", since)] == []
    assert nodes.label("node-1") == uid_of(nodes, "shared")
    assert daemon_now(nodes, "node-1") == before

    nodes.kubectl("delete", "pod", "second", "third", "--timeout=60s")
    log.wait_for("Unprepared a claim", uid=claim)
    eventually("the node's label", lambda: nodes.label("node-1"), None, within=30)


# --- N7: encryption

KEYS = {"tls.key": "key", "tls.crt": "certificate", "ca.crt": "authority"}
ENCRYPTION = """apiVersion: cdom.dev/v1alpha1
kind: ControllerConfiguration
daemons:
  imex:
    authEncryption: true
    authSecret: cdom-imex-keys
"""


def keys_with(*names):
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "cdom-imex-keys", "namespace": "cdom-system"},
            "stringData": {name: KEYS[name] for name in names}}


@pytest.fixture
def encrypted(nodes):
    """The controller's configuration asks for encryption meanwhile."""
    deployment = "deployment/cdom-controller"
    nodes.apply({"apiVersion": "v1", "kind": "ConfigMap", "data": {"configuration.yaml": ENCRYPTION},
                 "metadata": {"name": "cdom-configuration", "namespace": "cdom-system"}})

    def set_environment(variable):
        nodes.kubectl("-n", "cdom-system", "set", "env", deployment, variable)
        nodes.kubectl("-n", "cdom-system", "rollout", "status", deployment, "--timeout=90s")
    set_environment("CONFIG=/etc/cdom/configuration.yaml")
    yield
    set_environment("CONFIG-")
    nodes.kubectl("-n", "cdom-system", "delete", "configmap", "cdom-configuration")


def last_words(nodes, node):
    """What the container of the daemon there said last before it ended; nothing if it did not end."""
    daemon = nodes.daemon_on(node) or {"status": {}}
    status = daemon["status"].get("containerStatuses", [{}])[0]
    ended = status.get("state", {}).get("terminated") or status.get("lastState", {}).get("terminated") or {}
    return ended.get("message", "")


def encryption_on(nodes, node):
    """The values of the keys about encryption that IMEX was started with there."""
    text = in_daemon(nodes, node, "cat /imexd/imexd.cfg")
    settings = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
    return {key: value for key, value in settings.items()
            if "AUTH" in key or key.startswith(("IMEX_SERVER_", "IMEX_CLIENT_"))}


@pytest.mark.usefixtures("encrypted")  # First: it ends behind the domain.
def test_REV3_N7_encryption_reaches_imex_and_without_all_keys_the_daemon_says_what_it_lacks(nodes, made):
    made(keys_with("tls.key", "tls.crt"), domain("secret"), worker("secret-1", "node-1", "secret"))
    said = eventually("the daemon has ended with a reason", lambda: last_words(nodes, "node-1"))
    assert "IMEX must encrypt, and its keys are missing: open /imex-keys/ca.crt" in said, said
    assert "daemons.imex.authSecret" in said, said
    assert nodes.pod("secret-1")["status"]["phase"] == "Pending"
    made(keys_with(*KEYS))
    nodes.kubectl("-n", "cdom-system", "delete", "pod", nodes.daemon_on("node-1")["metadata"]["name"])
    nodes.wait_until_it_runs("secret-1", 90)
    assert encryption_on(nodes, "node-1") == {
        "IMEX_ENABLE_AUTH_ENCRYPTION": "1", "IMEX_AUTH_ENCRYPTION_MODE": "SSL_TLS", "IMEX_AUTH_SOURCE": "FILE",
        "IMEX_SERVER_KEY": "/imex-keys/tls.key", "IMEX_CLIENT_KEY": "/imex-keys/tls.key",
        "IMEX_SERVER_CERT": "/imex-keys/tls.crt", "IMEX_CLIENT_CERT": "/imex-keys/tls.crt",
        "IMEX_SERVER_CERT_AUTH": "/imex-keys/ca.crt", "IMEX_CLIENT_CERT_AUTH": "/imex-keys/ca.crt"}


# --- N11: another driver under the plugin

OLD_VERSION, NEW_VERSION = "580.95.05", "580.99.01"
# The numbers under which the kernel has the driver's devices, before and after it was loaded again.
NEW_MAJORS = {235: 241, 236: 242}


@contextlib.contextmanager
def upgraded_driver(nodes, node):
    """Another version of the driver meanwhile, loaded again: files of another name, devices of other numbers."""
    library = "/run/nvidia/driver/usr/lib64/libnvidia-ml.so"
    numbers = " ".join(f"-e 's/^{old} /{new} /'" for old, new in NEW_MAJORS.items())
    nodes.run(node, "bash", "-ec", f"""
      cp -p /run/nvidia/driver/devices /run/nvidia/devices.before
      LC_ALL=C sed 's/{OLD_VERSION}/{NEW_VERSION}/' {library}.{OLD_VERSION} >{library}.{NEW_VERSION}
      if cmp -s {library}.{OLD_VERSION} {library}.{NEW_VERSION}; then exit 1; fi
      sed -i {numbers} /run/nvidia/driver/devices
      mv {library}.{OLD_VERSION} /run/nvidia/
      ln -sf libnvidia-ml.so.{NEW_VERSION} {library}.1""")
    try:
        yield
    finally:
        nodes.run(node, "bash", "-ec", f"""
          rm {library}.{NEW_VERSION}
          mv /run/nvidia/libnvidia-ml.so.{OLD_VERSION} {library}.{OLD_VERSION}
          ln -sf libnvidia-ml.so.{OLD_VERSION} {library}.1
          mv /run/nvidia/devices.before /run/nvidia/driver/devices""")


def libraries_in_base_spec(nodes, node):
    """The versions of the driver's library for NVML that daemons are given."""
    mounts = nodes.spec_files(node)[f"k8s.{DRIVER}-device_base.yaml"]["containerEdits"]["mounts"]
    names = {one["hostPath"].rpartition("/")[2] for one in mounts}
    return {name.removeprefix("libnvidia-ml.so.") for name in names if name.startswith("libnvidia-ml.so.")}


def majors_in_claims(nodes, node):
    """The numbers of the devices that containers of the prepared claims are given."""
    specs = [spec for file, spec in nodes.spec_files(node).items() if "-claim_" in file]
    return {device["major"] for spec in specs for one in spec["devices"]
            for device in one["containerEdits"].get("deviceNodes", [])}


def test_REV3_N11_a_driver_that_is_upgraded_under_the_plugin_is_served_with_the_next_claim(nodes, made):
    node = "node-2"
    assert libraries_in_base_spec(nodes, node) == {OLD_VERSION}
    with upgraded_driver(nodes, node):
        made(domain("upgraded"), worker("upgraded-1", node, "upgraded"))
        nodes.wait_until_it_runs("upgraded-1")
        assert libraries_in_base_spec(nodes, node) == {NEW_VERSION}
        assert majors_in_claims(nodes, node) == set(NEW_MAJORS.values())
        # And so it came into the containers.
        process = nodes.process_of(nodes.pod("upgraded-1"))
        channel = f"/proc/{process}/root/dev/nvidia-caps-imex-channels/channel0"
        assert int(nodes.run(node, "stat", "-c", "%t", channel), 16) == NEW_MAJORS[235]
        files = in_daemon(nodes, node, "cd /usr/lib64 && ls -d libnvidia-ml*").split()
        assert sorted(files) == ["libnvidia-ml.so.1", f"libnvidia-ml.so.{NEW_VERSION}"]


# --- X9, X14: what pods listen on, and what they may do

NO_CAPABILITIES = {"0000000000000000"}


def serve(nodes, made):
    """Makes a domain with a worker on node-1. Returns its pods: controller, plugin and daemon, by these names."""
    made(domain("confined"), worker("confined-1", "node-1", "confined"))
    nodes.wait_until_it_runs("confined-1")

    def pods(component):
        return [one for one in nodes.list("pods", "cdom-system", f"app.kubernetes.io/component={component}")
                if "deletionTimestamp" not in one["metadata"]]
    controller = eventually("there is one controller", lambda: len(pods("controller")) == 1 and pods("controller"))
    plugin = [one for one in pods("kubelet-plugin") if one["spec"]["nodeName"] == "node-1"]
    return {"controller": controller[0], "plugin": plugin[0], "daemon": nodes.daemon_on("node-1")}


@pytest.fixture
def serving(nodes, made):
    return serve(nodes, made)


def open_ports(nodes, pod):
    """The ports that NetworkPolicies open, by number: of all policies that select the pod by one label."""
    named = {port.get("name"): port["containerPort"]
             for container in pod["spec"]["containers"] for port in container.get("ports", [])}
    found = set()
    for policy in nodes.list("networkpolicies", "cdom-system"):
        selector = policy["spec"]["podSelector"]
        labels = pod["metadata"]["labels"]
        wanted = selector.get("matchLabels", {}).items()
        if wanted <= labels.items() and all(one["key"] in labels for one in selector.get("matchExpressions", [])):
            found |= {named.get(port["port"], port["port"])
                      for rule in policy["spec"]["ingress"] for port in rule["ports"]}
    return found


def test_REV3_X9_pods_listen_on_the_ports_that_a_policy_opens_and_on_no_other(nodes, serving):
    listening = {name: nodes.listening_ports(pod) for name, pod in serving.items()}
    assert listening == {name: open_ports(nodes, pod) for name, pod in serving.items()}
    assert listening["daemon"] == {50000, 50005}


def test_REV3_X14_a_daemon_serves_without_a_capability_behind_a_filter_of_system_calls(nodes, serving):
    status = nodes.status_of(serving["daemon"])
    for name in ("CapEff", "CapPrm", "CapBnd"):
        assert status[name] == NO_CAPABILITIES, name
    assert status["NoNewPrivs"] == {"1"}
    assert status["Seccomp"] == {"2"}


def mount_options(nodes, pod):
    """How each of the container's mounts is mounted, by its place."""
    process = nodes.process_of(pod)
    lines = nodes.run(pod["spec"]["nodeName"], "cat", f"/proc/{process}/mountinfo").splitlines()
    return {line.split()[4]: line.split()[5].split(",") for line in lines}


def test_REV3_X14_a_daemon_writes_folders_of_its_pod_alone_and_each_container_finds_them_empty(nodes, serving):
    daemon = serving["daemon"]
    options = mount_options(nodes, daemon)
    assert "ro" in options["/"]
    assert all("rw" in options[folder] for folder in ("/run", "/tmp", "/var/log"))
    left = [f"/run/nvidia-imex/left-{daemon['metadata']['name']}", "/tmp/left", "/var/log/left"]

    def files():
        root = f"/proc/{nodes.process_of(current())}/root"
        return nodes.run("node-1", "bash", "-c", "ls -d " + " ".join(root + path for path in left) + " 2>/dev/null || true").split()

    def current():
        return nodes.get("pod", daemon["metadata"]["name"], "cdom-system")

    def restarts():
        return current()["status"]["containerStatuses"][0]["restartCount"]
    root = f"/proc/{nodes.process_of(daemon)}/root"
    nodes.run("node-1", "bash", "-c", f"mkdir -p {root}/run/nvidia-imex && touch " + " ".join(root + path for path in left))
    assert len(files()) == len(left)
    nodes.run("node-1", "kill", "-KILL", nodes.process_of(daemon))
    eventually("how often the daemon's container was started again", restarts, 1)
    eventually("the daemon is ready", lambda: current()["status"]["containerStatuses"][0]["ready"])
    assert files() == []
    # The token that the kubelet mounts there is another file system.
    nodes.run("node-1", "test", "-s", f"/proc/{nodes.process_of(current())}/root/run/secrets/kubernetes.io/serviceaccount/token")


def test_REV3_X14_a_plugin_that_has_started_has_no_capability_and_sees_its_own_folder(nodes, serving):
    status = nodes.status_of(serving["plugin"])
    for name in ("CapEff", "CapPrm", "CapBnd"):
        assert status[name] == NO_CAPABILITIES, name
    assert status["NoNewPrivs"] == {"1"}
    assert status["Seccomp"] == {"2"}
    # Kubelets keep the sockets of all drivers side by side.
    nodes.run("node-1", "mkdir", "-p", "/var/lib/kubelet/plugins/csi.example.com")
    process = nodes.process_of(serving["plugin"])
    assert nodes.run("node-1", "ls", f"/proc/{process}/root/var/lib/kubelet/plugins").split() == [DRIVER]


# What a container says without a mount, if that is all that is needed to hear it.
SAID_WITHOUT = {
    ("preflight", "driver-root"): "MISSING NVIDIA's driver: libnvidia-ml.so.1 does not exist under /driver-root",
    ("preflight", "cdi"): "MISSING CDI: make folder /var/run/cdi: Read-only file system",
    ("compute-domains", "driver-root"): "open /driver-root/boot_id: No such file or directory",
    ("compute-domains", "plugins"): f"make folder /var/lib/kubelet/plugins/{DRIVER}/domains: Read-only file system",
    ("compute-domains", "cdi"): "make folder /var/run/cdi: Read-only file system",
    ("compute-domains", "plugins-registry"): "make folder /var/lib/kubelet/plugins_registry: Read-only file system",
}
# These have cases of their own, below.
WITHOUT_ALONE = {("preflight", "plugins"), ("preflight", "host-cgroup")}


def containers_of(template):
    return [*template["spec"]["initContainers"], *template["spec"]["containers"]]


@contextlib.contextmanager
def plugin_pods(nodes, change):
    """The DaemonSet's pods are changed by change(container) of each container meanwhile; not all are replaced at once."""
    before = nodes.get("daemonset", "cdom-kubelet-plugin", "cdom-system")["spec"]["template"]
    after = json.loads(json.dumps(before))
    for container in containers_of(after):
        change(container)
    assert after != before

    def put(template):
        nodes.kubectl("-n", "cdom-system", "patch", PLUGINS, "--type=json", "-p",
                      json.dumps([{"op": "replace", "path": "/spec/template", "value": template}]))
    old = {one["metadata"]["name"] for one in nodes.plugins()}
    put(after)
    try:
        yield lambda: next((one for one in nodes.plugins() if one["metadata"]["name"] not in old), None)
    finally:
        put(before)
        nodes.kubectl("-n", "cdom-system", "rollout", "status", PLUGINS, "--timeout=240s")
        eventually("each node has one plugin", lambda: len(nodes.plugins()) == len(NODES), within=90)


def without_mount(container, mount):
    """A change for plugin_pods()."""
    def change(one):
        if one["name"] == container:
            one["volumeMounts"] = [each for each in one["volumeMounts"] if each["name"] != mount]
    return change


def said_by(nodes, pod, container):
    """By that container, and by the one that ended before it."""
    command = ("-n", "cdom-system", "logs", pod["metadata"]["name"], "-c", container)
    return nodes.kubectl(*command, check=False) + nodes.kubectl(*command, "--previous", check=False)


def wait_for_words(nodes, new_pod, container, words):
    """Waits until the container of the new pod has said this, and is not ready."""
    def is_said():
        pod = new_pod()
        return pod and words in said_by(nodes, pod, container) and pod_is_ready(pod) == "False"
    eventually(f"{container} says '{words}'", is_said, within=60)


def test_REV3_X14_each_mount_of_the_plugins_pod_has_a_case_without_it(nodes):
    template = nodes.get("daemonset", "cdom-kubelet-plugin", "cdom-system")["spec"]["template"]
    mounts = {(one["name"], mount["name"]) for one in containers_of(template) for mount in one["volumeMounts"]}
    assert mounts == SAID_WITHOUT.keys() | WITHOUT_ALONE
    assert {one["name"] for one in template["spec"]["volumes"]} == {mount for _, mount in mounts}


@pytest.mark.parametrize(("container", "mount"), SAID_WITHOUT)
def test_REV3_X14_the_plugins_pod_does_not_start_without(nodes, container, mount):
    with plugin_pods(nodes, without_mount(container, mount)) as new_pod:
        wait_for_words(nodes, new_pod, container, SAID_WITHOUT[container, mount])


# Of the node's, and in no container that is not privileged. Root writes it without a capability.
DEVICE = "/dev/kmsg"


@pytest.mark.parametrize("container", ["preflight", "compute-domains"])
def test_REV3_X14_without_its_privilege_no_device_of_the_driver_is_opened_by(nodes, container):
    def opens_a_device(one):
        one["env"] = [*one.get("env", []), {"name": "STAND_IN_NVML_DEVICE", "value": DEVICE}]
    with plugin_pods(nodes, opens_a_device) as new_pod:
        eventually("with it the pod is ready", lambda: new_pod() and pod_is_ready(new_pod()) == "True")

    def has_no_privilege(one):
        opens_a_device(one)
        if one["name"] == container:
            one["securityContext"]["privileged"] = False
    with plugin_pods(nodes, has_no_privilege) as new_pod:
        wait_for_words(nodes, new_pod, container,
                       "MISSING NVIDIA's driver: " if container == "preflight" else "NVML")


# In the container of the process that is named: the files of a kernel with NVIDIA's driver, and a mount that hides some of
# them, as a container runtime leaves it in a container that it gives GPUs to.
MASKS = """import ctypes, os, shutil, sys
libc = ctypes.CDLL(None, use_errno=True)
def check(status):
    if status: raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
check(libc.setns(os.open(f"/proc/{sys.argv[1]}/ns/mnt", os.O_RDONLY), 0))
check(libc.mount(b"tmpfs", b"/proc/driver", b"tmpfs", 0, None))
shutil.copytree("/driver-root/proc/driver/nvidia", "/proc/driver/nvidia")
check(libc.mount(b"/driver-root/devices", b"/proc/devices", None, 4096, None))  # MS_BIND
check(libc.mount(b"tmpfs", b"/proc/driver/nvidia/capabilities", b"tmpfs", 0, None))
"""
MASKED = "/proc/driver/nvidia/capabilities"


@contextlib.contextmanager
def masked_plugin(nodes, capabilities):
    """A function that returns one new pod. Of all privileges its plugin has these; it starts once it is masked."""
    def starts_masked(one):
        if one["name"] != "compute-domains":
            return
        one["command"] = ["bash", "-c", f'until [[ $(</proc/self/mountinfo) == *{MASKED}* ]]; do sleep 0.1; done; exec "$@"',
                          "bash", *one["command"]]
        one["env"].append({"name": "ALT_PROC_DEVICES_PATH", "value": ""})  # The kernel's, as on a node with a driver.
        one["securityContext"].update(privileged=False, capabilities={"add": capabilities})

    with plugin_pods(nodes, starts_masked) as new_pod:
        def running():
            return new_pod() and "running" in new_pod()["status"]["containerStatuses"][0]["state"] and new_pod()
        pod = eventually("its container runs", running)
        nodes.run(pod["spec"]["nodeName"], "python3", "-c", MASKS, nodes.process_of(pod))
        # The next node's follows once this one is ready.
        yield lambda: nodes.get("pod", pod["metadata"]["name"], "cdom-system")


def test_REV3_X14_what_hides_the_drivers_files_is_unmounted_with_CAP_SYS_ADMIN(nodes):
    with masked_plugin(nodes, ["SYS_ADMIN"]) as pod:
        eventually("the pod is ready", lambda: pod_is_ready(pod()), "True")
        assert f'hid the driver\'s file in this container file="{MASKED}"' in said_by(nodes, pod(), "compute-domains")


def test_REV3_X14_without_CAP_SYS_ADMIN_the_plugin_names_what_hides_the_drivers_files(nodes):
    with masked_plugin(nodes, []) as pod:
        for words in (f'hides the driver\'s file in this container file="{MASKED}" error="Operation not permitted"',
                      f"{MASKED}/fabric-imex-mgmt does not exist"):
            eventually(f"the plugin says '{words}'", lambda words=words: words in said_by(nodes, pod(), "compute-domains"))


@contextlib.contextmanager
def running_on_hosts(nodes):
    """nvidia-imex.service runs on each node meanwhile, as systemd's folders show it."""
    folder = "/sys/fs/cgroup/systemd/system.slice/nvidia-imex.service"
    for node in NODES:
        nodes.run(node, "mkdir", "-p", folder)
    try:
        yield
    finally:
        for node in NODES:
            nodes.run(node, "rmdir", folder)


def test_REV3_X14_without_the_nodes_cgroups_the_preflight_does_not_see_the_hosts_imex(nodes):
    restarted = {"name": "RESTARTED", "value": "yes"}
    with running_on_hosts(nodes), plugin_pods(nodes, lambda one: one["env"].append(restarted)) as new_pod:
        wait_for_words(nodes, new_pod, "preflight", "MISSING IMEX runs on the host")
    with contextlib.ExitStack() as service:
        service.enter_context(running_on_hosts(nodes))
        with plugin_pods(nodes, without_mount("preflight", "host-cgroup")) as new_pod:
            eventually("a pod is ready all the same", lambda: new_pod() and pod_is_ready(new_pod()) == "True")
            # Before pods that see it are put back.
            service.close()


def test_REV3_X14_without_its_notes_the_preflight_keeps_a_plugin_from_starting_that_has_channels_to_release(nodes, made):
    made(domain("noted"), *(worker(f"noted-{node}", node, "noted") for node in NODES))
    for node in NODES:
        nodes.wait_until_it_runs(f"noted-{node}")
    programs = "/run/nvidia/driver/usr/bin"
    for node in NODES:
        nodes.run(node, "mv", f"{programs}/nvidia-imex", "/run/nvidia/imex-that-was")
    try:
        restarted = {"name": "RESTARTED", "value": "yes"}
        with plugin_pods(nodes, lambda one: one["env"].append(restarted)) as new_pod:
            eventually("the plugin starts", lambda: new_pod() and pod_is_ready(new_pod()) == "True")
        with plugin_pods(nodes, without_mount("preflight", "plugins")) as new_pod:
            wait_for_words(nodes, new_pod, "preflight", "MISSING IMEX")
    finally:
        for node in NODES:
            nodes.run(node, "mv", "/run/nvidia/imex-that-was", f"{programs}/nvidia-imex")


def asks(name, namespace, pod, port):
    """A pod on node-2 that connects to a port of that pod, and ends."""
    container = {"name": "work", "image": "cdom.test/work:1", "args": ["ask", pod["status"]["podIP"], str(port)]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": namespace},
            "spec": {"nodeSelector": {"kubernetes.io/hostname": "node-2"}, "restartPolicy": "Never",
                     "containers": [container]}}


def is_refused(nodes, asking):
    """Whether a pod of asks() got no connection. Once it has one it may still hear nothing."""
    name, namespace = asking["metadata"]["name"], asking["metadata"]["namespace"]
    eventually(f"{name} has asked",
               lambda: nodes.get("pod", name, namespace)["status"]["phase"] in ("Succeeded", "Failed"))
    return "connect" in nodes.kubectl("logs", name, "-n", namespace)


def is_let_in(nodes, made, namespace, pod, port):
    """Waits for it: a network plugin learns the address of a new pod a moment after it has started."""
    count = itertools.count()

    def is_refused_now():
        asking = asks(f"reader-{port}-{next(count)}", namespace, pod, port)
        made(asking)
        return is_refused(nodes, asking)
    eventually(f"port {port} refuses pods of {namespace}", is_refused_now, False, within=60)


def test_REV3_X9_where_policies_are_enforced_strangers_reach_no_port_and_daemons_reach_each_other(nodes, made):
    with nodes.network_plugin():
        serving = serve(nodes, made)
        made(worker("confined-2", "node-2", "confined"))
        nodes.wait_until_it_runs("confined-2")
        # Each IMEX has connected to the other.
        eventually("the members", lambda: nodes.condition("confined", "MembersReady").get("reason"), "AllMembersReady")
        ports = [(pod, port) for pod in serving.values() for port in sorted(nodes.listening_ports(pod))]
        assert len(ports) == 5
        strangers = [asks(f"stranger-{port}", "default", pod, port) for pod, port in ports]
        made(*strangers)
        assert {one["metadata"]["name"]: is_refused(nodes, one) for one in strangers} == {
            one["metadata"]["name"]: True for one in strangers}

        monitoring = {"apiVersion": "v1", "kind": "Namespace",
                      "metadata": {"name": "monitoring", "labels": {"cdom.dev/monitoring": "true"}}}
        made(monitoring)
        assert {port for _, port in ports} == {8080, 8081, 8443, 50000, 50005}
        for pod, port in ports:
            if port < 50000:
                is_let_in(nodes, made, "monitoring", pod, port)
        readers = [asks(f"reader-{port}", "monitoring", pod, port) for pod, port in ports if port >= 50000]
        made(*readers)
        assert {is_refused(nodes, one) for one in readers} == {True}
        # Kubelets ask for readiness every 2 s, and for the plugin's liveness every 10 s.
        assert all(one["status"]["containerStatuses"][0]["ready"] for one in nodes.plugins())
    strays = [asks(f"stray-{port}", "default", pod, port) for pod, port in ports]
    made(*strays)
    assert {is_refused(nodes, one) for one in strays} == {False}, "nobody enforces policies any more"


# --- X15: what a plugin reads

def test_REV3_X15_a_plugin_reads_no_node_but_its_own_and_lists_no_claim(nodes, serving):
    asked = [one for one in nodes.requests_of(PLUGIN) if one["objectRef"]["resource"] in ("nodes", "resourceclaims")]
    assert {one["objectRef"]["resource"] for one in asked} == {"nodes", "resourceclaims"}
    for one in asked:
        own = one["user"]["extra"]["authentication.kubernetes.io/node-name"][0]
        if one["objectRef"]["resource"] == "resourceclaims":
            assert one["verb"] == "get", one["requestURI"]
        elif one["verb"] in ("list", "watch"):
            query = urllib.parse.parse_qs(urllib.parse.urlsplit(one["requestURI"]).query)
            assert query["fieldSelector"] == [f"metadata.name={own}"], one["requestURI"]
        else:
            assert one["objectRef"]["name"] == own, one["requestURI"]


# --- The chart. It comes last: after it nothing is installed.

# As test/cluster/realnodes/gpu_nodes.sh says it to the kustomization.
VALUES = {"rack": True, "logVerbosity": 4, "nvidiaDriverRoot": "/run/nvidia/driver",
          "controller": {"image": "registry.example.com/cdom-controller:0.2.0", "replicas": 1},
          "kubeletPlugin": {"containers": {"computeDomains": {"env": [{"name": name, "value": value} for name, value in {
              "ALT_PROC_DEVICES_PATH": "/driver-root/devices", "BOOT_ID_PATH": "/driver-root/boot_id",
              "STAND_IN_NVML_GPUS": "GB200,0,3,0,1,1", "PREFLIGHT_WAIT": "2"}.items()]}}}}


def install_before(nodes, helm):
    """The chart of the release before, with the images of that release."""
    before = nodes.load_before()
    values = {**VALUES, "image": {"repository": f"{BEFORE}/cdom-driver"},
              "controller": {**VALUES["controller"], "image": f"{BEFORE}/cdom-controller:{version_of(before)}"}}
    helm.run("install", "cdom", before / "manifests/chart", *IN_RELEASE, *WAIT, values=values)


def registries(nodes):
    """Where the images of controller, plugin and daemons come from, by the beginning of the pods' names."""
    found = {}
    for one in nodes.list("pods", "cdom-system"):
        [name] = re.findall(r"^(cdom-controller|cdom-kubelet-plugin|computedomain-daemon)-", one["metadata"]["name"])
        found.setdefault(name, set()).add(one["spec"]["containers"][0]["image"].rpartition("/cdom-")[0])
    return found


@pytest.mark.parametrize("major", MAJORS)
def test_helm_changes_what_runs_under_a_job_and_removes_it(nodes, made, tmp_path, major):
    """The first adopts what kubectl applied. The second finds the CRDs that the first left, with a domain that waits; it installs the
    release before."""
    helm = Helm(major, tmp_path, nodes)
    is_there = nodes.get("deployment", "cdom-controller", "cdom-system")
    made(domain("chart"))
    if not is_there:
        install_before(nodes, helm)
    eventually("the workers' template", lambda: nodes.get("resourceclaimtemplate", "chart-channel"))
    made(worker("chart-1", "node-1", "chart"), worker("chart-2", "node-2", "chart"))
    nodes.wait_until_it_runs("chart-2")
    nodes.wait_until_it_runs("chart-1")
    lives = lives_of_job(nodes)
    if is_there:
        helm.adopt(tmp_path, VALUES)
    first = NOW if is_there else BEFORE
    at_first = {"cdom-controller": {first}, "cdom-kubelet-plugin": {first}, "computedomain-daemon": {first}}
    assert registries(nodes) == at_first

    before = {one["metadata"]["name"] for one in nodes.plugins()}
    helm.run("upgrade", "cdom", helm.later_chart(tmp_path), *IN_RELEASE, *WAIT, values={**VALUES, "logVerbosity": 5})
    assert "later" in spec_of(nodes.get("crd", CRDS[0]))
    eventually("the plugin's pods are new ones", lambda: before & {one["metadata"]["name"] for one in nodes.plugins()}, set())
    # A job uses the daemons.
    eventually("registries", lambda: registries(nodes), {**at_first, "cdom-controller": {NOW}, "cdom-kubelet-plugin": {NOW}})
    helm.run("rollback", "cdom", "1", *IN_RELEASE, *WAIT)
    assert "later" not in spec_of(nodes.get("crd", CRDS[0]))
    eventually("registries", lambda: registries(nodes), at_first)
    assert lives_of_job(nodes) == lives
    eventually("the domain", lambda: nodes.get("computedomain", "chart")["status"]["members"], "2/2")

    nodes.kubectl("delete", "pod", "chart-1", "chart-2", "--timeout=60s")
    nodes.kubectl("delete", "computedomain", "chart", "--timeout=90s")
    helm.run("uninstall", "cdom", *IN_RELEASE, *WAIT)
    eventually("pods of the driver", lambda: nodes.list("pods", "cdom-system"), [])
    eventually("published devices", lambda: nodes.list("resourceslices", ""), [], within=90)
    assert [nodes.label(node) for node in NODES] == [None, None]
    assert nodes.get("crd", CRDS[0])


def lives_of_job(nodes):
    """Of the workers, and of the daemons of their domain."""
    return nodes.lives("default") + nodes.lives("cdom-system", LABEL)
