"""Domains where IMEX runs on the hosts, as --imex-mode hostManaged says."""

import re

import pytest
from cluster import Setup
from namespaces import DRIVER, conditions
from objects import LABEL, domain, pod_on
from waiting import eventually

DAEMONS = ("--membership-writer", "controller")
ON_HOSTS = (*DAEMONS, "--imex-mode", "hostManaged", "--feature-gates", "HostManagedIMEXDaemon=true")
CLUSTER = Setup(nodes=16, nodesim=("--imex-on-hosts",), controller=DAEMONS)


def does_not_begin(cluster, flags, pattern):
    """A controller with these flags ends with status 1, and a message that matches."""
    cluster.end_controller()
    cluster.start_controller(*flags)
    eventually("the controller's exit status", cluster.controller.status, 1)
    assert re.search(f"Domains are served in the other --imex-mode.*{pattern}", cluster.controller_log())


@pytest.mark.usefixtures("nothing_is_left_in_shape")
def test_a_domain_is_served_by_imex_on_hosts_and_neither_mode_begins_over_the_other(cluster, namespace):
    namespace.apply(domain("daemons"))
    namespace.is_idle("daemons")
    does_not_begin(cluster, ON_HOSTS, f"DaemonSet {DRIVER}/{namespace.daemon_set('daemons')}")
    cluster.run_controller(*DAEMONS)
    namespace.delete("computedomain", "daemons")

    cluster.run_controller(*ON_HOSTS)
    namespace.apply(domain("hosted"), pod_on("hosted", "node-004", "hosted-channel"))
    eventually("where the pod runs", lambda: [namespace.get("pod", "hosted")[part][field] for part, field in (
        ("status", "phase"), ("spec", "nodeName"))], ["Running", "node-004"])
    used = re.compile(r"^IMEX runs on the hosts.* Pods use it on node-004\.$")
    status = eventually("status", lambda: namespace.status("hosted"),
                        lambda status: used.search(conditions(status)["MembersReady"]["message"]))
    assert (status["status"], status.get("nodes", []), status.get("members", "")) == ("Ready", [], "")
    said = conditions(status)
    assert (said["MembersReady"]["reason"], said["MembersReady"]["status"], said["Ready"]["status"]) == ("HostManaged", "Unknown", "True")
    assert (said["Ready"]["reason"], said["Provisioned"]["message"]) == ("HostManaged", "The claim template exists.")
    assert cluster.kubectl("get", "daemonsets,computedomaincliques", "-n", DRIVER, "-o", "name") == ""
    assert cluster.kubectl("get", "nodes", "-l", LABEL, "-o", "name") == ""
    assert [one["metadata"]["name"] for one in cluster.list("resourceclaimtemplates", "")] == ["hosted-channel"]

    does_not_begin(cluster, DAEMONS, f"ComputeDomain {namespace.name}/hosted")
    cluster.run_controller(*ON_HOSTS)
    namespace.delete("pod", "hosted")
    namespace.delete("computedomain", "hosted")
    cluster.run_controller(*DAEMONS)
