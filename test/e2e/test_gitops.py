"""The statuses by which test/packaging/gitops judges the health of domains are those that the controller writes."""

import fnmatch
import json

import pytest
import yaml
from cluster import REPO, Setup
from namespaces import DRIVER
from objects import domain, pod_on, refusal
from pages import run_commands
from waiting import eventually

WRITER = ("--membership-writer", "controller")
CLUSTER = Setup(nodes=9, cliques=9, controller=WRITER)  # No two domains share a clique.
FOLDER = REPO / "test/fixtures/gitops"
KEPT = ("name", "namespace", "annotations", "creationTimestamp", "deletionTimestamp", "finalizers", "generation")
UNREADY, DRAINED = "node-001", "node-005"


def summary(found):
    """What of a domain decides about its health."""
    metadata, status = found["metadata"], found["status"]
    return {"is deleted": "deletionTimestamp" in metadata, "is current": status["observedGeneration"] == metadata["generation"],
            "status": status["status"], **{one["type"]: (one["status"], one["reason"]) for one in status["conditions"]}}


class Scenes:
    """Domains of one namespace, each in a scene of its name."""

    def __init__(self, namespace, writes):
        self._namespace = namespace
        self._writes = writes

    def make(self, name, node=None, **annotations):
        """The domain, and a pod that uses it on that node."""
        made = domain(name)
        made["metadata"]["annotations"] = annotations
        self._namespace.apply(made, *([pod_on(name, node, f"{name}-channel")] if node else []))

    def check(self, name, reason, within=60):
        """Waits for the reason of Ready. Then the domain is as it was recorded; with --write-fixtures it is recorded."""
        self._namespace.says(name, reason, within=within)
        file = FOLDER / f"{name}.yaml"
        if self._writes:
            file.write_text(yaml.safe_dump(self._to_record(name), sort_keys=False, width=120))
        recorded = summary(yaml.safe_load(file.read_text()))
        eventually(f"{name} is as in {file.name}", lambda: summary(self._namespace.get("computedomain", name)), recorded)

    def _to_record(self, name):
        found = self._namespace.get("computedomain", name)
        found["metadata"] = {key: value for key, value in found["metadata"].items() if key in KEPT}
        return found


@pytest.fixture
def nodes_are_healed(cluster, namespaces):  # noqa: ARG001
    """After the case, and before its namespace is cleared."""
    yield
    cluster.nodesim.heal(f"node-{i:03}" for i in range(8))
    cluster.kubectl("uncordon", DRAINED)


def refuse_templates(cluster, namespace, removed_later, file):
    """From now on the controller may create no claim template in the namespace."""
    tried = namespace.get("resourceclaimtemplate", "idle-channel")
    tried["metadata"] = {"name": "tried", **{key: tried["metadata"][key] for key in ("namespace", "labels", "ownerReferences")}}
    file.write_text(json.dumps(tried))
    removed_later(*refusal("no-templates", "CREATE", "resource.k8s.io", "resourceclaimtemplates", namespace.name))
    eventually("the policy is in force", lambda: cluster.is_refused_to_the_controller("create", "-f", file))


