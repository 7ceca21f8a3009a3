"""The chart as an administrator installs, upgrades, rolls back and uninstalls it with Helm 3 and Helm 4, while a domain serves."""

import json
import subprocess

import pytest
from beside import TERM_FLAGS
from cluster import BEFORE, REPO, Setup
from helm import CRDS, IN_RELEASE, MAJORS, WAIT, Helm, spec_of
from namespaces import DRIVER, Namespace
from objects import LABEL, domain, endless_quickstart
from snapshot import difference, snapshot
from versions import needs_dra_v1
from waiting import eventually

CLUSTER = Setup(manifests=None, controlplane=("--apiserver-arg", "--allow-privileged=true"), nodesim=("--job-duration", "2000"))
RACK = {"rack": True}
# What stays after an uninstallation, as the chart's page says: CRDs and the namespace, and what Kubernetes makes for each.
KEPT = [f"left: {one}" for one in ("APIService v1beta1.resource.nvidia.com", f"ConfigMap {DRIVER} kube-root-ca.crt",
                                   *[f"CustomResourceDefinition {name}" for name in sorted(CRDS)], f"Namespace {DRIVER}",
                                   f"ServiceAccount {DRIVER} default")]


class Release:
    """The release `cdom` in the namespace default, and a domain that pods use."""

    def __init__(self, cluster, helm):
        self.cluster = cluster
        self.helm = helm
        self.before = snapshot(cluster)
        self._fresh = None

    def is_installed(self):
        return bool(self.cluster.list("secrets", "default", "owner=helm"))

    def install(self, values=RACK):
        """If it is not installed."""
        if not self.is_installed():
            self.helm.run("install", "cdom", self.helm.chart, *IN_RELEASE, *WAIT, values=values)
            self._fresh = self._fresh or self.objects()
            self.run_the_controller()

    def run_the_controller(self):
        self.cluster.write_controller_config()
        self.cluster.run_controller("--membership-writer", "controller")

    def uninstall(self):
        """By what the page says: domains first."""
        self.cluster.kubectl("delete", "jobs,computedomains", "--all", "--all-namespaces", "--timeout=90s")
        self.cluster.end_controller()
        return self.helm.run("uninstall", "cdom", *IN_RELEASE, *WAIT)

    def left(self):
        return difference(self.before, snapshot(self.cluster))

    def fresh(self):
        """The objects of a release that has just been installed."""
        if not self._fresh:
            self.install()
        return self._fresh

    def clear(self):
        """Nothing of it is there."""
        if self.is_installed():
            self.uninstall()
        self.cluster.kubectl("delete", "crds", *CRDS, "--ignore-not-found", "--timeout=60s")
        self.cluster.kubectl("delete", "namespace", DRIVER, "--ignore-not-found", "--timeout=60s")

    def objects(self):
        """Those of the release, without what each write changes."""
        found = {}
        for name, one in snapshot(self.cluster).items():
            metadata = one["metadata"]
            if metadata.get("labels", {}).get("app.kubernetes.io/managed-by") == "Helm":
                for field in ("uid", "creationTimestamp", "generation"):
                    metadata.pop(field, None)
                for annotation in ("deprecated.daemonset.template.generation", "deployment.kubernetes.io/revision",
                                   "kubectl.kubernetes.io/last-applied-configuration"):
                    metadata.get("annotations", {}).pop(annotation, None)
                found[name] = {field: value for field, value in one.items() if field != "status"}
        assert len(found) > 40
        return found

    def serve(self):
        """The quickstart's domain is used by its job, whose pods do not end."""
        self.cluster.kubectl("apply", "-f", "-", stdin=endless_quickstart())
        eventually("the domain", lambda: self.serves(), ["Ready", "4/4"])
        # They start when they see that themselves.
        eventually("pods of the job are ready", lambda: len(Namespace(self.cluster, "default").ready_pods("app=quickstart")), 4)

    def serves(self):
        return [self.cluster.get("computedomain", "quickstart")["status"][name] for name in ("status", "members")]

    def lives(self):
        """Of the pods of the job, and of the domain's daemons."""
        return self.cluster.lives("default") + self.cluster.lives(DRIVER, LABEL)


