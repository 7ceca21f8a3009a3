"""The chart makes the objects of the kustomizations, and each of its values does what values.yaml says."""

import copy
import functools
import json
import re
import shlex
import subprocess
import sys

import pytest
import yaml
from cluster import REPO, Setup
from helm import CHART, MAJORS, Helm
from kustomizations import beside_a_checkout, overlay, settings
from pages import blocks
from snapshot import difference, name_of
from versions import PLACEMENT_ON, needs_placement
from waiting import CommandFailed, eventually

sys.path.insert(0, str(REPO / "scripts"))
import chart_values  # noqa: E402

CLUSTER = Setup(nodes=0, manifests=None, controlplane=PLACEMENT_ON)
PLACEMENT = "admissionregistration.k8s.io/v1/MutatingAdmissionPolicy"
PLACEMENT_V1BETA1 = PLACEMENT.replace("/v1/", "/v1beta1/")
OPERATOR = "monitoring.coreos.com/v1"
DEFAULTS = {at: value for at, value, _ in chart_values.rows(
    yaml.safe_load((CHART / "values.yaml").read_text()), chart_values.comments((CHART / "values.yaml").read_text()))}
IGNORED = yaml.safe_load((CHART / "ignored.yaml").read_text())
NVIDIAS = [line for line in (REPO / "test/fixtures/nvidia_values.txt").read_text().splitlines() if not line.startswith("#")]

SITE, _, RACK = blocks("docs/install.md", "yaml")[:3]
DIGESTS = dict(re.findall(r"/mine/([a-z-]+)\n  digest: (\S+)", RACK))
OF_SITE = {"controller": {"image": f"registry.example.org/mine/cdom-controller@{DIGESTS['cdom-controller']}"}}
OF_RACK = {**OF_SITE, "rack": True, "image": {"repository": "registry.example.org/mine/cdom-driver", "digest": DIGESTS["cdom-driver"]}}
# As the manifests have them.
IMAGES = {"controller": {"image": "registry.example.com/cdom-controller:0.2.0"},
          "daemon": {"image": "registry.example.com/dra-driver-nvidia-gpu:v0.5.0"}}


CONFIGURATION = {"daemons": {"seLinuxOptions": {"type": "nvidia_container_t"}}}
# name: (values, served besides, kustomization: a text, or folders, components and more)
CASES = {
    "the page's controller": ({**OF_SITE, "daemon": {"image": re.search(r"IMAGE_NAME=(\S+)", SITE)[1]}}, [], SITE),
    "the page's rack": (OF_RACK, [], RACK),
    "what the manifests name": (IMAGES, [], (["standalone"], [], "")),
    "a rack with monitoring and placement": (
        {**IMAGES, "rack": True, "placement": {"enabled": True, "required": True}}, [OPERATOR, PLACEMENT],
        (["standalone", "kubelet-plugin", "monitoring", "placement", "placement/required"], [], "")),
    "Kubernetes 1.35 with MutatingAdmissionPolicy v1beta1": (
        {**IMAGES, "placement": {"enabled": True, "required": True}}, [PLACEMENT_V1BETA1],
        (["standalone", "placement-v1beta1", "placement/required"], [], "")),
    "MutatingAdmissionPolicy in both versions": (
        {**IMAGES, "placement": {"enabled": True}}, [PLACEMENT_V1BETA1, PLACEMENT], (["standalone", "placement"], [], "")),
    "policies that warn, all of them": (
        {**IMAGES, "policies": {"warnOnly": True, "advice": True, "tenantLimits": True}}, [],
        (["standalone", "policies/advice", "policies/tenant-limits"], ["policies/warn-only"], "")),
    "another namespace": ({**IMAGES, "rack": True, "namespaceOverride": "gpu-domains"}, [],
                          (["standalone", "kubelet-plugin"], [], "namespace: gpu-domains")),
    "a driver in a container": ({**IMAGES, "rack": True, "nvidiaDriverRoot": "/run/nvidia/driver"}, [],
                                (["standalone", "kubelet-plugin"], ["overlays/driver-container"], "")),
    "kubelets with another root folder": ({**IMAGES, "rack": True, "kubeletPlugin": {"kubeletRootDirectoryPath": "/var/lib/k0s/kubelet"}}, [],
                                          (["standalone", "kubelet-plugin"], ["overlays/kubelet-root"], "")),
    "GPUs by cdom": ({**IMAGES, "rack": True, "resources": {"gpus": {"enabled": True}}}, [],
                     (["standalone", "kubelet-plugin"], ["overlays/gpus"], "")),
    "daemons with a type of SELinux": ({**IMAGES, "config": CONFIGURATION}, [], (["standalone"], ["overlays/selinux"], "")),
    "Kubernetes 1.33": ({**IMAGES, "rack": True, "policies": {"advice": True}, "resourceApiVersion": "resource.k8s.io/v1beta2"}, [],
                        (["standalone", "kubelet-plugin", "policies/advice"], ["overlays/dra-v1beta2"], "")),
    "Kubernetes 1.32": ({**IMAGES, "rack": True, "resourceApiVersion": "resource.k8s.io/v1beta1"}, [],
                        (["standalone", "kubelet-plugin"], ["overlays/dra-v1beta1"], "")),
    "the controller writes cliques": ({**IMAGES, "daemon": {**IMAGES["daemon"], "membershipWriter": "controller"}}, [],
                                      (["standalone"], ["controller-writes"], "")),
    "IMEX of the hosts": (
        {**IMAGES, "featureGates": {"HostManagedIMEXDaemon": True}, "resources": {"computeDomains": {"imex": {"mode": "hostManaged"}}}}, [],
        (["standalone"], ["overlays/host-imex"], "")),
}

