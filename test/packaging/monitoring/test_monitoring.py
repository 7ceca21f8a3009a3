"""The rules, alerts and dashboards of manifests/monitoring, without a cluster: what promtool makes of them, and what the pages say.

What a real Prometheus makes of a controller is in test/e2e/test_insight.py.
"""

import itertools
import pathlib
import re
import shutil
import subprocess
import urllib.parse

import pytest
import yaml

import operator_rules
from dashboards import BOARDS, chosen, queries, variables
from operator_rules import MONITORING

REPO = pathlib.Path(__file__).resolve().parents[3]
RULES = MONITORING / "rules.yaml"
RULES_TEST = pathlib.Path(__file__).with_name("rules_test.yaml")
ALL = [rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]
ALERTS = {rule["alert"]: rule for rule in ALL if "alert" in rule}
RECORDED = [rule["record"] for rule in ALL if "record" in rule]
ALERTS_PAGE = (REPO / "docs/alerts.md").read_text()
METRICS_PAGE = (REPO / "docs/metrics.md").read_text()
# {series: labels}, as the pages have them.
LABELS = {name: set(re.findall(r"`(\w+)`", labels)) for names, labels in re.findall(
              r"^\| ((?:`[a-z_:]+`(?:, )?)+) \|([^|]*)\|", METRICS_PAGE + ALERTS_PAGE, re.MULTILINE)
          for name in re.findall(r"[a-z_:]+", names)}
# The label whose values each variable of a dashboard has.
OF_VARIABLE = {"namespace": "namespace", "domain": "name", "clique": "clique"}


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


def test_each_alert_has_a_description_and_links_to_its_part_of_a_dashboard():
    fired = [(one["alertname"], alert) for test in yaml.safe_load(RULES_TEST.read_text())["tests"] for one in test.get("alert_rule_test", [])
             for alert in one["exp_alerts"]]
    assert {name for name, _ in fired} == set(ALERTS)
    for name, alert in fired:
        said, labels = alert["exp_annotations"], {label: value for label, value in alert["exp_labels"].items() if label != "severity"}
        assert set(said) == {"summary", "description", "runbook_url", "dashboard_url"}, name
        assert 1 <= len(re.findall(r"\.(?: |$)", said["description"])) <= 2, name
        assert [one for one in labels.values() if one not in said["description"]] == [], name
        link = urllib.parse.urlsplit(said["dashboard_url"])
        board = BOARDS[link.path.removeprefix("/d/")]
        picked = {variable.removeprefix("var-"): value for variable, value in urllib.parse.parse_qsl(link.query)}
        assert picked.keys() <= variables(board).keys(), name
        assert {OF_VARIABLE[variable]: value for variable, value in picked.items()} == labels, name


def test_each_recorded_series_is_on_the_page():
    assert [one for one in RECORDED if f"`{one}`" not in ALERTS_PAGE] == []


def selectors(query):
    """(series, matchers) of each series of the pages that the query names."""
    found = re.findall(r"\b((?:cdom|controller_runtime|leader_election|workqueue)[a-z_:]+)(\{[^}]*\})?", query)
    return [(re.sub("_bucket$", "", name), matchers) for name, matchers in found]


def test_each_query_of_the_dashboards_is_one_and_asks_for_what_there_is(promtool, tmp_path):
    asked = [query for board in BOARDS.values() for query in queries(board)]
    series = {name for query in asked for name, _ in selectors(query)}
    assert len(series) > 10
    assert series - LABELS.keys() == set()
    # Also those of variables, without the label whose values they list.
    asked += [re.fullmatch(r"label_values\((.*), \w+\)", one["query"]["query"])[1] for board in BOARDS.values() for one in variables(board).values()]
    panels = tmp_path / "panels.yaml"
    panels.write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": [{"record": "panel", "expr": one} for one in asked]}]}))
    # The same query twice is none of its business.
    checked = promtool("check", "rules", "--lint=none", panels)
    assert checked.returncode == 0, checked.stdout


@pytest.mark.parametrize("uid, names", [("cdom-domains", ["namespace", "domain"]), ("cdom-cliques", ["clique"])])
def test_a_dashboard_chooses_by_variables_wherever_series_have_the_labels(uid, names):
    board = BOARDS[uid]
    assert list(variables(board)) == names
    for name, variable in variables(board).items():
        query, label = re.fullmatch(r"label_values\((.*), (\w+)\)", variable["query"]["query"]).groups()
        [(series, _)] = selectors(query)
        assert label == OF_VARIABLE[name] and label in LABELS[series]
        assert variable["definition"] == variable["query"]["query"]
        assert (variable["multi"], variable["includeAll"], variable["allValue"]) == (True, True, ".*")
    for query in queries(board):
        for series, matchers in selectors(query):
            has_labels = {OF_VARIABLE[name] for name in names} <= LABELS[series]
            used = [name for name in names if f'{OF_VARIABLE[name]}=~"${name}"' in matchers]
            assert used == (names if has_labels else []), query


