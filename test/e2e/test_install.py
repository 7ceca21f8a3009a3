"""The kustomization of docs/install.md as an administrator applies, changes and deletes it, on a cluster that has nothing of ours."""

import json
import re

import pytest
from cluster import REPO, Setup
from kustomizations import beside_a_checkout, built, on_top
from namespaces import DRIVER
from objects import LABEL, endless_quickstart
from pages import blocks, reading, run_commands
from process import Process
from snapshot import difference, snapshot
from versions import needs_dra_v1
from waiting import eventually

# As where kubelet plugins run.
CLUSTER = Setup(manifests=None, controlplane=("--apiserver-arg", "--allow-privileged=true"), nodesim=("--job-duration", "2000"))
RELEASE = REPO / "manifests/release-finalizers"
RELEASES = "cdom-release-finalizers"


class Site:
    """What the page tells an administrator to write, beside a checkout of ours."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.folder = beside_a_checkout(cluster.folder / "site", blocks("docs/install.md", "yaml")[0])
        self._before = snapshot(cluster)

    def install(self):
        """Applies it, if it is not, without a warning."""
        if not self.cluster.get("namespace", DRIVER):
            self.cluster.quietly("apply", "-k", self.folder)
            self.cluster.write_controller_config()
        self.rolls_out()

    def rolls_out(self):
        self.cluster.kubectl("-n", DRIVER, "rollout", "status", "deployment/cdom-controller", "--timeout=60s")

    def pod(self):
        """The spec of the controller's pods."""
        return self.cluster.get("deployment", "cdom-controller", DRIVER)["spec"]["template"]["spec"]

    def settings_name(self):
        [name] = {one["valueFrom"]["configMapKeyRef"]["name"] for one in self.pod()["containers"][0]["env"]
                  if "configMapKeyRef" in one.get("valueFrom", {})}
        return name

    def settings(self):
        """The variables of the pods: the ConfigMap that they name."""
        return self.cluster.get("configmap", self.settings_name(), DRIVER)["data"]

    def nothing_is_left(self):
        def left():
            ending = [one["metadata"]["name"] for one in self.cluster.kubectl_json("get", "namespaces")["items"]
                      if "deletionTimestamp" in one["metadata"]]
            return ending + difference(self._before, snapshot(self.cluster))
        eventually("what differs from before the installation", left, [])

    def quickstart(self, *arguments):
        """kubectl on the example, whose workers run until they are deleted."""
        self.cluster.kubectl(*arguments, "-f", "-", stdin=endless_quickstart())

    def serve_the_quickstart(self):
        self.cluster.controller_with("--membership-writer", "daemon")
        self.quickstart("apply")
        eventually("the domain", lambda: [self.cluster.get("computedomain", "quickstart")["status"][name] for name in ("status", "members")],
                   ["Ready", "4/4"])


@pytest.fixture(scope="module")
def shared_site(cluster):
    return Site(cluster)


@pytest.fixture
def site(shared_site):
    """It is applied."""
    shared_site.install()
    return shared_site


@pytest.fixture
def rack(site, tmp_path):
    """A folder with the page's kustomization for a rack."""
    return beside_a_checkout(tmp_path / "rack", blocks("docs/install.md", "yaml")[2])


@pytest.fixture
def levels(cluster, namespaces):
    """levels(LEVEL): the name of a namespace that enforces that level of pod security, and warns of it."""
    def make(level):
        name = namespaces(level).name
        cluster.kubectl("label", "namespace", name, *(f"pod-security.kubernetes.io/{mode}={level}" for mode in ("enforce", "warn")))
        return name
    return make


def pod_in(namespace, spec, account="default"):
    """What kubectl reads: that pod, there."""
    made = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "probe", "namespace": namespace},
            "spec": {**spec, "serviceAccountName": account}}
    return {"stdin": json.dumps(made)}


DRY_RUN = ("create", "--dry-run=server", "-f", "-")


def test_what_the_page_shows_is_applied_without_a_warning_and_its_pods_come_up(cluster, site):
    cluster.kubectl("apply", "--dry-run=server", "--validate=strict", "-k", site.folder)
    site.rolls_out()
    assert site.pod()["containers"][0]["image"].startswith("registry.example.org/mine/cdom-controller@sha256:")


