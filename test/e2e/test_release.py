"""An installation from nothing but the files of a release, and a registry: Debian's docker-registry on loopback."""

import hashlib
import re
import shutil
import subprocess
import sys

import pytest
from cluster import REPO, Setup
from helm import IN_RELEASE, MAJORS, WAIT, Helm
from namespaces import DRIVER
from objects import domain
from process import Process
from snapshot import difference, snapshot
from waiting import eventually

sys.path.insert(0, str(REPO / "test/packaging/release"))
import tiny  # noqa: E402

CLUSTER = Setup(manifests=None, controlplane=("--apiserver-arg", "--allow-privileged=true"))


@pytest.fixture(scope="module")
def registry(tmp_path_factory):
    """Its address."""
    folder = tmp_path_factory.mktemp("registry")
    script = f"repo={REPO}; source test/packaging/image/image.sh; registry_program"
    program = subprocess.run(["bash", "-euo", "pipefail", "-c", script], cwd=REPO, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    (folder / "settings.yaml").write_text("version: 0.1\nlog: {accesslog: {disabled: true}}\n"
                                          f"storage: {{filesystem: {{rootdirectory: {folder}/stored}}}}\nhttp: {{addr: '127.0.0.1:0'}}\n")
    process = Process("registry", [program, "serve", folder / "settings.yaml"], folder)
    try:
        yield eventually("the registry listens", lambda: re.search(r"127\.0\.0\.1:[1-9]\d*", process.log.read_text())[0])
    finally:
        process.end()


@pytest.fixture(scope="module")
def release(registry, programs, tmp_path_factory):
    """Its folder."""
    return tiny.make(f"{registry}/mine", programs, tmp_path_factory.mktemp("release"))


@pytest.fixture(scope="module")
def pushed(release):
    """What push.sh has printed."""
    return subprocess.run([release / "push.sh", "--plain-http"], cwd="/", check=True, stdout=subprocess.PIPE, text=True).stdout


def not_pushed(folder):
    done = subprocess.run([folder / "push.sh", "--plain-http"], capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout
    return done.stderr


def images_in(cluster):
    """Of the controller, the plugin and the daemons, as the API server has them."""
    pods = [cluster.get(kind, name, DRIVER)["spec"]["template"]["spec"]
            for kind, name in (("deployment", "cdom-controller"), ("daemonset", "cdom-kubelet-plugin"))]
    settings = [one["data"]["IMAGE_NAME"] for one in cluster.list("configmaps", DRIVER, "app.kubernetes.io/component=controller")
                if "IMAGE_NAME" in one["data"]]
    return {container["image"] for pod in pods for container in [*pod["containers"], *pod.get("initContainers", [])]} | set(settings)


def is_in_registry(image):
    """By its digest, as a node asks for it."""
    shown = subprocess.run(["skopeo", "inspect", "--raw", "--tls-verify=false", f"docker://{image}"], check=True, stdout=subprocess.PIPE).stdout
    return image.endswith(f"@sha256:{hashlib.sha256(shown).hexdigest()}")


def serves_a_domain(cluster):
    cluster.write_controller_config()
    cluster.run_controller("--membership-writer", "controller")
    cluster.apply(domain("first"))
    eventually("the domain", lambda: cluster.condition("first", "Provisioned").get("status"), "True")
    cluster.kubectl("delete", "computedomain", "first", "--timeout=60s")
    cluster.end_controller()


def test_kubectl_apply_installs_images_that_the_registry_has(cluster, release, pushed):
    before = snapshot(cluster)
    cluster.quietly("apply", "-f", release / "cdom.yaml")
    for workload in ("deployment/cdom-controller", "daemonset/cdom-kubelet-plugin"):
        cluster.kubectl("-n", DRIVER, "rollout", "status", workload, "--timeout=60s")
    images = images_in(cluster)
    assert len(images) == 2
    assert [one for one in images if not is_in_registry(one) or one not in pushed] == []
    serves_a_domain(cluster)
    cluster.kubectl("delete", "-f", release / "cdom.yaml", "--timeout=120s")
    eventually("what is left", lambda: difference(before, snapshot(cluster)), [])


@pytest.mark.parametrize("major", MAJORS)
def test_helm_installs_the_archive_with_an_image_that_the_registry_has(cluster, release, pushed, major, tmp_path):
    helm = Helm(major, tmp_path, cluster)
    its_own, [helm.chart] = helm.chart, release.glob("*.tgz")
    assert names_in(helm.chart) == names_in(its_own)
    helm.run("install", "cdom", helm.chart, *IN_RELEASE, *WAIT, values={"rack": True})
    [image] = images_in(cluster)
    assert is_in_registry(image) and "/mine/cdom-driver@" in image
    serves_a_domain(cluster)
    helm.run("uninstall", "cdom", *IN_RELEASE, *WAIT)
    cluster.kubectl("delete", "crds", "computedomains.resource.nvidia.com", "computedomaincliques.resource.nvidia.com", "--timeout=60s")
    cluster.kubectl("delete", "namespace", DRIVER, "--timeout=60s")


def names_in(chart):
    listed = subprocess.run(["tar", "-tzf", chart], check=True, stdout=subprocess.PIPE, text=True).stdout.split()
    return {name for name in listed if not name.endswith("/")}


def test_a_damaged_release_is_not_pushed(release, tmp_path):
    damaged = shutil.copytree(release, tmp_path / "damaged")
    with next(damaged.glob("cdom-driver-*.tar")).open("ab") as archive:
        archive.write(b"\0")
    assert "damaged: copy the whole release again" in not_pushed(damaged)


def changed(release, folder, before, after):
    """A copy of the release whose push.sh has another line, with sums that know it."""
    shutil.copytree(release, folder)
    script = folder / "push.sh"
    text = re.sub(before, after, script.read_text(), flags=re.MULTILINE)
    assert text != script.read_text()
    script.write_text(text)
    sums = [f"{hashlib.sha256(one.read_bytes()).hexdigest()}  {one.name}\n" for one in folder.iterdir() if one.name != "SHA256SUMS"]
    (folder / "SHA256SUMS").write_text("".join(sums))
    return folder


def test_another_digest_in_the_registry_is_noticed(release, tmp_path):
    other = changed(release, tmp_path / "other", r"^push cdom-driver sha256:\S+$", f"push cdom-driver sha256:{'0' * 64}")
    assert re.search(r"has another image under cdom-driver:\S+ than sha256:000", not_pushed(other))


def test_a_registry_that_does_not_answer_is_named(release, tmp_path):
    lonely = changed(release, tmp_path / "lonely", "^registry=.*$", "registry=127.0.0.1:1")
    assert "127.0.0.1:1 did not take cdom-controller" in not_pushed(lonely)