@pytest.fixture(scope="module", params=MAJORS)
def shared(request, cluster, tmp_path_factory):
    made = Release(cluster, Helm(request.param, tmp_path_factory.mktemp(f"helm-{request.param}"), cluster))
    yield made
    made.clear()


@pytest.fixture
def release(shared):
    """It is installed."""
    shared.install()
    return shared


@pytest.fixture
def before(tmp_path):
    """The folder with manifests and CRDs of the release before."""
    archive = subprocess.run(["git", "-C", REPO, "archive", BEFORE, "manifests", "crds"], check=True, stdout=subprocess.PIPE)
    subprocess.run(["tar", "-x", "-C", tmp_path], check=True, input=archive.stdout)
    return tmp_path


def test_upgrades_and_rollbacks_from_the_release_before_and_over_a_change_of_a_crd_restart_no_pod_of_a_domain(cluster, shared, before):
    fresh, release = shared.fresh(), shared
    release.clear()
    release.helm.run("install", "cdom", before / "manifests/chart", *IN_RELEASE, *WAIT, values=RACK)
    release.run_the_controller()
    release.serve()
    lives, at_first = release.lives(), release.objects()
    release.helm.run("upgrade", "cdom", release.helm.chart, *IN_RELEASE, *WAIT, values=RACK)
    assert difference(fresh, release.objects()) == []
    release.helm.run("upgrade", "cdom", release.helm.later_chart(before), *IN_RELEASE, *WAIT, values={**RACK, "logVerbosity": 4})
    assert cluster.get("configmap", "cdom-settings", DRIVER)["data"]["LOG_VERBOSITY"] == "4"
    assert "later" in spec_of(cluster.get("crd", CRDS[0]))
    release.helm.run("rollback", "cdom", "2", *IN_RELEASE, *WAIT)
    assert difference(fresh, release.objects()) == []
    assert "later" not in spec_of(cluster.get("crd", CRDS[0]))
    release.helm.run("rollback", "cdom", "1", *IN_RELEASE, *WAIT)
    assert difference(at_first, release.objects()) == []
    assert difference(fresh, at_first) != []  # Its version is another one.
    assert (release.serves(), release.lives()) == (["Ready", "4/4"], lives)
    assert len(lives) == 8


def test_wait_ends_for_a_domain_that_no_pod_uses(cluster, release, tmp_path):
    folder = tmp_path / "idle"
    (folder / "templates").mkdir(parents=True)
    (folder / "Chart.yaml").write_text("apiVersion: v2\nname: idle\nversion: 1.0.0\n")
    (folder / "templates/domain.yaml").write_text(json.dumps(domain("idle")))
    release.helm.run("install", "idle", folder, *IN_RELEASE, *WAIT)
    # Helm 3 does not look at this kind, and Helm 4 takes one without a status for one that is ready.
    cluster.kubectl("wait", "--for=condition=Ready", "computedomain/idle", "--timeout=60s")
    release.helm.run("uninstall", "idle", *IN_RELEASE, *WAIT)
    eventually("the domain", lambda: cluster.get("computedomain", "idle"), None)


def test_uninstalled_the_release_leaves_the_crds_and_the_namespace_and_a_second_one_takes_them(release):
    said = release.uninstall()
    eventually("what is left", release.left, KEPT)
    assert [name for name in (*CRDS, DRIVER) if f"] {name}\n" not in said] == []
    release.install(values={**RACK, "crds": {"keep": False}})
    release.uninstall()
    eventually("what is left", release.left, [])


