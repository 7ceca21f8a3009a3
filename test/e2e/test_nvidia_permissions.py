"""The controller with only the permissions that NVIDIA's chart grants, in test/fixtures/nvidia/controller-permissions.yaml."""

import collections
import json
import re

import pytest
from cluster import REPO, Setup
from namespaces import Namespace
from snapshot import difference, snapshot
from waiting import eventually

CLUSTER = Setup(cliques=1, nodesim=("--job-duration", "12000"), placement=True)  # The example's workers are to be in one clique.
ACCOUNT = "system:serviceaccount:cdom-system:chart-service-account-controller"  # Ends as that of the chart.
CHART = REPO / "test/fixtures/nvidia/controller-permissions.yaml"
EXAMPLE = REPO / "examples/quickstart.yaml"
ONCE_MAX, FIRST_MAX, AGAIN_MAX = 14, 40, 14  # Refused requests: of a kind, in a first life of a domain, in a second.
REFUSED = re.compile("(patch|create) (computedomains|computedomains/status|nodes|events)|get namespaces|delete computedomaincliques|"
                     "list resource(claims|slices)|get mutatingadmissionpolicybindings")


class Chart:
    """A controller that runs as the chart's account."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.refused_in_first_life = None
        config = json.loads(cluster.controller_config.read_text())
        token = cluster.kubectl("create", "token", "chart-service-account-controller", "-n", "cdom-system", "--duration", "2h").strip()
        config["users"][0]["user"] = {"token": token}
        kubeconfig = cluster.folder / "chart.kubeconfig"
        kubeconfig.write_text(json.dumps(config))
        cluster.run_controller(kubeconfig=kubeconfig)

    def refused(self):
        """ "VERB RESOURCE/SUBRESOURCE" of each of its requests that was refused."""
        return [f"{one['verb']} " + "/".join(one["objectRef"][key] for key in ("resource", "subresource") if key in one["objectRef"])
                for one in self.cluster.requests_of(ACCOUNT) if one["responseStatus"]["code"] == 403]

    def first_life(self):
        """Of a domain under this controller; once, however often it is asked for."""
        if self.refused_in_first_life is None:
            self.life()
            self.refused_in_first_life = len(self.refused())

    def life(self):
        """A domain is made, used and deleted, and leaves nothing."""
        cluster, default, before = self.cluster, Namespace(self.cluster, "default"), snapshot(self.cluster)
        cluster.kubectl("apply", "-f", EXAMPLE)
        default.says("quickstart", "AllMembersReady", "4/4", within=60)
        (clique,) = cluster.list("computedomaincliques", "cdom-system")
        assert clique["metadata"]["ownerReferences"][0]["kind"] == "Pod"
        assert default.says("quickstart", "PermissionMissing", "the use of the domain is unknown", kind="InUse")["status"] == "Unknown"
        # Its job may run as long as a node has its label.
        default.kubectl("delete", "computedomain", "quickstart", "--wait=false")
        default.says("quickstart", "DeletionBlocked", "waits for pods on node-", kind="DeletionBlocked")
        eventually("workers that have succeeded", lambda: default.get("job", "quickstart")["status"].get("succeeded"), 4, within=120)
        cluster.kubectl("delete", "-f", EXAMPLE, "--ignore-not-found", "--timeout=90s")
        eventually("what differs from before", lambda: difference(before, snapshot(cluster)), [], within=60)


@pytest.fixture(scope="module")
def chart(cluster):
    cluster.kubectl("delete", "-k", REPO / "manifests/policies")  # NVIDIA's chart has others.
    cluster.kubectl("apply", "-f", CHART)
    yield Chart(cluster)
    cluster.end_controller()
    cluster.kubectl("delete", "-f", CHART)
    cluster.kubectl("apply", "-k", REPO / "manifests/policies")


def test_domain_works_and_ends_with_the_permissions_of_nvidias_chart(chart):
    chart.first_life()


def test_each_missing_permission_is_logged_once_with_what_it_costs(chart):
    chart.first_life()
    log = chart.cluster.controller_log()
    patterns = [rf'Continuing without a permission.*permission="{permission}".*cost='
                for permission in ("patch computedomains", "patch computedomains/status", "delete computedomaincliques")]
    patterns += [rf'Cannot list a resource.*resource="{name}\.resource\.k8s\.io.*; without it '
                 for name in ("resourceclaims", "resourceslices")]
    patterns += ["Events were lost"]
    assert {pattern: len(re.findall(pattern, log)) for pattern in patterns} == dict.fromkeys(patterns, 1)


def test_refused_requests_are_rarely_sent_again(chart):
    chart.first_life()
    assert 0 < chart.refused_in_first_life <= FIRST_MAX, collections.Counter(chart.refused())
    # By now it knows, but asks now and then.
    before = len(chart.refused())
    chart.life()
    found = collections.Counter(chart.refused())
    assert {what: count for what, count in found.items() if count > ONCE_MAX} == {}
    assert found.total() - before <= AGAIN_MAX, found


def test_only_permissions_that_the_chart_lacks_are_refused(chart):
    chart.first_life()
    found = set(chart.refused())
    assert found
    assert {one for one in found if not REFUSED.fullmatch(one)} == set()
