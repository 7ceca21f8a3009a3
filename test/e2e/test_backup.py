"""Domains that come back from a backup: as Velero restores objects, with labels, annotations and finalizers, but without UID,
owners and status."""

import pytest
from cluster import Setup
from objects import domain, pod_on
from pages import run_commands
from waiting import eventually

CLUSTER = Setup(nodes=16, placement=True, controller=("--membership-writer", "controller"))
DROPPED = ("generateName", "uid", "resourceVersion", "generation", "creationTimestamp", "ownerReferences", "managedFields")


def restored(one):
    metadata = {key: value for key, value in one["metadata"].items() if key not in DROPPED}
    return {**{key: value for key, value in one.items() if key != "status"}, "metadata": metadata}


@pytest.fixture
def backup(namespace):
    """A domain and its claim template, as they were before the domain was deleted."""
    namespace.apply(domain("saved"))
    namespace.is_idle("saved")
    found = namespace.get("computedomain", "saved"), namespace.get("resourceclaimtemplate", "saved-channel")
    assert found[0]["metadata"]["finalizers"]
    namespace.delete("computedomain", "saved")
    eventually("the template", lambda: namespace.get("resourceclaimtemplate", "saved-channel"), None)
    return found


def serves_pods(namespace):
    namespace.apply(pod_on("user", "node-001", "saved-channel"))
    namespace.is_used("saved", within=60)
    namespace.delete("pod", "user")
    namespace.delete("computedomain", "saved", timeout=60)


def test_a_restored_domain_serves_pods(namespace, backup):
    namespace.create_objects(restored(backup[0]))
    namespace.is_idle("saved")
    serves_pods(namespace)


def test_a_claim_template_in_the_backup_blocks_the_domain_until_it_is_deleted(namespace, backup):
    old, template = backup
    namespace.create_objects(restored(template), restored(old))
    uid = old["metadata"]["uid"]
    namespace.says("saved", "TemplateNameTaken", f"belongs to the ComputeDomain with UID {uid}. Delete it if that domain does not exist")
    run_commands(namespace.cluster, "docs/backup.md", names={"team-a": namespace.name, "NAME": "saved-channel"})
    namespace.is_idle("saved", within=60)
    serves_pods(namespace)
