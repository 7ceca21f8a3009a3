"""Each version of resource.k8s.io that Kubernetes serves, alone or beside others, and none.

Each case has a control plane of its own.
"""

import functools
import json
import re
import subprocess

import dra
import pytest
from cluster import CONTROL_PLANE, REPO, Cluster, Setup
from clusters import started
from gpu_process import DRIVER, GPUS, MIG, MIG_LINES, MIG_MINORS, GpuPlugin
from helm import Helm
from kustomizations import overlay
from namespaces import Namespace
from objects import domain
from plugin_process import NODE
from waiting import eventually

VERSIONS = tuple(one for one in ("v1", "v1beta2", "v1beta1") if one != "v1" or dra.IS_V1_SERVED)
NEWEST = VERSIONS[0]  # v1beta2 has the shape of v1.
FIXTURES = REPO / "test/fixtures/resource_k8s_io"


class Bare(Cluster):
    """Without nodes and manifests."""

    def start(self):
        subprocess.run([CONTROL_PLANE / "controlplane", "up", self.plane, *self.setup.controlplane], check=True)


@pytest.fixture
def cluster(request, programs):
    """Its parameter is the options of `controlplane up`."""
    kind = functools.partial(Bare, setup=Setup(nodes=0, controlplane=request.param))
    with started(kind, programs, request, "cdom-dra.") as made:
        yield made


def spec_of(cluster, version, namespace, name):
    """The spec of the template as that version has it."""
    return cluster.kubectl_json("get", f"resourceclaimtemplates.{version}.resource.k8s.io", "-n", namespace, name)["spec"]["spec"]


ALL = ("--runtime-config", "resource.k8s.io/v1beta1=true,resource.k8s.io/v1beta2=true", *dra.ALTERNATIVES_ON)


@pytest.mark.parametrize("cluster", [ALL], indirect=True, ids=["all"])
def test_templates_of_each_dra_version_mean_the_same_to_the_api_server(cluster):
    def strict(text, *more):
        cluster.kubectl("create", "--validate=strict", *more, "-f", "-", stdin=text)
    for name in ("team-a", "cdom-system"):
        cluster.kubectl("create", "namespace", name)
    for name in ("daemon", "workload-single", "workload-all", "workload-gpus", "workload-all-gpus"):
        specs = {}
        for version in VERSIONS:
            made = json.loads((FIXTURES / version / f"{name}.json").read_text())
            metadata = made["metadata"]
            # The owner does not exist here: the garbage collector would take the template away.
            metadata.pop("ownerReferences", None)
            strict(json.dumps(made))
            specs[version] = spec_of(cluster, NEWEST, metadata["namespace"], metadata["name"])
            cluster.kubectl("delete", "resourceclaimtemplate", "-n", metadata["namespace"], metadata["name"])
        assert specs[NEWEST]["devices"]["requests"][0]["exactly"]["deviceClassName"].startswith("compute-domain-")
        assert specs == dict.fromkeys(VERSIONS, specs[NEWEST])
    for version in VERSIONS:
        claim = json.loads((FIXTURES / version / "claim.json").read_text())
        del claim["status"], claim["metadata"]["uid"], claim["metadata"]["resourceVersion"]
        strict(json.dumps(claim), "--dry-run=server")
        classes = (REPO / "manifests/base/device-classes.yaml").read_text()
        strict(re.sub("resource.k8s.io/v1$", f"resource.k8s.io/{version}", classes, flags=re.MULTILINE), "--dry-run=server")
        cluster.kubectl("get", f"resourceslices.{version}.resource.k8s.io", "--field-selector", "spec.driver=compute-domain.nvidia.com")


# The programs of this Kubernetes read v1 themselves: kube-apiserver does not become ready without it. So all of them run without
# DRA, but the API server serves the version; no pod runs.
@pytest.mark.parametrize(("cluster", "version"), [
    (("--without-dra", "--apiserver-arg", f"--runtime-config=resource.k8s.io/{version}=true"), version)
    for version in ("v1beta2", "v1beta1")], indirect=["cluster"], ids=["v1beta2", "v1beta1"])
def test_domain_is_created_and_deleted_where_one_dra_version_is_served(cluster, version, tmp_path):
    default = Namespace(cluster, "default")
    assert re.findall(r"^resource\.k8s\.io/.*", cluster.kubectl("api-versions"), re.MULTILINE) == [f"resource.k8s.io/{version}"]
    assert f"- device classes in resource.k8s.io/{version}\n" in Helm("4", tmp_path, cluster).notes({})
    local = overlay(cluster.folder / "local", "local", components=[f"overlays/dra-{version}"])
    # The API server serves the CRDs a moment later.
    eventually("all manifests are taken", lambda: cluster.kubectl("apply", "-k", local))
    cluster.write_controller_config()
    cluster.run_controller()
    assert re.search(f"version.*{version}", cluster.controller_log())
    default.apply(domain("old"))
    default.is_idle("old")

    def requests(namespace, name):
        found = spec_of(cluster, version, namespace, name)["devices"]["requests"]
        return [one.get("exactly", one) for one in found]
    for place in (("default", "old-channel"), ("cdom-system", default.daemon_set("old"))):
        assert requests(*place)[0]["deviceClassName"].startswith("compute-domain-")
    default.kubectl("annotate", "computedomain", "old", "cdom.dev/gpus=4")

    def gpus():
        second = requests("default", "old-channel")[1]
        return second["deviceClassName"], second["count"]
    eventually("GPUs that the template asks for", gpus, ("gpu.nvidia.com", 4))
    default.delete("computedomain", "old")
    kinds = f"resourceclaimtemplates.{version}.resource.k8s.io,daemonsets"
    assert cluster.kubectl("get", kinds, "--all-namespaces", "-o", "name") == ""


