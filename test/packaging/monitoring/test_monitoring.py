"""The rules, alerts and dashboards of manifests/monitoring, without a cluster: what promtool makes of them, and what the pages say.

What a real Prometheus makes of a controller is in test/e2e/test_insight.py.
"""

import json
import pathlib
import re
import shutil
import subprocess

import pytest
import yaml

import operator_rules
from operator_rules import MONITORING

REPO = pathlib.Path(__file__).resolve().parents[3]
RULES = MONITORING / "rules.yaml"
RULES_TEST = pathlib.Path(__file__).with_name("rules_test.yaml")
ALL = [rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]
ALERTS = {rule["alert"]: rule for rule in ALL if "alert" in rule}
RECORDED = [rule["record"] for rule in ALL if "record" in rule]
ALERTS_PAGE = (REPO / "docs/alerts.md").read_text()
METRICS_PAGE = (REPO / "docs/metrics.md").read_text()


def documents(file):
    return list(yaml.safe_load_all((REPO / "manifests" / file).read_text()))


@pytest.fixture(scope="module")
def promtool():
    """promtool(ARGUMENTS): the finished process, with what it printed."""
    folder = subprocess.run([pathlib.Path(__file__).with_name("prometheus.sh")], check=True, stdout=subprocess.PIPE, text=True)

    def run(*arguments):
        return subprocess.run([f"{folder.stdout.strip()}/promtool", *arguments], check=False, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
    return run


def verdict_on(rules, promtool, folder):
    """What promtool says of rules_test.yaml with the text `rules`."""
    (folder / "rules.yaml").write_text(rules)
    shutil.copy(RULES_TEST, folder)
    return promtool("test", "rules", folder / RULES_TEST.name)


def test_each_rule_says_of_the_series_of_the_tests_what_it_should(promtool, tmp_path):
    checked = promtool("check", "rules", RULES)
    assert checked.returncode == 0, checked.stdout
    tested = verdict_on(RULES.read_text(), promtool, tmp_path)
    assert tested.returncode == 0, tested.stdout


def test_each_alert_fires_in_one_test_and_is_silent_in_another():
    cases = [one for test in yaml.safe_load(RULES_TEST.read_text())["tests"] for one in test.get("alert_rule_test", [])]
    assert {one["alertname"] for one in cases if one["exp_alerts"]} == set(ALERTS)
    assert {one["alertname"] for one in cases if not one["exp_alerts"]} == set(ALERTS)


# Each piece stands for a fault that was in the alerts of an earlier page, or could be.
@pytest.mark.parametrize("piece, instead", [
    pytest.param(r" and on \(job, instance\) cdom_build_info", "", id="other programs count"),
    pytest.param(r"\[2m\]", "[30s]", id="a change of the leader restarts `for`"),
    pytest.param(r"topk by \(node\) \(1, max by \(node, clique, namespace, name\) (\(cdom_node_imex_expected\))\)", r"\1",
                 id="a node is in two domains while the leader changes"),
    pytest.param(r'\{clique!=""\}', "", id="nodes without fabric are room for a domain"),
    pytest.param(r" or vector\(0\)\) != 1", ") != 1", id="nothing is scraped, and nobody says so"),
])
def test_what_makes_the_rules_hold_is_missed_when_it_is_taken_out(promtool, tmp_path, piece, instead):
    changed, count = re.subn(piece, instead, RULES.read_text())
    assert count > 0
    tested = verdict_on(changed, promtool, tmp_path)
    assert tested.returncode == 1 and "FAILED" in tested.stdout, tested.stdout


def test_the_operators_rules_are_the_same():
    assert operator_rules.FILE.read_text() == operator_rules.text(), "run test/packaging/monitoring/operator_rules.py"


def test_each_alert_leads_to_what_to_do_about_it():
    assert sorted(re.findall(r"^## (Cdom\w+)$", ALERTS_PAGE, re.MULTILINE)) == sorted(ALERTS)
    for name, rule in ALERTS.items():
        assert rule["annotations"]["runbook_url"].endswith(f"/docs/alerts.md#{name.lower()}")


def test_each_recorded_series_is_on_the_page():
    assert [one for one in RECORDED if f"`{one}`" not in ALERTS_PAGE] == []


def test_each_query_of_the_dashboards_is_one_and_asks_for_what_there_is(promtool, tmp_path):
    queries = [target["expr"] for file in MONITORING.glob("dashboard-*.json")
               for panel in json.loads(file.read_text())["panels"] for target in panel["targets"]]
    panels = tmp_path / "panels.yaml"
    panels.write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": [{"record": "panel", "expr": one} for one in queries]}]}))
    # The same query twice is none of its business.
    checked = promtool("check", "rules", "--lint=none", panels)
    assert checked.returncode == 0, checked.stdout
    series = {name.removesuffix("_bucket") for query in queries
              for name in re.findall(r"\b(?:cdom|leader_election|workqueue)[a-z_:]+", query)}
    assert len(series) > 10
    assert [one for one in sorted(series) if f"`{one}`" not in METRICS_PAGE + ALERTS_PAGE] == []


def test_the_pod_monitor_of_the_plugin_takes_the_port_that_its_pods_have():
    (monitor,) = documents("monitoring/plugin-pod-monitor.yaml")
    (plugin,) = (one for one in documents("kubelet-plugin/daemon-set.yaml") if one["kind"] == "DaemonSet")
    labels = plugin["spec"]["template"]["metadata"]["labels"]
    assert monitor["spec"]["selector"]["matchLabels"].items() <= labels.items()
    ports = [port["name"] for container in plugin["spec"]["template"]["spec"]["containers"] for port in container.get("ports", [])]
    assert [one["port"] for one in monitor["spec"]["podMetricsEndpoints"]] == ports
    # That of the controller does not take them as well.
    (controller,) = documents("monitoring/pod-monitor.yaml")
    assert not controller["spec"]["selector"]["matchLabels"].items() <= labels.items()


def test_the_pod_monitor_takes_our_namespaces_as_they_are_from_the_port_that_the_pods_have():
    (monitor,) = documents("monitoring/pod-monitor.yaml")
    (endpoint,) = monitor["spec"]["podMetricsEndpoints"]
    (deployment,) = (one for one in documents("controller/deployment.yaml") if one["kind"] == "Deployment")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    (secret,) = (one for one in documents("monitoring/access.yaml") if one["kind"] == "Secret")
    assert endpoint["honorLabels"] is True
    assert endpoint["port"] in [port["name"] for port in container["ports"]]
    # Over TLS, with the token of access.yaml.
    assert endpoint["scheme"] == "https"
    assert endpoint["authorization"]["credentials"] == {"name": secret["metadata"]["name"], "key": "token"}
