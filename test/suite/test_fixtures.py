"""Fixtures that tests of two languages have are the same."""

import re

import one
import yaml

FIXTURES = one.REPO / "test/fixtures"


def permissions(path, role):
    """Resource and verbs of each rule of the roles of that name in the file."""
    objects = yaml.safe_load_all((one.REPO / path).read_text())
    return {resource: rule["verbs"] for made in objects
            if made["kind"] in ("ClusterRole", "Role") and made["metadata"]["name"] == role
            for rule in made["rules"] for resource in rule["resources"]}


def test_nvidias_permissions_are_the_same_for_unit_tests_and_on_a_cluster():
    rows = re.findall(r'\{"([a-z/]+)", \{([^}]*)\}\}', (FIXTURES / "nvidia_permissions.h").read_text())
    of_units = {resource: re.findall(r'"([a-z]+)"', verbs) for resource, verbs in rows}
    assert len(of_units) == 8
    assert of_units == permissions("test/fixtures/nvidia/controller-permissions.yaml", "chart-controller")
    assert of_units == permissions("test/cluster/realnodes/nvidia_chart.yaml", "chart-controller")


def test_the_chart_of_nvidias_driver_up_to_0_4_1_does_not_let_the_plugin_patch_nodes():
    """kubernetes-sigs/dra-driver-nvidia-gpu, templates/rbac-kubeletplugin.yaml, releases 25.8.1, 25.12.0 and 0.4.1. The main branch grants
    it since 2026-07-13, and so 0.5.0."""
    verbs = permissions("test/cluster/realnodes/nvidia_chart.yaml", "chart-kubeletplugin")["nodes"]
    assert verbs == ["get", "list", "watch", "update"]


def vector(name):
    """The lines of a file of NVIDIA's driver, without those that say its version."""
    return [line for line in (FIXTURES / "nvidia" / name).read_text().splitlines() if not line.startswith("#")]


def test_cdom_knows_the_feature_gates_of_nvidias_driver_and_their_defaults():
    source = (one.REPO / "controller/api/feature_gates.cc").read_text()
    of_domains = dict(re.findall(r'\{\.name = "(\w+)",\s+\.by_default = (\w+)', source))
    others = re.findall(r'"(\w+)"', re.search(r"kNotOfDomains = .*?;", source, re.DOTALL)[0])
    page = (one.REPO / "docs/nvidia-chart.md").read_text()
    gates = dict(line.split("=") for line in vector("feature_gates.txt"))
    assert {name: default for name, default in gates.items() if of_domains.get(name, default) != default} == {}
    assert [name for name in gates if name not in of_domains and name not in others] == []
    assert [name for name in gates if not re.search(rf"`{name}[=`]", page)] == []


def test_cdom_has_the_metrics_of_nvidias_driver_with_their_labels():
    rows = re.findall(r"^\| `(nvidia_dra_\w+)` \| (\w+): ([^|]*) \|", (one.REPO / "docs/metrics.md").read_text(), re.MULTILINE)
    assert sorted(f"{name} {kind} {' '.join(re.findall(r'`(.*?)`', labels))}" for name, kind, labels in rows) == vector("metrics.txt")
