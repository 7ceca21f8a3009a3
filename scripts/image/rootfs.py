"""The files of an image: our programs, the libraries that they need, and what belongs to these packages."""

import fnmatch
import posixpath
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from debian import Packages, canonical
from images import TRIPLETS, Image

_ELF = b"\x7fELF"
CA_BUNDLE = "etc/ssl/certs/ca-certificates.crt"


@dataclass
class Files:
    """Paths without a leading slash. A file is (bytes, may be run), a link what it points to."""

    files: dict[str, tuple[bytes, bool]] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    folders: set[str] = field(default_factory=set)  # Besides those that files and links are in.

    def add(self, path: str, data: bytes, runs: bool = False) -> None:
        self.files[path] = (data, runs)

    def __contains__(self, path: str) -> bool:
        return path in self.files or path in self.links


def of_debian(image: Image, architecture: str, packages: Packages, program: Path) -> tuple[Files, list[str]]:
    """What the image has from Debian, and from which packages."""
    files = Files()
    used = set(image.compiled_in)
    for name, patterns in image.files.items():
        used.add(name)
        for pattern in patterns:
            _add_matching(files, packages, name, pattern)
    named = [packages.root / path for path, (data, _) in files.files.items() if data.startswith(_ELF)]
    _add_libraries(files, used, architecture, packages, named + [program / path for path in image.programs])
    _bundle_certificates(files)
    # As in every Debian of today.
    for folder in ("bin", "sbin", "lib", "lib64"):
        if any(path.startswith(f"usr/{folder}/") for path in [*files.files, *files.links]):
            files.links[folder] = f"usr/{folder}"
    for name in sorted(used):
        _add_papers(files, packages, name)
    return files, sorted(used)


def of_ours(image: Image, program: Path, license_text: bytes, sbom: bytes) -> Files:
    files = Files()
    for path in image.programs:
        files.add(path, (program / path).read_bytes(), runs=True)
    for path in image.data:
        files.add(path, (program / path).read_bytes())
    files.folders.update(image.folders)
    if "run" in image.folders:
        files.links["var/run"] = "../run"  # As in every Debian.
    users = {"root": 0} if image.user == 0 else {"root": 0, "cdom": image.user}
    files.add("etc/passwd", "".join(f"{name}:x:{number}:{number}:{name}:/nonexistent:/nonexistent\n"
                                    for name, number in users.items()).encode())
    files.add("etc/group", "".join(f"{name}:x:{number}:\n" for name, number in users.items()).encode())
    files.add("etc/nsswitch.conf", b"passwd: files\ngroup: files\nhosts: files dns\n")
    files.add("usr/share/doc/cdom/copyright", license_text)
    files.add(f"usr/share/doc/cdom/{image.title}.spdx.json", sbom)
    return files


def _add_libraries(files: Files, used: set[str], architecture: str, packages: Packages, programs: list[Path]) -> None:
    folders = (f"usr/lib/{TRIPLETS[architecture]}", "usr/lib")
    ahead = list(programs)
    while ahead:
        one = ahead.pop()
        # Those of iconv's modules lie beside them.
        beside = [str(one.parent.relative_to(packages.root))] if one.is_relative_to(packages.root) else []
        for needed in needed_by(one):
            names = [canonical(needed)] if "/" in needed else [f"{folder}/{needed}" for folder in (*folders, *beside)]
            path = next((name for name in names if name in packages.owner), None)
            if path is None:
                raise SystemExit(f"image: {one} needs {needed}, which no package has: name one in scripts/image/images.py")
            if path not in files:
                ahead.append(packages.root / _add_path(files, used, packages, path))


def needed_by(program: Path) -> list[str]:
    """The names of the libraries that an ELF file needs, and the path of its loader."""
    told = subprocess.run(["readelf", "--wide", "--dynamic", "--program-headers", program],
                          stdout=subprocess.PIPE, text=True, check=True, env={"LC_ALL": "C"}).stdout
    return re.findall(r"\(NEEDED\) .*\[(.+)\]", told) + re.findall(r"program interpreter: (.+)\]", told)


def _add_path(files: Files, used: set[str], packages: Packages, path: str) -> str:
    """Adds a file, with the links that lead to it. Returns where it lies."""
    used.add(packages.owner[path])
    target = packages.target(path)
    if target is None:
        files.add(path, packages.read(path), runs=bool((packages.root / path).stat().st_mode & 0o100))
        return path
    files.links[path] = posixpath.relpath(target, posixpath.dirname(path))
    return _add_path(files, used, packages, target)


def _add_matching(files: Files, packages: Packages, name: str, pattern: str) -> None:
    matching = fnmatch.filter(packages.described[name]["files"], pattern)
    if not matching:
        raise SystemExit(f"image: package {name} has no {pattern}: see scripts/image/images.py")
    for path in matching:
        _add_path(files, set(), packages, path)


def _bundle_certificates(files: Files) -> None:
    """One file in place of many, as the package makes it when it is configured."""
    single = sorted(path for path in files.files if path.startswith("usr/share/ca-certificates/"))
    if single:
        files.add(CA_BUNDLE, b"".join(files.files.pop(path)[0] for path in single))


def _add_papers(files: Files, packages: Packages, name: str) -> None:
    """By these a scanner knows the package, and a person its license."""
    one = packages.described[name]
    control = one["control"].replace("\n", "\nStatus: install ok installed\n", 1)
    files.add(f"var/lib/dpkg/status.d/{name}", control.encode())
    papers = f"usr/share/doc/{name}"
    # Some packages of one source have one folder, which is a link in the others.
    shared = packages.target(papers) or papers
    path = f"{shared}/copyright"
    while (target := packages.target(path)) is not None:
        path = target
    files.add(f"{papers}/copyright", packages.read(path))
