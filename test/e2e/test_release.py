"""An installation from nothing but the files of a release, and a registry that asks for a password: Debian's docker-registry on
loopback."""

import base64
import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys

import pytest
import yaml
from cluster import REPO, Setup
from helm import CRDS, IN_RELEASE, MAJORS, WAIT, Helm
from kustomizations import beside_a_checkout
from namespaces import DRIVER
from objects import domain
from pages import blocks, commands, filled
from process import Process
from snapshot import difference, snapshot
from waiting import eventually

sys.path.insert(0, str(REPO / "test/packaging/release"))
import tiny  # noqa: E402

CLUSTER = Setup(manifests=None, controlplane=("--apiserver-arg", "--allow-privileged=true"))
USER, PASSWORD = "reader", "of-a-test"
HTPASSWD = f"{USER}:$2b$04$LEjGUZygMe.fPiDSIA..LuN1djm66nSQPvcgdF8BZy7zpusqNsVf.\n"  # Of that password.
PAGE = "docs/install.md"


@pytest.fixture(scope="module")
def registry(tmp_path_factory):
    """Its address."""
    folder = tmp_path_factory.mktemp("registry")
    script = f"repo={REPO}; source test/packaging/image/image.sh; registry_program"
    program = subprocess.run(["bash", "-euo", "pipefail", "-c", script], cwd=REPO, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    (folder / "htpasswd").write_text(HTPASSWD)
    (folder / "settings.yaml").write_text("version: 0.1\nlog: {accesslog: {disabled: true}}\n"
                                          f"storage: {{filesystem: {{rootdirectory: {folder}/stored}}}}\nhttp: {{addr: '127.0.0.1:0'}}\n"
                                          f"auth: {{htpasswd: {{realm: cdom, path: {folder}/htpasswd}}}}\n")
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
def logged_in(registry, tmp_path_factory):
    """The environment of an administrator after `skopeo login`."""
    env = {**os.environ, "REGISTRY_AUTH_FILE": str(tmp_path_factory.mktemp("login") / "auth.json")}
    subprocess.run(["skopeo", "login", "--tls-verify=false", "--username", USER, "--password-stdin", registry],
                   input=PASSWORD, env=env, check=True, stdout=subprocess.PIPE, text=True)
    return env


@pytest.fixture(scope="module")
def pushed(release, logged_in):
    """What push.sh has printed."""
    return subprocess.run([release / "push.sh", "--plain-http"], cwd="/", env=logged_in, check=True, stdout=subprocess.PIPE, text=True).stdout


def not_pushed(folder, env):
    done = subprocess.run([folder / "push.sh", "--plain-http"], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout
    return done.stderr


def is_pulled(image, login):
    """Whether the registry gives the image under its digest to a node that has this login. An empty one is none."""
    shown = subprocess.run(["skopeo", "inspect", "--raw", "--tls-verify=false", "--authfile", login, f"docker://{image}"],
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    assert shown.returncode == 0 or b"authentication required" in shown.stderr, shown.stderr
    return shown.returncode == 0 and image.endswith(f"@sha256:{hashlib.sha256(shown.stdout).hexdigest()}")


def pull(cluster, pod, folder):
    """The images of the pod, which a kubelet can pull with the pod's pull secret, and not without it."""
    [secret] = pod["imagePullSecrets"]
    login, nobody = folder / "login.json", folder / "nobody.json"
    login.write_bytes(base64.b64decode(cluster.get("secret", secret["name"], DRIVER)["data"][".dockerconfigjson"]))
    nobody.write_text("{}")
    images = {one["image"] for one in (*pod["containers"], *pod.get("initContainers", []))}
    assert {one: (is_pulled(one, login), is_pulled(one, nobody)) for one in images} == {one: (True, False) for one in images}
    return images


def pod_of(cluster, kind, name):
    return cluster.get(kind, name, DRIVER)["spec"]["template"]["spec"]


def images_pulled_in(cluster, folder):
    """Of the controller, the plugin and the daemons of a domain, which a controller with the settings of the installation creates."""
    images = {name: pull(cluster, pod_of(cluster, kind, f"cdom-{name}"), folder)
              for name, kind in (("controller", "deployment"), ("kubelet-plugin", "daemonset"))}
    [settings] = [one["data"] for one in cluster.list("configmaps", DRIVER, "app.kubernetes.io/component=controller")
                  if "IMAGE_NAME" in one["data"]]
    of_daemons = {name: settings[name] for name in ("MEMBERSHIP_WRITER", "CD_DAEMON_IMAGE_PULL_SECRET_NAMES")}
    cluster.write_controller_config()
    cluster.run_controller(image=settings["IMAGE_NAME"], **of_daemons)
    cluster.apply(domain("first"))
    eventually("the domain", lambda: cluster.condition("first", "Provisioned").get("status"), "True")
    [daemons] = cluster.list("daemonsets", DRIVER, "resource.nvidia.com/computeDomain")
    images["daemons"] = pull(cluster, daemons["spec"]["template"]["spec"], folder)
    cluster.kubectl("delete", "computedomain", "first", "--timeout=60s")
    cluster.end_controller()
    return images


def create_the_secret(cluster, registry):
    """By the page's command, for this registry."""
    [command] = [one for one in commands(PAGE) if one.text.startswith("kubectl create secret")]
    cluster.kubectl(*filled(command.text, {"registry.example.org": registry, "USER": USER, "PASSWORD": PASSWORD}).split()[1:])


def of_cdom_yaml(_):
    return "resources: [cdom.yaml]\n"


def of_the_page(release):
    """The page's kustomization of a rack, with the digests of the release's notes."""
    text, notes = blocks(PAGE, "yaml")[2], (release / "release-notes.md").read_text()
    for name in ("cdom-controller", "cdom-driver"):
        there, digest = re.search(rf"`([\w.:-]+/mine/{name}):[\d.]+` \| `(sha256:\w+)`", notes).groups()
        text = re.sub(rf"registry\.example\.org/mine/{name}(\n *digest: |@)sha256:\w+", rf"{there}\1{digest}", text)
    return text


def test_a_registry_that_asks_for_a_password_gets_the_command_to_log_in(release, registry, tmp_path):
    said = not_pushed(release, {**os.environ, "REGISTRY_AUTH_FILE": str(tmp_path / "none.json")})
    assert f"did not take cdom-controller; see above. If it asks for a password, run: skopeo login {registry}\n" in said


@pytest.mark.parametrize("kustomization", [of_cdom_yaml, of_the_page])
def test_a_kustomization_installs_images_that_nodes_may_pull(cluster, release, pushed, registry, kustomization, tmp_path):
    folder = beside_a_checkout(tmp_path / "site", kustomization(release) + blocks(PAGE, "yaml")[-1])
    shutil.copy(release / "cdom.yaml", folder)
    before = snapshot(cluster)
    cluster.quietly("apply", "-k", folder)
    create_the_secret(cluster, registry)
    for workload in ("deployment/cdom-controller", "daemonset/cdom-kubelet-plugin"):
        cluster.kubectl("-n", DRIVER, "rollout", "status", workload, "--timeout=60s")
    images = images_pulled_in(cluster, tmp_path)
    assert images["kubelet-plugin"] == images["daemons"] != images["controller"]
    assert [one for one in set().union(*images.values()) if one not in pushed] == []
    cluster.kubectl("delete", "-k", folder, "--timeout=120s")
    eventually("what is left", lambda: difference(before, snapshot(cluster)), [])


@pytest.mark.parametrize("major", MAJORS)
def test_helm_installs_the_archive_with_an_image_that_nodes_may_pull(cluster, release, pushed, registry, major, tmp_path):
    helm = Helm(major, tmp_path, cluster)
    its_own, [helm.chart] = helm.chart, release.glob("*.tgz")
    assert names_in(helm.chart) == names_in(its_own)
    *first, install = [one.text for one in commands(PAGE)[-4:]]
    for command in first[:-1]:
        cluster.kubectl(*command.split()[1:])
    create_the_secret(cluster, registry)
    helm.run("install", "cdom", helm.chart, *shlex.split(install)[4:], "--timeout=100s")
    [image] = set().union(*images_pulled_in(cluster, tmp_path).values())
    assert "/mine/cdom-driver@" in image and image in pushed
    helm.run("uninstall", "cdom", *IN_RELEASE, *WAIT)
    cluster.kubectl("delete", "crds", *CRDS, "--timeout=60s")
    cluster.kubectl("delete", "namespace", DRIVER, "--timeout=60s")


@pytest.mark.parametrize("major", MAJORS)
def test_gitops_tools_find_the_pushed_chart_where_their_objects_look(cluster, release, registry, major, tmp_path):
    helm = Helm(major, tmp_path, cluster)
    [push] = [one for one in commands("docs/gitops.md") if one.text.startswith("helm push")]
    helm.run("registry", "login", registry, "--plain-http", "--username", USER, "--password", PASSWORD)
    [chart] = release.glob("*.tgz")
    helm.run("push", chart, *filled(push.text, {"registry.example.org": registry}).split()[3:], "--plain-http")
    integrations = REPO / "integrations"
    argo = yaml.safe_load((integrations / "argocd/chart.yaml").read_text())["spec"]["source"]
    repository, flux = (one["spec"] for one in yaml.safe_load_all((integrations / "flux/chart.yaml").read_text()))
    for url, version, values in ((f"oci://{argo['repoURL']}/{argo['chart']}", argo["targetRevision"], argo["helm"]["valuesObject"]),
                                 (repository["url"], repository["ref"]["tag"], flux["values"])):
        helm.chart = filled(url, {"registry.example.org": registry})
        made = helm.run("template", "cdom", helm.chart, "--version", version, "--plain-http", *IN_RELEASE, values=values)
        assert {"Deployment", "DaemonSet"} <= {one["kind"] for one in yaml.safe_load_all(made)}


def names_in(chart):
    listed = subprocess.run(["tar", "-tzf", chart], check=True, stdout=subprocess.PIPE, text=True).stdout.split()
    return {name for name in listed if not name.endswith("/")}


def test_a_damaged_release_is_not_pushed(release, logged_in, tmp_path):
    damaged = shutil.copytree(release, tmp_path / "damaged")
    with next(damaged.glob("cdom-driver-*.tar")).open("ab") as archive:
        archive.write(b"\0")
    assert "damaged: copy the whole release again" in not_pushed(damaged, logged_in)


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


def test_another_digest_in_the_registry_is_noticed(release, logged_in, tmp_path):
    other = changed(release, tmp_path / "other", r"^push cdom-driver sha256:\S+$", f"push cdom-driver sha256:{'0' * 64}")
    assert re.search(r"has another image under cdom-driver:\S+ than sha256:000", not_pushed(other, logged_in))


def test_a_registry_that_does_not_answer_is_named(release, logged_in, tmp_path):
    lonely = changed(release, tmp_path / "lonely", "^registry=.*$", "registry=127.0.0.1:1")
    assert "127.0.0.1:1 did not take cdom-controller" in not_pushed(lonely, logged_in)


def test_the_release_renders_with_the_kustomize_of_the_tests_kubectl():
    versions = [re.search(r"^\s*(?:require )?sigs\.k8s\.io/kustomize/kustomize/v5 (\S+)", (REPO / folder / "go.mod").read_text(), re.MULTILINE)[1]
                for folder in ("scripts/release/kustomize", "test/cluster/controlplane")]
    assert versions[0] == versions[1]
