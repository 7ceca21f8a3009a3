"""Composes a release of images that were made: see scripts/release.sh."""

import argparse
import calendar
import gzip
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(REPO / "scripts/image"), str(REPO / "scripts")]
import chart_values  # noqa: E402
import deb  # noqa: E402
import debian  # noqa: E402
import images  # noqa: E402
import oci  # noqa: E402
from rootfs import Files  # noqa: E402

_PLACEHOLDER = "registry.example.com"
_KUSTOMIZATION = """\
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [{manifests}/standalone, {manifests}/kubelet-plugin]
components: [{manifests}/controller-writes]
images:
- {{name: {placeholder}/cdom-controller, newName: {controller[0]}, digest: "{controller[1]}"}}
- {{name: {placeholder}/cdom-driver, newName: {driver[0]}, digest: "{driver[1]}"}}
configMapGenerator:
- name: cdom-settings
  namespace: cdom-system
  behavior: merge
  literals: ["IMAGE_NAME={driver[0]}@{driver[1]}"]
"""


@dataclass(frozen=True)
class Release:
    registry: str
    version: str
    revision: str
    epoch: int
    images: Path  # Layouts by the names of images, and what scripts/image.sh writes beside them.
    architectures: list[str]

    def repository(self, image: str) -> str:
        return f"{self.registry}/{images.IMAGES[image].title}"

    def digest(self, image: str) -> str:
        return json.loads((self.images / image / "index.json").read_text())["manifests"][0]["digest"]

    def record(self, architecture: str) -> debian.Record:
        return debian.Record.read(self.images / f"controller.{architecture}.packages.txt")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("registry")
    parser.add_argument("--images", required=True, type=Path)
    parser.add_argument("--output", required=True, type=Path)
    parser.add_argument("--version", required=True)
    parser.add_argument("--revision", required=True)
    parser.add_argument("--epoch", required=True, type=int)
    parser.add_argument("--kustomize", required=True, type=shlex.split, help="the command that renders the kustomization of a folder")
    parser.add_argument("--cache", required=True, type=Path, help="of Debian's packages")
    options = parser.parse_args()
    architectures = sorted(path.name.split(".")[1] for path in options.images.glob("controller.*.spdx.json"))
    release = Release(options.registry, options.version, options.revision, options.epoch, options.images, architectures)
    with tempfile.TemporaryDirectory(dir=options.output.parent, prefix="partial.") as partial:
        whole = Path(partial) / "whole"
        whole.mkdir()
        _write_images(release, whole)
        (whole / "cdom.yaml").write_text(manifests(release, options.kustomize))
        (whole / "cdom-placement.yaml").write_text(placement(release, options.kustomize))
        (whole / f"cdom-{release.version}.tgz").write_bytes(chart(release))
        _write_debian_packages(release, options.cache, whole)
        _write_push(release, whole / "push.sh")
        (whole / "release-notes.md").write_text(notes(release, whole))
        sums = [f"{hashlib.sha256(one.read_bytes()).hexdigest()}  {one.name}\n" for one in sorted(whole.iterdir())]
        (whole / "SHA256SUMS").write_text("".join(sums))
        if options.output.exists():
            shutil.rmtree(options.output)
        os.rename(whole, options.output)
    print(f"cdom {release.version} for {release.registry}: {options.output}")


def _write_images(release: Release, to: Path) -> None:
    for name, image in images.IMAGES.items():
        layout, files = release.images / name, Files()
        for path in layout.rglob("*"):
            if path.is_file():
                files.add(str(path.relative_to(layout)), path.read_bytes())
        (to / f"{image.title}-{release.version}.tar").write_bytes(oci.tar_of(files, release.epoch))
        for architecture in release.architectures:
            shutil.copyfile(release.images / f"{name}.{architecture}.spdx.json",
                            to / f"{image.title}-{release.version}.{architecture}.spdx.json")
    for architecture in release.architectures:
        (to / f"packages.{architecture}.txt").write_text(release.record(architecture).text())


def manifests(release: Release, kustomize: list[str]) -> str:
    """All objects of a rack."""
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder).resolve()
        (folder / "kustomization.yaml").write_text(_KUSTOMIZATION.format(
            manifests=os.path.relpath(REPO / "manifests", folder), placeholder=_PLACEHOLDER,
            **{name: (release.repository(name), release.digest(name)) for name in images.IMAGES}))
        made = subprocess.run([*kustomize, folder], stdout=subprocess.PIPE, text=True, check=True).stdout
    named = re.findall(r"^ *(?:- )?(?:image|IMAGE_NAME): (\S+)$", made, re.MULTILINE)
    others = [one for one in named if not one.startswith(f"{release.registry}/")]
    if others or not named:
        raise SystemExit(f"release: cdom.yaml names images that are not of this release: {', '.join(others) or 'none'}")
    return (f"# cdom {release.version}, revision {release.revision}: everything that a rack of GPU nodes needs, for `kubectl apply -f`.\n"
            f"# push.sh beside this file pushes the images to {release.registry}.\n{made}")


def placement(release: Release, kustomize: list[str]) -> str:
    """The policies for pods of domains, which name no image."""
    made = subprocess.run([*kustomize, REPO / "manifests/placement"], stdout=subprocess.PIPE, text=True, check=True).stdout
    return (f"# cdom {release.version}, revision {release.revision}: has the pods of a domain in one NVLink clique. For `kubectl apply -f`,\n"
            f"# on Kubernetes 1.36 or later.\n{made}")


