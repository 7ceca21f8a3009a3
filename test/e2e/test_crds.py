"""What the definitions of cdom's kinds refuse to each writer, and how kubectl shows them."""

import json
import re

import pytest
from objects import domain


def clique(index):
    entry = {"nodeName": "node-a", "ipAddress": "10.0.0.1", "cliqueID": "c", "index": index}
    return {"apiVersion": "resource.nvidia.com/v1beta1", "kind": "ComputeDomainClique",
            "metadata": {"name": "tried.c", "namespace": "cdom-system"}, "daemons": [entry]}


@pytest.mark.parametrize("index", [-1, 0, 9999])
def test_REV3_X13_a_clique_takes_an_index_of_four_digits(cluster, index):
    assert f'"index": {index}' in cluster.try_to_create(clique(index))


@pytest.mark.parametrize(("index", "why"), [(-2, "greater than or equal to -1"), (10000, "less than or equal to 9999"),
                                            (2**31, "less than or equal to 9999")])
def test_REV3_X13_a_clique_refuses_an_index_that_no_host_name_has(cluster, index, why):
    assert why in cluster.try_to_create(clique(index))


def has_status(cluster, name, ready, status):
    """A domain with such a status, as no controller runs here."""
    made = domain(name)
    cluster.apply(made)
    condition = {"type": "Ready", "status": ready, "reason": "Test", "message": "Of a test.",
                 "lastTransitionTime": "2026-01-01T00:00:00Z"}
    cluster.kubectl("patch", "computedomain", name, "--subresource=status", "--type=merge", "-p",
                    json.dumps({"status": {"status": status, "members": "0/0", "conditions": [condition]}}))


@pytest.fixture
def two_domains(cluster, no_controller):
    """One is Ready for NVIDIA and not by the condition, and the other the reverse; and one that no controller has seen."""
    has_status(cluster, "waits", "False", "Ready")
    has_status(cluster, "serves", "True", "NotReady")
    cluster.apply(domain("unseen"))
    yield
    cluster.kubectl("delete", "computedomain", "waits", "serves", "unseen")


def rows(cluster, *arguments):
    """{name: {column: value}} of what kubectl prints. A column may be empty."""
    head, *lines = cluster.kubectl("get", *arguments).splitlines()
    begins = [found.start() for found in re.finditer(r"\S+", head)]
    columns = list(zip(begins, [*begins[1:], None], strict=True))
    cells = [[line[begin:end].strip() for begin, end in columns] for line in lines]
    return {line[0]: dict(zip(head.split(), line, strict=True)) for line in cells}


@pytest.mark.usefixtures("two_domains")
def test_REV3_W3_column_ready_is_the_condition_and_nvidias_status_is_in_wide_output(cluster):
    narrow, wide = rows(cluster, "cdom"), rows(cluster, "cdom", "-o", "wide")
    assert {name: row["READY"] for name, row in narrow.items()} == {"waits": "False", "serves": "True", "unseen": ""}
    assert {name: row["READY"] for name, row in wide.items()} == {name: row["READY"] for name, row in narrow.items()}
    assert "STATUS" not in narrow["waits"]
    assert [wide["waits"]["STATUS"], wide["serves"]["STATUS"]] == ["Ready", "NotReady"]


@pytest.mark.usefixtures("two_domains")
def test_REV3_W3_field_selector_finds_domains_by_nvidias_status(cluster):
    def found(status):
        return cluster.kubectl("get", "cdom", "-A", "--field-selector", f"status.status={status}", "-o", "name")
    assert found("NotReady") == "computedomain.resource.nvidia.com/serves\n"
    assert found("Ready") == "computedomain.resource.nvidia.com/waits\n"


@pytest.mark.usefixtures("two_domains")
def test_REV3_W3_category_nvidia_lists_domains_and_cliques(cluster, tmp_path):
    made = clique(0)
    cluster.apply(made)
    # kubectl keeps the categories that it has seen for hours.
    names = cluster.kubectl("get", "nvidia", "-A", "-o", "name", "--cache-dir", tmp_path).split()
    assert {"computedomain.resource.nvidia.com/waits", "computedomainclique.resource.nvidia.com/tried.c"} <= set(names)
    cluster.kubectl("delete", "computedomainclique", "-n", "cdom-system", "tried.c")


def test_REV3_W3_explain_says_what_to_wait_for_and_what_nvidias_status_means(cluster):
    def explained(field):
        return " ".join(cluster.kubectl("explain", f"computedomain.status.{field}").split())
    conditions = explained("conditions")
    assert "To wait for it: kubectl wait --for=condition=MemoryShared." in conditions
    assert "Ready: the summary; also True before any pod has arrived." in conditions
    assert "--for=condition=Ready" not in conditions
    assert "It does not say that they are in one clique" in explained("status")
