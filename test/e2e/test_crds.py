"""What the definitions of cdom's kinds refuse, whoever writes."""

import pytest


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
