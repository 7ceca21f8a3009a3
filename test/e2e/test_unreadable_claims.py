"""What a tenant stores that many a JSON reader refuses does no harm to another tenant's domain."""

import json
import subprocess

import dra
from cluster import REPO, Setup
from objects import LABEL, domain, pod_on
from pages import environment
from tenants import binding
from waiting import eventually

CLUSTER = Setup(nodes=16, placement=True, controller=())
# Parameters of a claim, as bytes: half of a surrogate pair, too deep a nest, and no UTF-8.
UNREADABLE = {"surrogate": rb'{"x": "\ud800"}', "depth": b'{"x": ' + b"[" * 600 + b"]" * 600 + b"}", "bytes": b'{"x": "\xff\xfe"}'}


def unreadable(kind, name, uid, parameters):
    """A claim, or a template of one, as bytes."""
    requests = [{"name": "d", "exactly": {"deviceClassName": "compute-domain-default-channel.nvidia.com"}}]
    config = [{"opaque": {"driver": "compute-domain.nvidia.com", "parameters": "PARAMETERS"}}]
    spec = {"devices": {"requests": requests, "config": config}}
    made = {"apiVersion": dra.V1, "kind": kind, "metadata": {"name": f"unreadable-{name}", "labels": {LABEL: uid}},
            "spec": spec if kind == "ResourceClaim" else {"spec": spec}}
    return json.dumps(dra.as_served(made)).encode().replace(b'"PARAMETERS"', parameters)


def test_unreadable_claims_of_a_tenant_do_not_block_anothers_domain(cluster, namespaces):
    victims, team = namespaces("victims"), namespaces("team")
    for namespace in (victims, team):
        namespace.apply(binding(namespace.name, "tenant", "edit"))
    victims.apply(domain("victim"), pod_on("victim", "node-001", "victim-channel"))
    victims.is_used("victim", within=90)
    uid = victims.uid("victim")

    def post(namespace, kind, name):
        # As it is: kubectl apply would send what it understood of it. The answer has the same bytes.
        path = f"/apis/{dra.SERVED}/namespaces/{namespace.name}/{kind.lower()}s"
        done = subprocess.run(["kubectl", "create", "--as", "tenant", "--raw", path, "-f", "-"], env=environment(cluster),
                              input=unreadable(kind, name, uid, UNREADABLE[name]), capture_output=True, check=False, timeout=60)
        return done.returncode, done.stderr

    def is_taken(namespace, kind, name):
        eventually(f"the API server takes {kind} {name}", lambda: post(namespace, kind, name), (0, b""))
    # A policy keeps such claims out, but not those from before it, nor where it only warns.
    cluster.kubectl("delete", "validatingadmissionpolicybinding", "cdom-channel-claims")
    try:
        for name in UNREADABLE:
            is_taken(team, "ResourceClaimTemplate", name)
            is_taken(victims, "ResourceClaim", name)
    finally:
        cluster.kubectl("apply", "-k", REPO / "manifests/policies")
    victims.delete("pod", "victim")
    # As a plugin leaves it behind that could not take it off.
    cluster.kubectl("label", "node", "node-009", f"{LABEL}={uid}")
    victims.delete("computedomain", "victim", timeout=40)
    assert cluster.kubectl("get", "nodes", "-l", f"{LABEL}={uid}", "-o", "name") == ""
    # The tenant's objects are left alone: they only say that they belong to the domain.
    left = team.kubectl("get", "resourceclaimtemplates", "-o", "name").split()
    assert left == sorted(f"resourceclaimtemplate.resource.k8s.io/unreadable-{name}" for name in UNREADABLE)
    victims.kubectl("delete", "resourceclaims", "--all", "--timeout=60s")
