"""What is seen of cliques and domains from outside: Prometheus with the rules of manifests/monitoring over two replicas.

CDOM_PICTURE=FILE has the last case draw docs/dashboards.png.
"""

import json
import os
import re
import subprocess
import sys
import time
import urllib.request

import pytest
from cluster import REPO, Setup
from namespaces import Namespace
from objects import CLIQUE, domain, workers
from prometheus import MONITORING, RULES, Prometheus, free_port
from waiting import eventually

sys.path.insert(0, str(MONITORING))
from dashboards import BOARDS, chosen, queries, rows, variables  # noqa: E402

CLUSTER = Setup(nodes=16)
FLAGS = ("--leader-election-lease-duration", "12s", "--leader-election-renew-deadline", "10s", "--leader-election-retry-period", "1s",
         "--membership-writer", "controller")
PRICE = 98  # Of a node and hour.


def hurried(rules):
    """The rules in the time of a test: an alert waits for 2 s and looks back 40 s, and a node costs PRICE."""
    rules = re.sub(r"^    for: .*", "    for: 2s", rules, flags=re.MULTILINE).replace("[2m]", "[40s]")
    return rules.replace("vector(50)", f"vector({PRICE})")


class Replicas:
    """Two replicas of the controller by their names."""

    def __init__(self, cluster):
        self._cluster = cluster
        self.ports = {"replica-1": free_port(), "replica-2": free_port()}  # Of metrics over TLS.
        self._processes = {}
        for name in self.ports:
            self.start(name)
        eventually("a replica leads", self.leader)

    def start(self, name):
        (self._cluster.folder / f"{name}.log").write_text("")
        started = self._cluster.start_replica(name, *FLAGS, METRICS_SECURE_PORT=str(self.ports[name]))
        self._processes[name] = started
        eventually(f"{name} serves", lambda: started.says("Serving debug pages") and started.says("Serving metrics over TLS"))

    def leads(self, name):
        return self._processes[name].is_running() and self._processes[name].says("Reconciling")

    def leader(self):
        return next((name for name in self.ports if self.leads(name)), None)

    def kill(self, name):
        self._processes[name].kill()

    def cliques(self):
        """Of the leader's debug page (node, state, why) of each node."""
        port = re.findall(r"Serving debug pages.*?port[=\"]+(\d+)", self._processes[self.leader()].log.read_text())[-1]
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/debug/cliques", timeout=60) as answer:
            cliques = json.load(answer)
        return [(node["name"], node["state"], node.get("why")) for one in cliques for node in one["nodes"]]

    def end(self):
        for process in self._processes.values():
            process.end()


