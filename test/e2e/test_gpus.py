"""GPUs beside channels, on nodes that have both, and what pages and examples say of them."""

import json
import subprocess

import pytest
from cluster import GPU_CLASS, PLACEMENT, REPO, Setup
from kustomizations import built, overlay
from namespaces import Namespace, is_ready
from objects import domain, worker_pod
from pages import blocks, environment
from versions import PLACEMENT_ON, needs_dra_v1, needs_placement
from waiting import eventually

CLUSTER = Setup(nodesim=("--gpus", "4", "--job-duration", "2s"), controller=(),
                controlplane=("--runtime-config", "resource.k8s.io/v1beta1=true,resource.k8s.io/v1beta2=true", *PLACEMENT_ON))
GPUS = "cdom.dev/gpus"
GDC = REPO / "examples/gdc"


@pytest.fixture(scope="module", autouse=True)
def gpu_class(cluster):
    """What NVIDIA's driver for DRA brings with its GPUs."""
    cluster.kubectl("apply", "-f", GPU_CLASS)
    yield
    cluster.kubectl("delete", "-f", GPU_CLASS)


def domain_with_gpus(name, gpus):
    made = domain(name)
    made["metadata"]["annotations"] = {GPUS: gpus}
    return made


def pod(name, domain_name):
    made = worker_pod(domain_name)
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {**made["metadata"], "name": name}, "spec": made["spec"]}


def grants(namespace):
    """Of each allocated claim the nodes, and how many channels and GPUs."""
    found = [one["status"].get("allocation", {}).get("devices", {}).get("results", []) for one in namespace.list("resourceclaims")
             if "status" in one]
    return sorted((tuple(sorted({one["pool"] for one in results})),
                   sum(one["driver"] == "compute-domain.nvidia.com" for one in results),
                   sum(one["driver"] == "gpu.nvidia.com" for one in results)) for results in found if results)


def counts(namespace):
    return sorted((channels, gpus) for _, channels, gpus in grants(namespace))


def request_of_gpus(namespace, name):
    """Count and mode in the template's second request; None if there is none."""
    requests = namespace.get("resourceclaimtemplate", f"{name}-channel")["spec"]["spec"]["devices"]["requests"]
    return (requests[1]["exactly"].get("count"), requests[1]["exactly"]["allocationMode"]) if len(requests) > 1 else None


@pytest.mark.usefixtures("nothing_is_left_in_shape")
def test_each_claim_of_a_job_of_four_has_a_channel_and_gpus_of_one_node(cluster):
    example, default = REPO / "examples/gpu-and-channel.yaml", Namespace(cluster, "default")
    cluster.kubectl("apply", "-f", example)
    try:
        # In one look, since the pods end soon.
        granted = eventually("channels and GPUs of each claim", lambda: grants(default), lambda got: [one[1:] for one in got] == [(1, 4)] * 4)
        found = [nodes for nodes, _, _ in granted]
        assert [len(nodes) for nodes in found] == [1] * 4 and len(set(found)) == 4, found
        cluster.kubectl("wait", "--for=condition=Complete", "job/gpu-and-channel", "--timeout=90s")
    finally:
        cluster.kubectl("delete", "-f", example, "--timeout=60s")


def test_changed_gpus_replace_the_template_and_not_running_pods(namespace):
    def annotate(value):
        namespace.kubectl("annotate", "computedomain", "change", "--overwrite", f"{GPUS}={value}" if value else f"{GPUS}-")

    def runs(name):
        eventually(f"pod {name} is ready", lambda: is_ready(namespace.get("pod", name)))

    def uid():
        return namespace.get("resourceclaimtemplate", "change-channel")["metadata"]["uid"]
    namespace.apply(domain_with_gpus("change", "2"), pod("first", "change"))
    runs("first")
    assert counts(namespace) == [(1, 2)]
    lives, template = namespace.lives("app=change"), uid()

    annotate("two")
    namespace.says("change", "AnnotationInvalid", "cdom.dev/gpus .*use a number from 1 to 31, or All", kind="Accepted")
    assert uid() == template

    annotate("All")
    eventually("GPUs that the template asks for", lambda: request_of_gpus(namespace, "change"), (None, "All"))
    namespace.apply(pod("second", "change"))
    runs("second")
    assert counts(namespace) == [(1, 2), (1, 4)]
    namespace.delete("pod", "second")

    annotate(None)
    eventually("GPUs that the template asks for", lambda: request_of_gpus(namespace, "change"), None)
    assert namespace.lives("app=change") == lives