BOTH = {"rack": True, "placement": {"enabled": True}}
GPUS = {**BOTH, "resources": {"gpus": {"enabled": True}}}
BESIDE = {"mode": "beside", "daemon": {"image": "registry.example.com/dra-driver-nvidia-gpu:v0.5.0"}}
# Another value for each whose type has no obvious one, and on top of which values it has an effect.
OTHERS = {
    "mode": ("beside", {**BESIDE, "mode": "standalone"}),
    "rack": (True, {}),
    "allowDefaultNamespace": None,  # Has a case of its own: without it nothing is rendered.
    "namespace.create": (False, BOTH),
    "monitoring.labels": ({"release": "mine"}, BOTH),
    "monitoring.runbooks": ("https://mine.example.org/alerts", BOTH),
    "monitoring.dashboards": ("https://grafana.example.org", BOTH),
    "imagePullSecrets": ([{"name": "mine"}], BOTH),
    "daemon.membershipWriter": ("daemon", BOTH),
    "handover.lease": ("nvidia-dra-driver-controller", BESIDE),
    "config": (CONFIGURATION, BOTH),
    "featureGates": ({"ContextualLogging": True}, BOTH),
    "logVerbosity": (4, BOTH),
    "resources.computeDomains.imex.mode": ("hostManaged", {**BOTH, "featureGates": {"HostManagedIMEXDaemon": True}}),
    "resources.computeDomains.imex.isolation": None,  # There is one.
    "resourceApiVersion": ("resource.k8s.io/v1beta2", BOTH),
    "serviceAccount.annotations": ({"a": "b"}, BOTH),
    "kubeletPlugin.updateStrategy": ({"type": "OnDelete"}, BOTH),
    "crds.enabled": (False, BOTH),
    "deviceClasses.enabled": (False, BOTH),
    "placement.enabled": (True, {}),
    "monitoring.enabled": (True, {}),
    "controller.leaderElection.enabled": (False, {"controller": {"replicas": 1}}),
    "controller.metrics.httpEndpoint": (":9090", BOTH),
    "kubeletPlugin.enabled": (True, {}),
    "kubeletPlugin.metrics.computeDomainHttpEndpoint": (":9090", BOTH),
    "controller.podSecurityContext": ({"fsGroup": 1}, BOTH),
    "kubeletPlugin.podSecurityContext": ({"fsGroup": 1}, BOTH),
    "kubeletPlugin.containers.computeDomains.healthcheckPort": (51515, BOTH),
    "resources.gpus.enabled": (True, BOTH),
    "kubeletPlugin.metrics.gpuHttpEndpoint": (":9090", GPUS),
    "kubeletPlugin.containers.gpus.env": ([{"name": "PUBLISH_CLIQUE", "value": "true"}], GPUS),
    "kubeletPlugin.containers.gpus.securityContext": ({"runAsUser": 1}, GPUS),
    "kubeletPlugin.containers.gpus.resources": ({"requests": {"cpu": "1"}}, GPUS),
    "kubeletPlugin.containers.gpus.healthcheckPort": (51516, GPUS),
}
OF_LAST_PART = {
    "podAnnotations": {"a": "b"}, "nodeSelector": {"a": "b"}, "tolerations": [{"operator": "Exists"}], "affinity": {"podAffinity": {}},
    "env": [{"name": "WORKERS", "value": "8"}], "securityContext": {"runAsUser": 1}, "resources": {"requests": {"cpu": "1"}}}


