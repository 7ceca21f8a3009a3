"""What controller and daemons ask of the API server: who they are there, and that it finds nothing invalid.

The same is looked at after each module that uses the fixture requests_are_allowed.
"""

import re

import pytest
from cluster import ACCOUNT, DAEMONS, Setup
from namespaces import DRIVER, Namespaces, daemons_on
from objects import LABEL, domain, pod_on
from requests_of import accounts, answered, of_controllers, of_daemons
from waiting import eventually

CLUSTER = Setup(nodes=16, placement=True)


@pytest.fixture(scope="module")
def entries(cluster):
    """All requests during a life with each membership writer, in which a daemon is deleted."""
    since, made = cluster.audit_size(), Namespaces(cluster)
    for writer in ("daemon", "controller"):
        cluster.controller_with("--membership-writer", writer)
        own = made(f"asked-by-{writer}")
        own.apply(domain("asks"), pod_on("asks", "node-001", "asks-channel"))
        own.is_used("asks")
        was = daemons_on(cluster, "node-001")
        cluster.kubectl("delete", "pods", "-n", DRIVER, "-l", LABEL, "--field-selector", "spec.nodeName=node-001", "--wait=false")
        eventually("another daemon", lambda was=was: daemons_on(cluster, "node-001"), lambda now, was=was: now and now != was)
        own.is_used("asks")
        own.clear()
    made.delete()
    return cluster.audit_entries(since)


def test_the_controller_uses_one_identity(entries):
    assert accounts(of_controllers(entries)) == {ACCOUNT}


def test_the_api_server_finds_no_write_of_the_controller_invalid(entries):
    """By its schemas and its rules, of whatever kind; and status and cliques are written."""
    own = of_controllers(entries)
    assert answered(own, 400, 422) == []
    assert [one for one in answered(own, 200) if "computedomains/status" in one]
    assert [one for one in answered(own, 200, 201) if re.match("(create|update|patch) computedomaincliques/ ", one)]


def test_the_daemons_use_their_own_account_and_are_refused_nothing(entries):
    own = of_daemons(entries)
    assert accounts(own) == {DAEMONS}
    assert answered(own, 403) == []
    assert answered(own, 200)
