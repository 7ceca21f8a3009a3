"""Kustomizations of manifests and of docs/install.md: what they make, before any of it is applied."""

import collections
import difflib
import re
import subprocess

import pytest
import yaml
from cluster import REPO, Setup
from kustomizations import beside_a_checkout, built, objects_of, on_top, settings
from pages import blocks
from snapshot import name_of
from versions import PLACEMENT_FOLDER, PLACEMENT_ON, needs_placement

CLUSTER = Setup(nodes=0, controlplane=PLACEMENT_ON)
FOLDERS = ("standalone", "local", "base", "kubelet-plugin", "policies", pytest.param(PLACEMENT_FOLDER, marks=needs_placement),
           "placement/check", "placement/required", "release-finalizers")
SITE, SMALL, RACK, SECRET = range(4)  # The blocks of the page.
PLUGIN = "cdom-kubelet-plugin"
DIGEST = r"registry[.]example[.]org/mine/([a-z-]+)@sha256:[0-9a-f]{64}"


@pytest.fixture
def page(tmp_path):
    """page(BLOCK, [COMPONENT]): a folder with that block of the page, and one more component of ours."""
    def make(block, component=""):
        text = blocks("docs/install.md", "yaml")[block]
        if component:
            assert "\ncomponents:\n" in text
            text = text.replace("\ncomponents:\n", f"\ncomponents:\n- ../cdom/manifests/{component}\n")
        return beside_a_checkout(tmp_path / f"block-{block}{component.replace('/', '-')}", text)
    return make


@pytest.fixture
def plugin_pod(cluster, page):
    """The pod that the kubelet plugin's DaemonSet makes."""
    [found] = [one["spec"]["template"]["spec"] for one in built(cluster, page(RACK)) if one["kind"] == "DaemonSet"]
    return found


def containers(pod):
    return [*pod["initContainers"], *pod["containers"]]


@pytest.mark.parametrize("folder", FOLDERS)
def test_each_kustomization_builds_without_a_warning_and_makes_nothing_twice(cluster, folder):
    made = collections.Counter(name_of(one) for one in built(cluster, REPO / "manifests" / folder))
    assert [name for name, count in made.items() if count > 1] == []


def test_cdoms_daemons_may_patch_pods_and_watch_cliques_and_nothing_else(cluster, page):
    found = built(cluster, on_top(page(SITE), "small", blocks("docs/install.md", "yaml")[SMALL]))
    roles = [one for one in found if one["metadata"]["name"] == "compute-domain-daemon-role"]
    assert sorted((rule["verbs"], rule["resources"]) for one in roles for rule in one.get("rules") or []) == [
        (["list", "watch"], ["computedomaincliques"]), (["patch"], ["pods"])]


def test_the_pages_patch_gives_all_pods_the_pull_secret(cluster, page):
    found = built(cluster, on_top(page(RACK), "secret", blocks("docs/install.md", "yaml")[SECRET]))
    secrets = {one["kind"]: one["spec"]["template"]["spec"]["imagePullSecrets"] for one in found if one["kind"] in ("Deployment", "DaemonSet")}
    assert secrets == {"Deployment": [{"name": "registry"}], "DaemonSet": [{"name": "registry"}]}
    [data] = [one["data"] for one in found if one["metadata"]["name"].startswith("cdom-settings") and one["kind"] == "ConfigMap"]
    assert data["CD_DAEMON_IMAGE_PULL_SECRET_NAMES"] == "registry"


@pytest.mark.parametrize(("block", "writer", "image"), [(SITE, "daemon", "dra-driver-nvidia-gpu"), (RACK, "controller", "cdom-driver")])
def test_who_writes_cliques_follows_from_the_component_of_the_daemons_image(cluster, page, block, writer, image):
    [settings] = [one["data"] for one in built(cluster, page(block))
                  if one["kind"] == "ConfigMap" and one["metadata"]["name"].startswith("cdom-settings")]
    assert settings["MEMBERSHIP_WRITER"] == writer
    assert f"/{image}@" in settings["IMAGE_NAME"]
    assert "MEMBERSHIP_WRITER" not in blocks("docs/install.md", "yaml")[block]


def test_a_rack_has_one_driver_image_and_a_component_moves_the_drivers_root(cluster, page):
    rack, container = (cluster.quietly("kustomize", page(RACK, component)) for component in ("", "overlays/driver-container"))
    images = re.findall(r"registry\S*cdom-driver\S*", rack)
    assert len(images) == 3
    assert set(images) == {images[0]} and images[0].startswith("registry.example.org/mine/cdom-driver@sha256:")
    # By volume and variable.
    added = [line[1:].strip() for line in difflib.unified_diff(rack.splitlines(), container.splitlines(), n=0)
             if line.startswith("+ ") and f"{PLUGIN}-settings" not in line]
    assert added == ['KEEP_PRIVILEGES: "true"', "NVIDIA_DRIVER_ROOT: /run/nvidia/driver", "path: /run/nvidia/driver"]