@pytest.fixture(scope="module", params=MAJORS)
def helm(request, cluster, tmp_path_factory):
    return Helm(request.param, tmp_path_factory.mktemp(f"helm-{request.param}"), cluster)


@pytest.fixture(scope="module")
def helm_4(cluster, tmp_path_factory):
    """For what both render in the same way, as the cases of `helm` show."""
    return Helm("4", tmp_path_factory.mktemp("helm"), cluster)


def at_path(path, value, below=None):
    """`below` with that value at that path."""
    values = copy.deepcopy(below or {})
    at, (*folders, name) = values, path.split(".")
    for folder in folders:
        at = at.setdefault(folder, {})
    at[name] = value
    return values


def other(path):
    """(another value than the default, values on top of which it has an effect)"""
    if path in OTHERS:
        return OTHERS[path]
    default, name = DEFAULTS[path], path.rpartition(".")[2]
    if name in OF_LAST_PART:
        return OF_LAST_PART[name], BOTH
    if isinstance(default, bool):
        return not default, BOTH
    return (default + 1, BOTH) if isinstance(default, int) else ("/other", BOTH)


def comparable(objects):
    """{name: object}, without what the two tools do differently: names of ConfigMaps, which one of both ends with a hash of the
    content; the annotation that the other one has for it; that Helm leaves an object at the end; and empty lines, which kustomize
    puts into folded texts."""
    hashed = {one["metadata"]["name"] for one in objects if one["kind"] == "ConfigMap"}
    text = re.sub(r"(\\n)+", r"\\n", json.dumps(objects))
    for name in hashed:
        text = text.replace(f'"{name}"', '"%s"' % re.sub("-[0-9a-z]{10}$", "", name))
    found = {}
    for one in json.loads(text):
        for metadata in (one["metadata"], one.get("spec", {}).get("template", {}).get("metadata", {})):
            for name in ("helm.sh/resource-policy", "checksum/settings"):
                metadata.get("annotations", {}).pop(name, None)
            if metadata.get("annotations") == {}:
                del metadata["annotations"]
        if one["kind"] == "ConfigMap" and "configuration.yaml" in one["data"]:
            one["data"]["configuration.yaml"] = yaml.safe_load(one["data"]["configuration.yaml"])
        if one["kind"] == "DeviceClass" or "Admission" in one["kind"]:  # kustomize does not know that these have no namespace.
            one["metadata"].pop("namespace", None)
        assert name_of(one) not in found
        found[name_of(one)] = one
    return found


@pytest.fixture(scope="module")
def kustomized(cluster, tmp_path_factory):
    """kustomized(CASE): the objects of its kustomization, which is built once."""
    @functools.cache
    def make(case):
        folder, text = tmp_path_factory.mktemp("kustomized") / "site", CASES[case][2]
        if isinstance(text, str):
            beside_a_checkout(folder, text)
        else:
            overlay(folder, *text[0], components=text[1], more=text[2])
        return comparable([one for one in yaml.load_all(cluster.quietly("kustomize", folder), yaml.CSafeLoader) if one])
    return make


@pytest.mark.parametrize("case", CASES)
def test_the_chart_makes_the_objects_of_the_kustomization(helm, kustomized, case):
    values, apis, _ = CASES[case]
    assert difference(kustomized(case), comparable(helm.objects(values, *apis))) == []


FOLDERS = {"KUBELET_REGISTRAR_DIRECTORY_PATH": ("plugins-registry", ""),
           "KUBELET_PLUGINS_DIRECTORY_PATH": ("plugins", "/compute-domain.nvidia.com")}


@pytest.mark.parametrize("values", [
    {"kubeletRegistrarDirectoryPath": "/mnt/registry", "kubeletPluginsDirectoryPath": "/mnt/plugins"}, {"kubeletRootDirectoryPath": "/mnt/kubelet"},
    {"kubeletRootDirectoryPath": "/mnt/kubelet", "kubeletPluginsDirectoryPath": "/mnt/plugins"}], ids=lambda values: " ".join(values))