@pytest.mark.parametrize("board", BOARDS.values(), ids=BOARDS)
def test_panels_have_numbers_and_places_of_their_own(board):
    panels = board["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    places = [(panel["title"], *(panel["gridPos"][side] for side in "xywh")) for panel in panels]
    assert [one for one in places if not (one[1] >= 0 and one[1] + one[3] <= 24)] == []
    assert [(one[0], other[0]) for one, other in itertools.combinations(places, 2)
            if all(one[at] < other[at] + other[at + 2] and other[at] < one[at] + one[at + 2] for at in (1, 2))] == []
    assert {one["datasource"]["uid"] for panel in panels for one in (panel, *panel["targets"])} == {"${datasource}"}
    assert {one["datasource"]["uid"] for one in variables(board).values()} == {"${datasource}"}


def test_the_table_of_domains_names_each_column_and_styles_no_other():
    [table] = [panel for panel in BOARDS["cdom-domains"]["panels"] if panel["type"] == "table"]
    assert {(target["instant"], target["format"]) for target in table["targets"]} == {(True, "table")}
    names = table["transformations"][1]["options"]["renameByName"]
    assert set(names) == {"namespace", "name", *(f"Value #{target['refId']}" for target in table["targets"])}
    assert {one["matcher"]["options"] for one in table["fieldConfig"]["overrides"]} <= set(names.values())


def test_the_map_of_racks_shows_the_state_of_each_clique_and_held_node(promtool, tmp_path):
    board = BOARDS["cdom-cliques"]
    maps = [panel for panel in board["panels"] if panel["type"] == "state-timeline"]
    nodes = {"all free": (4, 0, 0, 0), "some free": (1, 3, 0, 0), "none free": (0, 3, 1, 0), "unusable": (3, 0, 0, 1)}
    series = [(f'cdom_clique_nodes{{clique="{clique}",state="{state}"}}', number)
              for clique, numbers in nodes.items() for state, number in zip(("free", "held", "reserved", "unusable"), numbers)]
    ready = {"not ready": 0, "no report": None, "ready": 1}
    series += [(f'cdom_node_imex_expected{{namespace="team",name="train",node="{node}",clique="some free"}}', 1) for node in ready]
    series += [(f'cdom_node_imex_ready{{namespace="team",name="train",node="{node}"}}', value) for node, value in ready.items() if value is not None]
    wanted = [[(f'{{clique="{clique}"}}', value) for value, clique in enumerate(nodes)],
              [(f'{{clique="some free", node="{node}"}}', value) for value, node in enumerate(ready)]]
    for panel, samples in zip(maps, wanted, strict=True):
        [mapping] = panel["fieldConfig"]["defaults"]["mappings"]
        assert list(mapping["options"]) == [str(value) for _, value in samples]
    (tmp_path / RULES_TEST.name).write_text(yaml.safe_dump({"rule_files": ["rules.yaml"], "tests": [{
        "interval": "1m", "input_series": [{"series": one, "values": f"{value}x5"} for one, value in series],
        "promql_expr_test": [{"expr": chosen(panel["targets"][0]["expr"], board), "eval_time": "5m",
                              "exp_samples": [{"labels": labels, "value": value} for labels, value in samples]}
                             for panel, samples in zip(maps, wanted)]}]}))
    shutil.copy(RULES, tmp_path)
    tested = promtool("test", "rules", tmp_path / RULES_TEST.name)
    assert tested.returncode == 0, tested.stdout


def test_the_pod_monitor_of_the_plugin_takes_the_port_that_its_pods_have():
    (monitor,) = documents("monitoring/plugin-pod-monitor.yaml")
    (plugin,) = (one for one in documents("kubelet-plugin/daemon-set.yaml") if one["kind"] == "DaemonSet")
    labels = plugin["spec"]["template"]["metadata"]["labels"]
    assert monitor["spec"]["selector"]["matchLabels"].items() <= labels.items()
    ports = [port["name"] for container in plugin["spec"]["template"]["spec"]["containers"] for port in container.get("ports", [])]
    ports += [port["name"] for patch in documents("overlays/gpus/container.yaml")[0] for port in patch["value"].get("ports", [])]
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
