"""Each permission of the IMEX daemons that cdom's own daemon uses is needed: without it the daemon names it.

The permissions are read from manifests/, so a new one fails here until WORK or OF_NVIDIAS_DAEMON has a row for it.
"""

import json

import pytest
from cluster import REPO
from process import Process
from permissions import DAEMON, LABEL, Roles, rights_by
from waiting import eventually

ACCOUNT = "system:serviceaccount:cdom-system:compute-domain-daemon-service-account"
RIGHTS = rights_by(DAEMON)
NODE, CLIQUE = "with-a-daemon", "f0e1.7"
UID = "0c3b2d84-7a1f-4d1e-9d5a-1f2e3d4c5b6a"
POD = f"computedomain-daemon-{UID}-aaaaa"


class Daemon:
    """A daemon as a process with the token of its pod, and an IMEX that does nothing."""

    def __init__(self, cluster, programs, folder):
        self._cluster = cluster
        self._programs = programs
        self._folder = folder
        (folder / "imexd.cfg.tmpl").write_text((REPO / "node/imex/imexd.cfg.tmpl").read_text())
        (folder / "nvidia-imex").write_text("#!/bin/sh\nexec sleep infinity\n")
        (folder / "nvidia-imex-ctl").write_text("#!/bin/sh\necho READY\n")
        for name in ("nvidia-imex", "nvidia-imex-ctl"):
            (folder / name).chmod(0o755)

    def run(self, writer, clique=False):
        """`writer` of the clique's entries: "daemon" or "controller". Pod and log are new, and the clique if there is one."""
        self._delete()
        if clique:
            self._make_the_clique()
        labels = {LABEL: UID, **({"cdom.dev/membership-writer": writer} if writer == "controller" else {})}
        self._cluster.apply({"apiVersion": "v1", "kind": "Pod",
                             "metadata": {"name": POD, "namespace": "cdom-system", "labels": labels},
                             "spec": {"nodeName": NODE, "serviceAccountName": ACCOUNT.rpartition(":")[2],
                                      "containers": [{"name": "c", "image": "i"}]}})
        uid = self._cluster.get("pod", POD, "cdom-system")["metadata"]["uid"]
        config = json.loads(self._cluster.kubectl("config", "view", "--raw", "-o", "json"))
        config["users"][0]["user"] = {"token": self._cluster.kubectl(
            "create", "token", ACCOUNT.rpartition(":")[2], "-n", "cdom-system", "--bound-object-kind", "Pod",
            "--bound-object-name", POD, "--bound-object-uid", uid).strip()}
        (self._folder / "kubeconfig").write_text(json.dumps(config))
        (self._folder / "hosts").write_text("127.0.0.1 localhost\n")
        (self._folder / "daemon.log").write_text("")
        self._process = Process("daemon", [self._programs / "compute-domain-daemon", "-v", "4", "run"], self._folder, {
            "IMEX_PROGRAM": str(self._folder / "nvidia-imex"), "IMEX_CTL_PROGRAM": str(self._folder / "nvidia-imex-ctl"),
            "IMEX_FOLDER": str(self._folder), "HOSTS_FILE": str(self._folder / "hosts"),
            "KUBECONFIG": str(self._folder / "kubeconfig"), "CLIQUE_ID": CLIQUE, "COMPUTE_DOMAIN_UUID": UID,
            "COMPUTE_DOMAIN_NAME": "train", "NODE_NAME": NODE, "POD_IP": "127.8.0.1", "POD_UID": uid,
            "POD_NAME": POD, "POD_NAMESPACE": "cdom-system", "MAX_NODES_PER_IMEX_DOMAIN": "18"})

    def log(self):
        """What it has written since run()."""
        return self._process.log.read_text() + self._process.out.read_text()

    def end(self):
        self._process.end()
        self._delete()

    def _make_the_clique(self):
        self._cluster.apply({"apiVersion": "resource.nvidia.com/v1beta1", "kind": "ComputeDomainClique", "daemons": [],
                             "metadata": {"name": f"{UID}.{CLIQUE}", "namespace": "cdom-system", "labels": {
                                 LABEL: UID, f"{LABEL}.cliqueID": CLIQUE}}})

    def _delete(self):
        self._cluster.kubectl("delete", "pod", POD, "-n", "cdom-system", "--force", "--grace-period=0", "--ignore-not-found")
        clique = ("computedomaincliques", f"{UID}.{CLIQUE}", "-n", "cdom-system")
        if self._cluster.kubectl("get", *clique, "--ignore-not-found"):
            self._cluster.kubectl("annotate", *clique, "cdom.dev/allow-deletion=true", "--overwrite")
            self._cluster.kubectl("delete", *clique)


@pytest.fixture(scope="module")
def roles(cluster):
    return Roles(cluster)


@pytest.fixture(scope="module")
def daemon(cluster, programs, tmp_path_factory):
    cluster.end_controller()
    cluster.apply({"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE}})
    yield Daemon(cluster, programs, tmp_path_factory.mktemp("daemon"))
    cluster.kubectl("delete", "node", NODE)


# --- Work for a daemon

def start(daemon):
    daemon.run("controller")


def make_the_clique(daemon):
    daemon.run("daemon")


def join_the_clique(daemon):
    daemon.run("daemon", clique=True)


WORK = {
    ("patch", "pods"): start,
    ("list", "pods"): make_the_clique,
    ("watch", "pods"): make_the_clique,
    ("list", "computedomaincliques"): start,
    ("watch", "computedomaincliques"): start,
    ("create", "computedomaincliques"): make_the_clique,
    ("get", "computedomaincliques"): join_the_clique,
    ("update", "computedomaincliques"): join_the_clique,
}
# cdom's daemon asks for none of these. The controller may be set to run NVIDIA's image, whose releases do.
OF_NVIDIAS_DAEMON = {
    ("patch", "computedomaincliques"): "some of its releases write their entry by a patch instead of an update",
    ("get", "pods"): "it reads its own pod to learn when that is ready",
    ("get", "computedomains"): "it reads the domain that it serves",
    ("list", "computedomains"): "it watches the domain that it serves",
    ("watch", "computedomains"): "it watches the domain that it serves",
}


def test_REV3_X14_each_right_of_the_daemons_has_its_work_or_its_reason():
    assert sorted([*WORK, *OF_NVIDIAS_DAEMON]) == sorted((one.verb, one.resource) for one in RIGHTS)


def test_REV3_X14_the_roles_on_the_cluster_are_those_of_the_daemons_that_are_tried(roles):
    assert roles.granted(RIGHTS) == sorted(RIGHTS)


@pytest.mark.parametrize("right", [one for one in RIGHTS if (one.verb, one.resource) in WORK], ids=str)
def test_REV3_X14_the_daemon_names_the_right_that_it_lacks(roles, daemon, right):
    try:
        roles.show_needed(right, ACCOUNT, lambda: WORK[right.verb, right.resource](daemon), daemon.log)
    finally:
        daemon.end()


def test_REV3_X14_cdoms_own_daemon_uses_no_other_right(cluster, daemon):
    since = cluster.audit_size()

    def used():
        return {(one["verb"], one["objectRef"]["resource"]) for one in cluster.requests_of(ACCOUNT, since)}
    for work, last in ((start, "list"), (make_the_clique, "create"), (join_the_clique, "update")):
        work(daemon)
        try:
            eventually(f"the daemon has come to {last} cliques", lambda last=last: (last, "computedomaincliques") in used())
        finally:
            daemon.end()
    eventually("what the daemons have used", used, set(WORK))