def test_REV4_Y8_P8_folders_of_the_kubelet_are_mounted_where_the_plugin_looks(helm, values):
    found = helm.objects({"rack": True, "kubeletPlugin": values})
    [settings] = [one["data"] for one in found if one["metadata"]["name"] == "cdom-kubelet-plugin-settings"]
    [pod] = [one["spec"]["template"]["spec"] for one in found if one["kind"] == "DaemonSet"]
    volumes = {one["name"]: one["hostPath"]["path"] for one in pod["volumes"]}
    for variable, (volume, folder) in FOLDERS.items():
        where = settings[variable] + folder
        assert where.startswith("/mnt/")
        mounts = {mount["mountPath"] for one in (*pod["initContainers"], *pod["containers"]) for mount in one["volumeMounts"] if mount["name"] == volume}
        assert (volumes[volume], mounts) == (where, {where})


def plugin(helm, values):
    """(settings, pod) of the kubelet plugin."""
    found = helm.objects({"rack": True, **values})
    [settings] = [one["data"] for one in found if one["metadata"]["name"] == "cdom-kubelet-plugin-settings"]
    [pod] = [one["spec"]["template"]["spec"] for one in found if one["kind"] == "DaemonSet"]
    return settings, pod


def test_the_plugin_and_preflight_read_the_file_in_place_of_proc_devices(helm):
    settings, pod = plugin(helm, {"altProcDevices": "/var/lib/stand-in/devices"})
    [volume] = [one["name"] for one in pod["volumes"] if one.get("hostPath") == {"path": "/var/lib/stand-in/devices", "type": "File"}]
    for one in (*pod["initContainers"], *pod["containers"]):
        [mount] = [mount for mount in one["volumeMounts"] if mount["name"] == volume]
        assert mount == {"name": volume, "mountPath": settings["ALT_PROC_DEVICES_PATH"], "readOnly": True}
        [variable] = [name for name in one["env"] if name["name"] == "ALT_PROC_DEVICES_PATH"]
        assert variable["valueFrom"]["configMapKeyRef"]["name"] == "cdom-kubelet-plugin-settings"
    settings, pod = plugin(helm, {})
    assert "ALT_PROC_DEVICES_PATH" not in settings
    assert len(pod["volumes"]) == 5


# A kernel with NVIDIA's driver, a mount of a container runtime that hides a folder of the driver, and then the container's command.
WITH_A_DRIVER = """set -e
mount -t tmpfs tmpfs /proc/driver
mkdir -p /proc/driver/nvidia/capabilities
printf 'ModifyDeviceFiles: 1\nOther: 1\n' >/proc/driver/nvidia/params
mount -t tmpfs tmpfs /proc/driver/nvidia/capabilities
"$@" >&2 || true
cat /proc/driver/nvidia/params
mountpoint -q /proc/driver/nvidia/capabilities && echo hidden
"""


def masked(helm, folder, which):
    """The command of the container in the masked pod, with that folder in place of the volume."""
    [one] = plugin(helm, {"maskNvidiaDriverParams": True})[1][which]
    [mount] = [mount["mountPath"] for mount in one["volumeMounts"] if mount["name"] == "masked"]
    return [part.replace(f"{mount}/", f"{folder}/") for part in one["command"]]


def of_container(command, *programs, **env):
    """What the command prints, in namespaces of its own for mounts and processes."""
    path = ":".join([*map(str, programs), "/usr/bin", "/bin"])
    alone = ["unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child", "--mount-proc"]
    done = subprocess.run([*alone, *command], env={"PATH": path, **env}, capture_output=True, text=True, check=False, timeout=100)
    return done.stdout, done.stderr


@pytest.mark.parametrize("which", ["initContainers", "containers"])
def test_under_the_mask_nvidias_library_reads_that_it_must_not_create_device_nodes(helm, programs, tmp_path, which):
    def run(command):
        # Without the ID of the boot the plugin ends once it has removed mounts.
        return of_container(["bash", "-c", WITH_A_DRIVER, "bash", *command], programs, NODE_NAME="node-a", BOOT_ID_PATH="/none",
                            CDI_ROOT=str(tmp_path / "cdi"))
    printed, errors = run(masked(helm, tmp_path, which))
    # Preflight removes no mounts. It has no driver's root here, and says so.
    assert printed == "ModifyDeviceFiles: 0\nOther: 1\n" + ("hidden\n" if which == "initContainers" else ""), errors
    assert "libnvidia-ml.so.1" in errors if which == "initContainers" else "Unmounted a file that hid" in errors
    plain = plugin(helm, {})[1][which][0]["command"]
    assert run(plain)[0].startswith("ModifyDeviceFiles: 1\n")


