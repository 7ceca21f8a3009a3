"""What a release consists of, made of small images; nightly_test.sh makes it of real ones, and installs the Debian package."""

import hashlib
import os
import re
import shutil
import subprocess
import tarfile

import pytest
import tiny
import yaml
from tiny import ARCHITECTURE, REPO, VERSION

REGISTRY = "registry.example.net:5000/site"
OLD = "# Packages of Debian. Lists of 2026-01-01T00:00:00Z.\n"
OTHER = {"amd64": "arm64", "arm64": "amd64"}[ARCHITECTURE]


@pytest.fixture(scope="session")
def programs(request):
    return request.config.getoption("--programs").resolve()


@pytest.fixture(scope="session")
def release(programs, tmp_path_factory):
    return tiny.make(REGISTRY, programs, tmp_path_factory.mktemp("release"))


def refusal(*words, env=None):
    done = subprocess.run([REPO / "scripts/release.sh", *words], capture_output=True, text=True, check=False, timeout=60,
                          env={**os.environ, **(env or {})})
    assert done.returncode == 2, done.stderr
    return done.stderr


@pytest.mark.parametrize("words, answer", [
    ((), "say which registry will have the images, such as registry.example.org/mine"),
    (("https://registry.example.org",), "leave out https://"),
    (("registry.example.org/mine/",), "is no name of a registry"),
    (("registry.example.org/Mine",), "in lower case"),
    (("mine",), "host[:port][/path]"),
    (("registry.example.org", "other.example.org"), "unknown word other.example.org: the registry is registry.example.org"),
    (("registry.example.org", "--tag"), "unknown option --tag"),
    (("registry.example.org", "--output"), "--output needs a value"),
    (("registry.example.org", OTHER), f"add {ARCHITECTURE}: the man page"),
    (("registry.example.org", "--output", str(REPO / "scripts")), "has files of others"),
    (("registry.example.org", ARCHITECTURE, "--packages", "/nonexistent"), f"/nonexistent has no packages.{ARCHITECTURE}.txt"),
])
def test_misuse_is_explained(words, answer):
    assert answer in refusal(*words)


def test_package_lists_that_are_older_than_a_day_need_a_switch(tmp_path):
    (tmp_path / f"packages.{ARCHITECTURE}.txt").write_text(OLD)
    words = (REGISTRY, ARCHITECTURE, "--packages", tmp_path, "--output", tmp_path / "release")
    assert "older than a day (2026-01-01T00:00:00Z): leave out --packages, or add --old-packages" in refusal(*words)
    # With it the next thing is said that is wrong.
    assert "of revision 5-dirty: commit your changes" in refusal(*words, "--old-packages", env={"CDOM_REVISION": "5-dirty"})


def test_the_same_images_give_the_same_files_wherever_they_are(release, tmp_path):
    env = {**os.environ, "TZ": "Asia/Tokyo", "LC_ALL": "C", "DEB_BUILD_OPTIONS": "noopt", "SOURCE_DATE_EPOCH": "1"}
    elsewhere, tree = tmp_path / "else where", tmp_path / "tree"
    shutil.copytree(release.parent / "images", elsewhere)
    for name in ("crds", "manifests", "scripts"):
        shutil.copytree(REPO / name, tree / name, symlinks=True)
    shutil.copy(REPO / "CHANGELOG.md", tree)
    for path in tree.rglob("*"):  # A checkout has the time at which it was made.
        os.utime(path, (10 ** 9, 10 ** 9), follow_symlinks=False)
    subprocess.run(["bash", "-c", 'umask 077; exec "$@"', "bash", *tiny.release_py(REGISTRY, elsewhere, tmp_path / "again", tree)],
                   check=True, env=env, cwd="/")
    assert (tmp_path / "again/SHA256SUMS").read_text() == (release / "SHA256SUMS").read_text()


