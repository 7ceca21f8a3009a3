"""Fixtures that tests of two languages have are the same."""

import re

import one
import yaml

FIXTURES = one.REPO / "test/fixtures"


def test_nvidias_permissions_are_the_same_for_unit_tests_and_on_a_cluster():
    rows = re.findall(r'\{"([a-z/]+)", \{([^}]*)\}\}', (FIXTURES / "nvidias_rights.h").read_text())
    of_units = {resource: re.findall(r'"([a-z]+)"', verbs) for resource, verbs in rows}
    objects = yaml.safe_load_all((FIXTURES / "nvidia/controller-permissions.yaml").read_text())
    of_cluster = {resource: rule["verbs"] for made in objects if made["kind"] in ("ClusterRole", "Role")
                  for rule in made["rules"] for resource in rule["resources"]}
    assert len(of_units) == 8
    assert of_units == of_cluster
