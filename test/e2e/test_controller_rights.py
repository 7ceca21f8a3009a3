"""Each permission of the controller is needed: without it the controller names it when it comes to that work.

The permissions are read from manifests/, so a new one fails here until WORK has a row for it.
"""

import pytest
from cluster import ACCOUNT
from endpoint import Endpoint
from objects import domain, workers
from requests_of import answered
from permissions import CONTROLLER, DAEMON, LABEL, OTHERS, PLUGIN, Roles, rights_by, shipped_roles
from waiting import eventually

NOBODY = "0c6b2f0e-7b1d-4f39-8a55-3f3d0a4a9e10"
RIGHTS = rights_by(CONTROLLER)


class World:
    """A domain `kept` with two members, which no controller serves until serve() is called."""

    def __init__(self, cluster):
        self.cluster = cluster
        self._made = []
        self.serve()
        cluster.apply(domain("kept"), workers("kept", 2))
        eventually("the domain serves", lambda: cluster.condition("kept", "Ready").get("status"), "True", within=120)
        cluster.end_controller()
        self.kept_set = f"computedomain-daemon-{self.uid_of('kept')}"

    def uid_of(self, name):
        return self.cluster.get("computedomain", name)["metadata"]["uid"]

    def new_domain(self):
        """Returns its name."""
        name = f"fresh-{len(self._made)}"
        self._made.append(name)
        self.cluster.apply(domain(name))
        return name

    def new_served_domain(self):
        """Returns its name and UID. A controller has made its children, and has ended."""
        name = self.new_domain()
        self.serve()
        uid = self.uid_of(name)
        eventually("its DaemonSet is made",
                   lambda: self.cluster.get("daemonset", f"computedomain-daemon-{uid}", "cdom-system"))
        self.cluster.end_controller()
        return name, uid

    def serve(self, *flags):
        self.cluster.start_controller("--membership-writer", "controller", "-v", "4", *flags)

    def delete_domains(self):
        """Deletes all but `kept`. The controller that is started next finishes that."""
        self.cluster.kubectl("delete", "resourcequota", "no-pods", "-n", "cdom-system", "--ignore-not-found")
        for kind in ("deployment", "computedomain") if self._made else ():
            self.cluster.kubectl("delete", kind, *self._made, "-n", "default", "--wait=false", "--ignore-not-found")


@pytest.fixture(scope="module")
def roles(cluster):
    return Roles(cluster)


@pytest.fixture(scope="module")
def world(cluster):
    made = World(cluster)
    yield made
    made.serve()
    cluster.kubectl("delete", "deployments", "--all", "--timeout=90s")
    cluster.kubectl("delete", "computedomains", "--all", "--timeout=90s")


# --- Work for a controller that is started after it, or by it

def start(world):
    world.serve()


def start_without_a_lease(world):
    world.cluster.kubectl("delete", "lease", "cdom-controller", "-n", "cdom-system", "--ignore-not-found")
    world.serve()


def make_a_domain(world):
    world.new_domain()
    world.serve()


def make_a_clique(world):
    name = world.new_domain()
    world.cluster.apply(workers(name, 1))
    world.serve()


def add_a_member(world):
    world.cluster.kubectl("scale", "deployment", "kept", "--replicas=3")
    world.serve()


def label_the_template_again(world):
    world.cluster.kubectl("label", "resourceclaimtemplate", "kept-channel", f"{LABEL}-")
    world.serve()


def label_the_daemon_set_again(world):
    world.cluster.kubectl("label", "daemonset", world.kept_set, "-n", "cdom-system", f"{LABEL}-")
    world.serve()


def correct_the_daemon_set(world):
    world.cluster.kubectl("annotate", "daemonset", world.kept_set, "-n", "cdom-system",
                          "cdom.dev/template-hash=other", "--overwrite")
    world.serve()


def replace_an_outdated_daemon(world):
    _, uid = world.new_served_domain()
    world.cluster.kubectl("label", "node", "node-007", f"{LABEL}={uid}", "--overwrite")
    eventually("the domain has a daemon", lambda: world.cluster.list("pods", "cdom-system", f"{LABEL}={uid}"))
    world.serve("--image-name", "cdom:0.1.1")


def remove_a_stale_label(world):
    world.cluster.kubectl("label", "node", "node-006", f"{LABEL}={NOBODY}", "--overwrite")
    world.serve()


def remove_a_stale_label_twice(world):
    world.serve()
    for _ in range(2):
        world.cluster.kubectl("label", "node", "node-006", f"{LABEL}={NOBODY}", "--overwrite")
        eventually("the label is removed",
                   lambda: LABEL not in world.cluster.get("node", "node-006")["metadata"]["labels"])


def explain_a_pending_pod(world):
    name = world.new_domain()
    pending = workers(name, 1)
    pending["spec"]["template"]["spec"]["nodeSelector"] = {"no": "node"}
    world.cluster.apply(pending)
    world.serve()