def test_what_the_page_shows_for_a_rack_is_taken_without_a_warning(cluster, rack):
    cluster.quietly("apply", "--dry-run=server", "--validate=strict", "-k", rack)


def test_settings_reach_the_controller_which_starts_with_them(cluster, site, programs):
    settings = site.settings()
    assert re.fullmatch(r"registry\.example\.org/mine/dra-driver-nvidia-gpu@sha256:[0-9a-f]{64}", settings["IMAGE_NAME"])
    assert settings["MEMBERSHIP_WRITER"] == "daemon"
    # Nothing else is said anywhere: no flag, no limit on processor time.
    container = site.pod()["containers"][0]
    assert (container.get("args", []), container["resources"]["limits"].get("cpu")) == ([], None)
    # Another name would change nothing, and nobody would notice.
    flags = (REPO / "docs/flags.md").read_text()
    assert [name for name in settings if not re.search(rf"^\| .* \| `{name}` \|", flags, re.MULTILINE)] == []
    variables = {**settings, "POD_NAME": "here", "NAMESPACE": DRIVER, "KUBECONFIG": cluster.controller_config,
                 "HTTP_ENDPOINT": "127.0.0.1:0", "DEBUG_ENDPOINT": "127.0.0.1:0"}
    cluster.end_controller()
    controller = Process("configured", ["env", "-i", *(f"{name}={value}" for name, value in variables.items()),
                                        programs / "compute-domain-controller"], cluster.folder)
    try:
        eventually("the controller leads", lambda: controller.says("Reconciling"))
    finally:
        controller.end()
    assert controller.says(f'lease="{DRIVER}/cdom-controller"')


def test_a_setting_that_changes_restarts_the_controller_and_a_file_is_mounted(cluster, site):
    before = site.settings_name()
    over = on_top(site.folder, "over", blocks("manifests/README.md", "yaml")[1])
    (over / "configuration.yaml").write_text("apiVersion: cdom.dev/v1alpha1\nkind: ControllerConfiguration\ndeletion: {grace: 30m}\n")
    cluster.quietly("apply", "-k", over)
    site.rolls_out()
    settings = site.settings()
    assert (settings["CONFIG"], settings["MEMBERSHIP_WRITER"]) == ("/etc/cdom/configuration.yaml", "daemon")
    assert site.settings_name() != before
    mounted = cluster.get("configmap", site.pod()["volumes"][0]["configMap"]["name"], DRIVER)
    assert "30m" in mounted["data"]["configuration.yaml"]
    cluster.kubectl("apply", "-k", site.folder)


def test_the_controllers_pod_and_the_job_meet_restricted(cluster, site, levels):
    restricted, spec = levels("restricted"), site.pod()
    cluster.quietly(*DRY_RUN, **pod_in(restricted, spec))
    # And the level is one that says no.
    for field in ("runAsNonRoot", "seccompProfile"):
        worse = {**spec, "securityContext": {name: value for name, value in spec["securityContext"].items() if name != field}}
        assert field in cluster.refused(*DRY_RUN, **pod_in(restricted, worse))
    [container] = spec["containers"]
    container["securityContext"]["allowPrivilegeEscalation"] = True
    assert "allowPrivilegeEscalation" in cluster.refused(*DRY_RUN, **pod_in(restricted, spec))
    # The Job that takes finalizers off is in a namespace that enforces it.
    cluster.kubectl("label", "namespace", restricted, "pod-security.kubernetes.io/audit=restricted")
    [job] = [one for one in built(cluster, RELEASE) if one["kind"] == "Job"]
    job["metadata"]["namespace"] = restricted
    cluster.quietly(*DRY_RUN, stdin=json.dumps(job))


def test_the_drivers_namespace_takes_plugins_of_their_account_alone(cluster, site, rack, levels):
    baseline = levels("baseline")
    assert cluster.get("namespace", DRIVER)["metadata"]["labels"]["cdom.dev/driver"] == "true"
    # Privileged, with folders of the host.
    [plugin] = [one["spec"]["template"]["spec"] for one in built(cluster, rack) if one["kind"] == "DaemonSet"]
    del plugin["priorityClassName"]
    cluster.kubectl("create", "serviceaccount", "cdom-kubelet-plugin", "-n", DRIVER)
    cluster.quietly(*DRY_RUN, **pod_in(DRIVER, plugin, "cdom-kubelet-plugin"))
    assert "cdom-driver-pods" in cluster.refused(*DRY_RUN, **pod_in(DRIVER, plugin))
    assert "privileged" in cluster.refused(*DRY_RUN, **pod_in(baseline, plugin))
    cluster.kubectl("delete", "serviceaccount", "cdom-kubelet-plugin", "-n", DRIVER)