@pytest.mark.parametrize("which", ["initContainers", "containers"])
def test_under_the_mask_a_driver_that_does_not_come_in_time_is_not_waited_for_with_the_library(helm, tmp_path, which):
    program = tmp_path / "compute-domain-kubelet-plugin"
    program.write_text('#!/bin/bash\nprintf "%s\\n" "$PREFLIGHT_WAIT" "$@"\n')
    program.chmod(0o755)
    printed, _ = of_container(masked(helm, tmp_path, which), tmp_path, PREFLIGHT_WAIT="1")
    assert printed.split() == ["0", *(["preflight"] if which == "initContainers" else [])]


def test_lint_is_content(helm):
    for values in ({}, BOTH, BESIDE, {"rack": True}):
        assert "0 chart(s) failed" in helm.run("lint", "--strict", CHART, values=values)


def test_the_schema_and_the_table_follow_from_the_values():
    subprocess.run([REPO / "scripts/chart_values.py", "--check"], check=True)


@functools.cache
def rendered(helm, values):
    return helm.template(json.loads(values), OPERATOR, PLACEMENT)


@pytest.mark.parametrize("path", DEFAULTS)
def test_each_value_has_an_effect(helm_4, path):
    if other(path) is None:
        return
    value, below = other(path)
    assert rendered(helm_4, json.dumps(at_path(path, value, below))) != rendered(helm_4, json.dumps(below))


def test_each_value_of_nvidias_chart_is_one_here_or_ignored_by_name():
    def known(path):
        return any(f"{path}.".startswith(f"{one}.") for one in (*DEFAULTS, *IGNORED))
    assert len(NVIDIAS) > 80
    assert [path for path in NVIDIAS if not known(path)] == []


def test_ignored_values_change_nothing_and_the_notes_name_each(helm):
    values, plain = {}, helm.template({})
    for path in IGNORED:
        values = at_path(path, {"enabled": False} if path == "webhook" else False, values)
    assert helm.template(values) == plain
    notes, quiet = helm.notes(values), helm.notes({})
    assert [path for path in IGNORED if f"\n- {path}: {IGNORED[path]}\n" not in notes] == []
    assert "no effect" not in quiet
    assert "no effect" not in helm.notes({"selectorLabelsOverride": {}, "nameOverride": ""})


@pytest.mark.parametrize(("values", "name"), [({"replicas": 1}, "replicas"), ({"controller": {"replica": 1}}, "replica"),
                                              ({"kubeletPlugin": {"containers": {"computeDomains": {"port": 1}}}}, "port")])
def test_an_unknown_key_is_refused_by_its_name(helm, values, name):
    assert f"'{name}' not allowed" in helm.refused("template", "cdom", helm.chart, values=values)


@pytest.mark.parametrize(("values", "said"), [
    ({"namespaceOverride": "default"}, "allowDefaultNamespace=true"),
    ({"controller": {"leaderElection": {"enabled": False}}}, "controller.replicas=1"),
    ({"resources": {"computeDomains": {"imex": {"mode": "hostManaged"}}}}, "featureGates.HostManagedIMEXDaemon=true"),
    ({"mode": "beside"}, "daemon.image"),
    ({**BESIDE, "rack": True}, "leave rack and kubeletPlugin.enabled unset"),
    ({**BESIDE, "controller": {"leaderElection": {"enabled": False}, "replicas": 1}}, "leave controller.leaderElection.enabled unset"),
    ({"mode": "aside"}, "'standalone', 'beside'"),
])
def test_values_that_cannot_work_are_refused_with_what_to_do(helm_4, values, said):
    assert said in helm_4.refused("template", "cdom", helm_4.chart, "-n", "elsewhere", values=values)


def test_the_default_namespace_is_taken_when_it_is_allowed(helm_4):
    found = helm_4.objects({"namespaceOverride": "default", "allowDefaultNamespace": True})
    assert {one["metadata"]["namespace"] for one in found if "namespace" in one["metadata"]} == {"default"}


