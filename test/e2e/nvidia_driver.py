"""What NVIDIA's CRDs and controller are to objects. The CRDs are NVIDIA's, whose fixtures say their commit; what its controller
makes is transcribed, since no program of NVIDIA's runs here."""

import json
import re

from cluster import REPO
from namespaces import DRIVER
from objects import LABEL, as_list
from waiting import eventually

FIXTURES = REPO / "test/fixtures/nvidia"
FINALIZER = "resource.nvidia.com/computeDomain"
# Feature gates: five that no program knows, two of coming versions of NVIDIA's driver that cdom has or does not need, and those
# with a value that cdom does not support. docs/nvidia-chart.md lists these.
UNKNOWN_GATES = ("Aardvark=true", "Beaver=false", "Capybara=true", "Dormouse=true", "Echidna=true")
UNSUPPORTED_GATES = ("ComputeDomainCliques=false", "IMEXDaemonsWithDNSNames=false", "NodeLocalFabricIPC=true")
FEATURE_GATES = ",".join((*UNKNOWN_GATES, "PerNodeGPUConfig=true", "SeamlessUpgrades=true", *UNSUPPORTED_GATES)) + ","


def says_each_gate_once(log):
    """Whether the log has one line for all unknown gates, and one for each that is not supported, with cost and remedy."""
    unknown = re.findall('Ignoring unknown feature gates.*gates="([^"]*)"', log)
    unsupported = re.findall('A feature gate is not supported.*gate="([^"]*)".*cost=".*remedy=".*emove the gate"', log)
    return unknown == [", ".join(UNKNOWN_GATES)] and unsupported == list(UNSUPPORTED_GATES)


def shows_each_gate(metrics):
    """Whether the metrics have a series for each gate without effect, and for no other."""
    found = re.findall(r'^cdom_feature_gates_ignored\{gate="(\w+)",value="(\w+)",why="(\w+)"\} 1$', metrics, re.MULTILINE)
    return {f"{name}={value} {why}" for name, value, why in found} == {
        *(f"{gate} unknown" for gate in UNKNOWN_GATES), *(f"{gate} unsupported" for gate in UNSUPPORTED_GATES)}


def install_crds(cluster, whose):
    """`whose` is cdom, or a version of NVIDIA's driver: 25.8.1 or main. Returns once the API server serves them."""
    if whose == "cdom":
        cluster.kubectl("apply", "-k", REPO / "crds")
    else:
        # 25.8.1 has no cliques of its own; daemons of later versions write them.
        cluster.kubectl("replace", "-f", FIXTURES / "crds-main.yaml")
        cluster.kubectl("replace", "-f", FIXTURES / f"crds-{whose}.yaml")

    def has_conditions():
        served = json.loads(cluster.kubectl("get", "--raw", "/openapi/v3/apis/resource.nvidia.com/v1beta1"))
        schema = served["components"]["schemas"]["com.nvidia.resource.v1beta1.ComputeDomain"]
        return "conditions" in schema["properties"]["status"]["properties"]
    eventually("status has conditions", has_conditions, whose == "cdom")


def template_of(namespace, name, uid, target, device_class, parameters):
    request = "daemon" if target == "Daemon" else "channel"
    config = {"apiVersion": "resource.nvidia.com/v1beta1", "domainID": uid, **parameters}
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate",
            "metadata": {"name": name, "namespace": namespace, "finalizers": [FINALIZER],
                         "labels": {LABEL: uid, f"{LABEL}Target": target}},
            "spec": {"spec": {"devices": {
                "requests": [{"name": request, "exactly": {"deviceClassName": device_class}}],
                "config": [{"requests": [request], "opaque": {"driver": "compute-domain.nvidia.com", "parameters": config}}]}}}}


def children(namespace, domain, uid, driver=DRIVER):
    """What NVIDIA's controller makes for a domain, in the driver's namespace, too: its finalizer on everything, no owners, no annotations."""
    name, labels = f"computedomain-daemon-{uid}", {LABEL: uid}
    daemon = {"name": "compute-domain-daemon", "image": "nvcr.io/nvidia/k8s-dra-driver-gpu:v25.8.0",
              "command": ["compute-domain-daemon", "-v", "$(LOG_VERBOSITY)", "run"],
              "env": [{"name": "MAX_NODES_PER_IMEX_DOMAIN", "value": "18"}, {"name": "LOG_VERBOSITY", "value": "4"}],
              "resources": {"claims": [{"name": "compute-domain-daemon"}]}}
    pod = {"serviceAccountName": "compute-domain-daemon-service-account", "nodeSelector": labels, "containers": [daemon],
           "tolerations": [{"operator": "Exists", "effect": effect} for effect in ("NoSchedule", "NoExecute", "PreferNoSchedule")],
           "resourceClaims": [{"name": "compute-domain-daemon", "resourceClaimTemplateName": name}]}
    return (template_of(driver, name, uid, "Daemon", "compute-domain-daemon.nvidia.com", {"kind": "ComputeDomainDaemonConfig"}),
            template_of(namespace, f"{domain}-channel", uid, "Workload", "compute-domain-default-channel.nvidia.com",
                        {"kind": "ComputeDomainChannelConfig", "allocationMode": "Single"}),
            {"apiVersion": "apps/v1", "kind": "DaemonSet",
             "metadata": {"name": name, "namespace": driver, "finalizers": [FINALIZER], "labels": labels},
             "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": pod}}})


def contract(child):
    """Of a child the fields that NVIDIA's programs read; GPUs beside the channel are not among them."""
    metadata = child["metadata"]
    names = {"kind": child["kind"], "namespace": metadata["namespace"], "name": metadata["name"], "labels": metadata["labels"]}
    if child["kind"] == "DaemonSet":
        pod = child["spec"]["template"]["spec"]
        return names | {"selector": child["spec"]["selector"], "pod labels": child["spec"]["template"]["metadata"]["labels"],
                        **{field: pod[field] for field in ("serviceAccountName", "nodeSelector", "tolerations", "resourceClaims")},
                        **{field: pod["containers"][0][field] for field in ("name", "command", "resources")}}
    devices = child["spec"]["spec"]["devices"]
    requests = [(one["name"], one["exactly"]["deviceClassName"]) for one in devices["requests"]]
    return names | {"requests": [one for one in requests if one[1] != "gpu.nvidia.com"], "config": devices["config"]}


def write(namespace, domain, driver=DRIVER):
    """NVIDIA's controller mirrors the cliques into status. It knows the types, and writes them whole: what they have no field for
    is lost."""
    cliques = namespace.cluster.list("computedomaincliques", driver, namespace.label(domain))
    entries = [{"name": one["nodeName"], **{field: one[field] for field in ("ipAddress", "cliqueID", "index", "status")}}
               for clique in cliques for one in clique["daemons"]]

    def replace(*options, **fields):
        found = namespace.get("computedomain", domain)
        namespace.kubectl("replace", *options, "-f", "-", stdin=as_list([{**found, **fields}]))
    found = namespace.get("computedomain", domain)
    finalizers = sorted({*found["metadata"].get("finalizers", []), FINALIZER})
    replace(metadata={**found["metadata"], "finalizers": finalizers},
            spec={field: found["spec"][field] for field in ("numNodes", "channel")})
    replace("--subresource=status", status={"status": "Ready", "nodes": entries})
