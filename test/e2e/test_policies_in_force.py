"""Policies in the life of a cluster: older objects, another controller, another namespace, and a scheduler that meets a thief."""

import json
import re

import pytest
from kustomizations import overlay, patches_of_page
from objects import LABEL, as_list
from policy_rows import CLUSTER, CONTROLLER, DAEMONS, policies  # noqa: F401
from versions import is_before
from waiting import eventually

DAEMON_SET = "/apis/apps/v1/namespaces/cdom-system/daemonsets/computedomain-daemon-$domain"
DAEMON_DEVICE = {"devices": {"requests": [{"name": "d", "exactly": {"deviceClassName": "compute-domain-daemon.nvidia.com"}}]}}


def claim(name, kind="ResourceClaim", **metadata):
    """A claim, or a template of one, of the device that daemons have."""
    spec = DAEMON_DEVICE if kind == "ResourceClaim" else {"spec": DAEMON_DEVICE}
    return {"apiVersion": "resource.k8s.io/v1", "kind": kind, "spec": spec,
            "metadata": {"name": name, "namespace": "team", **metadata}}


def test_warn_only_policies_admit_all_with_the_message_of_the_refusal(policies):
    denials = [("cdom-child-deletion", 1), ("cdom-daemon-account", 4), ("cdom-daemon-claims", 1), ("cdom-channel-claims", 2),
               ("cdom-template-name", 1), ("cdom-controller-account", 1), ("cdom-tenant-limits", 1)]

    def words():
        return {denial: policies.first_of(*denial) for denial in denials}
    cluster = policies.cluster
    warns = overlay(cluster.folder / "warns", "base", "policies/advice", "policies/tenant-limits", components=["policies/warn-only"])
    with policies.replaced_by(warns):
        eventually("they only warn", words, dict.fromkeys(denials, "warn"))
        since = cluster.audit_size()
        warnings = policies.ask("cdom-child-deletion", "admin", "delete", DAEMON_SET)
        assert warnings.word == "warn" and "cdom.dev/allow-deletion=true" in warnings.message

        def annotations():
            return [text for entry in cluster.audit_entries(since) for key, text in entry.get("annotations", {}).items()
                    if key == "validation.policy.admission.k8s.io/validation_failure"]
        eventually("the audit log has it", annotations, lambda texts: "cdom-child-deletion" in "".join(texts))
    eventually("they refuse again", words, dict.fromkeys(denials, "deny"))


def test_controller_named_in_the_policy_deletes_under_its_own_user(policies):
    cluster = policies.cluster
    cluster.kubectl("create", "clusterrolebinding", "robot", "--clusterrole", "cluster-admin", "--user", "robot")

    def by_robot():
        return policies.ask("cdom-child-deletion", "robot", "delete", DAEMON_SET)
    refused = eventually("its role lets it, and the policy does not", by_robot, lambda got: got.word == "deny")
    assert "name robot in the policy" in refused.message
    patches = patches_of_page("name: cdom-child-deletion").replace("alice", "robot")
    with policies.replaced_by(overlay(cluster.folder / "named", "base", more=patches)):
        eventually("it may delete", lambda: by_robot().word, "allow")
        assert policies.first_of("cdom-child-deletion", 1) == "deny"
    eventually("it may not any more", lambda: by_robot().word, "deny")
    cluster.kubectl("delete", "clusterrolebinding", "robot")


def test_REV3_X6_administrator_lists_the_images_that_daemons_may_run(policies):
    def of_image(image):
        pod = {"serviceAccountName": DAEMONS, "containers": [{"name": "c", "image": image}]}
        return policies.ask("cdom-controller-account", CONTROLLER, "create", "/apis/apps/v1/namespaces/cdom-system/daemonsets", {
            "metadata": {"name": "n", "labels": {LABEL: "$domain"}},
            "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": pod}}}).word
    listed = "registry.example.org/mine/cdom-driver@sha256:" + 4 * "0123456789abcdef"
    images = overlay(policies.cluster.folder / "images", "base", more=patches_of_page("name: cdom-controller-account"))
    with policies.replaced_by(images):
        eventually("another image is refused", lambda: of_image("i"), "deny")
        assert of_image(listed) == "allow"
    eventually("any image is taken again", lambda: of_image("i"), "allow")