@pytest.mark.usefixtures("nodes_are_healed")
def test_recorded_statuses_are_what_the_controller_writes(cluster, namespaces, removed_later, request, tmp_path):
    namespace = namespaces("gitops")
    scenes = Scenes(namespace, request.config.getoption("--write-fixtures"))
    cluster.run_controller(*WRITER, image="cdom:missing")
    scenes.make("image-missing", "node-000")
    scenes.check("image-missing", "MembersNotReady")
    cluster.run_controller(*WRITER)

    for node in (UNREADY, DRAINED):
        cluster.nodesim.stall_daemon(node)
    scenes.make("starting", UNREADY)
    eventually("the daemon has joined", lambda: namespace.members("starting"), [UNREADY])
    scenes.check("starting", "MembersStarting")

    for name, node in {"plugin-missing": "node-004", "ready": "node-002", "node-lost": "node-003", "node-drained": DRAINED,
                       "deletion-blocked": "node-006"}.items():
        scenes.make(name, node)
    scenes.make("idle")
    scenes.make("annotation-invalid", **{"cdom.dev/gpus": "some"})
    scenes.make("paused", **{"cdom.dev/paused": "true"})
    scenes.make("deletion-held")
    taken = domain("template-taken")
    taken["spec"]["channel"]["resourceClaimTemplate"]["name"] = "idle-channel"

    namespace.is_used("plugin-missing")
    cluster.nodesim.stop_plugin("node-004")
    scenes.check("idle", "Idle")
    namespace.apply(taken)
    scenes.check("template-taken", "TemplateNameTaken")
    scenes.check("annotation-invalid", "AnnotationInvalid")
    scenes.check("paused", "Paused")
    namespace.is_used("ready")
    scenes.check("ready", "AllMembersReady")
    scenes.make("channel-taken", "node-002")
    scenes.check("channel-taken", "NoChannelFree")
    few = domain("nodes-too-few", num_nodes=2)
    namespace.apply(few, pod_on("nodes-too-few", "node-007", "nodes-too-few-channel"))
    scenes.check("nodes-too-few", "WaitingForMembers")
    namespace.is_used("node-lost")
    cluster.nodesim.kill("node-003")
    cluster.kubectl("cordon", DRAINED)
    scenes.check("node-drained", "NodeDrained")

    namespace.is_used("deletion-blocked")
    namespace.kubectl("delete", "computedomain", "deletion-blocked", "--wait=false")
    scenes.check("deletion-blocked", "DeletionBlocked")
    namespace.is_idle("deletion-held")
    namespace.kubectl("patch", "computedomain", "deletion-held", "--type=json", "-p",
                      '[{"op": "add", "path": "/metadata/finalizers/-", "value": "example.com/bill"}]')
    namespace.kubectl("delete", "computedomain", "deletion-held", "--wait=false")
    scenes.check("deletion-held", "HeldByFinalizer")
    namespace.kubectl("patch", "computedomain", "deletion-held", "--type=merge", "-p", '{"metadata": {"finalizers": null}}')

    scenes.check("node-lost", "NodeLost")
    scenes.check("plugin-missing", "PluginMissing", within=120)
    refuse_templates(cluster, namespace, removed_later, tmp_path / "tried.json")
    scenes.make("refused")
    scenes.check("refused", "ProvisioningFailed")
    namespace.kubectl("annotate", "computedomain", "paused", "cdom.dev/paused-")


def test_the_commands_of_the_page_wait_for_a_domain(cluster, removed_later):
    removed_later(domain("quickstart"), pod_on("quickstart", "node-008", "quickstart-channel"))
    run_commands(cluster, "docs/gitops.md")


def test_objects_without_owner_are_those_that_argo_cds_project_ignores(cluster, removed_later):
    removed_later(domain("owner"), pod_on("owner", "node-008", "owner-channel"))
    cluster.kubectl("wait", "--for=condition=MembersReady", "cdom/owner", "--timeout=60s")
    kinds = "daemonsets,resourceclaimtemplates,resourceclaims,computedomaincliques,pods,leases,secrets"
    without_owner = {(one["kind"], one["metadata"]["name"]) for one in cluster.kubectl_json("get", kinds, "-n", DRIVER)["items"]
                     if "ownerReferences" not in one["metadata"]}
    project = yaml.safe_load((REPO / "integrations/argocd/project.yaml").read_text())
    ignored = [(one["kind"], one["name"]) for one in project["spec"]["orphanedResources"]["ignore"]]
    assert {kind for kind, _ in without_owner} == {kind for kind, _ in ignored}
    assert all(any(kind == one and fnmatch.fnmatch(name, names) for one, names in ignored) for kind, name in without_owner)