def test_beside_nvidias_driver_nothing_is_made_that_its_chart_has(helm_4):
    found = helm_4.objects(BESIDE)
    assert {one["kind"] for one in found} & {"CustomResourceDefinition", "DeviceClass", "Namespace", "DaemonSet"} == set()
    assert [one["metadata"]["name"] for one in found if "compute-domain-daemon" in one["metadata"]["name"]] == []
    [lease] = [one["data"]["LEADER_ELECTION_LEASE_LOCK_NAME"] for one in found if one["metadata"]["name"] == "cdom-settings"]
    [role] = [one for one in found if one["kind"] == "Role"]
    granted = {verb: set(rule["resourceNames"]) for rule in role["rules"] if "resourceNames" in rule for verb in rule["verbs"]}
    assert granted["update"] == {lease} == {"dra-driver-nvidia-gpu-controller"}
    assert granted["get"] >= {"cdom-controller", "nvidia-compute-domain-controller", lease}
    assert {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["list"]} in role["rules"]
    [settings] = [one["data"] for one in found if one["metadata"]["name"] == "cdom-settings"]
    assert settings["BESIDE_NVIDIA"] == "true"
    [settings] = [one["data"] for one in helm_4.objects({}) if one["metadata"]["name"] == "cdom-settings"]
    assert "BESIDE_NVIDIA" not in settings


def test_beside_nvidias_driver_no_alert_asks_for_a_leader_of_cdoms(helm_4):
    def alerts(values):
        [rules] = [one["spec"]["groups"] for one in helm_4.objects({**values, "monitoring": {"enabled": True}}, OPERATOR)
                   if one["kind"] == "PrometheusRule"]
        return [rule.get("alert") or rule["record"] for group in rules for rule in group["rules"]]
    assert set(alerts({})) - set(alerts(BESIDE)) == {"CdomNoLeader"}


def test_the_notes_say_what_is_installed_and_what_to_run_next(helm_4):
    """Without a cluster, so that nothing depends on its nodes."""
    notes = helm_4.notes(IMAGES, how="client")
    installed, missing = re.fullmatch(r".*\nInstalled:\n(.*?)\nNot installed:\n(.*?)\nRun next:\n.*", notes, re.DOTALL).groups()
    assert [line.split(":")[0].split(",")[0] for line in installed.splitlines()] == [
        "- CRDs", "- device classes in resource.k8s.io/v1", "- the controller", "- admission policies",
        "- ComputeDomains in the roles view"]
    assert IMAGES["daemon"]["image"] in installed
    assert [line.split(":")[0] for line in missing.splitlines()] == ["- placement", "- monitoring", "- the kubelet plugin"]
    commands = [line.strip() for line in notes.splitlines() if line.startswith("  kubectl")]
    assert commands[0] == "kubectl -n cdom-system rollout status deployment/cdom-controller"
    assert "daemonset/cdom-kubelet-plugin" in helm_4.notes({"rack": True}, how="client")


def test_beside_nvidias_driver_the_notes_say_what_its_chart_needs(helm_4):
    assert "controller.leaderElection.enabled=true in its chart" in helm_4.notes({**BESIDE, "namespaceOverride": "nvidia"}, how="client")
    assert "in its chart" not in helm_4.notes({}, how="client")


def test_a_change_of_the_settings_replaces_the_pods(helm_4):
    def checksums(values):
        return [one["spec"]["template"]["metadata"]["annotations"]["checksum/settings"] for one in helm_4.objects(values) if "template" in one.get("spec", {})]
    before, after = checksums(BOTH), checksums({**BOTH, "featureGates": {"ContextualLogging": True}})
    assert len(before) == 2
    assert set(before) & set(after) == set()


def test_the_charts_page_shows_values_for_a_rack(helm_4):
    [values] = blocks("manifests/chart/README.md", "yaml")
    assert values.rpartition("digest: ")[2].strip() in helm_4.template(yaml.safe_load(values))


def test_the_pages_name_the_first_version_of_kubernetes_that_the_chart_takes():
    least = re.search(r">=([\d.]+)\.0-0$", yaml.safe_load((REPO / "manifests/chart/Chart.yaml").read_text())["kubeVersion"])[1]
    for page in ("README.md", "docs/install.md", "manifests/README.md", "docs/support.md"):
        assert re.search(rf"\b{re.escape(least)}\b(\]\([^)]*\))?,?( which)? should work", re.sub(r"\s+", " ", (REPO / page).read_text())), page


def commands_of_page():
    """The options of `helm install` on the page: with a namespace of the chart's, and with one that exists for its pull secret."""
    return re.findall(r"^helm install cdom build/release-[\d.]+/cdom-[\d.]+\.tgz (.*)$", (REPO / "docs/install.md").read_text(), re.MULTILINE)


