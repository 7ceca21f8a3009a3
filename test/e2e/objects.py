"""Objects that cases make, as dictionaries. Their namespace is `default` until somebody says otherwise."""

import json

from cluster import ACCOUNT, REFUSAL, REPO

LABEL = "resource.nvidia.com/computeDomain"
CLIQUE = "nvidia.com/gpu.clique"


def as_list(objects):
    """The text of these objects together, as kubectl takes it."""
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)})


def domain(name, namespace="default", num_nodes=0, mode=None):
    """A ComputeDomain whose claim template is NAME-channel."""
    channel = {"resourceClaimTemplate": {"name": f"{name}-channel"}, **({"allocationMode": mode} if mode else {})}
    return {"apiVersion": "resource.nvidia.com/v1beta1", "kind": "ComputeDomain",
            "metadata": {"name": name, "namespace": namespace}, "spec": {"numNodes": num_nodes, "channel": channel}}


def worker_pod(name, domain_name=None, seconds=-1, one_clique=False):
    """Metadata and spec of a worker that ends after so many seconds, or never. With `one_clique`, workers of that name keep
    together in one."""
    pod = {"terminationGracePeriodSeconds": 1,
           "resourceClaims": [{"name": "channel", "resourceClaimTemplateName": f"{domain_name or name}-channel"}],
           "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
           "containers": [{"name": "worker", "image": "busybox", "resources": {"claims": [{"name": "channel"}]}}]}
    if one_clique:
        beside = [{"topologyKey": CLIQUE, "labelSelector": {"matchLabels": {"app": name}}}]
        pod["affinity"] = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": beside}}
    return {"metadata": {"labels": {"app": name}, "annotations": {"nodesim.cdom.dev/run-seconds": str(seconds)}},
            "spec": pod}


def workers(name, count, namespace="default", one_clique=False, domain_name=None):
    """A Deployment of that many pods, each on a node of its own, that use the domain until they are deleted."""
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": namespace},
            "spec": {"replicas": count, "selector": {"matchLabels": {"app": name}},
                     "template": worker_pod(name, domain_name, one_clique=one_clique)}}


def job(name, count, seconds, namespace="default", one_clique=True):
    """A Job of that many workers at once, each of which succeeds after so many seconds; negative: never."""
    template = worker_pod(name, seconds=seconds, one_clique=one_clique)
    template["spec"]["restartPolicy"] = "Never"
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "namespace": namespace},
            "spec": {"completions": count, "parallelism": count, "backoffLimit": 20, "template": template}}


def pod_on(name, node, template, namespace="default"):
    """A pod that claims a channel by that template, and may run on this node alone."""
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": namespace},
            "spec": {"nodeSelector": {"kubernetes.io/hostname": node},
                     "resourceClaims": [{"name": "channel", "resourceClaimTemplateName": template}],
                     "containers": [{"name": "main", "image": "busybox", "resources": {"claims": [{"name": "channel"}]}}]}}


def naming(pod, claim):
    """The same pod, which names this claim instead of a template."""
    return {**pod, "spec": {**pod["spec"], "resourceClaims": [{"name": "channel", "resourceClaimName": claim}]}}


def refusal(name, operation, group, resource, namespace):
    """A policy, and its binding, that refuses the controller this operation on the resource in that namespace."""
    kind = "admissionregistration.k8s.io/v1"
    return ({"apiVersion": kind, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": name},
             "spec": {"matchConstraints": {
                 "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
                 "resourceRules": [{"apiGroups": [group], "apiVersions": ["*"], "operations": [operation],
                                    "resources": [resource]}]},
                 "validations": [{"expression": f"request.userInfo.username != '{ACCOUNT}'",
                                  "message": REFUSAL}]}},
            {"apiVersion": kind, "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": name},
             "spec": {"policyName": name, "validationActions": ["Deny"]}})


def endless_quickstart():
    """The example, whose workers run until they are deleted."""
    text = (REPO / "examples/quickstart.yaml").read_text()
    endless = text.replace("\n      labels:\n", '\n      annotations: {nodesim.cdom.dev/run-seconds: "-1"}\n      labels:\n')
    assert endless != text
    return endless