@needs_dra_v1  # kubectl applies the manifests as they are.
def test_a_release_adopts_what_kubectl_applied_and_restarts_no_pod_of_a_domain(cluster, shared, before, tmp_path):
    fresh, release = shared.fresh(), shared
    release.clear()
    for folder in ("standalone", "kubelet-plugin"):
        cluster.kubectl("apply", "-k", before / "manifests" / folder)
    release.run_the_controller()
    release.serve()
    lives = release.lives()

    release.helm.adopt(tmp_path, RACK)
    assert difference(fresh, release.objects()) == []
    assert (release.serves(), release.lives()) == (["Ready", "4/4"], lives)
    # It can be changed and go, and nothing else is there.
    release.helm.run("upgrade", "cdom", release.helm.chart, *IN_RELEASE, *WAIT, values={**RACK, "logVerbosity": 4})
    release.uninstall()
    eventually("what is left", release.left, KEPT)


@pytest.fixture
def nvidias_chart(cluster, shared):
    """What NVIDIA's chart makes of a cluster. Returns its namespace."""
    shared.clear()
    cluster.kubectl("apply", "-k", REPO / "crds")
    made = REPO / "test/cluster/realnodes/nvidia_chart.yaml"
    cluster.kubectl("apply", "-f", made)
    for workload in ("deployment/chart-controller", "daemonset/chart-kubelet-plugin"):
        cluster.kubectl("-n", "nvidia-dra-driver", "rollout", "status", workload, "--timeout=60s")
    yield "nvidia-dra-driver"
    cluster.kubectl("delete", "-f", made, "--timeout=90s")


def without_aggregates(cluster):
    """A snapshot without the roles that Kubernetes makes of others, a moment later."""
    return {name: one for name, one in snapshot(cluster).items() if "aggregationRule" not in one}


def test_beside_nvidias_chart_the_controller_elects_on_its_lease_and_leaves_its_objects_alone(cluster, shared, nvidias_chart, tmp_path):
    """As far as names and permissions go: test_beside.py has what both controllers do."""
    cluster.kubectl("label", "namespace", nvidias_chart, "cdom.dev/driver=true")
    before = without_aggregates(cluster)
    values = {"mode": "beside", "daemon": {"image": "registry.example.com/dra-driver-nvidia-gpu:v0.5.0"}}
    shared.helm.run("install", "cdom", shared.helm.chart, "-n", nvidias_chart, *WAIT, values=values)
    assert [line for line in difference(before, without_aggregates(cluster)) if not line.startswith("left: ")] == []
    settings = cluster.get("configmap", "cdom-settings", nvidias_chart)["data"]
    lease = settings["LEADER_ELECTION_LEASE_LOCK_NAME"]
    config = tmp_path / "kubeconfig"
    config.write_text(json.dumps(cluster.config_of("cdom-controller", namespace=nvidias_chart)))
    flags = ("--namespace", nvidias_chart, "--leader-election-lease-lock-name", lease, *TERM_FLAGS)
    with cluster.replica("beside", *flags, kubeconfig=config, BESIDE_NVIDIA=settings["BESIDE_NVIDIA"]) as controller:
        eventually("NVIDIA's acts alone", lambda: controller.says("NVIDIA's controller acts without leader election"))
        cluster.kubectl("-n", nvidias_chart, "set", "env", "deployment/chart-controller", "LEADER_ELECTION_ENABLED=true",
                        f"LEADER_ELECTION_LEASE_LOCK_NAME={lease}", f"LEADER_ELECTION_LEASE_LOCK_NAMESPACE={nvidias_chart}")
        eventually("the controller leads", lambda: controller.says("Reconciling"), within=60)
        # To create a Lease is allowed by any name; to renew it is not.
        held = eventually("a renewal", lambda: cluster.get("lease", "dra-driver-nvidia-gpu-controller", nvidias_chart)["spec"],
                          lambda spec: spec["renewTime"] > spec["acquireTime"])
        assert held["holderIdentity"].startswith("cdom-beside")
    shared.helm.run("uninstall", "cdom", "-n", nvidias_chart, *WAIT)

    def changed():
        """But for NVIDIA's Deployment, whose variables were set here."""
        return [line for line in difference(before, without_aggregates(cluster)) if " chart-controller" not in line]
    eventually("what differs", changed, [])