def test_daemons_of_a_domain_meet_baseline(cluster, site, levels):
    site.serve_the_quickstart()
    [daemons] = cluster.list("daemonsets", DRIVER, LABEL)
    spec = daemons["spec"]["template"]["spec"]
    cluster.quietly(*DRY_RUN, **pod_in(levels("baseline"), spec))
    assert "runAsNonRoot" in cluster.refused(*DRY_RUN, **pod_in(levels("restricted"), spec))
    site.quickstart("delete", "--timeout=90s")


def with_endless_workers(folder):
    """`folder` with the example, whose workers run until they are deleted, where the page's command looks for it."""
    (folder / "examples").mkdir()
    (folder / "examples/quickstart.yaml").write_text(endless_quickstart())
    return folder


@needs_dra_v1  # As the kustomizations of the page.
def test_each_command_of_the_pages_installs_serves_the_quickstart_and_upgrades(cluster, site, rack, tmp_path):
    cluster.end_controller()
    with reading(cluster, "docs/install.md", folder=rack) as page:
        page.run(until="kubectl apply -k .", folder=site.folder)
        page.run(until="kubectl apply -k .", folder=site.folder)
        page.run(until="kubectl apply -f examples")
        cluster.run_controller("--membership-writer", "controller")
        page.run(folder=with_endless_workers(tmp_path))
    # With another controller's digest.
    file = rack / "kustomization.yaml"
    file.write_text(re.sub(r"(cdom-controller\n  digest: sha256:)0123", r"\g<1>3210", file.read_text()))
    run_commands(cluster, "docs/upgrade.md", folder=rack)
    assert "@sha256:3210" in site.pod()["containers"][0]["image"]


@needs_dra_v1  # As the kustomizations of the page.
def test_each_command_of_the_page_uninstalls_without_domains_and_under_them_and_nothing_is_left(cluster, site, rack, programs, tmp_path):
    cluster.kubectl("apply", "-k", rack)
    cluster.run_controller("--membership-writer", "controller")
    admin = {"~/.kube/config": str(cluster.plane / "admin.kubeconfig")}
    with reading(cluster, "docs/uninstall.md", names=admin, programs=programs) as page:
        page.run(until="kubectl delete -k .")
        cluster.end_controller()
        page.run(until="kubectl apply -k", folder=rack)
        site.nothing_is_left()

        site.install()
        site.serve_the_quickstart()
        # The controller goes with its pods: its token is worth nothing without the account.
        deletion = Process("deletion", cluster.command("delete", "-k", site.folder, "--timeout=120s"), tmp_path)
        try:
            eventually("the controller's account", lambda: cluster.get("serviceaccount", "cdom-controller", DRIVER), None)
            cluster.end_controller()
            eventually("the driver's namespace", lambda: cluster.get("namespace", DRIVER), None, within=90)
            # What the page says of it: the domain hangs, and the command waits.
            domain = cluster.get("computedomain", "quickstart")["metadata"]
            assert domain["deletionTimestamp"]
            assert LABEL in domain["finalizers"]
            assert deletion.is_running(), deletion.log.read_text()
            page.run(until="kubectl delete -k")
            # The simulated nodes run no program: this is what the Job's container does, with the rights that it has.
            config = tmp_path / "kubeconfig"
            config.write_text(json.dumps(cluster.config_of(RELEASES, namespace=RELEASES)))
            release = Process("release", ["env", "-i", f"KUBECONFIG={config}", f"NAMESPACE={DRIVER}",
                                          programs / "compute-domain-controller", "release-finalizers"], tmp_path)
            eventually("exit status of release-finalizers", release.status, 0)
            eventually("exit status of kubectl delete", deletion.status, 0)
        finally:
            deletion.end()
        page.run()
    cluster.kubectl("delete", "job", "quickstart", "--timeout=60s")
    site.nothing_is_left()