def chart(release: Release) -> bytes:
    """The archive of manifests/chart, whose default image is that of the registry."""
    source, files = REPO / "manifests/chart", Files()
    ignored = (source / ".helmignore").read_text().split()
    with tempfile.TemporaryDirectory() as folder:
        staged = Path(folder) / "cdom"
        shutil.copytree(source, staged, ignore=shutil.ignore_patterns(*ignored))  # Links become what they point to.
        said = re.findall(r"^(?:version|appVersion): (\S+)$", (staged / "Chart.yaml").read_text(), re.MULTILINE)
        if said != [release.version, release.version]:
            raise SystemExit(f"release: manifests/chart/Chart.yaml has the versions {' and '.join(said)}: write {release.version} into it, "
                             "which CMakeLists.txt has")
        values = (staged / "values.yaml").read_text()
        for before, after in ((f"  repository: {_PLACEHOLDER}/cdom-driver\n", f"  repository: {release.repository('driver')}\n"),
                              ('  digest: ""\n', f"  digest: {release.digest('driver')}\n")):
            if values.count(before) != 1:
                raise SystemExit(f"release: manifests/chart/values.yaml has not one line '{before.strip()}'")
            values = values.replace(before, after)
        (staged / "values.yaml").write_text(values)
        for path, text in chart_values.made(staged).items():
            path.write_text(text)
        for path in staged.rglob("*"):
            if path.is_file():
                files.add(f"cdom/{path.relative_to(staged)}", path.read_bytes())
    return gzip.compress(oci.tar_of(files, release.epoch), 9, mtime=0)


def program_of(layout: Path, architecture: str, path: str) -> bytes:
    """A file of the image, whose index may be of several architectures."""
    def blob(entry):
        return layout / "blobs" / entry["digest"].replace(":", "/")
    [entry] = json.loads((layout / "index.json").read_text())["manifests"]
    manifest = json.loads(blob(entry).read_text())
    if "manifests" in manifest:
        [entry] = [one for one in manifest["manifests"] if one["platform"]["architecture"] == architecture]
        manifest = json.loads(blob(entry).read_text())
    for layer in reversed(manifest["layers"]):
        with tarfile.open(blob(layer)) as tar:
            if path in tar.getnames():
                return tar.extractfile(path).read()
    raise SystemExit(f"release: {layout} has no {path} for {architecture}")


def _write_debian_packages(release: Release, cache: Path, to: Path) -> None:
    """Their programs are those of the images."""
    own = subprocess.run(["dpkg", "--print-architecture"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    with tempfile.TemporaryDirectory() as folder:
        programs = {}
        for architecture in release.architectures:
            programs[architecture] = Path(folder) / architecture
            programs[architecture].write_bytes(program_of(release.images / "controller", architecture, deb.PROGRAM))
            programs[architecture].chmod(0o755)
        page = deb.man_page(programs[own], release.version, release.epoch)
        for architecture, program in programs.items():
            packages, _ = debian.fetch(architecture, cache, release.record(architecture))
            deb.build(deb.Package(architecture, release.version, release.epoch, program, deb.depends(program, packages), page,
                                  f"{release.repository('driver')}@{release.digest('driver')}"), to)


def _write_push(release: Release, to: Path) -> None:
    text = (REPO / "scripts/release/push.sh").read_text()
    lines = "\n".join(f"push {image.title} {release.digest(name)}" for name, image in images.IMAGES.items())
    for before, after in (("@version@", release.version), ("@registry@", release.registry), ("# @images@", lines)):
        text = text.replace(before, after)
    to.write_text(text)
    to.chmod(0o755)


def notes(release: Release, made: Path) -> str:
    changes = (REPO / "CHANGELOG.md").read_text()
    found = re.search(rf"^## {re.escape(release.version)}\b.*?\n(.*?)(?=^## |\Z)", changes, re.MULTILINE | re.DOTALL)
    if not found:
        raise SystemExit(f"release: CHANGELOG.md has no section '## {release.version}'")
    rows = [f"| `{one.name}` | {one.stat().st_size:,} |" for one in sorted(made.iterdir())]
    named = [f"| `{release.repository(name)}:{release.version}` | `{release.digest(name)}` |" for name in images.IMAGES]
    lists = [f"| {one} | {_date(release.record(one).lists, release.epoch)} |" for one in release.architectures]
    return "\n".join([
        f"# cdom {release.version}", "",
        f"Revision `{release.revision}`. Links are to pages of its sources. `sha256sum --check SHA256SUMS` checks the files.", "",
        "| Image | Digest |", "|---|---|", *named, "",
        "| File | Bytes |", "|---|---|", *rows, "",
        "| Architecture | Date of Debian's package lists |", "|---|---|", *lists, "",
        re.sub("^### ", "## ", found[1].strip(), flags=re.MULTILINE), ""])


def _date(lists: str, epoch: int) -> str:
    """Of the lists, and whether security updates may be missing that Debian had when the sources were committed."""
    if lists and calendar.timegm(time.strptime(lists, "%Y-%m-%dT%H:%M:%SZ")) >= epoch - 86400:
        return lists
    return f"{lists or 'unknown'}: more than a day older than the sources. Later security updates are not in the images"


if __name__ == "__main__":
    main()
