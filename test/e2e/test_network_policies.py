"""Each port that a pod of ours listens on is covered by one rule of one NetworkPolicy, and no rule opens another port.

What is compared is what manifests and settings say. test_real_nodes.py compares the ports on which processes listen.
"""

import re

import pytest
from cluster import REPO
from kustomizations import built
from objects import domain
from waiting import eventually

KUSTOMIZATIONS = ("standalone", "kubelet-plugin", "release-finalizers")
IMEX_PORTS = ("SERVER_PORT", "IMEX_CMD_PORT")


def selects(selector, labels):
    """Whether a label selector of Kubernetes takes them. Operators that no policy of ours has are refused."""
    for one in selector.get("matchExpressions", []):
        assert one["operator"] == "Exists", f"this test does not know {one}"
        if one["key"] not in labels:
            return False
    return all(labels.get(key) == value for key, value in selector.get("matchLabels", {}).items())


def ports_of(pod):
    """Number by name, of all containers. A port without a name has its number for it."""
    return {port.get("name", str(port["containerPort"])): port["containerPort"]
            for container in pod["spec"]["containers"] for port in container.get("ports", [])}


def imex_ports():
    text = (REPO / "node/imex/imexd.cfg.tmpl").read_text()
    return {name: int(re.search(f"^{name}=(\\d+)$", text, re.MULTILINE)[1]) for name in IMEX_PORTS}


@pytest.fixture(scope="module")
def shipped(cluster):
    """All objects that the manifests make, but not those of the controller."""
    return [one for folder in KUSTOMIZATIONS for one in built(cluster, REPO / "manifests" / folder)]


@pytest.fixture(scope="module")
def pods(cluster, shipped):
    """Name, namespace, labels and listening ports (number by name) of each kind of pod."""
    found = [(one["metadata"]["name"], one["metadata"]["namespace"], one["spec"]["template"]["metadata"]["labels"],
              ports_of(one["spec"]["template"]))
             for one in shipped if one["kind"] in ("Deployment", "DaemonSet", "Job")]
    assert len(found) == 3
    for writer in ("daemon", "controller"):
        name = f"ports-{writer}"
        cluster.run_controller("--membership-writer", writer)
        cluster.apply(domain(name))

        def daemon_sets(uid):
            return cluster.list("daemonsets", "cdom-system", f"resource.nvidia.com/computeDomain={uid}")
        uid = cluster.get("computedomain", name)["metadata"]["uid"]
        made = eventually("the domain has a DaemonSet", lambda uid=uid: daemon_sets(uid))[0]
        found.append((name, "cdom-system", made["spec"]["template"]["metadata"]["labels"],
                      {**ports_of(made["spec"]["template"]), **imex_ports()}))
        cluster.kubectl("delete", "computedomain", name, "--timeout=60s")
    return found


def rules_for(shipped, namespace, labels):
    """Of all policies that select such a pod. None selects it: an empty list, and all its ports are open."""
    policies = [one["spec"] for one in shipped
                if one["kind"] == "NetworkPolicy" and one["metadata"]["namespace"] == namespace and
                selects(one["spec"]["podSelector"], labels) and "Ingress" in one["spec"]["policyTypes"]]
    assert len(policies) == 1, f"{len(policies)} policies select the pod {labels}"
    return policies[0].get("ingress", [])


def test_REV3_X9_each_port_of_a_pod_has_one_rule_and_no_rule_opens_another(shipped, pods):
    for name, namespace, labels, ports in pods:
        rules = rules_for(shipped, namespace, labels)
        opened = [port["port"] for rule in rules for port in rule["ports"]]
        numbers = [ports[port] if port in ports else port for port in opened]
        assert sorted(numbers) == sorted(ports.values()), f"{name} listens on {ports}, and the rules open {opened}"
        # No endPort, and no number for a name.
        assert all(port.keys() == {"protocol", "port"} and port["protocol"] == "TCP"
                   for rule in rules for port in rule["ports"])


def test_REV3_X9_no_rule_is_for_everybody(shipped, pods):
    for name, namespace, labels, _ in pods:
        for rule in rules_for(shipped, namespace, labels):
            assert rule.get("from"), f"{name}: anybody may talk to {rule['ports']}"
            for peer in rule["from"]:
                assert peer["namespaceSelector"].get("matchLabels"), f"{name}: {peer} is every namespace"


def test_REV3_X9_daemons_talk_to_daemons_of_driver_namespaces(shipped, pods):
    labels = next(labels for name, _, labels, _ in pods if name == "ports-daemon")
    namespace = next(one["metadata"] for one in shipped if one["kind"] == "Namespace" and
                     one["metadata"]["name"] == "cdom-system")
    [rule] = rules_for(shipped, "cdom-system", labels)
    [peer] = rule["from"]
    assert selects(peer["podSelector"], labels)
    assert not selects(peer["podSelector"], {"app": "somebody-else's"})
    assert selects(peer["namespaceSelector"], namespace["labels"])
    assert not selects(peer["namespaceSelector"], {"kubernetes.io/metadata.name": "team"})


def test_REV3_X9_an_address_in_the_settings_is_a_port_of_the_pod(pods):
    for folder, name in (("controller", "cdom-controller"), ("kubelet-plugin", "cdom-kubelet-plugin")):
        text = (REPO / "manifests" / folder / "settings.env").read_text()
        listens = {int(port) for host, port in re.findall(r"^[A-Z_]+=([^#\n]*):(\d+)$", text, re.MULTILINE)
                   if not host.startswith("127.")}
        ports = next(ports for found, _, _, ports in pods if found == name)
        assert listens and listens <= set(ports.values()), f"{name} listens on {listens}, and its pod has {ports}"