def test_REV4_7_a_number_of_gpus_that_no_node_has_is_told_with_what_to_do(namespace):
    namespace.apply(domain_with_gpus("greedy", "5"), pod("greedy", "greedy"))
    namespace.says("greedy", "NoNodeHasGpus", within=60, message=r"No node where these pods may run has 5 GPUs of DeviceClass gpu.nvidia.com \(largest: 4\): "
                   r"set annotation cdom.dev/gpus to 4, and delete the pods that wait")
    namespace.tells("greedy", "Warning NoNodeHasGpus .*largest: 4", kind="Pod")


@pytest.mark.parametrize("version", [pytest.param("v1", marks=needs_dra_v1), "v1beta2", "v1beta1"])
@pytest.mark.usefixtures("nothing_is_left_in_shape")
def test_two_containers_share_a_gpu_claim_and_a_channel_in_each_dra_version(cluster, version):
    default = Namespace(cluster, "default")
    claim = (GDC / ("gpu-claim-v1beta1.yaml" if version == "v1beta1" else "gpu-claim.yaml")).read_text()
    if version == "v1beta2":  # It has the shape of v1.
        claim = claim.replace("resource.k8s.io/v1", "resource.k8s.io/v1beta2")
    assert f"apiVersion: resource.k8s.io/{version}\n" in claim
    try:
        cluster.kubectl("create", "--validate=strict", "-f", "-", stdin=claim)
        cluster.kubectl("create", "--validate=strict", "-f", GDC / "domain.yaml", "-f", GDC / "check.yaml")
        granted = eventually("channels and GPUs of its claims", lambda: grants(default),
                             lambda got: sorted(one[1:] for one in got) == [(0, 1), (1, 0)])
        assert len({nodes for nodes, _, _ in granted}) == 1
        cluster.kubectl("wait", "--for=jsonpath={.status.phase}=Succeeded", "pod/gdc-check", "--timeout=60s")
        cluster.kubectl("delete", "-f", GDC / "check.yaml", "--timeout=60s")
        default.is_idle("gdc-check", within=60)
    finally:
        cluster.kubectl("delete", "-f", GDC / "check.yaml", "-f", GDC / "domain.yaml", "-f", GDC / "gpu-claim.yaml",
                        "--ignore-not-found", "--timeout=60s")


@needs_placement
def test_examples_and_objects_of_pages_pass_strict_validation(cluster):
    pages = cluster.folder / "pages.yaml"
    pages.write_text("".join(f"---\n{block}" for page in ("docs/placement.md", "docs/gpus.md") for block in blocks(page, "yaml")))
    files = [pages, *sorted((REPO / "examples").rglob("*.yaml"))]
    assert len(files) > 3
    cluster.kubectl("apply", "-k", PLACEMENT)
    try:
        wrong = {}
        for file in files:
            # No operator of Kubeflow is here, which brings its kinds.
            text = "\n---\n".join(one for one in file.read_text().split("\n---\n") if "apiVersion: kubeflow.org/" not in one)
            done = subprocess.run(["kubectl", "create", "--dry-run=server", "--validate=strict", "-f", "-"], env=environment(cluster),
                                  input=text, capture_output=True, text=True, check=False, timeout=60)
            # That newer clusters have a later version of resource.k8s.io is no fault of a file for older ones.
            said = [line for line in done.stderr.splitlines() if "is deprecated in" not in line]
            if done.returncode != 0 or said:
                wrong[file.name] = done.returncode, said
        assert wrong == {}
    finally:
        cluster.kubectl("delete", "-k", PLACEMENT)


def test_daemons_and_workload_have_the_selinux_type_that_nodes_need(cluster, namespace):
    def type_of(holder):
        return holder["securityContext"]["seLinuxOptions"]["type"]
    # The component on top of everything, as the page has it.
    folder = overlay(cluster.folder / "selinux", "standalone", components=["overlays/selinux"])
    maps = [one["data"] for one in built(cluster, folder) if one["kind"] == "ConfigMap"]
    assert [one["CONFIG"] for one in maps if "CONFIG" in one] == ["/etc/cdom/configuration.yaml"]
    (configuration,) = [one["configuration.yaml"] for one in maps if "configuration.yaml" in one]
    (cluster.folder / "configuration.yaml").write_text(configuration)
    cluster.run_controller("--config", str(cluster.folder / "configuration.yaml"))
    namespace.apply(domain("selinux"))
    namespace.is_idle("selinux")
    daemon = cluster.get("daemonset", namespace.daemon_set("selinux"), "cdom-system")["spec"]["template"]["spec"]
    assert type_of(daemon["containers"][0]) == "nvidia_container_t"
    check = json.loads(cluster.kubectl("create", "--dry-run=server", "-f", GDC / "check-selinux.yaml", "-o", "json"))
    assert type_of(check["spec"]) == "nvidia_container_t"
