"""The statuses with which test/packaging/gitops tests the health script are those that the controller writes."""

import fnmatch

import pytest
import yaml
from cluster import REPO, Setup
from namespaces import DRIVER
from objects import domain, pod_on
from pages import run_commands
from waiting import eventually

WRITER = ("--membership-writer", "controller")
CLUSTER = Setup(nodes=9, cliques=9, controller=WRITER)  # No two domains share a clique.
FOLDER = REPO / "test/fixtures/gitops"
KEPT = ("name", "namespace", "annotations", "creationTimestamp", "deletionTimestamp", "finalizers", "generation")
UNREADY = "node-001"


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

    def make(self, name, node):
        """The domain, and a pod that uses it on that node."""
        self._namespace.apply(domain(name), pod_on(name, node, f"{name}-channel"))

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


@pytest.mark.usefixtures("nodes_are_healed")
def test_recorded_statuses_are_what_the_controller_writes(cluster, namespaces, request):
    namespace = namespaces("gitops")
    scenes = Scenes(namespace, request.config.getoption("--write-fixtures"))
    cluster.nodesim.stall_daemon(UNREADY)
    scenes.make("starting", UNREADY)
    eventually("the daemon has joined", lambda: namespace.members("starting"), [UNREADY])
    scenes.check("starting", "MembersStarting")

    for name, node in {"ready": "node-002", "node-lost": "node-003", "deletion-blocked": "node-006"}.items():
        scenes.make(name, node)
    namespace.is_used("ready")
    scenes.check("ready", "AllMembersReady")
    namespace.is_used("node-lost")
    cluster.nodesim.kill("node-003")
    namespace.is_used("deletion-blocked")
    namespace.kubectl("delete", "computedomain", "deletion-blocked", "--wait=false")
    scenes.check("deletion-blocked", "DeletionBlocked")
    scenes.check("node-lost", "NodeLost")


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