def test_the_kustomization_of_the_page_of_alerts_labels_monitors_and_rules(cluster, tmp_path):
    made = yaml.safe_load_all(cluster.quietly("kustomize", beside_a_checkout(tmp_path / "site", blocks("docs/alerts.md", "yaml")[0])))
    labels = {one["metadata"]["name"]: one["metadata"]["labels"].get("release") for one in made if one["kind"] in ("PodMonitor", "PrometheusRule")}
    assert labels == dict.fromkeys(("cdom-controller", PLUGIN, "cdom"), "kube-prometheus-stack")


def test_REV4_P15_the_mode_of_IMEX_stands_in_the_controllers_deployment_where_acceptance_tests_read_it(cluster, page):
    made = built(cluster, page(RACK, "overlays/host-imex"))
    [container] = [one for made_one in made if made_one["kind"] == "Deployment" for one in made_one["spec"]["template"]["spec"]["containers"]
                   if "compute-domain-controller" in one["command"]]
    assert [one for one in container["env"] if one["name"] == "IMEX_MODE"] == [{"name": "IMEX_MODE", "value": "hostManaged"}]
    found = {one["metadata"]["name"].rpartition("-")[0]: (one["data"]["IMEX_MODE"], one["data"]["FEATURE_GATES"])
             for one in made if one["kind"] == "ConfigMap"}
    assert found == dict.fromkeys(("cdom-settings", f"{PLUGIN}-settings"), ("hostManaged", "HostManagedIMEXDaemon=true"))


@pytest.mark.parametrize(("block", "images"), [(SITE, ["cdom-controller", "dra-driver-nvidia-gpu"]),
                                               (RACK, ["cdom-controller", *["cdom-driver"] * 3])])
def test_each_image_that_the_page_shows_is_named_by_its_digest(cluster, page, block, images):
    """Of the pods that are there when it is applied, and of the daemons that the controller makes."""
    found = re.findall(r"^[- ]*(?:image|IMAGE_NAME): (.*)$", cluster.quietly("kustomize", page(block)), re.MULTILINE)
    names = [re.fullmatch(DIGEST, one) for one in found]
    assert None not in names, found
    assert sorted(one[1] for one in names) == images


def test_REV3_N9_where_kubelets_know_one_instance_plugin_pods_follow_each_other(cluster, page):
    """As Kubernetes 1.32 does."""
    text = cluster.quietly("kustomize", page(RACK, "overlays/dra-v1beta1"))
    [made] = objects_of(cluster, next(part for part in text.split("\n---\n") if "\nkind: DaemonSet\n" in part))
    one = made["spec"]
    rolling = one["updateStrategy"]["rollingUpdate"]
    assert (rolling["maxSurge"], rolling["maxUnavailable"]) == (0, 1)
    assert "POD_UID" not in [variable["name"] for container in containers(one["template"]["spec"]) for variable in container["env"]]


def variables_of(program):
    """The variables that the program's --help names."""
    known = subprocess.run([program, "--help"], check=True, capture_output=True, text=True).stdout
    return set(re.findall(r"\(Env:([A-Z_]+)\)", known))


# Of these the pod says itself what they are.
OWN = {"compute-domain-controller": {"POD_NAME", "NAMESPACE"},
       "compute-domain-kubelet-plugin": {"NODE_NAME", "NAMESPACE", "POD_UID", "NVIDIA_VISIBLE_DEVICES"}}


def test_REV4_Y4_each_setting_enters_a_pod_by_its_name_and_nothing_else_does(cluster, page, programs):
    """An editor could put LD_PRELOAD into a ConfigMap that a pod takes as a whole."""
    pods = [one["spec"]["template"]["spec"] for one in built(cluster, page(RACK)) if "template" in one.get("spec", {}) and
            "containers" in one["spec"]["template"].get("spec", {})]
    seen = set()
    for one in [one for pod in pods for one in [*pod.get("initContainers", []), *pod["containers"]]]:
        assert "envFrom" not in one
        program = one["command"][0]
        settings = {each["name"] for each in one["env"] if "configMapKeyRef" in each.get("valueFrom", {})}
        assert {each["name"] for each in one["env"]} - settings == OWN[program]
        assert settings == variables_of(programs / program) - OWN[program]
        refs = [(each["name"], each["valueFrom"]["configMapKeyRef"]) for each in one["env"] if each["name"] in settings]
        assert [name for name, ref in refs if (ref["key"], ref["optional"]) != (name, True)] == []
        # By its name the policy cdom-driver-settings protects it.
        assert [ref["name"] for _, ref in refs if not ref["name"].startswith("cdom-")] == []
        seen.add(one["name"])
    assert seen == {"compute-domain", "preflight", "compute-domains"}