class World:
    """Two domains, each in a clique of its own: `train`, and `lazy`, which does nothing with its GPUs."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.replicas = Replicas(cluster)
        self.prometheus = Prometheus(cluster, self.replicas.ports.values(), hurried(RULES.read_text()))
        self.namespace = Namespace(cluster, "insight")
        self.namespace.create()
        self.one, self.other = self.clique_of("node-000"), self.clique_of("node-015")

    def clique_of(self, node):
        return self.cluster.get("node", node)["metadata"]["labels"][CLIQUE]

    def run_workers(self, name, count, clique):
        """A domain that is to be in one clique, and workers there."""
        placed, work = domain(name), workers(name, count, one_clique=True)
        placed["metadata"]["labels"] = {"cdom.dev/placement": "clique"}
        work["spec"]["template"]["spec"]["nodeSelector"] = {CLIQUE: clique}
        self.namespace.apply(placed, work)

    def end_workers(self, name):
        self.namespace.kubectl("delete", "deployment,computedomain", name, "--ignore-not-found", "--timeout=60s")

    def run_both(self):
        """As they are, or made again where a case has ended them."""
        self.end_workers("late")  # It would be all that their conditions speak of.
        self.run_workers("train", 4, self.one)
        self.run_workers("lazy", 2, self.other)
        self.namespace.is_in_step("train", 4, within=90)
        self.namespace.is_in_step("lazy", 2, within=90)
        self.prometheus.set_gpus({node: percent for name, percent in (("train", 90), ("lazy", 1))
                                  for node in self.namespace.members(name)})

    def end(self):
        for name in ("train", "lazy", "late"):
            self.end_workers(name)
        self.namespace.delete_it()
        self.prometheus.end(self.cluster)
        self.replicas.end()


@pytest.fixture(scope="module")
def insight(cluster):
    made = World(cluster)
    yield made
    made.end()


@pytest.fixture
def world(insight):
    insight.run_both()
    return insight


def test_objects_for_the_prometheus_operator_are_built(cluster):
    kinds = re.findall(r"^kind: (.*)", cluster.kubectl("kustomize", REPO / "manifests/monitoring"), re.MULTILINE)
    assert sorted(kinds) == ["ClusterRoleBinding", "ConfigMap", "PodMonitor", "PodMonitor", "PrometheusRule", "Secret", "ServiceAccount"]


def test_prometheus_shows_prices_waste_and_free_nodes(world):
    prometheus = world.prometheus
    prometheus.shows('cdom:domain_gpu_utilization:avg{namespace="insight",name="train"}', 0.9)
    prometheus.shows('cdom:domain_gpu_utilization:avg{name="lazy"}', 0.01)
    prometheus.shows(f'cdom:clique_gpu_utilization:avg{{clique="{world.one}"}}', 0.9)
    prometheus.shows('cdom:domain_price_per_hour{name="train"}', 4 * PRICE)
    prometheus.shows('cdom:domain_wasted_per_hour{name="train"}', 0)
    prometheus.shows('cdom:domain_wasted_per_hour{name="lazy"}', 2 * PRICE)
    prometheus.shows('cdom:namespace_price_per_hour{namespace="insight"}', 6 * PRICE)
    for clique, state, nodes in ((world.one, "free", 4), (world.one, "held", 4), (world.one, "unusable", 0),
                                 (world.other, "free", 6), (world.other, "held", 2), (world.other, "unusable", 0)):
        prometheus.shows(f'cdom:clique_nodes:max{{clique="{clique}",state="{state}"}}', nodes)
    prometheus.shows("cdom:largest_free_block:nodes", 6)
    prometheus.shows("cdom:fragmentation:ratio", 0.4)
    prometheus.shows("cdom:whole_free_cliques:count", 0)
    prometheus.shows("count(cdom_claim_wait_seconds_count > 0)", 1)
    prometheus.fires("CdomDomainGpusIdle", 'name="lazy"')
    assert prometheus.alerts("CdomDomainGpusIdle", 'name="train"') == []
    prometheus.shows('count(cdom_domain_ready{name="train"})', 1)  # Only one replica speaks of domains.


def test_the_table_of_the_dashboard_has_a_row_for_each_chosen_domain(world):
    board = BOARDS["cdom-domains"]
    [table] = [panel for panel in board["panels"] if panel["type"] == "table"]

    def shown(**values):
        return sorted(rows(table, {target["refId"]: world.prometheus.ask(chosen(target["expr"], board, **values)) for target in table["targets"]}),
                      key=lambda row: row["Domain"])
    counts = {"Ready": 1, "In use": 1, "Shared memory": 1, "Members leaving": 0, "Cliques": 1, "Pods waiting": 0, "Deletion blocked": 0, "Conflicted": 0}
    lazy, train = ({"Namespace": "insight", "Domain": name, **counts, **dict.fromkeys(("Members ready", "Members expected", "Nodes held"), members)}
                   for name, members in (("lazy", 2), ("train", 4)))
    eventually("rows", shown, [lazy, train], within=120)
    eventually("rows of one domain", lambda: shown(domain="train"), [train])
    eventually("rows of another namespace", lambda: shown(namespace="other"), [])


def test_variables_of_the_dashboards_list_what_there_is(world):
    def values(uid, name):
        board = BOARDS[uid]
        query, label = re.fullmatch(r"label_values\((.*), (\w+)\)", variables(board)[name]["query"]["query"]).groups()
        return {labels[label] for labels, _ in world.prometheus.ask(chosen(query, board))}
    eventually("namespaces", lambda: values("cdom-domains", "namespace"), {"insight"}, within=120)
    eventually("domains", lambda: values("cdom-domains", "domain"), {"lazy", "train"})
    eventually("cliques", lambda: values("cdom-cliques", "clique"), {world.one, world.other})


def test_alerts_of_a_killed_node_come_and_go_with_it(world):
    prometheus, nodesim = world.prometheus, world.cluster.nodesim
    members = {name: world.namespace.members(name) for name in ("train", "lazy")}
    held = members["train"][0]
    free = max(set(world.cluster.nodes()) - set(members["train"]) - set(members["lazy"]))
    alerts = ("CdomMembersMissing", "CdomDomainNotReady", "CdomNodesUnusable")
    eventually("alerts", lambda: {alert: prometheus.alerts(alert) for alert in alerts}, dict.fromkeys(alerts, []))
    try:
        nodesim.kill(held)
        nodesim.kill(free)
        prometheus.fires("CdomMembersMissing", 'namespace="insight",name="train"')
        prometheus.fires("CdomDomainNotReady", 'name="train"')
        prometheus.fires("CdomNodesUnusable", f'clique="{world.clique_of(free)}"')
        prometheus.shows(f'cdom:clique_nodes:max{{clique="{world.clique_of(free)}",state="unusable"}}', 1)
        assert (free, "unusable", "not ready") in world.replicas.cliques()
    finally:
        nodesim.revive(held)
        nodesim.revive(free)
    for alert in alerts:
        eventually(f"alerts {alert}", lambda alert=alert: prometheus.alerts(alert), [])


def test_REV4_4_domain_too_large_for_its_clique_names_free_nodes_until_it_fits(world):
    prometheus, namespace = world.prometheus, world.namespace
    world.run_workers("late", 6, world.one)
    namespace.says("late", "NoRoomInClique", kind="InUse", within=60, message=(
        rf"The pods of this domain are in clique {world.one}, .* nodes free there where these pods may run: 0, pods that wait: 2\. "
        r"Wait for nodes there: no other clique has 6 free nodes where these pods may run now\. "
        rf"Free nodes by clique: {world.other} 6 of 8, {world.one} 0 of 8\.$"))
    namespace.says("late", "NoRoomInClique", ".")
    namespace.tells("late", "Warning NoRoomInClique ")
    namespace.shows("late", ("Ready", "MemoryShared"), ready="False", shared="False", members="4/4")
    prometheus.shows('cdom_domain_pods_waiting{name="late"}', 2)
    prometheus.fires("CdomPodsWaiting", 'name="late"')
    world.end_workers("train")
    namespace.is_in_step("late", 6)
    namespace.says("late", "ClaimsReserved", "^Used by [^:]*$", kind="InUse")
    eventually("alerts CdomPodsWaiting", lambda: prometheus.alerts("CdomPodsWaiting"), [], within=120)
    world.end_workers("late")


def test_no_rule_fails_when_the_leader_is_killed(world):
    prometheus, replicas = world.prometheus, world.replicas
    prometheus.fires("CdomDomainGpusIdle", 'name="lazy"')
    begun = 'ALERTS_FOR_STATE{alertname="CdomDomainGpusIdle",name="lazy"}'
    since = prometheus.ask(begun)
    old = replicas.leader()
    (new,) = replicas.ports.keys() - {old}
    assert not replicas.leads(new)
    replicas.kill(old)
    try:
        eventually("the other one leads", lambda: replicas.leads(new))
        prometheus.shows('count(cdom_domain_ready{name="train"})', 1)
        prometheus.shows('cdom:domain_price_per_hour{name="train"}', 4 * PRICE)
        prometheus.shows('cdom:domain_wasted_per_hour{name="lazy"}', 2 * PRICE)
        assert prometheus.ask(begun) == since, "the alert has started again"
        metrics = prometheus.metrics()
        assert metrics["prometheus_rule_evaluations_total"] > 100
        assert metrics["prometheus_rule_evaluation_failures_total"] == 0
    finally:
        replicas.start(old)


def test_each_panel_of_the_dashboards_has_points(world):
    prometheus = world.prometheus
    prometheus.shows('cdom:domain_gpu_idle_nodes:sum{name="lazy"}', 2)
    # Another domain becomes ready while Prometheus looks on: rates of its times need an increase.
    world.end_workers("train")
    world.run_both()
    asked = [chosen(query, board) for board in BOARDS.values() for query in queries(board)]
    assert asked

    def without_points():
        now = time.time()
        return [query for query in asked if not set(prometheus.points(query, now - 120, now)) - {"NaN"}]
    eventually("queries of panels without points", without_points, [], within=120)
    if "CDOM_PICTURE" in os.environ:
        subprocess.run([MONITORING / "draw.py", prometheus.url, os.environ["CDOM_PICTURE"]], check=True)