def test_claim_from_before_the_policy_can_lose_its_finalizer(policies):
    cluster = policies.cluster
    older = json.dumps(claim("older", finalizers=["resource.kubernetes.io/delete-protection"]))
    with policies.without("cdom-daemon-claims"):
        eventually("the claim is taken", lambda: cluster.kubectl("create", "-f", "-", stdin=older))
    eventually("the policy is back", lambda: policies.first_of("cdom-daemon-claims", 1), "deny")
    # Kubernetes' controller takes its finalizer off.
    cluster.kubectl("delete", "resourceclaim", "older", "-n", "team", "--timeout=60s")


def thief(name, namespace, claims, resources):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": namespace},
            "spec": {"nodeSelector": {"kubernetes.io/hostname": "node-a"}, "tolerations": [{"operator": "Exists"}],
                     "resourceClaims": claims, "containers": [{"name": "c", "image": "i", "resources": resources}]}}


@pytest.fixture
def node_with_the_device(policies):
    """node-a takes pods, and has the device of daemons."""
    cluster = policies.cluster
    room = {"pods": "110", "cpu": "8", "memory": "8Gi"}
    cluster.kubectl("patch", "node", "node-a", "--subresource=status", "--type=merge", "-p",
                    json.dumps({"status": {"capacity": room, "allocatable": room}}))
    device = {"name": "daemon-0", "attributes": {"type": {"string": "daemon"}, "id": {"int": 0}}}
    cluster.apply({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": "node-a"}, "spec": {
        "driver": "compute-domain.nvidia.com", "nodeName": "node-a",
        "pool": {"name": "node-a", "generation": 2, "resourceSliceCount": 1}, "devices": [device]}})
    yield
    cluster.kubectl("delete", "resourceslice", "node-a")


@pytest.mark.usefixtures("node_with_the_device")
def test_thief_pod_never_gets_the_daemon_device(policies):
    cluster = policies.cluster

    def create(*objects):
        cluster.kubectl("create", "--as", "edit", "-f", "-", stdin=as_list(objects))
    claims = {"claims": [{"name": "d"}]}
    create(thief("by-template", "team", [{"name": "d", "resourceClaimTemplateName": "stolen"}], claims),
           thief("by-claim", "team", [{"name": "d", "resourceClaimName": "stolen"}], claims))
    # The scheduler makes a claim for what is asked for like this.
    by_resource = thief("by-resource", "team", [], {"limits": {"deviceclass.resource.kubernetes.io/compute-domain-daemon.nvidia.com": 1}})
    assert "cdom-extended-resources" in cluster.refused("create", "--as", "edit", "-f", "-", stdin=json.dumps(by_resource))
    with policies.without("cdom-extended-resources"):
        eventually("it is taken", lambda: create(by_resource) or "taken")
    for kind in ("ResourceClaim", "ResourceClaimTemplate"):
        assert "cdom-daemon-claims" in cluster.refused("create", "--as", "edit", "-f", "-", stdin=json.dumps(claim("stolen", kind)))

    # The first two wait for what they name, which does not exist. The last has a node, and its claim is refused.
    def not_scheduled():
        conditions = cluster.get("pod", "by-resource", "team")["status"]["conditions"]
        return next((one["status"], one["message"]) for one in conditions if one["type"] == "PodScheduled")
    # Before 1.36 the scheduler makes no claim.
    reason = "Insufficient deviceclass" if is_before("1.36") else "cdom-daemon-claims"
    eventually("the scheduler is refused", not_scheduled, lambda got: got[0] == "False" and reason in got[1])
    # A daemon gets the device.
    daemon = [{"name": "d", "resourceClaimTemplateName": f"computedomain-daemon-{policies.names['domain']}"}]
    cluster.kubectl("create", "-f", "-", stdin=json.dumps(thief("daemon", "cdom-system", daemon, claims)))
    eventually("a daemon has a node", lambda: cluster.get("pod", "daemon", "cdom-system")["spec"].get("nodeName"), "node-a")
    allocated = [one["metadata"]["namespace"] for one in cluster.list("resourceclaims", "") if "allocation" in one.get("status", {})]
    assert allocated == ["cdom-system"]
    thieves = ("by-template", "by-claim", "by-resource")
    assert [cluster.get("pod", name, "team")["spec"].get("nodeName") for name in thieves] == [None, None, None]
    cluster.kubectl("delete", "pods", "-n", "team", *thieves, "--grace-period=0", "--force")
    cluster.kubectl("delete", "pod", "-n", "cdom-system", "daemon", "--grace-period=0", "--force")


