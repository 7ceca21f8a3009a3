"""Each command of each page in docs is run by a test, or is named in pages.NOT_RUN; pages that no other module reads are read here."""

import re

import pytest
from cluster import REPO, Setup
from kustomizations import beside_a_checkout
from namespaces import Namespace
from nvidia_driver import FIXTURES, children, install_crds, write
from objects import domain, workers
from pages import NOT_RUN, PAGES, blocks, commands, reading, reason_not_to_run, run_commands
from versions import needs_dra_v1
from waiting import eventually

NVIDIAS = "nvidia-dra-driver-gpu"  # Its namespace, by the name that its guide has for it.
CLUSTER = Setup(manifests=None, nodesim=("--driver-namespace", NVIDIAS))
LANGUAGES = {"console", "text", "yaml", "json"}
DAEMONS = "compute-domain-daemon-service-account"


def test_each_block_of_the_pages_says_what_it_is():
    """A block of commands could not be told from others."""
    found = {(page, language) for page in PAGES
             for language, _ in re.findall(r"^ *```(.*)\n((?:.*\n)*?) *```$", (REPO / page).read_text(), re.MULTILINE)}
    assert [one for one in sorted(found) if one[1] not in LANGUAGES] == []
    shown = [line for page in PAGES for block in blocks(page, "text") for line in block.splitlines()]
    assert [line for line in shown if re.match(r"\$ |(kubectl|scripts/|curl|compute-domain-)", line)] == []


def test_each_command_of_the_pages_is_run_or_has_a_reason_not_to_be():
    cases = "".join(path.read_text() for path in (REPO / "test/e2e").glob("test_*.py"))
    found = re.findall(r'(?:reading|run_commands)\([^"]*"(docs/[\w-]+\.md)"(?:, section="([^"]+)")?', cases)
    read = {page for page, _ in found}
    run = {page for page in PAGES for command in commands(page) if not reason_not_to_run(page, command)}
    assert run == read
    whole = {page for page, section in found if not section}
    unread = [(page, command.text) for page in read - whole for command in commands(page)
              if not any(command in commands(page, section) for other, section in found if other == page)]
    assert unread == []


def test_each_reason_not_to_run_a_command_has_its_command():
    stale = [(page, start) for page, reasons in NOT_RUN.items() for start in reasons
             if not any(command.text.startswith(start) for command in commands(page))]
    assert stale == []
    named = {name for reasons in NOT_RUN.values() for why in reasons.values() for name in re.findall(r"test/[\w/]+\.\w+", why)}
    assert [name for name in named if not (REPO / name).exists()] == []


def test_each_error_of_the_flags_page_is_printed(programs):
    run_commands(None, "docs/flags.md", programs=programs)


def test_the_help_that_the_daemons_page_names_is_printed(programs):
    run_commands(None, "docs/imex-daemon.md", programs=programs)


def test_the_files_of_the_hardware_page_are_where_it_says(programs, tmp_path):
    (tmp_path / "build/release").mkdir(parents=True)
    (tmp_path / "build/release/bin").symlink_to(programs)
    for name in ("test", "node"):
        (tmp_path / name).symlink_to(REPO / name)
    run_commands(None, "docs/hardware-report.md", folder=tmp_path)
    assert len(list((tmp_path / "verify").iterdir())) == 3


# --- From NVIDIA's controller to cdom's, and back


def of_nvidia():
    """What its chart installs, as far as these pages ask for it: the controller's Deployment, and what daemons need."""
    name, labels = f"{NVIDIAS}-controller", {"app": "controller"}
    pod = {"containers": [{"name": "compute-domain", "image": "nvcr.io/nvidia/k8s-dra-driver-gpu:v25.8.0"}]}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": DAEMONS}
    rules = [{"apiGroups": ["", "resource.nvidia.com"], "resources": ["pods", "computedomaincliques"], "verbs": ["*"]}]
    inside = {"namespace": NVIDIAS}
    return ({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NVIDIAS}},
            {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": DAEMONS, **inside}},
            {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": DAEMONS, **inside}, "rules": rules},
            {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": DAEMONS, **inside},
             "roleRef": role, "subjects": [{"kind": "ServiceAccount", "name": DAEMONS, **inside}]},
            {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, **inside},
             "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": pod}}})


@pytest.fixture
def served_by_nvidia(cluster):
    """A namespace whose domain `older` serves three workers, as NVIDIA's controller leaves it."""
    cluster.kubectl("create", "-f", FIXTURES / "crds-main.yaml")
    cluster.kubectl("apply", "-f", REPO / "manifests/base/device-classes.yaml")
    cluster.apply(*of_nvidia())
    namespace = Namespace(cluster, "default")
    namespace.apply(domain("older"))
    cluster.apply(*children("default", "older", namespace.uid("older"), NVIDIAS))
    namespace.apply(workers("older", 3, one_clique=True))
    eventually("nodes of workers", lambda: len(namespace.workers_on("older")), 3, within=90)
    write(namespace, "older", NVIDIAS)
    return namespace


@pytest.fixture
def site(cluster):
    """site(MORE...): the folder of the page's kustomization beside NVIDIA's plugin, with more text behind it."""
    text = blocks("docs/install.md", "yaml")[0] + f"  - ADDITIONAL_NAMESPACES={NVIDIAS}\n"
    folder = beside_a_checkout(cluster.folder / "site", text)

    def write_it(more=""):
        (folder / "kustomization.yaml").write_text(text + more)
        return folder
    return write_it


def lives(namespace):
    """What must not change while controllers do."""
    cluster = namespace.cluster
    return cluster.lives(NVIDIAS, "resource.nvidia.com/computeDomain"), cluster.lives("default"), namespace.members("older")


@needs_dra_v1  # As the kustomizations of the page.
def test_each_command_of_the_page_switches_to_cdom_and_back_under_a_job(cluster, served_by_nvidia, site):
    namespace, controller = served_by_nvidia, f"{NVIDIAS}-controller"
    before = lives(namespace)
    free = next(node for node in cluster.nodes() if node not in namespace.workers_on("older"))
    names = {"NAMESPACE": NVIDIAS, "CONTROLLER": controller, "NODE": free, "UID": namespace.uid("older")}
    with reading(cluster, "docs/switch.md", names) as page:
        page.run(until="kubectl get deployments,daemonsets")
        page.run(until="kubectl label namespace")
        eventually("pods of NVIDIA's controller", lambda: cluster.list("pods", NVIDIAS, "app=controller"), [])
        page.run(until="kubectl apply -k .")
        page.run(until="kubectl -n cdom-system rollout", folder=site("components:\n- ../cdom/manifests/policies/warn-only\n"))
        run_commands(cluster, "docs/policies.md", names={"NAMESPACE": NVIDIAS})
        cluster.write_controller_config()
        cluster.run_controller("--membership-writer", "daemon", "--additional-namespaces", NVIDIAS)
        page.run(until="kubectl apply -k .")
        assert lives(namespace) == before
        assert not cluster.controller_says("Continuing without a permission")
        page.run(until="kubectl -n cdom-system scale", folder=site())

        page.run(until="kubectl delete -k manifests/policies")
        cluster.end_controller()
        page.run(until="kubectl get cdom -A")
        install_crds(cluster, "main")
        cluster.kubectl("-n", NVIDIAS, "scale", "deployment", controller, "--replicas=1")
        write(namespace, "older", NVIDIAS)
        page.run()
    assert lives(namespace) == before