def test_each_variable_of_the_plugins_pods_is_taken_by_the_plugin(programs, tmp_path):
    program = programs / "compute-domain-kubelet-plugin"
    settings = re.findall(r"^[A-Z_]+=.*", (REPO / "manifests/kubelet-plugin/settings.env").read_text(), re.MULTILINE)
    assert {one.partition("=")[0] for one in settings} <= variables_of(program)
    done = subprocess.run(["env", "-i", "NODE_NAME=a", "NAMESPACE=cdom-system", "POD_UID=1", *settings, "PREFLIGHT_WAIT=0",
                           f"CDI_ROOT={tmp_path}/cdi", program, "preflight"], check=False, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "libnvidia-ml.so.1 does not exist under" in done.stdout + done.stderr


def test_REV4_Y4_the_page_has_a_row_for_each_variable_of_a_privileged_container(plugin_pod):
    text = (REPO / "docs/kubelet-plugin.md").read_text()
    [table] = re.findall(r"^\| Variable \| Set by \| Permitted values \|\n(.*?)^$", text, re.MULTILINE | re.DOTALL)
    rows = dict(re.findall(r"^\| `([A-Z_]+)` \| ([^|]+) \| [^|]+ \|$", table, re.MULTILINE))

    def setter(one):
        return next(iter(one.get("valueFrom", {"value": ""})))
    words = {"fieldRef": "the kubelet", "value": "the manifest", "configMapKeyRef": "the ConfigMap"}
    for container in containers(plugin_pod):
        assert container["securityContext"]["privileged"]
        assert rows == {one["name"]: words[setter(one)] for one in container["env"]}


def test_what_the_kubelet_plugin_asks_of_a_node_is_what_the_page_says(plugin_pod):
    def row(one):
        """As in the page's table, without where it runs."""
        paths = {volume["name"]: volume["hostPath"]["path"] for volume in plugin_pod["volumes"] if "hostPath" in volume}
        mounts = sorted((paths[mount["name"]], " to read" if mount.get("readOnly") else "") for mount in one["volumeMounts"])
        users = [where.get("securityContext", {}).get("runAsUser") for where in (plugin_pod, one)]
        return [f"`{PLUGIN}`" + (", `preflight`" if one["name"] == "preflight" else ""), "root" if users == [None, None] else "?",
                "yes" if one["securityContext"].get("privileged") else "no", ", ".join(f"`{path}`{how}" for path, how in mounts),
                ", ".join(str(port["containerPort"]) for port in one.get("ports", [])) or "none"]
    rows = [line.strip("| ").split(" | ") for line in (REPO / "docs/kubelet-plugin.md").read_text().splitlines() if line.startswith(f"| `{PLUGIN}`")]
    assert [one[:1] + one[2:] for one in rows] == [row(one) for one in containers(plugin_pod)]
    assert [name for name in ("hostNetwork", "hostPID", "hostIPC") if plugin_pod.get(name)] == []


def test_what_the_kubelet_plugin_may_do_is_what_the_page_says(cluster, page):
    [table] = re.findall(r"^\| of \| verbs \|\n(.*?)^$", (REPO / "docs/kubelet-plugin.md").read_text(), re.MULTILINE | re.DOTALL)
    granted = [(resource, " in the driver's namespace" if one["kind"] == "Role" else "", ", ".join(rule["verbs"]))
               for one in built(cluster, page(RACK)) if one["kind"] in ("ClusterRole", "Role") and one["metadata"]["name"] == PLUGIN
               for rule in one["rules"] for resource in rule["resources"]]
    assert sorted(re.findall(r"^\| `([a-z]+)`( in the driver's namespace)? \| ([a-z, ]*[a-z])", table, re.MULTILINE)) == sorted(granted)


def test_another_namespace_is_named_once(cluster, page):
    site = page(SITE)
    text = cluster.quietly("kustomize", on_top(site, "elsewhere", "namespace: gpu-domains\n"))
    assert [line for line in text.splitlines() if "cdom-system" in line] == []
    # All that the site has, and each object in the place of the one that it was.
    there = sorted(name_of(one) for one in objects_of(cluster, text))
    assert there == sorted(tuple(part.replace("cdom-system", "gpu-domains") for part in name_of(one)) for one in built(cluster, site))
    assert {namespace for _, namespace, _ in there} == {"", "gpu-domains"}


def test_REV3_X7_the_job_that_releases_finalizers_ends_and_its_token_with_it(cluster):
    [job] = [one["spec"] for one in built(cluster, REPO / "manifests/release-finalizers") if one["kind"] == "Job"]
    assert 0 < job["activeDeadlineSeconds"] <= 1800
    assert 0 < job["ttlSecondsAfterFinished"] <= 3600


def test_REV3_X7_the_job_that_releases_finalizers_makes_nothing_in_the_drivers_namespace(cluster):
    """Kubernetes makes nothing in a namespace that is being deleted, and then this job is needed."""
    made = built(cluster, REPO / "manifests/release-finalizers")
    assert {one["metadata"].get("namespace", "") for one in made} == {"", "cdom-release-finalizers"}
