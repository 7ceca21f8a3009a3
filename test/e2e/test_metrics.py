"""Who may read which metrics: by TLS, a bearer token, and the API server's word on both."""

import base64
import json
import time

import pytest
from cluster import ACCOUNT, REPO
from endpoint import Endpoint, beset
from objects import domain, workers
from waiting import eventually

READER = "system:serviceaccount:monitoring:prometheus"


@pytest.fixture(scope="module")
def endpoint(cluster):
    return Endpoint(cluster)


@pytest.fixture(scope="module")
def token(cluster):
    """Of an account, without any permission of ours."""
    cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "monitoring"}},
                  {"apiVersion": "v1", "kind": "ServiceAccount",
                   "metadata": {"name": "prometheus", "namespace": "monitoring"}})
    return cluster.kubectl("create", "token", "prometheus", "-n", "monitoring").strip()


def grant():
    """The binding that docs/metrics.md tells an administrator to make."""
    return {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
            "metadata": {"name": "prometheus-reads-cdom"},
            "subjects": [{"kind": "ServiceAccount", "name": "prometheus", "namespace": "monitoring"}],
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cdom-metrics-reader"}}


def reviews(cluster, resource, since):
    return [one for one in cluster.audited("create", resource, since) if one["responseStatus"]["code"] == 201]


def test_REV3_X8_metrics_name_tenants_only_for_accounts_with_the_permission(cluster, endpoint, token, removed_later):
    removed_later(domain("secret-project"), workers("secret-project", 2))
    eventually("two nodes have joined",
               lambda: "cdom_members 2" in endpoint.open("/metrics")[1].splitlines(), within=120)
    since = cluster.audit_size()
    assert endpoint.metrics() == (401, "401: send the bearer token of an account that may get /metrics\n")
    assert reviews(cluster, "tokenreviews", since) == [], "nothing was asked for a client without a token"
    assert endpoint.metrics("stolen") == (401, "401: the API server does not know this token\n")
    status, text = endpoint.metrics(token)
    assert (status, text.startswith(f"403: {READER} may not get /metrics")) == (403, True), text

    removed_later(grant())
    eventually("the permission is seen", lambda: endpoint.metrics(token)[0], 200)
    text = endpoint.metrics(token)[1]
    assert 'cdom_domain_members{namespace="default",name="secret-project"} 2' in text.splitlines()
    assert "cdom_members 2" in text.splitlines(), "it has the totals, too"
    member = cluster.get("computedomain", "secret-project")["status"]["nodes"][0]["name"]
    assert member in text

    status, text = endpoint.open("/metrics")
    assert status == 200
    for name in ("secret-project", member, 'namespace="default"', "clique="):
        assert name not in text, f"{name} is told to anyone"

    for resource in ("tokenreviews", "subjectaccessreviews"):
        asked = reviews(cluster, resource, since)
        assert asked, f"the audit log has none of the {resource}"
        assert {one["user"]["username"] for one in asked} == {ACCOUNT}
    cluster.kubectl("delete", "clusterrolebinding", "prometheus-reads-cdom")
    eventually("the permission ends", lambda: endpoint.metrics(token)[0], 403)


def test_REV3_X8_answers_are_kept_for_seconds_and_not_asked_for_each_scrape(cluster, endpoint, token):
    endpoint.metrics(token)
    since = cluster.audit_size()
    began = time.monotonic()
    for _ in range(20):
        endpoint.metrics(token)
    periods = (time.monotonic() - began) / 10 + 1
    assert len(reviews(cluster, "tokenreviews", since)) <= periods


def test_REV3_X8_the_account_that_the_pod_monitor_uses_reads_all_metrics(cluster, endpoint):
    access = REPO / "manifests/monitoring/access.yaml"
    cluster.kubectl("apply", "-f", access)
    try:
        def token():
            secret = cluster.get("secret", "cdom-metrics-reader", "cdom-system") or {}
            return base64.b64decode(secret.get("data", {}).get("token", "")).decode()
        eventually("the account has its token", token)
        eventually("it may read metrics", lambda: endpoint.metrics(token())[0], 200)
        cans = cluster.kubectl("auth", "can-i", "--list", "--as", "system:serviceaccount:cdom-system:cdom-metrics-reader")
        assert "/metrics" in cans and "secrets" not in cans and "computedomains" not in cans
    finally:
        cluster.kubectl("delete", "-f", access, "--ignore-not-found")


def test_REV3_X8_two_thousand_connections_hold_up_no_probe(endpoint, token):
    def probe():
        assert [endpoint.open(path) for path in ("/livez", "/readyz")] == [(200, "ok"), (200, "ok")]
    beset(endpoint.secure_port, 2000, probe)
    eventually("the port answers again", lambda: endpoint.metrics(token)[0] in (200, 403))


def test_REV3_X8_without_the_permission_to_ask_nothing_is_told(cluster, endpoint, token):
    binding = cluster.get("clusterrolebinding", "cdom-metrics-auth")
    cluster.kubectl("delete", "clusterrolebinding", "cdom-metrics-auth")
    try:
        eventually("nobody is judged", lambda: endpoint.metrics(token)[0], 503, within=40)
        assert endpoint.open("/readyz") == (200, "ok")
        assert cluster.controller_says("Refusing metrics, because the API server does not review tokens")
    finally:
        for field in ("resourceVersion", "uid", "creationTimestamp"):
            binding["metadata"].pop(field, None)
        cluster.kubectl("apply", "-f", "-", stdin=json.dumps(binding))
    eventually("tokens are judged again", lambda: endpoint.metrics(token)[0], 403)
