"""A release of images that have little in them, made in a moment by what makes a real one of scripts/image.sh's."""

import os
import pathlib
import re
import subprocess
import sys

REPO = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(REPO / "scripts/image"), str(REPO / "scripts/release")]
import debian  # noqa: E402
import images  # noqa: E402
import oci  # noqa: E402
from rootfs import Files  # noqa: E402

ARCHITECTURE = subprocess.run(["dpkg", "--print-architecture"], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
CACHE = pathlib.Path(os.environ.get("CDOM_CACHE") or pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache", "cdom"),
                     "image")
VERSION = re.search(r"^project\(cdom VERSION ([0-9.]+)", (REPO / "CMakeLists.txt").read_text(), re.MULTILINE)[1]
EPOCH = 1792000000


def make_images(folder, programs, record):
    """In `folder`: what scripts/image.sh makes of both images."""
    stripped = folder / "programs"
    stripped.mkdir()
    for name, image in images.IMAGES.items():
        files = Files()
        for path in image.programs:
            name_of_program = pathlib.Path(path).name
            subprocess.run(["strip", "-o", stripped / name_of_program, programs / name_of_program], check=True)
            files.add(path, (stripped / name_of_program).read_bytes(), runs=True)
        layout = oci.Layout(folder / name)
        labels = {"org.opencontainers.image.title": image.title}
        layout.finish(oci.add_image(layout, [(files, EPOCH)], images.PLATFORMS[ARCHITECTURE], EPOCH, {}, labels), VERSION)
        (folder / f"{name}.{ARCHITECTURE}.spdx.json").write_text('{"spdxVersion": "SPDX-2.3"}\n')
        (folder / f"{name}.{ARCHITECTURE}.packages.txt").write_text(record.text())


def newest_packages():
    return debian.fetch(ARCHITECTURE, CACHE)


def release_py(registry, made, output, tree=REPO):
    """The command that composes it, of the sources in `tree`."""
    kubectl = subprocess.run([REPO / "test/cluster/controlplane/build.sh"], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    return [sys.executable, tree / "scripts/release/release.py", registry, "--images", made, "--output", output, "--version", VERSION,
            "--revision", "0" * 40, "--epoch", str(EPOCH), "--kustomize", f"{kubectl}/kubectl kustomize", "--cache", CACHE]


def make(registry, programs, folder):
    """The release's folder."""
    made = folder / "images"
    made.mkdir()
    make_images(made, programs, newest_packages()[1])
    subprocess.run(release_py(registry, made, folder / "release"), check=True)
    return folder / "release"
