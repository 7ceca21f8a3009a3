"""Labels of domains that stay on nodes although nothing needs them."""

import pytest
from cluster import ACCOUNT, Setup
from namespaces import is_free
from objects import LABEL, domain
from requests_of import time_of

CLUSTER = Setup(nodes=16, placement=True, controller=("--membership-writer", "controller"))
pytestmark = pytest.mark.usefixtures("requests_are_allowed")
NOBODY = "0c6b2f0e-7b1d-4f39-8a55-3f3d0a4a9e10"


def test_a_label_that_stays_while_its_domain_lives_is_removed_after_30_s(cluster, namespace):
    namespace.apply(domain("stays"))
    namespace.kubectl("wait", "--for=condition=Provisioned", "computedomain/stays", "--timeout=60s")
    since = cluster.audit_size()
    cluster.kubectl("label", "node", "node-004", namespace.label("stays"))
    is_free(cluster, "node-004", within=60)
    writes = [one for one in cluster.audit_entries(since) if one["verb"] == "patch" and one["responseStatus"]["code"] < 300
              and one["objectRef"].get("resource") == "nodes" and one["objectRef"]["name"] == "node-004"
              and "subresource" not in one["objectRef"]]
    put = next(one for one in writes if one["userAgent"].startswith("kubectl/"))
    removed = [one for one in writes if one["user"]["username"] == ACCOUNT][-1]
    stayed = time_of(removed["requestReceivedTimestamp"]) - time_of(put["requestReceivedTimestamp"])
    # And not before: a plugin that has labelled its node may be about to prepare a claim.
    assert stayed.total_seconds() >= 30
    namespace.tells("stays", "Normal StaleLabelRemoved Node node-004 had this domain's label")
    namespace.delete("computedomain", "stays")


def test_a_label_of_a_domain_that_does_not_exist_is_removed(cluster):
    """As a plugin leaves it that is late. What is left of the domain is found by the label alone."""
    cluster.kubectl("label", "node", "node-003", f"{LABEL}={NOBODY}")
    is_free(cluster, "node-003")