def lack_the_pod_of_a_daemon(world):
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "no-pods", "namespace": "cdom-system"},
             "spec": {"hard": {"pods": "0"}}}
    world.cluster.apply(quota)
    eventually("the quota has counted",
               lambda: "hard" in world.cluster.get("resourcequota", "no-pods", "cdom-system").get("status", {}))
    make_a_clique(world)


def delete_a_domain(world):
    name, uid = world.new_served_domain()
    world.cluster.apply({"apiVersion": "resource.nvidia.com/v1beta1", "kind": "ComputeDomainClique", "daemons": [],
                         "metadata": {"name": f"{uid}.c", "namespace": "cdom-system",
                                      "labels": {LABEL: uid, f"{LABEL}.cliqueID": "c"}}})
    world.cluster.kubectl("delete", "computedomain", name, "-n", "default", "--wait=false")
    world.serve()


def judge_a_token(world):
    endpoint = Endpoint(world.cluster)
    assert endpoint.metrics(world.cluster.kubectl("create", "token", "default", "-n", "default").strip())[0] == 503


WORK = {
    ("list", "computedomains"): start,
    ("watch", "computedomains"): start,
    ("get", "computedomains"): delete_a_domain,
    ("patch", "computedomains"): make_a_domain,
    ("patch", "computedomains/status"): make_a_domain,
    ("list", "resourceclaimtemplates"): start,
    ("watch", "resourceclaimtemplates"): start,
    ("get", "resourceclaimtemplates"): label_the_template_again,
    ("create", "resourceclaimtemplates"): make_a_domain,
    ("patch", "resourceclaimtemplates"): label_the_template_again,
    ("delete", "resourceclaimtemplates"): delete_a_domain,
    ("list", "resourceclaims"): start,
    ("watch", "resourceclaims"): start,
    ("list", "resourceslices"): start,
    ("watch", "resourceslices"): start,
    ("get", "mutatingadmissionpolicybindings"): start,
    ("list", "nodes"): start,
    ("watch", "nodes"): start,
    ("patch", "nodes"): remove_a_stale_label,
    ("create", "events"): remove_a_stale_label,
    ("patch", "events"): remove_a_stale_label_twice,
    ("list", "events"): lack_the_pod_of_a_daemon,
    ("list", "daemonsets"): start,
    ("watch", "daemonsets"): start,
    ("get", "daemonsets"): label_the_daemon_set_again,
    ("create", "daemonsets"): make_a_domain,
    ("patch", "daemonsets"): correct_the_daemon_set,
    ("delete", "daemonsets"): delete_a_domain,
    ("get", "pods"): explain_a_pending_pod,
    ("list", "pods"): start,
    ("watch", "pods"): start,
    ("delete", "pods"): replace_an_outdated_daemon,
    ("list", "computedomaincliques"): start,
    ("watch", "computedomaincliques"): start,
    ("create", "computedomaincliques"): make_a_clique,
    ("patch", "computedomaincliques"): add_a_member,
    ("delete", "computedomaincliques"): delete_a_domain,
    ("get", "namespaces"): start,
    ("create", "leases"): start_without_a_lease,
    ("get", "leases"): start,
    ("update", "leases"): start,
    ("create", "tokenreviews"): judge_a_token,
    ("create", "subjectaccessreviews"): judge_a_token,
}
# The controller says nothing of these; the audit log alone shows the refusal.
SILENT = {("get", "pods"): "the message of a pending pod lacks the scheduler's words, and nothing else changes"}


def test_REV3_X14_each_role_of_the_manifests_is_tried_somewhere():
    assert {role for _, role, _ in shipped_roles()} == {*CONTROLLER, *PLUGIN, *DAEMON, *OTHERS}


def test_REV3_X14_each_right_of_the_controller_has_its_work():
    assert set(WORK) == {(one.verb, one.resource) for one in RIGHTS}
    assert set(SILENT) <= set(WORK)


def test_REV3_X14_the_roles_on_the_cluster_are_those_that_are_tried(roles):
    assert roles.granted(RIGHTS) == sorted(RIGHTS)


def test_REV3_X14_with_all_rights_the_controller_lacks_none(cluster, world):
    since = cluster.audit_size()
    make_a_domain(world)
    eventually("the controller reconciles", lambda: cluster.controller_says("Reconciling"))
    delete_a_domain(world)
    eventually("all domains are deleted but one",
               lambda: [one["metadata"]["name"] for one in cluster.list("computedomains", "default")] == ["kept"]
               or world.delete_domains())
    own = cluster.requests_of(ACCOUNT, since)
    assert len(own) > 20
    assert answered(own, 403) == []


@pytest.mark.parametrize("right", RIGHTS, ids=str)
def test_REV3_X14_the_controller_names_the_right_that_it_lacks(cluster, world, roles, right):
    cluster.end_controller()
    what = right.verb, right.resource
    try:
        roles.show_needed(right, ACCOUNT, lambda: WORK[what](world),
                          None if what in SILENT else (cluster.folder / "controller.log").read_text)
    finally:
        cluster.end_controller()
        world.delete_domains()
