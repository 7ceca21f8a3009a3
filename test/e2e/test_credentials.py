"""Kubeconfigs of the controller: files that are wrong and right in turn, and tokens from an exec plugin."""

import json
import re
import time

import pytest
from cluster import Setup
from objects import domain
from waiting import eventually

CLUSTER = Setup(nodes=0)
pytestmark = pytest.mark.usefixtures("no_controller")
PLUGIN = """#!/bin/sh
cd "$(dirname "$0")" || exit 1
echo run >>plugin.runs
case $KUBERNETES_EXEC_INFO in *'"server":"https://'*) ;; *) echo "it is told of no cluster" >&2 && exit 1 ;; esac
printf '{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status":
  {"token": "%s", "expirationTimestamp": "%s"}}\\n' "$(cat plugin.token)" "$(date -u -d '+12 seconds' +%Y-%m-%dT%H:%M:%SZ)"
"""


@pytest.fixture
def exec_plugin(cluster, tmp_path):
    """A folder with a kubeconfig whose user is a plugin that prints what is in plugin.token, good for another 12 s."""
    config = json.loads(cluster.controller_config.read_text())
    (tmp_path / "plugin.token").write_text(config["users"][0]["user"]["token"])
    (tmp_path / "plugin").write_text(PLUGIN)
    (tmp_path / "plugin").chmod(0o755)
    config["users"][0]["user"] = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "./plugin",
                                           "interactiveMode": "IfAvailable", "provideClusterInfo": True}}
    (tmp_path / "kubeconfig").write_text(json.dumps(config))
    return tmp_path


def refused_requests(cluster):
    text = cluster.controller_get("health and metrics", "/metrics")
    return re.findall(r'^rest_client_requests_total\{code="401".*', text, re.MULTILINE)


def test_tokens_of_an_exec_plugin_are_replaced_when_they_expire_or_are_refused(cluster, exec_plugin, namespace):
    token = exec_plugin / "plugin.token"
    good, began = token.read_text(), time.monotonic()
    cluster.run_controller("--leader-election-lease-duration", "60s", "--leader-election-renew-deadline", "50s",
                           "--leader-election-retry-period", "1s", kubeconfig=exec_plugin / "kubeconfig")
    namespace.apply(domain("plugged"))
    namespace.is_idle("plugged")
    assert refused_requests(cluster) == []
    token.write_text("refused")
    eventually("a token is refused", lambda: refused_requests(cluster))
    eventually("the log", cluster.controller_log, re.compile("rejected the exec plugin's credentials"))
    token.write_text(good)
    namespace.apply(domain("after"))
    namespace.is_idle("after")
    namespace.delete("computedomain", "plugged", "after")
    assert cluster.controller_runs()
    log = cluster.controller_log()
    assert "Lost the Lease" not in log
    assert good not in log, "the token is in the log"
    # Its tokens are good for 12 s, and for less if they are refused; requests are far more.
    assert len((exec_plugin / "plugin.runs").read_text().splitlines()) <= 5 + (time.monotonic() - began) / 3