def test_each_file_is_in_the_sums_and_in_the_notes(release):
    subprocess.run(["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=release, check=True)
    names = {path.name for path in release.iterdir()} - {"SHA256SUMS"}
    assert {line.split("  ")[1] for line in (release / "SHA256SUMS").read_text().splitlines()} == names
    notes = (release / "release-notes.md").read_text()
    sizes = {name: int(size.replace(",", "")) for name, size in re.findall(r"^\| `(\S+)` \| ([0-9,]+) \|$", notes, re.MULTILINE)}
    assert sizes == {name: (release / name).stat().st_size for name in names - {"release-notes.md"}}
    _, _, changes = (REPO / "CHANGELOG.md").read_text().partition(f"\n## {VERSION} ")
    (_, *lines) = changes.partition("\n## ")[0].splitlines()
    assert len(lines) > 1
    assert [line for line in lines if line.removeprefix("#") not in notes.splitlines()] == []


def test_the_archives_have_the_images_that_the_other_files_name(release):
    pushed = dict(re.findall(r"^push (\S+) (sha256:[0-9a-f]{64})$", (release / "push.sh").read_text(), re.MULTILINE))
    assert set(pushed) == {"cdom-controller", "cdom-driver"}
    for name, digest in pushed.items():
        shown = subprocess.run(["skopeo", "--insecure-policy", "inspect", "--raw", f"oci-archive:{name}-{VERSION}.tar:{VERSION}"],
                               cwd=release, check=True, stdout=subprocess.PIPE).stdout
        assert f"sha256:{hashlib.sha256(shown).hexdigest()}" == digest
        assert f"| `{REGISTRY}/{name}:{VERSION}` | `{digest}` |" in (release / "release-notes.md").read_text()
    named = re.findall(r"(?:image|IMAGE_NAME): (\S+)", (release / "cdom.yaml").read_text())
    assert set(named) == {f"{REGISTRY}/{name}@{digest}" for name, digest in pushed.items()}
    assert "registry.example.com" not in (release / "cdom.yaml").read_text()


def test_placement_is_a_file_of_its_own_that_the_api_server_of_older_versions_need_not_know(release):
    objects = [one for one in yaml.safe_load_all((release / "cdom-placement.yaml").read_text()) if one]
    assert sorted((one["kind"], one["metadata"]["name"]) for one in objects) == [
        (kind, name) for kind in ("MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding")
        for name in ("cdom-placement", "cdom-placement-preferred")]
    assert "MutatingAdmission" not in (release / "cdom.yaml").read_text()


def test_the_chart_names_the_image_by_its_digest(release):
    with tarfile.open(release / f"cdom-{VERSION}.tgz") as archive:
        assert {(one.uid, one.gid, one.uname, one.mtime, one.isfile() or one.isdir()) for one in archive} == {(0, 0, "", tiny.EPOCH, True)}
        values, page = (archive.extractfile(f"cdom/{name}").read().decode() for name in ("values.yaml", "README.md"))
    [digest] = re.findall(r"^push cdom-driver (\S+)$", (release / "push.sh").read_text(), re.MULTILINE)
    assert f"  repository: {REGISTRY}/cdom-driver\n" in values
    assert f"  digest: {digest}\n" in values
    assert f'| `image.digest` | `"{digest}"` |' in page


def test_the_debian_package_has_the_programs_page_and_service_of_the_release(release, programs):
    [deb] = release.glob("*.deb")

    def told(*words):
        return subprocess.run(["dpkg-deb", *words], check=True, stdout=subprocess.PIPE, text=True).stdout
    assert told("--field", deb, "Package", "Version", "Architecture").split()[1::2] == ["cdom-controller", VERSION, ARCHITECTURE]
    assert re.search(r"\blibcurl4 \(>= 7\.\d+", told("--field", deb, "Depends"))
    assert told("--info", deb, "conffiles").split() == ["/etc/cdom/controller.env"]
    root = release.parent / "root"
    told("--extract", deb, root)
    [program] = release.parent.glob("*/programs/compute-domain-controller")
    assert (root / "usr/bin/compute-domain-controller").read_bytes() == program.read_bytes()
    drop_in = (root / "lib/systemd/system/cdom-controller.service.d/release.conf").read_text()
    assert re.search(rf"^Environment=IMAGE_NAME={REGISTRY}/cdom-driver@sha256:[0-9a-f]{{64}}$", drop_in, re.MULTILINE)
    # So that an administrator's file is asked about only if the settings themselves change.
    assert re.findall(r"^[^#\n].*", (root / "etc/cdom/controller.env").read_text(), re.MULTILINE) == []
    page = subprocess.run(["man", "-l", root / "usr/share/man/man8/compute-domain-controller.8.gz"], check=True, stdout=subprocess.PIPE,
                          text=True, env={**os.environ, "MANWIDTH": "200", "LC_ALL": "C.UTF-8"}).stdout
    assert "compute-domain-controller - controller of ComputeDomains for Kubernetes" in page
    options = re.findall(r"^  +(-\S+)", subprocess.run([programs / "compute-domain-controller", "--help"], check=True, stdout=subprocess.PIPE,
                                                     text=True).stdout, re.MULTILINE)
    assert len(options) > 25
    assert [one for one in options if f" {one}" not in page] == []