def test_the_pages_command_is_taken(helm):
    command, _ = commands_of_page()
    said = helm.run("install", "cdom", helm.chart, *shlex.split(command), "--dry-run=server")
    assert said.count("image: registry.example.com/cdom-driver:0.2.0\n") == 3  # Controller, preflight and plugin.


# --- What is looked up in a cluster

def installed(helm, values):
    """The kinds of what an installation would apply."""
    said = helm.run("install", "cdom", helm.chart, "-n", "default", "--dry-run=server", values=values)
    return set(re.findall(r"^kind: (\w+)$", said.partition("\nNOTES:\n")[0], re.MULTILINE))


@needs_placement
def test_placement_is_on_where_a_node_has_the_label_of_its_clique_or_the_plugin_sets_it(helm, removed_later):
    placement = {"MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"}
    assert "- placement: no node has the label nvidia.com/gpu.clique" in helm.notes({})
    assert installed(helm, {}) & placement == set()
    assert "- placement: pods of a domain prefer one clique" in helm.notes(
        {"rack": True, "kubeletPlugin": {"containers": {"computeDomains": {"gpuCliqueLabelEnabled": True}}}})
    removed_later({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "bare"}},
                  {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "labelled", "labels": {"nvidia.com/gpu.clique": "a.0"}}})
    assert "- placement: pods of a domain prefer one clique" in helm.notes({})
    assert installed(helm, {}) >= placement
    assert "- placement: placement.enabled is false" in helm.notes({"placement": {"enabled": False}})


def test_what_is_not_served_is_not_installed_and_the_notes_say_why(helm, helm_4):
    assert "- monitoring: the API server does not serve monitoring.coreos.com/v1" in helm.notes({"rack": True})
    # Without a cluster Helm knows no kind of this policy.
    assert "MutatingAdmissionPolicy" not in helm.template({"placement": {"enabled": True}})
    assert "which needs Kubernetes 1.36" in helm_4.notes({"placement": {"enabled": True}}, how="client")


def test_a_namespace_without_the_label_of_a_driver_is_refused_with_the_command_that_sets_it(cluster, helm, removed_later):
    removed_later({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "bare"}})
    for values in ({"namespaceOverride": "bare"}, BESIDE):
        said = helm.refused("install", "cdom", helm.chart, "-n", "bare", "--dry-run=server", values=values)
        [command] = re.findall(r"kubectl (label namespace bare .*)", said)
        cluster.kubectl(*command.split())
        assert "STATUS: pending-install" in helm.run("install", "cdom", helm.chart, "-n", "bare", "--dry-run=server", values=values)
        cluster.kubectl("label", "namespace", "bare", "cdom.dev/driver-")


def test_a_namespace_that_exists_for_its_pull_secret_is_taken_when_that_is_said(cluster, helm, removed_later):
    removed_later({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "cdom-system"}})
    cluster.kubectl("create", "secret", "docker-registry", "registry", "-n", "cdom-system", "--docker-server=registry.example.com",
                    "--docker-username=u", "--docker-password=p")
    _, command = commands_of_page()
    install = ("install", "cdom", helm.chart, *shlex.split(command), "--dry-run=server")
    [label] = re.findall(r"kubectl (label namespace cdom-system .*)", helm.refused(*install))
    assert f"kubectl {label}\n" in (REPO / "docs/install.md").read_text()
    cluster.kubectl(*label.split())
    made = helm.run(*install)
    assert "STATUS: pending-install" in made and "kind: Namespace" not in made
    assert made.count("imagePullSecrets:\n      - name: registry\n") == 2  # Of controller and plugin.
    assert "CD_DAEMON_IMAGE_PULL_SECRET_NAMES: \"registry\"\n" in made
    # It has what the chart's own would have.
    [own] = [one for one in helm.objects({}) if one["kind"] == "Namespace"]
    labels = cluster.get("namespace", "cdom-system")["metadata"]["labels"]
    assert {name: value for name, value in own["metadata"]["labels"].items() if "audit" not in name}.items() <= labels.items()


