"""The controller as a package of Debian 12, by debhelper. The same program, version and time give the same bytes."""

import os
import re
import shutil
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from debian import Packages
from rootfs import needed_by

REPO = Path(__file__).resolve().parents[2]
NAME = "cdom-controller"
PROGRAM = "usr/bin/compute-domain-controller"
_SYSTEMD = REPO / "manifests/systemd"
# Nothing of who builds: no options of debhelper or dpkg, and no time zone. One thread, because xz writes other bytes with more.
_ENVIRONMENT = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "LC_ALL": "C.UTF-8", "TZ": "UTC", "DPKG_DEB_THREADS_MAX": "1",
                "DEB_RULES_REQUIRES_ROOT": "no"}
_DROP_IN = """\
[Unit]
Documentation=man:compute-domain-controller(8)
# It is installed before an administrator can write this file, and does not run before that.
ConditionPathExists=/etc/cdom/kubeconfig

[Service]
# Settings of this release. /etc/cdom/controller.env overrides them.
Environment=IMAGE_NAME={image}
Environment=MEMBERSHIP_WRITER=controller
"""


@dataclass(frozen=True)
class Package:
    architecture: str
    version: str
    epoch: int
    program: Path  # For that architecture, without symbols.
    depends: list[str]
    man_page: str
    daemon_image: str  # With which the controller starts daemons, unless controller.env names another one.


def man_page(program: Path, version: str, epoch: int) -> str:
    """Of what the program says of itself. It must run on this machine."""
    return subprocess.run(
        ["help2man", "--no-info", "--section=8", "--name=controller of ComputeDomains for Kubernetes", "--manual=cdom",
         f"--source=cdom {version}", f"--version-string=compute-domain-controller {version}", f"--include={Path(__file__).with_name('man.h2m')}", program],
        env=_ENVIRONMENT | {"SOURCE_DATE_EPOCH": str(epoch)}, stdout=subprocess.PIPE, text=True, check=True).stdout


def depends(program: Path, packages: Packages) -> list[str]:
    """What the package depends on for the libraries of its program, by the recorded packages and not by those of this machine."""
    of_library = {}
    for name in sorted(packages.described):
        for line in packages.described[name]["shlibs"]:
            if said := re.fullmatch(r"(\S+) (\S+) (\S.*)", line):  # Others are empty, or of packages for an installer.
                of_library[said[1], said[2]] = said[3]
    found = set()
    for needed in needed_by(program):
        # libfmt.so.9, as in most, or libspdlog-1.so.
        said = re.fullmatch(r"([^/]+)\.so\.(.+)", needed) or re.fullmatch(r"([^/]+)-([0-9].*)\.so", needed)
        if said:
            if said.groups() not in of_library:
                raise SystemExit(f"release: no recorded package says which one has {needed}")
            found.add(of_library[said.groups()])
    return sorted(found)


def build(package: Package, to: Path) -> Path:
    """The package in the folder `to`."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        shutil.copytree(Path(__file__).with_name("debian"), tree / "debian")
        shutil.copyfile(package.program, tree / "compute-domain-controller")
        shutil.copyfile(_SYSTEMD / f"{NAME}.service", tree / "debian" / f"{NAME}.service")
        # The release names its image of daemons in a drop-in, so that controller.env is the same in each release and an upgrade
        # does not ask which one to keep.
        settings = (_SYSTEMD / "controller.env").read_text()
        (tree / "controller.env").write_text(re.sub(r"^IMAGE_NAME=", "#IMAGE_NAME=", settings, count=1, flags=re.MULTILINE))
        (tree / "release.conf").write_text(_DROP_IN.format(image=package.daemon_image))
        (tree / "compute-domain-controller.8").write_text(package.man_page)
        when = time.strftime("%a, %d %b %Y %H:%M:%S +0000", time.gmtime(package.epoch))
        (tree / "debian/changelog").write_text(f"{NAME} ({package.version}) bookworm; urgency=medium\n\n"
                                               f"  * Release {package.version}: see CHANGELOG.md of the sources.\n\n"
                                               f" -- cdom <cdom@localhost>  {when}\n")
        (tree / "debian/libraries").write_text(f"shlibs:Depends={', '.join(package.depends)}\n")
        for path in tree.rglob("*"):  # debhelper lowers later times to this one, and leaves earlier ones, as of a checkout.
            os.utime(path, (package.epoch, package.epoch))
        subprocess.run(["dpkg-architecture", f"-a{package.architecture}", "-c", "debian/rules", "binary"], cwd=tree,
                       env=_ENVIRONMENT | {"SOURCE_DATE_EPOCH": str(package.epoch)}, stdout=subprocess.DEVNULL, check=True)
        [made] = Path(folder).glob("*.deb")
        return Path(shutil.copyfile(made, to / made.name))