def test_kubernetes_deletes_children_without_owner_or_namespace(policies):
    cluster, domain = policies.cluster, policies.names["domain"]
    # The garbage collector deletes a clique after its owner; it has no annotation.
    owner = thief("owner", "cdom-system", [], {})
    owner["metadata"]["labels"] = {LABEL: domain}
    owner["spec"].update(nodeName="node-b", nodeSelector={})
    cluster.apply(owner)
    labels = {LABEL: domain, f"{LABEL}.cliqueID": "owned"}
    cluster.apply({"apiVersion": "resource.nvidia.com/v1beta1", "kind": "ComputeDomainClique", "daemons": [], "metadata": {
        "name": f"{domain}.owned", "namespace": "cdom-system", "labels": labels, "ownerReferences": [
            {"apiVersion": "v1", "kind": "Pod", "name": "owner", "uid": cluster.get("pod", "owner", "cdom-system")["metadata"]["uid"]}]}})
    assert "cdom-child-deletion" in cluster.refused("delete", "computedomainclique", "-n", "cdom-system", f"{domain}.owned")
    cluster.kubectl("delete", "pod", "-n", "cdom-system", "owner", "--grace-period=0", "--force")
    eventually("the clique", lambda: cluster.get("computedomainclique", f"{domain}.owned", "cdom-system"), None)
    # A second namespace of the driver is deleted with all that is in it.
    template = {"metadata": {"labels": {"app": "second"}},
                "spec": {"nodeSelector": {"nowhere": "true"}, "containers": [{"name": "c", "image": "i"}]}}
    cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "second", "labels": {"cdom.dev/driver": "true"}}},
                  {"apiVersion": "apps/v1", "kind": "DaemonSet",
                   "metadata": {"name": "second", "namespace": "second", "labels": {LABEL: domain}},
                   "spec": {"selector": {"matchLabels": {"app": "second"}}, "template": template}})
    eventually("the policy protects it", lambda: cluster.refused("delete", "daemonset", "-n", "second", "second", "--dry-run=server"),
               re.compile("cdom-child-deletion"))
    cluster.kubectl("delete", "namespace", "second", "--timeout=60s")


def test_base_in_another_namespace_brings_label_and_policies_along(policies):
    # kustomize takes the policies for objects of a namespace; the API server does not mind.
    with policies.replaced_by(overlay(policies.cluster.folder / "moved", "base", more="namespace: gpu-domains")):
        bindings = policies.cluster.kubectl_json("get", "validatingadmissionpolicybindings")["items"]
        assert {one["metadata"]["name"] for one in bindings} >= set(policies.policies)
        template = {"metadata": {"name": "c", "labels": {LABEL: "$domain"}}, "spec": {"spec": DAEMON_DEVICE}}
        assert policies.ask("cdom-daemon-claims", "system:serviceaccount:gpu-domains:cdom-controller", "create",
                            "/apis/resource.k8s.io/v1/namespaces/gpu-domains/resourceclaimtemplates", template).word == "allow"
    policies.cluster.kubectl("delete", "namespace", "gpu-domains", "--timeout=60s")
