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
    rows = re.findall(r'\{"([a-z/]+)", \{([^}]*)\}\}', (FIXTURES / "nvidias_rights.h").read_text())
    of_units = {resource: re.findall(r'"([a-z]+)"', verbs) for resource, verbs in rows}
    assert len(of_units) == 8
    assert of_units == permissions("test/fixtures/nvidia/controller-permissions.yaml", "chart-controller")
    assert of_units == permissions("test/cluster/realnodes/nvidia_chart.yaml", "chart-controller")


def test_nvidias_chart_does_not_let_the_plugin_patch_nodes():
    """NVIDIA/k8s-dra-driver-gpu, templates/rbac-kubeletplugin.yaml, in all versions since 25.8."""
    verbs = permissions("test/cluster/realnodes/nvidia_chart.yaml", "chart-kubeletplugin")["nodes"]
    assert verbs == ["get", "list", "watch", "update"]
