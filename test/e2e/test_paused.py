"""A domain that its annotation pauses."""

import pytest
from cluster import ACCOUNT, Setup
from namespaces import conditions
from objects import domain, pod_on
from requests_of import writes
from waiting import eventually

CLUSTER = Setup(nodes=16, placement=True, controller=("--membership-writer", "controller"))
pytestmark = pytest.mark.usefixtures("requests_are_allowed")


@pytest.mark.usefixtures("nothing_is_left")
def test_a_paused_domain_is_left_alone_says_so_and_goes_on_afterwards(cluster, namespace):
    since = cluster.audit_size()
    resting = domain("resting")
    resting["metadata"]["annotations"] = {"cdom.dev/paused": "true"}
    namespace.apply(resting)
    namespace.says("resting", "Paused", f"Not created while paused: .*DaemonSet .*{namespace.name}/resting-channel", kind="Provisioned",
                   and_also=lambda status: conditions(status)["Accepted"]["reason"] == "Paused")
    namespace.tells("resting", "Normal Paused ")
    assert writes(cluster.requests_of(ACCOUNT, since)) == []
    namespace.kubectl("annotate", "computedomain", "resting", "cdom.dev/paused-")
    namespace.apply(pod_on("resting", "node-000", "resting-channel"))
    namespace.is_used("resting", within=90)

    namespace.kubectl("annotate", "computedomain", "resting", "cdom.dev/paused=true")
    namespace.says("resting", "Paused", "cdom.dev/paused", kind="Accepted")
    since = cluster.audit_size()
    namespace.delete("resourceclaimtemplate", "resting-channel")
    namespace.says("resting", "Paused", f"Not created while paused: ResourceClaimTemplate {namespace.name}/resting-channel",
                   kind="Provisioned")
    namespace.delete("pod", "resting")
    namespace.says("resting", "NoClaims", "No pod", kind="InUse")
    namespace.kubectl("delete", "computedomain", "resting", "--wait=false")
    namespace.says("resting", "Paused", "cdom.dev/paused", kind="DeletionBlocked")
    assert writes(cluster.requests_of(ACCOUNT, since)) == []
    namespace.kubectl("annotate", "computedomain", "resting", "cdom.dev/paused-")
    eventually("the domain", lambda: namespace.get("computedomain", "resting"), None)
