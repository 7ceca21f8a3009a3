"""A controller outside of the cluster: as manifests/README.md starts it, and as a user whom a policy refuses."""

import re
import subprocess

import pytest
from cluster import REPO, Setup
from kustomizations import overlay, patches_of_page
from namespaces import DRIVER
from objects import domain
from pages import blocks, environment
from process import Process
from versions import needs_dra_v1
from waiting import eventually

CLUSTER = Setup(nodes=0)
pytestmark = pytest.mark.usefixtures("no_controller")
LAPTOP, SERVICE = blocks("manifests/README.md", "console")
REFUSES = "A policy refuses the deletions of this controller"


@pytest.fixture
def checkout(tmp_path):
    """A folder from which the page's commands see the manifests, and into which they write."""
    (tmp_path / "manifests").symlink_to(REPO / "manifests")
    return tmp_path


def run(cluster, folder, commands):
    subprocess.run(["bash", "-euc", commands], cwd=folder, env=environment(cluster), check=True, timeout=120)


@pytest.fixture
def start(cluster, programs, checkout):
    """start(): the last command of the page's first block as a process that leads. It ends with the case."""
    shell = environment(cluster)
    env = {**shell, "PATH": f"{programs}:{shell['PATH']}", "DEBUG_ENDPOINT": "127.0.0.1:0"}
    made = []

    def begin():
        made.append(Process("outside", ["bash", "-c", f"cd {checkout} && exec {LAPTOP.splitlines()[-1]}"], checkout, env))
        eventually("the controller leads", lambda: made[0].log.read_text(), re.compile("Reconciling"))
        return made[0]
    yield begin
    for one in made:
        one.end()


@pytest.fixture
def admin(cluster):
    """A controller with the administrator's own kubeconfig."""
    cluster.run_controller(kubeconfig=cluster.plane / "admin.kubeconfig")
    return cluster


def deletes_a_domain(cluster, name):
    cluster.apply(domain(name))
    eventually("the domain has its children", lambda: cluster.condition(name, "Ready").get("reason"), "Idle")
    cluster.kubectl("delete", "computedomain", name, "-n", "default", "--timeout=60s")


@needs_dra_v1  # As the manifests of the page.
def test_a_controller_started_as_the_page_says_deletes_a_domain(cluster, checkout, start):
    *prepare, last = LAPTOP.splitlines()
    assert last.startswith("compute-domain-controller ")
    run(cluster, checkout, "\n".join(prepare))
    controller = start()
    deletes_a_domain(cluster, "outside")
    log = controller.log.read_text()
    assert f"user=\"system:serviceaccount:{DRIVER}:cdom-controller\"" in log
    assert REFUSES not in log
    assert f'lease="{DRIVER}/cdom-controller"' in log, "the default is that of the manifests"


@needs_dra_v1  # As the manifests of the page.
def test_a_token_for_a_service_that_the_page_makes_is_the_controllers(cluster, checkout, start):
    try:
        run(cluster, checkout, SERVICE)
        start()
        deletes_a_domain(cluster, "service")
    finally:
        cluster.kubectl("delete", "-f", REPO / "manifests/systemd/token.yaml", "--ignore-not-found")


def test_a_controller_that_the_policy_refuses_says_so_at_its_start_and_in_the_domain(admin):
    eventually("the log warns", admin.controller_log, re.compile(f"{REFUSES}.*user=\"?cdom-admin.*create token cdom-controller"))
    admin.apply(domain("stuck"))
    eventually("the domain has its children", lambda: admin.condition("stuck", "Ready").get("reason"), "Idle")
    admin.kubectl("delete", "computedomain", "stuck", "-n", "default", "--wait=false")
    wanted = ("The policy cdom-child-deletion refuses this controller, which runs as user cdom-admin: run it as ServiceAccount "
              "cdom-controller, or name cdom-admin in the policy.")
    eventually("what the domain says", lambda: [admin.condition("stuck", "Ready").get(key) for key in ("reason", "message")],
               ["DeletionBlocked", wanted])
    # With the account's token the deletion ends.
    admin.run_controller()
    eventually("the domain", lambda: admin.get("computedomain", "stuck"), None, within=60)


def test_a_user_whom_the_policy_names_is_not_warned_and_deletes(cluster, tmp_path):
    patches = patches_of_page("name: cdom-child-deletion").replace("alice", "cdom-admin")
    cluster.kubectl("apply", "-k", overlay(tmp_path / "named", "policies", more=patches))
    try:
        cluster.run_controller(kubeconfig=cluster.plane / "admin.kubeconfig")
        eventually("it knows its user", lambda: cluster.controller_says("Known to the API server"))
        deletes_a_domain(cluster, "named")
        assert not cluster.controller_says(REFUSES)
    finally:
        cluster.kubectl("apply", "-k", REPO / "manifests/policies")