def test_alerts_and_monitors_have_the_labels_and_links_of_the_site(helm_4):
    values = {"monitoring": {"enabled": True, "labels": {"release": "kps"}, "runbooks": "https://mine.example.org/alerts",
                             "dashboards": "https://mine.example.org/grafana/"}, "rack": True}
    found = [one for one in helm_4.objects(values, OPERATOR) if one["kind"] in ("PodMonitor", "PrometheusRule")]
    assert sorted(one["metadata"]["name"] for one in found if one["kind"] == "PodMonitor") == ["cdom-controller", "cdom-kubelet-plugin"]
    assert {one["metadata"]["labels"]["release"] for one in found} == {"kps"}
    assert {one["metadata"]["labels"]["app.kubernetes.io/part-of"] for one in found} == {"cdom"}
    links = [rule["annotations"] for one in found if one["kind"] == "PrometheusRule"
             for group in one["spec"]["groups"] for rule in group["rules"] if "alert" in rule]
    assert links
    for annotation, begin in (("runbook_url", "https://mine.example.org/alerts#cdom"), ("dashboard_url", "https://mine.example.org/grafana/d/cdom-")):
        assert [one[annotation] for one in links if not one[annotation].startswith(begin)] == []


def test_beside_in_a_namespace_without_nvidias_controller_the_notes_warn(helm, removed_later):
    warning = "Namespace driver has no Deployment of NVIDIA's controller"
    values = {**BESIDE, "namespaceOverride": "driver"}
    removed_later({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "driver", "labels": {"cdom.dev/driver": "true"}}})
    made = yaml.safe_load_all((REPO / "test/cluster/realnodes/nvidia_chart.yaml").read_text())
    (controller,) = [one for one in made if one["kind"] == "Deployment"]
    controller["metadata"]["namespace"] = "driver"
    assert warning in helm.notes(values)
    labels = controller["spec"]["template"]["metadata"]["labels"]
    removed_later({**controller, "spec": {**controller["spec"], "template": {
        **controller["spec"]["template"], "metadata": {"labels": {**labels, "app.kubernetes.io/part-of": "cdom"}}}}})
    assert warning in helm.notes(values)  # That one is cdom's own.
    removed_later(controller)
    assert warning not in helm.notes(values)


def test_the_gpu_operator_has_the_fields_that_the_page_sets_and_none_for_replicas_or_without_gpus(cluster, removed_later):
    fixture = yaml.safe_load((REPO / "test/fixtures/nvidia/gpuclusters.yaml").read_text())
    removed_later(fixture)
    cluster.kubectl("wait", "--for=condition=Established", f"crd/{fixture['metadata']['name']}", "--timeout=60s")
    electing, without_domains = [yaml.safe_load(one)["spec"]["draDriver"] for one in blocks("docs/switch.md", "yaml") if "draDriver" in one]

    def create(driver):
        made = {"apiVersion": "nvidia.com/v1alpha1", "kind": "GPUCluster", "metadata": {"name": "gpu-cluster"}, "spec": {"draDriver": driver}}
        return json.loads(cluster.kubectl("create", "--dry-run=server", "--validate=strict", "-o", "json", "-f", "-", stdin=json.dumps(made)))
    made = eventually("the kind is served", lambda: create(electing))["spec"]["draDriver"]
    assert made["computeDomains"]["controller"]["env"] == [{"name": "LEADER_ELECTION_ENABLED", "value": "true"}]
    assert made["computeDomains"]["enabled"] is True
    assert create(without_domains)["spec"]["draDriver"]["computeDomains"]["enabled"] is False
    # Each field that it has, as one would set it for cdom's image.
    parts = {"env": [{"name": "LOG_VERBOSITY", "value": "2"}], "resources": {"limits": {"memory": "128Mi"}, "requests": {"cpu": "10m"}}}
    plugin = {**parts, "healthcheck": {"enabled": True, "port": 51515}}
    whole = {"repository": "registry.example.com", "image": "cdom-driver", "version": "0.2.0", "imagePullPolicy": "IfNotPresent",
             "imagePullSecrets": ["pull"], "featureGates": {"SeamlessUpgrades": True, "FabricTelemetry": True},
             "computeDomains": {"enabled": True, "controller": parts, "kubeletPlugin": plugin}, "gpus": {"kubeletPlugin": plugin}}
    assert create(whole)["spec"]["draDriver"] == whole
    schema = fixture["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["draDriver"]

    def unset(properties, value, path=""):
        """Fields of the CRD that the value lacks."""
        return [missing for name, field in properties.items() for missing in (
            [path + name] if name not in value else unset(field.get("properties", {}), value[name], f"{path}{name}."))]
    assert unset(schema["properties"], whole) == []
    for path, value in (("computeDomains.controller.replicas", 0), ("gpus.enabled", False), ("computeDomains.image", "cdom-driver")):
        with pytest.raises(CommandFailed, match=f'unknown field "spec.draDriver.{path}"'):
            create(at_path(path, value, electing))