def allocated(cluster, version, device):
    """NAMESPACE/NAME/UID of a claim in that version to which the scheduler has given the device."""
    request = {"deviceClassName": f"{'mig' if 'mig' in device else 'gpu'}.nvidia.com"}
    result = {"request": "r", "driver": DRIVER, "pool": NODE, "device": device}
    cluster.apply({"apiVersion": f"resource.k8s.io/{version}", "kind": "ResourceClaim", "metadata": {"name": device, "namespace": "default"},
                   "spec": {"devices": {"requests": [{"name": "r", **(request if version == "v1beta1" else {"exactly": request})}]}}})
    cluster.kubectl("patch", "resourceclaim", device, "--subresource=status", "--type=merge", "-p",
                    json.dumps({"status": {"allocation": {"devices": {"results": [result]}}}}))
    return f"default/{device}/{cluster.get('resourceclaim', device, 'default')['metadata']['uid']}"


@pytest.mark.parametrize(("cluster", "version"), [
    (("--without-dra", "--apiserver-arg", f"--runtime-config=resource.k8s.io/{version}=true"), version)
    for version in ("v1beta2", "v1beta1")], indirect=["cluster"], ids=["v1beta2", "v1beta1"])
def test_gpus_are_published_and_prepared_where_one_dra_version_is_served(cluster, version, programs):
    cluster.kubectl("create", "namespace", "cdom-system")
    cluster.kubectl("apply", "-f", REPO / "manifests/kubelet-plugin/access.yaml")
    plugin = GpuPlugin(cluster, programs)
    plugin.gpus = GPUS + MIG_LINES
    plugin.set_up()
    plugin.run()
    try:
        eventually("the plugin publishes its devices", plugin.slices)
        [published] = cluster.kubectl_json("get", f"resourceslices.{version}.resource.k8s.io")["items"]
        devices = {one["name"]: one["basic"] if version == "v1beta1" else one for one in published["spec"]["devices"]}
        assert set(devices) == {*(f"gpu-{minor}" for minor in range(8)), MIG}
        assert {name: next(iter(value.values())) for name, value in devices[MIG]["attributes"].items()}.items() >= {
            "type": "mig", "profile": "1g.10gb", "uuid": "MIG-8-2", "parentUUID": "GPU-8"}.items()
        given = {}
        for device in ("gpu-3", MIG):
            asked = allocated(cluster, version, device)
            uid = asked.rpartition("/")[2]
            assert plugin.prepare(asked) == [f"k8s.{DRIVER}/claim={uid}-{device}"]
            spec = json.loads((plugin.cdi / f"k8s.{DRIVER}-claim_{uid}.yaml").read_text())
            given[device] = {node["path"]: (node["major"], node.get("minor", 0)) for node in spec["devices"][0]["containerEdits"]["deviceNodes"]}
            plugin.unprepare(asked)
        assert given == {"gpu-3": {"/dev/nvidia3": (195, 3)},
                         MIG: {"/dev/nvidia8": (195, 8), **{f"/dev/nvidia-caps/nvidia-cap{minor}": (236, minor) for minor in MIG_MINORS}}}
    finally:
        plugin.stop()


def crd_of(plural, kind):
    """A kind of resource.k8s.io without a schema."""
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{plural}.resource.k8s.io", "annotations": {"api-approved.kubernetes.io": "unapproved, for a test"}},
            "spec": {"group": "resource.k8s.io", "scope": "Namespaced", "names": {"plural": plural, "kind": kind}, "versions": [
                {"name": "v1", "served": True, "storage": True,
                 "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}]}}


@pytest.mark.parametrize("cluster", [("--without-dra",)], indirect=True, ids=["none"])
def test_missing_dra_is_named_and_waited_for(cluster):
    default = Namespace(cluster, "default")
    cluster.kubectl("apply", "-k", REPO / "crds")
    manifests = cluster.kubectl("kustomize", REPO / "manifests/local").split("---\n")
    without_classes = "---\n".join(one for one in manifests if "kind: DeviceClass" not in one)
    cluster.kubectl("apply", "-f", "-", stdin=without_classes)
    cluster.write_controller_config()
    cluster.start_controller()
    default.apply(domain("nodra"))
    default.says("nodra", "DRANotServed", r"resource\.k8s\.io", within=60)
    assert cluster.said_twice("resource.k8s.io") == []
    # The API appears, as after an upgrade; CRDs stand in for it.
    cluster.apply(crd_of("resourceclaims", "ResourceClaim"), crd_of("resourceclaimtemplates", "ResourceClaimTemplate"))
    default.is_idle("nodra", within=90)
    default.delete("computedomain", "nodra")
